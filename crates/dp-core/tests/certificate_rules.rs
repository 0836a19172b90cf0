//! What verification knows of profiles, noise laws and adjacencies, and refuses to believe.

use certificates::{gaussian, known_pairs, laplace, probability, proven, row, scale, statement};
use dp_core::noise::NoiseLaw;
use dp_core::*;

#[path = "support/certificates.rs"]
mod certificates;

#[test]
fn pairs_that_no_rule_knows_are_rejected() {
    let (g, gn) = gaussian(4.0);
    let (l, ln) = laplace(2.0);
    let discrete = NoiseLaw::DiscreteGaussian { sigma: scale(4.0) };
    for (profile, noise) in [(g.clone(), ln), (l, gn), (g.clone(), discrete), (g, NoiseLaw::None)] {
        let error = proven(row(), 0.3, profile, noise).verify().unwrap_err().to_string();
        assert!(error.contains("is not known to give"), "{error}");
    }
}

#[test]
fn a_row_profile_must_cover_its_adjacency() {
    use dp_core::profile::RowChange::AddRemove;
    let bound = Bound::new(1.0).unwrap();
    let lift = scale(9.0);
    let profile = Profile::JlMechanism { rows: 12, bound, lift, change: AddRemove };
    let noise = NoiseLaw::JlSketch { rows: 12, lift };
    let larger = Adjacency::AddRemoveRow { bound: Bound::new(1.5).unwrap() };
    for (adjacency, field) in [
        (larger, "profile.bound"),
        (Adjacency::ZeroRow { bound: Bound::new(1.5).unwrap() }, "profile.bound"),
        (Adjacency::ReplaceRow { bound }, "profile.change"),
        (row(), "guarantee.adjacency"),
    ] {
        let certificate = proven(adjacency, 0.2, profile.clone(), noise.clone());
        let error = certificate.verify().unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
}

#[test]
fn a_zeroed_row_is_held_to_the_rules_of_a_removed_one() {
    let zero = Adjacency::ZeroRow { bound: Bound::new(1.0).unwrap() };
    let larger = Adjacency::ZeroRow { bound: Bound::new(1.5).unwrap() };
    let mut seen = 0;
    for certificate in known_pairs() {
        let guarantee = certificate.guarantee();
        if !matches!(guarantee.adjacency(), Adjacency::AddRemoveRow { .. }) {
            continue;
        }
        let (epsilon, profile) =
            (guarantee.budget().epsilon.get(), guarantee.profile().unwrap().clone());
        let noise = certificate.statement().noise.clone();
        proven(zero, epsilon, profile.clone(), noise.clone()).verify().unwrap();
        let error = proven(larger, epsilon, profile, noise).verify().unwrap_err().to_string();
        assert!(error.contains("profile.bound"), "{error}");
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
    let bound = Bound::new(1.0).unwrap();
    let l2 = |x: f64| L2Sensitivity::new(x).unwrap();
    let keep = probability(0.6);
    let (g, gn) = gaussian(4.0);
    let several = |laws| NoiseLaw::Several { laws };
    let repeated = |p: &Profile, times| Profile::Repeated { profile: Box::new(p.clone()), times };
    let steps = |steps| Profile::GaussianComposition { steps };
    let idle = GaussianStep { sensitivity: l2(1.0), sigma: scale(4.0), times: 0 };
    let jl = |rows| Profile::JlMechanism { rows, bound, lift: scale(9.0), change: AddRemove };
    let sketch = |rows| NoiseLaw::JlSketch { rows, lift: scale(9.0) };
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
            // Delta zero where the profile says so; no runs at all have none to prove.
            let guarantee = Guarantee::published_accepting_true_delta(
                adjacency,
                Budget::new(0.5, 0.0).unwrap(),
                profile.clone(),
                "forger",
                "none",
            );
            let certificate = Certificate::new(statement(noise.clone()), guarantee);
            let error = certificate.verify().unwrap_err();
            assert!(matches!(error, Error::CertificateRejected { .. }), "{profile:?}: {error}");
            let text = certificate.to_json();
            assert!(Certificate::from_json(&text).is_err(), "{profile:?} with {noise:?}");
            let mut ledger = dp_core::accounting::Ledger::new(adjacency);
            assert!(ledger.add(&certificate).is_err(), "{profile:?} with {noise:?}");
            assert!(ledger.entries().is_empty());
        }
    }
    // No runs at all evaluate to the safe answer.
    let never = repeated(&gaussian(4.0).0, 0).log_delta(Epsilon::new(0.5).unwrap());
    assert_eq!(never.get(), 0.0);
}
