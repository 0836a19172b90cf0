//! A histogram released every month for a year, and a ledger that stops before the budget is passed.

use dp_core::accounting::{FilterRule, Ledger, Method};
use dp_core::mechanism::{Basis, Mechanism, PrivateVector, Statistic};
use dp_core::noise::GaussianNoise;
use dp_core::{Adjacency, Budget, Delta, EntryBound, L2Sensitivity, NoiseRng, NormBound};

pub(crate) fn main() -> dp_core::Result<()> {
    // A person is one row, and counts in one category: that is our word, so the guarantee is declared.
    let person = Adjacency::AddRemoveRow { bound: NormBound::new(1.0)? };
    let statistic = Statistic::new(person, L2Sensitivity::new(1.0)?, 3, EntryBound::new(1e6)?);
    let basis = Basis::declared("the survey's team", "a person is in one category");
    let monthly = Budget::new(0.5, 1e-7)?;
    let mechanism = PrivateVector::<GaussianNoise>::calibrate((statistic, basis), monthly)?;

    // A year may cost epsilon 2 at delta 1e-6; Gaussian composition allows more than four months of 0.5.
    let year = Budget::new(2.0, 1e-6)?;
    let mut ledger = Ledger::with_limit(person, year, FilterRule::Gdp);
    let mut rng = NoiseRng::from_os()?;
    for month in 1..=12 {
        // Charge first: what the ledger refuses is never released.
        let label = format!("month {month}");
        if let Err(refused) = ledger.spend_accepting_claim(mechanism.guarantee(), 1, &label) {
            println!("month {month}: {refused}");
            break;
        }
        let release = mechanism.release(&[120.0, 33.0, 7.0], &mut rng)?;
        println!("month {month}: {:.1?}", release.payload());
    }
    let spent = ledger.epsilon(Delta::new(1e-6)?, Method::Pld)?;
    println!("{} releases: epsilon at most {}", ledger.entries().len(), spent.upper);
    assert!(ledger.entries().len() > 4);
    Ok(())
}
