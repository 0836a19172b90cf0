//! Releases of parts of the rows in one ledger: what counts is never less than what the worst unit loses, and no more where the
//! parts are released alike.

use dp_core::accounting::{FilterRule, Foreign, Ledger, Method, Part};
use dp_core::adjacency::Partition;
use dp_core::explain::{Explanation, Questions};
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

/// A user with two rows, whose bits are one in each part.
fn user() -> Adjacency {
    attribute().of_user(2).unwrap()
}

/// The same mechanisms, of which it is declared what a user loses in a part, whatever is in it.
fn of_user(kind: usize) -> Guarantee {
    let stated = mechanism(kind);
    let profile = stated.profile().unwrap().clone();
    Guarantee::declared(user(), stated.budget(), profile, "a test", "as if by hand").unwrap()
}

/// Of all rows, or of a part of one of two partitions.
fn place() -> impl Strategy<Value = Option<(usize, usize)>> {
    prop_oneof![Just(None), (0..2usize, 0..3usize).prop_map(Some)]
}

fn part((partition, part): (usize, usize)) -> Part {
    let names = ["regions", "years"];
    let by = [Partition::ByUnit, Partition::ByRow][partition];
    Part::new(names[partition], &part.to_string(), by).unwrap()
}

fn spend(ledger: &mut Ledger, kind: usize, at: Option<(usize, usize)>) -> Result<(), Error> {
    match at.map(part) {
        Some(part) => ledger.spend_accepting_claim(&of_user(kind), 1, part.labelled("a release")),
        None => ledger.spend_accepting_claim(&of_user(kind), 1, "a release"),
    }
}

/// What sees a user of this region whose two rows are of two years, or of one.
fn seen(spent: &[(usize, Option<(usize, usize)>)], row: [usize; 3]) -> Vec<usize> {
    let of = |at: &Option<(usize, usize)>| {
        at.is_none_or(|(partition, part)| match partition {
            0 => row[0] == part,
            _ => row[1..].contains(&part),
        })
    };
    spent.iter().filter(|(_, at)| of(at)).map(|(kind, _)| *kind).collect()
}

/// The user that loses most, by summing over all outcomes of its bits: the largest log-likelihood ratio when it changes.
fn worst(spent: &[(usize, Option<(usize, usize)>)]) -> f64 {
    let rows = (0..27).map(|i| [i / 9, i / 3 % 3, i % 3]);
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
        let mut ledger = Ledger::new(user());
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
        let mut ledger = Ledger::with_limit(user(), Budget::new(limit, 1e-6).unwrap(), FilterRule::Basic);
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

/// A claim's delta, beyond what is known of its loss, counts as often as its epsilon does; what others are told says whose word it is.
#[test]
fn claims_and_what_is_handed_on_count_by_the_same_parts() {
    let claimed = Budget::new(0.5, 1e-7).unwrap();
    let claim = authority!().published(user(), claimed, None, "a rule", "a paper", "none");
    let claim = claim.unwrap();
    for (by, counted) in [(Partition::ByUnit, 2), (Partition::ByRow, 3)] {
        let limit = Budget::new(1.5, 3.01e-7).unwrap();
        let mut ledger = Ledger::with_limit(user(), limit, FilterRule::Basic);
        for name in ["north", "south", "north"] {
            let part = Part::new("regions", name, by).unwrap();
            ledger.spend_accepting_claim(&claim, 1, part.labelled("a claim")).unwrap();
        }
        let (epsilon, delta) = ledger.stated();
        let told = f64::from(counted);
        assert!((epsilon - told * 0.5).abs() < 1e-12 && (delta / told / 1e-7 - 1.0).abs() < 1e-9);
        let at = |delta| ledger.epsilon(Delta::new(delta).unwrap(), Method::Pld);
        assert!(at(told * 1e-7 * 0.99).is_err(), "{by:?}");
        let found = at(told * 1e-7 * 1.01).unwrap();
        assert!((found.upper.get() / (told * 0.5) - 1.0).abs() < 1e-3, "{by:?}: {found:?}");
        let handed = Foreign::of_ledger(&ledger).unwrap();
        let words = format!("composition of {counted} runs");
        assert!(handed.reason.starts_with(&words), "{}", handed.reason);
        assert!(handed.reason.contains("disjoint") && handed.reason.contains("nobody checked"));
        assert!(ledger.to_string().contains("of \"south\" of \"regions\""), "{ledger}");
    }
}

/// The worst inputs of one entry need not be those of another, and parts are bounded by both together: of no ledger it is said
/// that a test reaches its bounds.
#[test]
fn no_test_is_said_to_reach_what_a_ledger_counts() {
    let (mut whole, mut parts) = (Ledger::new(attribute()), Ledger::new(attribute()));
    let part = |name| Part::new("regions", name, Partition::ByRow).unwrap();
    whole.spend(&mechanism(3), 1, "all").unwrap();
    parts.spend(&mechanism(3), 1, part("north").labelled("one")).unwrap();
    let explained = |ledger: &Ledger| {
        let asked = Questions::new(&[0.5], 1e-6).unwrap();
        let alone = Explanation::of(&mechanism(3), &asked).unwrap();
        alone.with_ledger(ledger, None, &asked).unwrap().with_ledger.unwrap()
    };
    let [whole, parts] = [&whole, &parts].map(explained);
    assert!(!whole.reached && !parts.reached);
    assert_eq!(whole.advantage, parts.advantage);
    assert!(parts.words.iter().any(|said| said.contains("disjoint")), "{:?}", parts.words);
}

/// A row that changes may move between parts that are made by what it says. Each then has a row less or more, and no change that
/// leaves the number of rows alone hides that: two files that differ in one value are told apart for certain by the sizes of their
/// parts. Where the unit is a row that comes or goes, each part sees just that.
#[test]
fn parts_by_content_are_of_rows_that_come_and_go() {
    let budget = Budget::new(1.0, 0.0).unwrap();
    let profile = Profile::PureDp { epsilon: budget.epsilon };
    let declared = |adjacency| {
        Guarantee::declared(adjacency, budget, profile.clone(), "a test", "by hand").unwrap()
    };
    let row = Adjacency::AddRemoveRow { bound: bound(1.0) };
    let units = [
        attribute(),
        user(),
        Adjacency::RowShift { l2: bound(1.0) },
        Adjacency::ReplaceRow { bound: bound(1.0) },
        Adjacency::ZeroRow { bound: bound(1.0) },
        Adjacency::AnyInput,
        row,
        row.of_user(3).unwrap(),
    ];
    for unit in units {
        let mut ledger = Ledger::new(unit);
        let spent: Vec<_> = ["a", "b", "c", "d"]
            .iter()
            .map(|name| {
                let part = Part::new("regions", name, Partition::ByContent).unwrap();
                ledger.spend_accepting_claim(&declared(unit), 1, part.labelled("a file"))
            })
            .collect();
        if unit.each() == row {
            assert!(spent.iter().all(Result::is_ok));
            let counted = ledger.epsilon(Delta::ZERO, Method::Basic).unwrap().upper.get();
            assert!((counted - unit.rows() as f64).abs() < 1e-9, "{unit}: {counted}");
            continue;
        }
        for refused in spent {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("no noise hides") && error.contains("by the unit"), "{error}");
        }
        // Nor is a ledger read that says so.
        let part = Part::new("regions", "a", Partition::ByRow).unwrap();
        ledger.spend_accepting_claim(&declared(unit), 1, part.labelled("a file")).unwrap();
        let written = serde_json::to_string(&ledger).unwrap();
        assert!(serde_json::from_str::<Ledger>(&written).is_ok());
    }
}

/// One part has one spelling: none that reads like another's.
#[test]
fn a_part_has_one_spelling() {
    let long = "y".repeat(257);
    for bad in
        ["", "a\nb", "North", " north", "north ", "s\u{fc}d", "su\u{308}d", "a/b", long.as_str()]
    {
        for (partition, name) in [(bad, "x"), ("x", bad)] {
            let error = Part::new(partition, name, Partition::ByRow).unwrap_err().to_string();
            assert!(error.contains("a-z") && !error.contains(&long), "{error}");
        }
        let written = serde_json::json!({"by": "by-row", "name": bad, "partition": "x"});
        assert!(serde_json::from_value::<Part>(written).is_err(), "{bad:?}");
    }
    assert!(Part::new("2025-01", &"y".repeat(256), Partition::ByRow).is_ok());
}
