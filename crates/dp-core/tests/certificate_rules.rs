//! What verification knows of profiles, noise laws and adjacencies, and refuses to believe.

use crate::certificates::{
    b_of, gaussian, known_pairs, laplace, probability, proven, row, scale, statement,
};
use dp_core::authority;
use dp_core::noise::{Grid, NoiseLaw};
use dp_core::*;

#[test]
fn pairs_that_no_rule_knows_are_rejected() {
    let (g, gn) = gaussian(4.0);
    let (l, ln) = laplace(2.0);
    for (profile, noise) in [(g.clone(), ln), (l, gn), (g, NoiseLaw::None)] {
        let error = proven(row(), 0.3, profile, noise).verify().unwrap_err().to_string();
        assert!(error.contains("is not known to give"), "{error}");
    }
}

/// What holds of one law's scale says nothing of another's: a Laplace profile does not pay for
/// Gaussian noise, whoever states it.
#[test]
fn the_scale_of_one_law_does_not_pay_for_another() {
    use dp_core::profile::CoordinateProfile as C;
    let ((g, gn), (l, ln)) = (gaussian(8.0), laplace(8.0));
    let mixture = |coordinate| Profile::BinomialMixture {
        trials: 20,
        probability: probability(0.5),
        coordinate,
    };
    let l1 = L1Sensitivity::new(1.0).unwrap();
    let l2 = L2Sensitivity::new(1.0).unwrap();
    let both = [
        (l, gn.clone()),
        (g, ln.clone()),
        (mixture(C::Laplace { shift: l1, scale: b_of(8.0) }), gn),
        (mixture(C::Gaussian { shift: l2, sigma: scale(8.0) }), ln),
    ];
    for (profile, noise) in both {
        let error = proven(row(), 0.3, profile, noise).verify().unwrap_err().to_string();
        assert!(error.contains("is not known to give"), "{error}");
    }
}

/// A thousand flipped bits are no single one: what holds of a pure profile with caps pays for nothing else.
#[test]
fn the_theorem_of_caps_speaks_of_no_other_noise() {
    let epsilon = Epsilon::new(2.0).unwrap();
    let certificate = |noise: NoiseLaw| {
        let (budget, profile) = (Budget::new(2.0, 0.0).unwrap(), Profile::PureDp { epsilon });
        let guarantee = authority!()
            .proven(Adjacency::AnyInput, budget, profile, Theorem::UnitVectors)
            .unwrap();
        authority!().certificate(statement(noise), guarantee)
    };
    let cap = |threshold, inside, grid| NoiseLaw::UnitCap {
        threshold,
        inside: probability(inside),
        grid: Grid::new(grid).unwrap(),
    };
    certificate(cap(0.78, 0.6, -20)).verify().unwrap();
    for (noise, what) in [
        (NoiseLaw::BitFlip { keep: probability(0.8) }, "unit-vectors"),
        (cap(0.78, 0.95, -20), "epsilon"),
        (cap(0.78, 0.1, -20), "cap"),
        (cap(-1.0, 0.9, -20), "cap"),
        (cap(13.0, 0.9, -20), "cap"),
        (cap(0.78, 0.6, -3), "grid"),
    ] {
        let error = certificate(noise).verify_consistency().unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

/// Two items move counts by two.
#[test]
fn the_theorem_of_counts_pays_for_every_item() {
    let certificate = |alpha, epsilon: f64, noise| {
        let profile = Profile::PureDp { epsilon: Epsilon::new(epsilon).unwrap() };
        let (items, budget) =
            (Adjacency::SetItems { alpha, min_size: 1 }, Budget::new(epsilon, 0.0).unwrap());
        let guarantee = authority!().proven(items, budget, profile, Theorem::GroupCounts).unwrap();
        authority!().certificate(statement(noise), guarantee)
    };
    let integer = NoiseLaw::DiscreteLaplace { scale: b_of(2.0) };
    certificate(1, 0.5, integer.clone()).verify().unwrap();
    certificate(2, 1.0, integer.clone()).verify().unwrap();
    for (alpha, epsilon, noise, what) in [
        (1, 0.49, integer.clone(), "epsilon"),
        (2, 0.5, integer.clone(), "epsilon"),
        (1 << 40, 1.0, integer, "epsilon"),
        (1, 2.0, NoiseLaw::BitFlip { keep: probability(0.8) }, "group-counts"),
        (1, 2.0, NoiseLaw::KaryResponse { alphabet: 3, keep: probability(0.6) }, "group-counts"),
    ] {
        let error = certificate(alpha, epsilon, noise).verify_consistency().unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
}

/// A profile of sensitivity one does not say how much noise each of several laws has.
#[test]
fn several_laws_do_not_hide_behind_one_gaussian() {
    let unit = L2Sensitivity::new(1.0).unwrap();
    let profile = Profile::Gaussian { sensitivity: unit, sigma: scale(10.0) };
    let law = NoiseLaw::RoundedGaussian { sigma: scale(1e-9), grid: Grid::new(-60).unwrap() };
    let several = || NoiseLaw::Several { laws: vec![law.clone()] };
    let shift = Adjacency::RowShift { l2: Shift::new(0.5).unwrap() };
    let certificate = |theorem| {
        let budget = Budget::new(1.0, 1e-6).unwrap();
        let guarantee = authority!().proven(shift, budget, profile.clone(), theorem).unwrap();
        authority!().certificate(statement(several()), guarantee)
    };
    for theorem in [Theorem::ProjectionGaussian, Theorem::GaussianOnRows] {
        let error = certificate(theorem).verify_consistency().unwrap_err().to_string();
        assert!(error.contains("speaks of one law"), "{error}");
    }
    for theorem in [Theorem::ProjectionMultiScale, Theorem::PublicBasis] {
        certificate(theorem).verify_consistency().unwrap();
    }
}

/// Laws and maps are held to the rules of the format in certificates of every class.
#[test]
fn weak_certificates_state_laws_that_there_are() {
    let coarse = NoiseLaw::RoundedGaussian { sigma: scale(1.0), grid: Grid::new(0).unwrap() };
    let nested = NoiseLaw::Several { laws: vec![NoiseLaw::Several { laws: vec![] }] };
    let of_data = NoiseLaw::DataDependent { rule: "whatever the rows say".into() };
    let individual = |noise| {
        let budget = Budget::new(1.0, 0.0).unwrap();
        IndividualCertificate::new(statement(noise), row(), budget, "a source").verify()
    };
    let none = |noise| NoGuarantee::new(statement(noise), "a reason").verify();
    for bad in [coarse, nested] {
        assert!(individual(bad.clone()).is_err() && none(bad.clone()).is_err(), "{bad:?}");
    }
    individual(of_data.clone()).unwrap();
    assert!(none(of_data.clone()).unwrap_err().to_string().contains("only individual"));
    let listed = NoiseLaw::Several { laws: vec![of_data.clone()] };
    assert!(none(listed).is_err());
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let claim = authority!().published(row(), budget, None, "a rule", "a paper", "none").unwrap();
    let error = authority!().certificate(statement(of_data), claim).verify_consistency();
    assert!(error.unwrap_err().to_string().contains("only individual"));
    let mut mapped = statement(NoiseLaw::None);
    mapped.public.insert("preprocessing".into(), "{}".into());
    let error = NoGuarantee::new(mapped, "a reason").verify().unwrap_err().to_string();
    assert!(error.contains("only private"), "{error}");
}

/// Outputs that differ at all differ by a step of the grid.
#[test]
fn a_coarse_grid_is_rejected() {
    let sigma = scale(4.2247);
    let sensitivity = L2Sensitivity::new(1.0).unwrap();
    let profile = Profile::Gaussian { sensitivity, sigma };
    let noise = |exponent| NoiseLaw::RoundedGaussian { sigma, grid: Grid::new(exponent).unwrap() };
    let at = |exponent| proven(row(), 1.0, profile.clone(), noise(exponent));
    at(-30).verify().unwrap();
    at(-7).verify().unwrap();
    for exponent in [-6, 0, 1, 20] {
        let error = at(exponent).verify_consistency().unwrap_err().to_string();
        assert!(error.contains("noise.grid"), "{error}");
    }
    // A sensitivity below the spacing leaves out what rounding moves.
    let fine = L2Sensitivity::new(1e-3).unwrap();
    let small = Profile::Gaussian { sensitivity: fine, sigma };
    let adjacency = Adjacency::RowShift { l2: Shift::new(1e-3).unwrap() };
    let error = proven(adjacency, 1e-5, small.clone(), noise(-9)).verify().unwrap_err();
    assert!(error.to_string().contains("sensitivity on the noise's grid"), "{error}");
    proven(adjacency, 1e-5, small, noise(-10)).verify().unwrap();
    // The same of a list and of symmetric noise.
    let laws = vec![noise(20)];
    let one = Profile::Gaussian { sensitivity, sigma };
    let listed = proven(row(), 1.0, one, NoiseLaw::Several { laws });
    assert!(listed.verify_consistency().is_err());
    let bound = NormBound::new(1.0).unwrap();
    let change = dp_core::profile::RowChange::AddRemove;
    let profile = Profile::SymmetricGaussian { bound, sigma, change };
    let rows = Adjacency::AddRemoveRow { bound };
    let symmetric = |e| NoiseLaw::SymmetricGaussian { sigma, grid: Grid::new(e).unwrap() };
    proven(rows, 1.0, profile.clone(), symmetric(-30)).verify().unwrap();
    assert!(proven(rows, 1.0, profile, symmetric(1)).verify().is_err());
}

/// Integer noise: the pure profile of a step of one, and no other.
#[test]
fn integer_noise_has_its_pure_profile_or_is_refused() {
    let noise = NoiseLaw::DiscreteLaplace { scale: b_of(2.0) };
    let pure = |epsilon| Profile::PureDp { epsilon: Epsilon::new(epsilon).unwrap() };
    proven(row(), 0.3, pure(0.5), noise.clone()).verify_consistency().unwrap();
    let error = proven(row(), 0.3, pure(0.49), noise.clone()).verify_consistency().unwrap_err();
    assert!(error.to_string().contains("profile.epsilon"), "{error}");
    // The Laplace profile is below the truth for integers: one step is one randomised response.
    let (profile, _) = laplace(2.0);
    let at = Epsilon::new(0.1).unwrap();
    assert!(profile.log_delta(at) < pure(0.5).log_delta(at));
    let error = proven(row(), 0.3, profile, noise).verify_consistency().unwrap_err().to_string();
    assert!(error.contains("no other"), "{error}");
    let (profile, _) = gaussian(4.0);
    let noise = NoiseLaw::DiscreteGaussian { sigma: scale(4.0) };
    let error = proven(row(), 0.3, profile, noise).verify_consistency().unwrap_err().to_string();
    assert!(error.contains("rounded Gaussian"), "{error}");
}

/// Where blocks end after a number of rows, a row fewer moves every later one.
#[test]
fn a_stream_counted_in_rows_does_not_hide_that_a_row_came() {
    use dp_core::profile::RowChange::AddRemove;
    let bound = NormBound::new(1.0).unwrap();
    // Of a row as long as both of a user's are together.
    let both = NormBound::new(1.5).unwrap();
    let profile = Profile::SymmetricGaussian { bound: both, sigma: scale(12.0), change: AddRemove };
    let grid = Grid::new(-30).unwrap();
    let noise = NoiseLaw::SymmetricGaussian { sigma: scale(12.0), grid };
    for (adjacency, pace, holds) in [
        (Adjacency::ZeroRow { bound }, "rows", true),
        (Adjacency::AddRemoveRow { bound }, "rows", false),
        (Adjacency::AddRemoveRow { bound }, "clock", true),
        (Adjacency::ZeroRow { bound }.of_user(2).unwrap(), "rows", true),
        (Adjacency::AddRemoveRow { bound }.of_user(2).unwrap(), "rows", false),
    ] {
        let made = proven(adjacency, 0.5, profile.clone(), noise.clone());
        let mut stated = statement(noise.clone());
        stated.public.insert("pace".into(), pace.into());
        let certificate = authority!().certificate(stated, made.guarantee().clone());
        assert_eq!(certificate.verify().is_ok(), holds, "{adjacency}, {pace}");
    }
}

/// The short name is the safe one.
#[test]
fn verify_refuses_what_is_not_proven_and_what_is_known() {
    let (profile, noise) = gaussian(4.0);
    let good = proven(row(), 0.5, profile.clone(), noise.clone());
    good.verify().unwrap();
    let budget = good.guarantee().budget();
    let mut known = statement(noise.clone());
    known.generator = dp_core::noise::GeneratorKind::DeterministicNotPrivate;
    let known = authority!().certificate(known, good.guarantee().clone());
    let published =
        |profile| authority!().published(row(), budget, profile, "rule", "paper", "a gap").unwrap();
    let tight = Budget::new(0.5, 1e-12).unwrap();
    let missed = authority!().published_accepting_true_delta(
        row(),
        tight,
        profile.clone(),
        "paper",
        "a gap",
    );
    let declared = Guarantee::declared(row(), budget, profile.clone(), "me", "a proof").unwrap();
    let of = |guarantee| authority!().certificate(statement(noise.clone()), guarantee);
    of(published(Some(profile))).verify().unwrap();
    let weak = [known, of(published(None)), of(missed.unwrap()), of(declared)];
    for certificate in weak {
        certificate.verify_consistency().unwrap();
        let back = Certificate::from_json(&certificate.to_json()).unwrap();
        assert!(matches!(back.verify(), Err(Error::CertificateRejected { .. })), "{back:?}");
    }
}

#[test]
fn a_row_profile_must_cover_its_adjacency() {
    use dp_core::profile::RowChange::AddRemove;
    let bound = NormBound::new(1.0).unwrap();
    let lift = scale(9.0);
    let profile = Profile::JlMechanism { rows: 12, bound, lift, change: AddRemove };
    let noise = NoiseLaw::JlSketch { rows: 12, lift, grid: Grid::new(-24).unwrap() };
    let larger = Adjacency::AddRemoveRow { bound: NormBound::new(1.5).unwrap() };
    let budget = Budget::new(0.2, 0.9).unwrap();
    let make = |adjacency, kind: usize| {
        let (profile, theorem) = (profile.clone(), Theorem::CovarianceJl);
        match kind {
            0 => authority!().proven(adjacency, budget, profile, theorem),
            1 => Guarantee::declared(adjacency, budget, profile, "me", "so"),
            2 => authority!().published(adjacency, budget, Some(profile), "r", "paper", "gap"),
            _ => {
                authority!().published_accepting_true_delta(adjacency, budget, profile, "p", "gap")
            }
        }
    };
    for kind in 0..4 {
        let fits = make(Adjacency::AddRemoveRow { bound }, kind).unwrap();
        for (adjacency, field) in [
            (larger, "profile.bound"),
            (Adjacency::ZeroRow { bound: NormBound::new(1.5).unwrap() }, "profile.bound"),
            (Adjacency::ReplaceRow { bound }, "profile.change"),
            (Adjacency::AnyInput, "guarantee.adjacency"),
            (row(), "guarantee.adjacency"),
        ] {
            let error = make(adjacency, kind).unwrap_err().to_string();
            assert!(error.contains(field), "{error}");
            // And when it is read back.
            let mut value = serde_json::to_value(&fits).unwrap();
            value["adjacency"] = serde_json::to_value(adjacency).unwrap();
            let read = serde_json::from_value::<Guarantee>(value);
            assert!(read.unwrap_err().to_string().contains(field));
        }
    }
    for kind in 0..4 {
        let guarantee = make(Adjacency::AddRemoveRow { bound }, kind).unwrap();
        let certificate = authority!().certificate(statement(noise.clone()), guarantee.clone());
        certificate.verify_consistency().unwrap();
        // All but the declared one stand by themselves.
        assert_eq!(certificate.verify().is_ok(), kind != 1, "{certificate:?}");
        let mut ledger = accounting::Ledger::new(guarantee.adjacency());
        assert_eq!(ledger.spend(&guarantee, 1, "x").is_ok(), kind != 1, "{guarantee:?}");
        ledger.spend_accepting_claim(&guarantee, 1, "x").unwrap();
    }
}

#[test]
fn a_zeroed_row_is_held_to_the_rules_of_a_removed_one() {
    let zero = Adjacency::ZeroRow { bound: NormBound::new(1.0).unwrap() };
    let larger = Adjacency::ZeroRow { bound: NormBound::new(1.5).unwrap() };
    let mut seen = 0;
    for certificate in known_pairs() {
        let guarantee = certificate.guarantee();
        if !matches!(guarantee.adjacency(), Adjacency::AddRemoveRow { .. }) {
            continue;
        }
        let (epsilon, profile) =
            (guarantee.budget().epsilon.get(), guarantee.profile().unwrap().clone());
        let noise = certificate.statement().noise.clone();
        proven(zero, epsilon, profile.clone(), noise.clone()).verify_consistency().unwrap();
        let budget = Budget::new(epsilon, 0.9).unwrap();
        let error = Guarantee::declared(larger, budget, profile, "me", "so").unwrap_err();
        assert!(error.to_string().contains("profile.bound"), "{error}");
        seen += 1;
    }
    assert_eq!(seen, 5, "symmetric Gaussian, JL once and in parts, Wishart once and repeated");
}

#[test]
fn noise_that_does_not_fit_the_profile_is_rejected_at_once() {
    let (profile, _) = gaussian(4.0);
    let (_, less) = gaussian(3.999);
    let certificate = proven(row(), 1.0, profile, less);
    let error = certificate.verify().unwrap_err().to_string();
    assert!(error.contains("noise.sigma"), "{error}");
}

/// Certificates of nothing at all: delta zero for every adjacency, and noise that "agrees".
#[test]
fn certificates_of_nothing_are_rejected() {
    use dp_core::profile::{CoordinateProfile as C, GaussianStep, RowChange::AddRemove};
    let bound = NormBound::new(1.0).unwrap();
    let l2 = |x: f64| L2Sensitivity::new(x).unwrap();
    let keep = probability(0.6);
    let (g, gn) = gaussian(4.0);
    let several = |laws| NoiseLaw::Several { laws };
    let repeated = |p: &Profile, times| Profile::Repeated { profile: Box::new(p.clone()), times };
    let steps = |steps| Profile::GaussianComposition { steps };
    let idle = GaussianStep { sensitivity: l2(1.0), sigma: scale(4.0), times: 0 };
    let jl = |rows| Profile::JlMechanism { rows, bound, lift: scale(9.0), change: AddRemove };
    let sketch =
        |rows| NoiseLaw::JlSketch { rows, lift: scale(9.0), grid: Grid::new(-24).unwrap() };
    let response = |bits| Profile::RandomizedResponse { bits, keep };
    let kary = |responses| Profile::KaryResponse { responses, alphabet: 4, keep };
    let letters = NoiseLaw::KaryResponse { alphabet: 4, keep };
    let mixture = |trials| Profile::BinomialMixture {
        trials,
        probability: probability(0.2),
        coordinate: C::RandomizedResponse { keep },
    };
    let forged = [
        (repeated(&g, 0), several(vec![])),
        (repeated(&repeated(&g, 0), 1), several(vec![several(vec![])])),
        (repeated(&jl(0), 1), several(vec![several(vec![])])),
        (steps(vec![]), gn.clone()),
        (steps(vec![]), several(vec![])),
        (steps(vec![idle]), gn.clone()),
        (steps(vec![idle]), several(vec![gn])),
        (jl(0), several(vec![])),
        (jl(0), several(vec![sketch(0)])),
        (jl(0), sketch(0)),
        (response(0), NoiseLaw::BitFlip { keep }),
        (kary(0), letters),
        (mixture(0), NoiseLaw::BitFlip { keep }),
        // A profile that is something, and noise that is nothing.
        (g, several(vec![])),
        (jl(5), several(vec![])),
    ];
    for (profile, noise) in forged {
        for adjacency in [Adjacency::AddRemoveRow { bound }, Adjacency::AnyInput] {
            let budget = Budget::new(0.5, 0.0).unwrap();
            let made = |profile| {
                authority!().published_accepting_true_delta(adjacency, budget, profile, "f", "none")
            };
            // Delta zero where the profile says so: refused where it is made, or, where only the
            // noise is nothing, where the certificate is read.
            let Ok(guarantee) = made(profile.clone()) else { continue };
            let certificate = authority!().certificate(statement(noise.clone()), guarantee);
            let error = certificate.verify_consistency().unwrap_err();
            assert!(matches!(error, Error::CertificateRejected { .. }), "{profile:?}: {error}");
            let text = certificate.to_json();
            assert!(Certificate::from_json(&text).is_err(), "{profile:?} with {noise:?}");
            let mut ledger = dp_core::accounting::Ledger::new(adjacency);
            assert!(ledger.add(&certificate, "a release").is_err(), "{profile:?} with {noise:?}");
            assert!(ledger.entries().is_empty());
        }
    }
    // No runs at all evaluate to the safe answer.
    let never = repeated(&gaussian(4.0).0, 0).log_delta(Epsilon::new(0.5).unwrap());
    assert_eq!(never.get(), 0.0);
}
