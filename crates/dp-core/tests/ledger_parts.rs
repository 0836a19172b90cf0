//! Releases of parts of the rows in one ledger: what counts is never less than what the worst unit loses, and no more where the
//! parts are released alike.
#![allow(missing_docs)]

use dp_core::accounting::{FilterRule, Ledger, Method, Part};
use dp_core::adjacency::Partition;
use dp_core::{
    Adjacency, Budget, Delta, Error, Guarantee, L2Sensitivity, NoiseScale, Probability, Profile,
    Theorem, authority,
};
use proptest::prelude::*;

fn bound<B: TryFrom<f64, Error = Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

fn attribute() -> Adjacency {
    Adjacency::Attribute { beta: bound(1.0) }
}

/// One bit of every row, kept with probability 0.7, 0.8 or 0.9; or Gaussian noise.
fn mechanism(kind: usize) -> Guarantee {
    let (profile, theorem) = match kind {
        3 => {
            let sensitivity = L2Sensitivity::new(1.0).unwrap();
            let sigma = NoiseScale::new(3.0).unwrap();
            (Profile::Gaussian { sensitivity, sigma }, Theorem::ProjectionGaussian)
        }
        kind => {
            let keep = Probability::new(keep(kind)).unwrap();
            (Profile::RandomizedResponse { bits: 1, keep }, Theorem::BitResponse)
        }
    };
    let budget = match kind {
        3 => Budget::new(1.7, 1e-5).unwrap(),
        kind => Budget::new(loss(kind) + 1e-9, 0.0).unwrap(),
    };
    authority!().proven(attribute(), budget, profile, theorem).unwrap()
}

fn keep(kind: usize) -> f64 {
    [0.7, 0.8, 0.9][kind]
}

fn loss(kind: usize) -> f64 {
    (keep(kind) / (1.0 - keep(kind))).ln()
}

/// Of all rows, or of a part of one of two partitions.
fn place() -> impl Strategy<Value = Option<(usize, usize)>> {
    prop_oneof![Just(None), (0..2usize, 0..3usize).prop_map(Some)]
}

fn part((partition, part): (usize, usize)) -> Part {
    let names = ["regions", "years"];
    Part::new(names[partition], &format!("part {part}"), Partition::ByRow).unwrap()
}

fn spend(ledger: &mut Ledger, kind: usize, at: Option<(usize, usize)>) -> Result<(), Error> {
    match at.map(part) {
        Some(part) => ledger.spend(&mechanism(kind), 1, part.labelled("a release")),
        None => ledger.spend(&mechanism(kind), 1, "a release"),
    }
}

/// What the row in these parts of both partitions sees.
fn seen(spent: &[(usize, Option<(usize, usize)>)], row: [usize; 2]) -> Vec<usize> {
    let of =
        |at: &Option<(usize, usize)>| at.is_none_or(|(partition, part)| row[partition] == part);
    spent.iter().filter(|(_, at)| of(at)).map(|(kind, _)| *kind).collect()
}

/// The row that loses most, by summing over all outcomes of its bits: the largest log-likelihood ratio when it changes.
fn worst(spent: &[(usize, Option<(usize, usize)>)]) -> f64 {
    let rows = (0..3).flat_map(|a| (0..3).map(move |b| [a, b]));
    let lost = rows.map(|row| {
        let seen = seen(spent, row);
        let outcomes = 0..1u32 << seen.len();
        let ratio = outcomes.map(|outcome| {
            let bits = seen.iter().enumerate().map(|(i, &kind)| {
                let (p, q) = (keep(kind), 1.0 - keep(kind));
                if outcome >> i & 1 == 1 { p / q } else { q / p }
            });
            bits.product::<f64>().ln()
        });
        ratio.fold(0.0, f64::max)
    });
    lost.fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Never less than any row loses, by any method; exactly that where every release is of one kind.
    #[test]
    fn a_ledger_counts_what_the_worst_row_loses(
        spent in proptest::collection::vec((0..3usize, place()), 1..7),
        alike in any::<bool>(),
    ) {
        let spent: Vec<_> = spent.into_iter().map(|(kind, at)| (if alike { 1 } else { kind }, at)).collect();
        let mut ledger = Ledger::new(attribute());
        for &(kind, at) in &spent {
            spend(&mut ledger, kind, at).unwrap();
        }
        let true_loss = worst(&spent);
        for method in [Method::Basic, Method::Pld] {
            let counted = ledger.epsilon(Delta::ZERO, method).unwrap();
            prop_assert!(counted.upper.get() >= true_loss - 1e-9, "{method:?}");
            prop_assert!(!alike || counted.upper.get() <= true_loss + 1e-6, "{method:?}");
            prop_assert!(counted.lower.is_none_or(|lower| lower.get() <= true_loss + 1e-9));
        }
        // No more than the sum of all, which a ledger without parts counts.
        let sum: f64 = spent.iter().map(|(kind, _)| loss(*kind) + 1e-9).sum();
        prop_assert!(ledger.stated().0 <= sum + 1e-9);
        // The same after it was written and read.
        let text = serde_json::to_string(&ledger).unwrap();
        let read: Ledger = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read, ledger);
    }

    /// A limit keeps what every row loses below it, and refuses nothing that keeps it where all are alike; as many more fit as is said.
    #[test]
    fn a_limit_is_about_the_worst_row(places in proptest::collection::vec(place(), 1..30)) {
        let limit = 4.5 * (loss(1) + 1e-9);
        let mut ledger = Ledger::with_limit(attribute(), Budget::new(limit, 1e-6).unwrap(), FilterRule::Basic);
        let mut spent = Vec::new();
        for at in places {
            let mut next = spent.clone();
            next.push((1, at));
            let keeps = worst(&next) <= limit;
            prop_assert_eq!(spend(&mut ledger, 1, at).is_ok(), keeps);
            if keeps {
                spent = next;
                let more = ledger.more(None, FilterRule::Basic).unwrap();
                let fits = (0..9).filter(|n| {
                    let mut more = spent.clone();
                    more.extend(std::iter::repeat_n((1, at), *n));
                    worst(&more) <= limit
                });
                prop_assert_eq!(more, fits.max().unwrap() as u64);
            }
        }
    }
}

/// Under every rule ten parts have room for what one has room for.
#[test]
fn every_rule_counts_one_of_ten_parts() {
    for rule in [FilterRule::Basic, FilterRule::Zcdp, FilterRule::Gdp, FilterRule::Renyi] {
        let ledger = || Ledger::with_limit(attribute(), Budget::new(6.0, 1e-4).unwrap(), rule);
        let (mut one, mut ten) = (ledger(), ledger());
        let mut days = 0;
        while one.spend(&mechanism(3), 1, "a day").is_ok() {
            days += 1;
            for i in 0..10 {
                let region = Part::new("regions", &i.to_string(), Partition::ByRow).unwrap();
                ten.spend(&mechanism(3), 1, region.labelled("a day")).unwrap();
            }
        }
        assert!(days > 1, "{rule:?}");
        let first = Part::new("regions", "0", Partition::ByRow).unwrap();
        assert!(ten.spend(&mechanism(3), 1, first.labelled("one day more")).is_err(), "{rule:?}");
        // Another partition of the same name is another: its parts are not those.
        let other = Part::new("regions", "10", Partition::ByUnit).unwrap();
        assert!(ten.spend(&mechanism(3), 1, other.labelled("a day")).is_err(), "{rule:?}");
        let at = Delta::new(1e-4).unwrap();
        let [one, ten] = [&one, &ten].map(|l| l.epsilon(at, Method::Pld).unwrap());
        assert_eq!(one.upper, ten.upper);
        assert!(one.lower.is_some() && ten.lower.is_none());
    }
}

/// Where a change of one unit may touch two parts, none is taken; nothing is entered, past the limit or not.
#[test]
fn partitions_that_a_unit_may_straddle_are_refused() {
    let bounded = Adjacency::ReplaceRow { bound: bound(1.0) };
    let counted = Adjacency::AddRemoveRow { bound: bound(1.0) };
    for (unit, by, allowed) in [
        (attribute(), Partition::ByUnit, true),
        (attribute(), Partition::ByRow, true),
        (attribute(), Partition::ByContent, false),
        (bounded, Partition::ByRow, true),
        (bounded, Partition::ByContent, false),
        (counted, Partition::ByContent, true),
        (counted.of_user(2).unwrap(), Partition::ByContent, false),
        (attribute().of_user(3).unwrap(), Partition::ByRow, false),
        (attribute().of_user(3).unwrap(), Partition::ByUnit, true),
    ] {
        let profile = Profile::RandomizedResponse { bits: 1, keep: bound(0.7) };
        let budget = Budget::new(1.0, 0.0).unwrap();
        let guarantee = Guarantee::declared(unit, budget, profile, "somebody", "says so").unwrap();
        let part = Part::new("regions", "north", by).unwrap();
        let mut ledger = Ledger::new(unit);
        let spent = ledger.spend_accepting_claim(&guarantee, 1, part.labelled("a release"));
        assert_eq!(spent.is_ok(), allowed, "{unit} {by:?}: {spent:?}");
        if let Err(error) = spent {
            assert!(error.to_string().contains("partition"), "{error}");
            assert!(ledger.entries().is_empty());
        }
    }
    for bad in ["", "a\nb"] {
        assert!(Part::new(bad, "x", Partition::ByRow).is_err());
        assert!(Part::new("x", bad, Partition::ByRow).is_err());
    }
    assert!(Part::new("x", &"y".repeat(257), Partition::ByRow).is_err());
}
