//! What a change of raw values becomes after a public map: never more than a ledger counts, and as much for some values.

use dp_core::accounting::{Ledger, Method, Named};
use dp_core::certificate::preprocessing::{ColumnMap, MappedColumn, Preprocessing};
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::{GeneratorKind, Grid, NoiseLaw};
use dp_core::profile::RowChange;
use dp_core::{
    Adjacency, Budget, Delta, Guarantee, L2Sensitivity, NoiseScale, NormBound, PrivacyProfile,
    Profile, Shift, Theorem, authority,
};
use proptest::prelude::*;

fn map() -> impl Strategy<Value = ColumnMap> {
    let range = prop::option::of((-3.0..3.0f64, 0.01..4.0f64));
    (range, prop::option::of(-2.0..2.0f64), prop::option::of(-30.0..30.0f64)).prop_map(
        |(range, shift, scale)| ColumnMap {
            low: range.map(|(low, _)| low),
            high: range.map(|(low, width)| low + width),
            shift,
            scale: scale.filter(|s| s.is_normal()),
            missing: None,
        },
    )
}

fn beta(unit: Adjacency) -> f64 {
    match unit {
        Adjacency::Attribute { beta } => beta.get(),
        Adjacency::RowShift { l2 } => l2.get(),
        other => panic!("{other}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_change_is_larger_than_what_is_counted(
        default in map(), own in map(), size in 0.01..5.0f64,
        rows in prop::collection::vec((prop::array::uniform3(-6.0..6.0f64), prop::array::uniform3(-1.0..1.0f64)), 60),
    ) {
        let column = MappedColumn { at: 2, map: own, name: "b".into() };
        let all = Preprocessing { columns: vec![column], d: 3, default };
        all.check().unwrap();
        let shift = Shift::new(size).unwrap();
        let [value, row] = [Adjacency::Attribute { beta: shift }, Adjacency::RowShift { l2: shift }]
            .map(|unit| beta(all.of_unit(unit).unwrap()));
        prop_assert!(value >= size && row >= value * (1.0 - 1e-15));
        // Results are rounded, as the page says: three operations of numbers below a thousand.
        let rounding = 1e-12;
        let mapped = |j: usize, x: f64| all.map(j).apply(x).unwrap();
        for (x, step) in rows {
            let norm = step.iter().map(|v| v * v).sum::<f64>().sqrt();
            let mut moved = 0.0;
            for j in 0..3 {
                let whole = (mapped(j, x[j] + size * step[j].signum()) - mapped(j, x[j])).abs();
                prop_assert!(whole <= value + rounding, "{j}: {whole} {value}");
                moved += (mapped(j, x[j] + size * step[j] / norm) - mapped(j, x[j])).powi(2);
            }
            prop_assert!(moved.sqrt() <= row + rounding, "{} {row}", moved.sqrt());
        }
    }
}

#[test]
fn what_is_counted_is_reached() {
    let default = ColumnMap { scale: Some(-0.5), ..ColumnMap::default() };
    let steep =
        ColumnMap { low: Some(0.0), high: Some(2.0), scale: Some(3.0), ..ColumnMap::default() };
    let columns = vec![MappedColumn { at: 1, map: steep, name: "a".into() }];
    let all = Preprocessing { columns, d: 2, default };
    let counted = |beta_raw: f64| {
        beta(all.of_unit(Adjacency::Attribute { beta: Shift::new(beta_raw).unwrap() }).unwrap())
    };
    assert_eq!(counted(1.0), 3.0);
    // Across the range, and no further; then the unit itself is more.
    assert_eq!(counted(2.5), 6.0);
    assert_eq!(counted(7.0), 7.0);
    // A width is rounded up where it is not a number, and only there.
    for (low, wide) in [(-(2f64.powi(-60)), 1.0 + f64::EPSILON), (2f64.powi(-60), 1.0), (-1.0, 2.0)]
    {
        let map =
            ColumnMap { low: Some(low), high: Some(1.0), scale: Some(8.0), ..ColumnMap::default() };
        let all = Preprocessing { columns: vec![], d: 2, default: map };
        let unit = Adjacency::Attribute { beta: Shift::new(3.0).unwrap() };
        assert_eq!(beta(all.of_unit(unit).unwrap()), 8.0 * wide, "{low}");
    }
    // A user's rows, each; what is no change of values stays what it is.
    let one = Adjacency::Attribute { beta: Shift::new(1.0).unwrap() };
    assert_eq!(all.of_unit(one.of_user(4).unwrap()).unwrap().rows(), 4);
    assert_eq!(beta(all.of_unit(one.of_user(4).unwrap()).unwrap().each()), 3.0);
    for unit in [
        Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() },
        Adjacency::ReplaceRow { bound: NormBound::new(1.0).unwrap() },
        Adjacency::AnyInput,
    ] {
        assert_eq!(all.of_unit(unit).unwrap(), unit);
    }
    // Squares, and products, of numbers that are very small: none is counted for less than it moves.
    for (wide, scale, l2) in [(1e-170, 1e5, 1e-170), (1e-300, 1e-10, 5e-324), (5e-324, 3.0, 1e-320)]
    {
        let map = ColumnMap {
            low: Some(0.0),
            high: Some(wide),
            scale: Some(scale),
            ..ColumnMap::default()
        };
        let all = Preprocessing { columns: vec![], d: 4, default: map };
        let row = Adjacency::RowShift { l2: Shift::new(l2).unwrap() };
        let counted = beta(all.of_unit(row).unwrap());
        // All four values move as far as they can, or the shift goes as far as it can.
        let (across, along) = (2.0 * map.apply(wide).unwrap(), l2 * scale);
        assert!(
            counted >= l2 && counted >= across.min(along),
            "{wide}: {counted} {across} {along}"
        );
    }
    let huge = Adjacency::Attribute { beta: Shift::new(1e308).unwrap() };
    let far = Preprocessing {
        columns: vec![],
        d: 2,
        default: ColumnMap { scale: Some(10.0), ..default },
    };
    assert!(far.of_unit(huge).is_err());
}

/// A ledger counts a release of mapped values by what a change of its unit becomes.
#[test]
fn a_ledger_counts_what_a_change_becomes() {
    let unit = Adjacency::Attribute { beta: Shift::new(1.0).unwrap() };
    let default = ColumnMap { low: None, high: None, shift: None, scale: Some(4.0), missing: None };
    let map = Preprocessing { columns: Vec::new(), d: 3, default };
    let profile = Profile::Gaussian {
        sensitivity: L2Sensitivity::new(1.0).unwrap(),
        sigma: NoiseScale::new(8.0).unwrap(),
    };
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let release = Guarantee::declared(unit, budget, profile, "a test", "a formula").unwrap();
    let epsilon = |map: Option<&Preprocessing>| {
        let mut ledger = Ledger::new(unit);
        let named = Named::from("mapped").mapped(map);
        ledger.spend_accepting_claim(&release, 1, named).unwrap();
        ledger.epsilon(Delta::new(1e-6).unwrap(), Method::Gdp).unwrap().upper.get()
    };
    let of = |mu: f64| {
        let sensitivity = L2Sensitivity::new(mu).unwrap();
        let one = Profile::Gaussian { sensitivity, sigma: NoiseScale::new(1.0).unwrap() };
        one.epsilon(Delta::new(1e-6).unwrap()).unwrap().get()
    };
    assert!((epsilon(None) / of(0.125) - 1.0).abs() < 1e-6);
    assert!((epsilon(Some(&map)) / of(0.5) - 1.0).abs() < 1e-6);
}

/// A row that is replaced, or becomes zero, before the map moves a mapped row as far as a shift of all of it: a guarantee about
/// shifts of mapped rows pays for that, whatever the ledger is about.
#[test]
fn replaced_and_zeroed_rows_are_shifts_before_the_map() {
    let bound = NormBound::new(1.0).unwrap();
    let shift = |l2: f64| Adjacency::RowShift { l2: Shift::new(l2).unwrap() };
    let scaled = |scale: f64, shift: Option<f64>| Preprocessing {
        columns: vec![],
        d: 3,
        default: ColumnMap { scale: Some(scale), shift, ..ColumnMap::default() },
    };
    let profile = Profile::Gaussian {
        sensitivity: L2Sensitivity::new(1.0).unwrap(),
        sigma: NoiseScale::new(8.0).unwrap(),
    };
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let release =
        |unit| Guarantee::declared(unit, budget, profile.clone(), "a test", "a formula").unwrap();
    let mu = |release: &Guarantee, unit: Adjacency, map: Option<&Preprocessing>| {
        let mut ledger = Ledger::new(unit);
        ledger.spend_accepting_claim(release, 1, Named::from("mapped").mapped(map)).unwrap();
        ledger.epsilon(Delta::new(1e-6).unwrap(), Method::Gdp).unwrap().upper.get()
    };
    let near = |found: f64, mu: f64| {
        let sensitivity = L2Sensitivity::new(mu).unwrap();
        let one = Profile::Gaussian { sensitivity, sigma: NoiseScale::new(1.0).unwrap() };
        let expected = one.epsilon(Delta::new(1e-6).unwrap()).unwrap().get();
        assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
    };
    // Shifts by two of mapped rows: 1/8.
    let moved = release(shift(2.0));
    let [replaced, zeroed] = [Adjacency::ReplaceRow { bound }, Adjacency::ZeroRow { bound }];
    for (unit, raw) in [(replaced, 2.0), (zeroed, 1.0)] {
        near(mu(&moved, unit, None), 0.125);
        for scale in [0.5, 1.0, 3.0, 1000.0] {
            for offset in [None, Some(0.25)] {
                let map = scaled(scale, offset);
                let steps = (raw * scale.max(1.0) / 2.0).ceil();
                near(mu(&moved, unit, Some(&map)), steps / 8.0);
                let user = unit.of_user(3).unwrap();
                near(mu(&moved, user, Some(&map)), 3.0 * steps / 8.0);
            }
        }
    }
    // A range caps it: no mapped row moves further than across.
    let range = ColumnMap { low: Some(0.0), high: Some(1.0), ..ColumnMap::default() };
    let map = ColumnMap { scale: Some(40.0), ..range };
    let capped = Preprocessing { columns: vec![], d: 3, default: map };
    near(mu(&moved, replaced, Some(&capped)), (40.0 * 3f64.sqrt() / 2.0).ceil() / 8.0);
    // Never less than the unit itself.
    let wide = Adjacency::ReplaceRow { bound: NormBound::new(40.0).unwrap() };
    let capped = Preprocessing { columns: vec![], d: 3, default: range };
    near(mu(&moved, wide, Some(&capped)), 40.0 / 8.0);

    // Of zeroed rows: the release's own change where zero stays zero, else two of them.
    let zeroing = release(zeroed);
    near(mu(&zeroing, zeroed, Some(&scaled(5.0, None))), 0.125);
    near(mu(&zeroing, zeroed, Some(&scaled(5.0, Some(0.0)))), 0.125);
    near(mu(&zeroing, zeroed, Some(&scaled(5.0, Some(-1.0)))), 0.25);
    let floor = ColumnMap { low: Some(0.1), ..ColumnMap::default() };
    let lifted = Preprocessing { columns: vec![], d: 3, default: floor };
    near(mu(&zeroing, zeroed, Some(&lifted)), 0.25);
    let mut one = scaled(5.0, None);
    let map = ColumnMap { shift: Some(1e-9), ..ColumnMap::default() };
    one.columns.push(MappedColumn { at: 2, map, name: "b".into() });
    near(mu(&zeroing, zeroed, Some(&one)), 0.25);
    // Replaced rows are any rows, before and behind.
    near(mu(&release(replaced), replaced, Some(&scaled(5.0, Some(-1.0)))), 0.125);
}

/// A guarantee about rows that come and go may be asked about zeroed ones: by itself it is not handed on where the map moves zero.
#[test]
fn guarantees_of_rows_that_come_and_go_are_not_handed_on_where_zero_moves() {
    let bound = NormBound::new(1.0).unwrap();
    let (sigma, grid) = (NoiseScale::new(8.0).unwrap(), Grid::new(-30).unwrap());
    let profile = Profile::SymmetricGaussian { bound, sigma, change: RowChange::AddRemove };
    let budget = Budget::new(1.0, 1e-2).unwrap();
    let unit = Adjacency::AddRemoveRow { bound };
    let theorem = Theorem::CovarianceGaussian;
    let handed = |map: ColumnMap| {
        let guarantee = authority!().proven(unit, budget, profile.clone(), theorem).unwrap();
        let map = Preprocessing { columns: vec![], d: 2, default: map };
        let public = PublicParameters::from([
            ("d".to_owned(), 2_u64.into()),
            (Preprocessing::KEY.to_owned(), map.text().into()),
        ]);
        let noise = NoiseLaw::SymmetricGaussian { sigma, grid };
        let generator = GeneratorKind::OsChacha12;
        let statement = Statement { mechanism: "a test".into(), noise, generator, public };
        Guarantee::try_from(&authority!().certificate(statement, guarantee))
    };
    let scaled = ColumnMap { scale: Some(5.0), ..ColumnMap::default() };
    let moved = ColumnMap { shift: Some(0.3), ..ColumnMap::default() };
    assert!(handed(scaled).is_ok());
    let error = handed(moved).unwrap_err().to_string();
    assert!(error.contains("mapped") && error.contains("ledger record"), "{error}");
}
