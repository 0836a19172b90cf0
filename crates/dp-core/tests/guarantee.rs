//! Which guarantees can be made at all: theorem, adjacency, profile, limits.

use crate::certificates::{gaussian, probability, scale, statement};
use dp_core::accounting::{Event, Ledger};
use dp_core::authority;
use dp_core::profile::{CoordinateProfile as C, GaussianStep, RowChange};
use dp_core::*;

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(x: f64) -> B {
    B::try_from(x).unwrap()
}

fn l2(x: f64) -> L2Sensitivity {
    L2Sensitivity::new(x).unwrap()
}

fn adjacencies(size: f64) -> [Adjacency; 7] {
    [
        Adjacency::Attribute { beta: bound(size) },
        Adjacency::RowShift { l2: bound(size) },
        Adjacency::AddRemoveRow { bound: bound(size) },
        Adjacency::ZeroRow { bound: bound(size) },
        Adjacency::ReplaceRow { bound: bound(size) },
        Adjacency::SetItems { alpha: 2, min_size: 9 },
        Adjacency::AnyInput,
    ]
}

/// Profiles of every kind, for rows of norm 1; those about rows for both changes.
fn profiles() -> Vec<Profile> {
    let keep = probability(0.6);
    let (sigma, wide) = (scale(50.0), scale(5000.0));
    let step = GaussianStep { sensitivity: l2(1.5), sigma, times: 2 };
    let mixture = |coordinate| Profile::BinomialMixture {
        trials: 5,
        probability: probability(0.9),
        coordinate,
    };
    let l1 = L1Sensitivity::new(1.0).unwrap();
    let mut all = vec![
        Profile::Gaussian { sensitivity: l2(1.0), sigma },
        Profile::Gaussian { sensitivity: l2(3.0), sigma },
        Profile::GaussianComposition { steps: vec![step] },
        Profile::GaussianComposition {
            steps: vec![GaussianStep { sensitivity: l2(2.5), sigma, times: 2 }; 3],
        },
        Profile::Laplace { sensitivity: l1, scale: LaplaceScale::new(sigma.get()).unwrap() },
        Profile::PureDp { epsilon: Epsilon::new(0.1).unwrap() },
        Profile::GaussianAndPure {
            sensitivity: l2(1.5),
            sigma,
            epsilon: Epsilon::new(0.1).unwrap(),
        },
        Profile::RandomizedResponse { bits: 3, keep },
        Profile::KaryResponse { responses: 3, alphabet: 4, keep },
        Profile::ChiMixtureGaussian { k: 4, entry_shift: l2(1.5), sigma, later_mu: 0.0 },
        mixture(C::RandomizedResponse { keep }),
        mixture(C::KaryResponse { alphabet: 4, keep }),
        mixture(C::Gaussian { shift: l2(1.0), sigma }),
        mixture(C::Laplace { shift: l1, scale: LaplaceScale::new(sigma.get()).unwrap() }),
    ];
    for change in [RowChange::AddRemove, RowChange::Replace] {
        let wishart = Profile::Wishart { dim: 3, dof: 90, bound: bound(1.0), scale: wide, change };
        all.extend([
            Profile::JlMechanism { rows: 5, bound: bound(1.0), lift: wide, change },
            wishart.clone(),
            Profile::SymmetricGaussian { bound: bound(1.0), sigma, change },
            Profile::Repeated { profile: Box::new(wishart), times: 2 },
        ]);
    }
    all
}

fn made(adjacency: Adjacency, profile: &Profile, theorem: Theorem) -> Result<Guarantee> {
    let budget = Budget::new(9.0, 0.999).unwrap();
    authority!().proven(adjacency, budget, profile.clone(), theorem)
}

/// The closed list, from its documentation: adjacencies by first letters, profiles by kind.
#[test]
fn every_theorem_speaks_of_what_its_page_says_and_of_nothing_else() {
    use Theorem as T;
    // A: Attribute, S: RowShift, +: add/remove, 0: zero, R: replace, I: items, any: *.
    let letters = ['A', 'S', '+', '0', 'R', 'I', '*'];
    let expected = |theorem, profile: &Profile| -> &str {
        use Profile as P;
        let rows = |change| if change == RowChange::Replace { "R" } else { "+0" };
        match (theorem, profile) {
            (T::GaussianOnRows, P::Gaussian { .. }) => "S",
            (T::ProjectionGaussian, P::Gaussian { .. }) => "ASR",
            (T::ProjectionLaplace, P::Laplace { .. }) => "ASR",
            (T::ProjectionMultiScale, P::Gaussian { sensitivity, .. }) => match sensitivity.get() {
                1.0 => "ASR",
                _ => "",
            },
            (T::ProjectionFresh, P::ChiMixtureGaussian { .. }) => "ASR",
            (T::SignsTouched | T::BitResponse, P::RandomizedResponse { .. }) => "A",
            (
                T::SignsFresh,
                P::BinomialMixture { coordinate: C::RandomizedResponse { .. }, .. },
            ) => "ASR",
            (T::NoisyDistances, P::Gaussian { .. }) => "AR",
            (
                T::MinHashMixture,
                P::BinomialMixture {
                    coordinate: C::RandomizedResponse { .. } | C::KaryResponse { .. },
                    ..
                }
                | P::KaryResponse { .. },
            ) => "I",
            (
                T::OnePermutation,
                P::KaryResponse { .. }
                | P::BinomialMixture { coordinate: C::KaryResponse { .. }, .. },
            ) => "I",
            (T::BucketResponse, P::KaryResponse { .. }) => "*",
            (T::BoundedValues, P::KaryResponse { .. }) => "A",
            (T::GroupCounts, P::PureDp { .. }) => "I",
            (T::PrivateGroups, P::GaussianAndPure { .. }) => "A",
            (T::UnitVectors, P::PureDp { .. }) => "ASR*",
            (T::RangeFinder | T::FindAndProject, P::ChiMixtureGaussian { .. }) => "S",
            (T::PublicBasis, P::Gaussian { sensitivity, .. }) => match sensitivity.get() {
                1.0 => "S",
                _ => "",
            },
            (T::NoisyPowerMethod, P::GaussianComposition { .. }) => "+0R",
            (T::PrivateNewton, P::GaussianComposition { steps }) if steps.len() == 3 => "+0R",
            (T::CovarianceOfChosenBound, P::GaussianComposition { steps }) if steps.len() == 2 => {
                "+0R"
            }
            // One row replaced moves a covariance by sqrt 2.
            (T::SlidingWindow, P::Gaussian { sensitivity, .. }) => match sensitivity.get() {
                1.0 => "+0",
                _ => "+0R",
            },
            (T::CovarianceGaussian, P::SymmetricGaussian { change, .. })
            | (T::CovarianceWishart, P::Wishart { change, .. })
            | (T::CovarianceJl | T::SlidingWindow, P::JlMechanism { change, .. }) => rows(*change),
            (T::SlidingWindow, P::Repeated { profile, .. }) => match **profile {
                P::Wishart { change, .. } => rows(change),
                _ => "",
            },
            _ => "",
        }
    };
    let (mut accepted, mut names) = (0, std::collections::BTreeSet::new());
    for theorem in Theorem::ALL {
        assert!(names.insert(theorem.to_string()), "{theorem}");
        for profile in profiles() {
            for (adjacency, letter) in adjacencies(1.0 - 1e-10).into_iter().zip(letters) {
                let speaks = expected(theorem, &profile).contains(letter);
                let guarantee = made(adjacency, &profile, theorem);
                let place = format!("{theorem}, {adjacency}, {profile:?}: {guarantee:?}");
                assert_eq!(guarantee.is_ok(), speaks, "{place}");
                // Of several rows of a user where each has an output of its own: of as many as there are responses, where they are
                // counted. (Second moments of three rows move further than any sensitivity here.)
                let rows = matches!(
                    theorem,
                    T::ProjectionGaussian | T::ProjectionLaplace | T::UnitVectors
                );
                let apart = matches!(
                    theorem,
                    T::SignsTouched | T::OnePermutation | T::BucketResponse | T::BoundedValues
                );
                let counted = matches!(
                    profile,
                    Profile::RandomizedResponse { .. } | Profile::KaryResponse { .. }
                );
                let of_user = |rows| made(adjacency.of_user(rows).unwrap(), &profile, theorem);
                let three = speaks && (rows || apart && counted);
                assert_eq!(of_user(3).is_ok(), three, "{place}, of a user");
                assert_eq!(of_user(4).is_ok(), speaks && rows, "{place}, of a user with one more");
                let Ok(guarantee) = guarantee else { continue };
                accepted += 1;
                // A page that exists.
                let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                    .join("../../docs/proofs")
                    .join(theorem.page());
                assert!(page.exists(), "{page:?}");
                // Read back, and no other theorem in its place that does not speak of it.
                let json = serde_json::to_value(&guarantee).unwrap();
                assert_eq!(serde_json::from_value::<Guarantee>(json.clone()).unwrap(), guarantee);
                for other in Theorem::ALL {
                    let mut forged = json.clone();
                    forged["provenance"]["theorem"] = serde_json::to_value(other).unwrap();
                    let read = serde_json::from_value::<Guarantee>(forged);
                    assert_eq!(read.is_ok(), expected(other, &profile).contains(letter));
                }
            }
        }
    }
    assert!(accepted > 50, "{accepted}");
    let free = serde_json::from_str::<Theorem>("\"a theorem of mine\"");
    assert!(free.is_err(), "the list is closed");
}

/// Where the adjacency fixes a least value, less is refused.
#[test]
fn values_below_what_the_adjacency_fixes_are_refused() {
    use Theorem as T;
    let sigma = scale(50.0);
    let gaussian = |s| Profile::Gaussian { sensitivity: l2(s), sigma };
    let chi = |s| Profile::ChiMixtureGaussian { k: 4, entry_shift: l2(s), sigma, later_mu: 0.0 };
    let keep = probability(0.6);
    let mixture = |p, coordinate| Profile::BinomialMixture {
        trials: 5,
        probability: probability(p),
        coordinate,
    };
    let bits = |p| mixture(p, C::RandomizedResponse { keep });
    let letters = |p| mixture(p, C::KaryResponse { alphabet: 4, keep });
    let steps = |s| {
        let step = |s| GaussianStep { sensitivity: l2(s), sigma, times: 1 };
        Profile::GaussianComposition { steps: vec![step(30.0), step(s)] }
    };
    let (two, three) = (bound(2.0), bound(3.0));
    let (shift, attribute) = (Adjacency::RowShift { l2: two }, Adjacency::Attribute { beta: two });
    let (add, replace) =
        (Adjacency::AddRemoveRow { bound: three }, Adjacency::ReplaceRow { bound: three });
    let items = Adjacency::SetItems { alpha: 5, min_size: 9 };
    // alpha 5, at least 9 items: 7 in common of 12, so one minimum differs with 5/12.
    let least = 5.0 / 12.0;
    let sqrt_2 = core::f64::consts::SQRT_2;
    type Rule<'a> = (Theorem, Adjacency, f64, &'a dyn Fn(f64) -> Profile);
    let rules: [Rule<'_>; 14] = [
        (T::GaussianOnRows, shift, 2.0, &gaussian),
        (T::ProjectionFresh, shift, 1.0, &chi),
        (T::ProjectionFresh, attribute, 1.0, &chi),
        (T::ProjectionFresh, replace, 3.0, &chi),
        (T::RangeFinder, shift, 1.0, &chi),
        (T::FindAndProject, shift, 1.0, &chi),
        (T::NoisyPowerMethod, add, 9.0, &steps),
        (T::NoisyPowerMethod, replace, 9.0 * sqrt_2, &steps),
        (T::SlidingWindow, add, 9.0, &gaussian),
        (T::SlidingWindow, replace, 9.0 * sqrt_2, &gaussian),
        (T::MinHashMixture, items, 0.5 * least, &bits),
        (T::MinHashMixture, items, 0.75 * least, &letters),
        (T::MinHashMixture, Adjacency::SetItems { alpha: 1, min_size: 1 }, 0.25, &bits),
        (T::MinHashMixture, Adjacency::SetItems { alpha: 9, min_size: 1 }, 0.5, &bits),
    ];
    for (theorem, adjacency, least, profile) in rules {
        made(adjacency, &profile(least * (1.0 + 1e-12)), theorem).unwrap();
        let error = made(adjacency, &profile(least * (1.0 - 1e-6)), theorem).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("must be at least"), "{theorem}, {adjacency}: {text}");
    }
}

#[test]
fn a_guarantee_says_who_declares_it_and_why() {
    let (profile, _) = gaussian(4.0);
    let row = Adjacency::RowShift { l2: bound(1.0) };
    let budget = Budget::new(1.0, 0.1).unwrap();
    let p = || profile.clone();
    assert!(Guarantee::declared(row, budget, p(), "", "why").is_err());
    assert!(Guarantee::declared(row, budget, p(), "who", "  ").is_err());
    assert!(authority!().published(row, budget, Some(p()), "rule", "", "caveat").is_err());
    let declared = Guarantee::declared(row, budget, p(), "who", "why").unwrap();
    assert_eq!(declared.provenance().theorem(), None);
    assert_eq!((declared.adjacency(), declared.budget()), (row, budget));
    assert_eq!((declared.profile(), declared.claim()), (Some(&profile), Claim::Met));
    declared.verify().unwrap();
    // A missed budget is refused, whoever says so, and so is one that is read back without profile.
    let tight = Budget::new(0.1, 1e-9).unwrap();
    for made in [
        authority!().proven(row, tight, p(), Theorem::GaussianOnRows),
        Guarantee::declared(row, tight, p(), "who", "why"),
        authority!().published(row, tight, Some(p()), "rule", "paper", "caveat"),
    ] {
        assert!(matches!(made, Err(Error::RuleMissesBudget { .. })), "{made:?}");
    }
    for guarantee in [declared, made(row, &p(), Theorem::GaussianOnRows).unwrap()] {
        let mut value = serde_json::to_value(&guarantee).unwrap();
        value["profile"] = serde_json::Value::Null;
        value["claim"] = "unchecked".into();
        assert!(serde_json::from_value::<Guarantee>(value.clone()).is_err());
        // Missed, and owned up to: only a published claim may.
        value["profile"] = serde_json::to_value(&profile).unwrap();
        value["claim"] = "missed-accepted-by-name".into();
        value["budget"]["delta"] = 1e-12.into();
        assert!(serde_json::from_value::<Guarantee>(value).is_err());
    }
    // The met claim of a rule accepted by name is a met claim.
    let met = authority!().published_accepting_true_delta(row, budget, p(), "p", "c").unwrap();
    assert_eq!(met.claim(), Claim::Met);
    let missed = authority!().published_accepting_true_delta(row, tight, p(), "p", "c").unwrap();
    assert_eq!(missed.claim(), Claim::MissedAcceptedByName);
}

/// Two machines' elementary functions may differ by 1e-11 of ln delta, and no more is allowed.
#[test]
fn a_delta_is_read_back_with_little_room() {
    let row = Adjacency::RowShift { l2: bound(1.0) };
    for (sigma, epsilon, room) in [(4.0, 4.0, 1.34e-9), (1.0, 0.1, 1e-11)] {
        let (profile, _) = gaussian(sigma);
        let ln = profile.log_delta(Epsilon::new(epsilon).unwrap()).get();
        let stated = 1e-11 * ln.abs().max(1.0);
        assert!((stated / room - 1.0).abs() < 0.1, "{stated}");
        let budget = Budget::new(epsilon, ln.exp() * (1.0 + 1e-9)).unwrap();
        let made = authority!().proven(row, budget, profile, Theorem::GaussianOnRows).unwrap();
        for (below, holds) in [(0.5, true), (2.0, false)] {
            let mut value = serde_json::to_value(&made).unwrap();
            value["budget"]["delta"] = (ln.exp() * (1.0 - below * room)).into();
            let read = serde_json::from_value::<Guarantee>(value);
            assert_eq!(read.is_ok(), holds, "{sigma}, {below}: {read:?}");
        }
    }
}

/// The limits of every parameter: the last good value and the first bad one.
#[test]
fn every_parameter_has_its_limits() {
    let keep = probability(0.75);
    let (two_16, two_24, two_40) = (1u64 << 16, 1u64 << 24, 1u64 << 40);
    let sigma = scale(1.0);
    let l1 = |x: f64| L1Sensitivity::new(x).unwrap();
    let mixture = |trials, p, coordinate| Profile::BinomialMixture {
        trials,
        probability: probability(p),
        coordinate,
    };
    let bit = C::RandomizedResponse { keep };
    let steps = |n: usize, times| {
        let step = GaussianStep { sensitivity: l2(1.0), sigma, times };
        Profile::GaussianComposition { steps: vec![step; n] }
    };
    let repeated =
        |profile: Profile, times| Profile::Repeated { profile: Box::new(profile), times };
    let change = RowChange::AddRemove;
    let jl = |rows, x| Profile::JlMechanism { rows, bound: bound(x), lift: sigma, change };
    let wishart =
        |dim, dof, x| Profile::Wishart { dim, dof, bound: bound(x), scale: sigma, change };
    let chi =
        |k, later_mu| Profile::ChiMixtureGaussian { k, entry_shift: l2(1.0), sigma, later_mu };
    let kary = |responses, alphabet| Profile::KaryResponse { responses, alphabet, keep };
    let response = |bits| Profile::RandomizedResponse { bits, keep };
    let shift = |x| Profile::Gaussian { sensitivity: l2(x), sigma };
    let laplace =
        |x| Profile::Laplace { sensitivity: l1(x), scale: LaplaceScale::new(sigma.get()).unwrap() };
    let symmetric = |x| Profile::SymmetricGaussian { bound: bound(x), sigma, change };
    let pure = |x| Profile::PureDp { epsilon: Epsilon::new(x).unwrap() };
    let good = [
        shift(1e-100),
        shift(1e6),
        laplace(1e6),
        pure(1e6),
        pure(1e-100),
        symmetric(1e3),
        steps(1, 1),
        steps(4096, 1),
        steps(1, two_40),
        response(1),
        response(two_24),
        kary(1, 2),
        kary(two_16, 1 << 32),
        chi(1, 0.0),
        chi(two_40, 1e6),
        jl(1, 1e6),
        jl(two_40, 1.0),
        wishart(1, two_40, 1e6),
        mixture(1, 1.0, bit),
        mixture(two_16, 1e-300, bit),
        mixture(1, 1.0, C::Gaussian { shift: l2(1e6), sigma }),
        repeated(response(1), 1),
        repeated(response(1), 1024),
    ];
    for profile in good {
        profile.check_limits().unwrap();
        Event::new(profile, 1).unwrap();
    }
    let budget = Budget::new(1.0, 0.99).unwrap();
    let bad = [
        shift(0.99e-100),
        shift(1.01e6),
        laplace(1.01e6),
        pure(1.01e6),
        pure(0.99e-100),
        symmetric(1.01e3),
        symmetric(1e200),
        shift(1e300),
        steps(0, 1),
        steps(4097, 1),
        steps(1, 0),
        steps(1, two_40 + 1),
        steps(2, u64::MAX),
        response(0),
        response(two_24 + 1),
        response(1 << 50),
        response(u64::MAX),
        kary(0, 4),
        kary(two_16 + 1, 4),
        kary(1 << 63, 4),
        kary(1, 1),
        kary(1, 0),
        kary(1, (1 << 32) + 1),
        chi(0, 0.0),
        chi(two_40 + 1, 0.0),
        chi(1, -1e-9),
        chi(1, 1.01e6),
        chi(1, f64::NAN),
        jl(0, 1.0),
        jl(two_40 + 1, 1.0),
        jl(1, 1.01e6),
        wishart(0, 9, 1.0),
        wishart(1, two_40 + 1, 1.0),
        wishart(1, 0, 1.0),
        wishart(two_40 + 1, 9, 1.0),
        wishart(1, 9, 1.01e6),
        mixture(0, 0.5, bit),
        mixture(two_16 + 1, 0.5, bit),
        mixture(1 << 40, 0.5, bit),
        mixture(3, 0.0, bit),
        mixture(3, 0.5, C::KaryResponse { alphabet: 1, keep }),
        mixture(3, 0.5, C::Gaussian { shift: l2(1.01e6), sigma }),
        mixture(
            3,
            0.5,
            C::Laplace { shift: l1(0.9e-100), scale: LaplaceScale::new(sigma.get()).unwrap() },
        ),
        repeated(response(1), 0),
        repeated(response(1), 1025),
        repeated(response(1), u64::MAX),
        repeated(response(0), 2),
        repeated(repeated(response(1), 2), 2),
    ];
    let any = Adjacency::AnyInput;
    for profile in bad {
        let refused = profile.check_limits();
        assert!(matches!(refused, Err(Error::InvalidParameter { .. })), "{profile:?}");
        assert!(Event::new(profile.clone(), 1).is_err());
        assert!(Guarantee::declared(any, budget, profile.clone(), "me", "so").is_err());
        assert!(
            authority!().published_accepting_true_delta(any, budget, profile, "p", "c").is_err()
        );
    }
}

/// Texts that asked their reader for gigabytes, minutes or a panic: refused before anything is
/// evaluated, whether their digest is right or not.
#[test]
fn hostile_texts_are_refused_before_they_are_evaluated() {
    let hostile = [
        r#"{"kind":"repeated","profile":{"kind":"randomized-response","bits":1125899906842624,"keep":0.9},"times":2}"#,
        r#"{"kind":"binomial-mixture","trials":1099511627776,"probability":0.5,"coordinate":{"kind":"randomized-response","keep":0.9}}"#,
        r#"{"kind":"kary-response","responses":9223372036854775808,"alphabet":4,"keep":0.9}"#,
        r#"{"kind":"repeated","profile":{"kind":"laplace","sensitivity":1.0,"scale":1e-8},"times":2}"#,
        r#"{"kind":"gaussian-composition","steps":[{"sensitivity":1.0,"sigma":1.0,"times":18446744073709551615}]}"#,
        r#"{"kind":"wishart","dim":4000000000,"dof":18446744073709551615,"bound":1.0,"scale":1.0,"change":"add-remove"}"#,
    ];
    let (profile, noise) = gaussian(4.0);
    let row = Adjacency::RowShift { l2: bound(1.0) };
    let guarantee = made(row, &profile, Theorem::GaussianOnRows).unwrap();
    let certificate = authority!().certificate(statement(noise), guarantee.clone());
    let mut ledger = Ledger::new(row);
    ledger.spend(&guarantee, 1, "x").unwrap();
    let plain = serde_json::to_string(&profile).unwrap();
    for text in hostile {
        let forged = serde_json::to_string(&certificate).unwrap().replace(&plain, text);
        assert!(forged.contains(text));
        let error = Certificate::from_json(&forged).unwrap_err().to_string();
        assert!(error.contains("digest"), "the digest comes first: {error}");
        let forged = serde_json::to_string(&guarantee).unwrap().replace(&plain, text);
        let error = serde_json::from_str::<Guarantee>(&forged).unwrap_err().to_string();
        assert!(error.contains("not allowed"), "{error}");
        let forged = serde_json::to_string(&ledger).unwrap().replace(&plain, text);
        assert!(serde_json::from_str::<Ledger>(&forged).is_err());
    }
    // Deep nesting and length.
    let nested = |n: usize| {
        let (open, close) = (r#"{"kind":"several","laws":["#, "]}");
        format!("{}{}", open.repeat(n), close.repeat(n))
    };
    let law = serde_json::to_string(&certificate.statement().noise).unwrap();
    for n in [2, 50, 100_000] {
        let forged = serde_json::to_string(&certificate).unwrap().replace(&law, &nested(n));
        assert!(forged.contains("several") && Certificate::from_json(&forged).is_err());
    }
    let long = certificate.to_json() + &" ".repeat(1 << 20);
    assert!(Certificate::from_json(&long).unwrap_err().to_string().contains("bytes"));
}

/// A value that may be anything within its bound may move by twice the bound.
#[test]
fn any_value_within_a_bound_moves_by_twice_the_bound() {
    let adjacency = Adjacency::any_value_within(bound(1.5)).unwrap();
    assert_eq!(adjacency, Adjacency::Attribute { beta: bound(3.0) });
    assert!(Adjacency::any_value_within(bound(f64::MAX)).is_err());
}
