//! Files of set signatures: what a payload states again must be what its certificate states.

use dp_core::authority;
use dp_core::calibrate::Acceptance;
use dp_core::certificate::PublicValue;
use dp_core::profile::CoordinateProfile;
use dp_core::release_file::{decode, encode};
use dp_core::{
    Budget, Certificate, Epsilon, FreshSeed, NoiseRng, Probability, Profile, PublicSeed, Release,
    Theorem,
};
use sketch::sets::{
    BinResponse, BucketPrivMin, FreshBinResponse, ItemSet, MixtureResponse, NoisyBits,
    NoisySecureMinHash, PrivateSymbols, SetNeighbours, SymbolShape,
};

fn rng() -> NoiseRng {
    NoiseRng::deterministic_not_private(11)
}

fn sets() -> Vec<ItemSet> {
    (0..5).map(|i| ItemSet::new((i..i + 40).collect()).unwrap()).collect()
}

fn neighbours() -> SetNeighbours {
    SetNeighbours::new(2, 30).unwrap()
}

fn shape(positions: usize, alphabet: u32) -> SymbolShape {
    SymbolShape::new(positions, 1, alphabet).unwrap()
}

fn bucket(positions: usize, alphabet: u32, epsilon: f64, seed: u64) -> Release<PrivateSymbols> {
    let m = BucketPrivMin::new(shape(positions, alphabet), Epsilon::new(epsilon).unwrap()).unwrap();
    m.release(&sets(), PublicSeed::new(seed), &mut rng()).unwrap()
}

fn mixture(positions: usize, alphabet: u32, epsilon: f64) -> Release<PrivateSymbols> {
    let budget = Budget::new(epsilon, 1e-6).unwrap();
    let m = MixtureResponse::calibrate(shape(positions, alphabet), neighbours(), budget).unwrap();
    m.release(&sets(), FreshSeed::reproducible_not_private(2), &mut rng()).unwrap()
}

/// Decodes a payload under a certificate.
fn under(payload: &Release<PrivateSymbols>, certificate: Certificate) -> Result<(), String> {
    let release = Release::certified(payload.payload().clone(), certificate);
    let bytes = encode(&release).map_err(|e| e.to_string())?;
    decode::<PrivateSymbols, Certificate>(&bytes).map(|_| ()).map_err(|e| e.to_string())
}

#[test]
fn a_payload_under_another_certificate_is_refused() {
    let honest = bucket(20, 4, 40.0, 1);
    under(&honest, honest.certificate().clone()).unwrap();
    // Keep probability, alphabet, seed, positions, mechanism.
    let others = [
        bucket(20, 4, 0.1, 1),
        bucket(20, 8, 40.0, 1),
        bucket(20, 4, 40.0, 2),
        bucket(10, 4, 20.0, 1),
        mixture(20, 4, 40.0),
    ];
    for other in &others {
        let error = under(&honest, other.certificate().clone()).unwrap_err();
        assert!(error.contains("certificate"), "{error}");
    }
}

/// A statement of this release with the guarantee of another mechanism of the same response: the certificate holds
/// together, but it is not that of this payload.
#[test]
fn a_guarantee_of_fewer_positions_is_refused() {
    let steps = (1..200).map(|i| 0.01 * f64::from(i));
    let same = steps.map(|e| (bucket(2, 4, 2.0 * e, 1), bucket(1, 4, e, 1)));
    let (two, one) = same
        .into_iter()
        .find(|(two, one)| two.payload().keep() == one.payload().keep())
        .expect("equal responses");
    let guarantee = one.certificate().guarantee().clone();
    let forged = authority!().certificate(two.certificate().statement().clone(), guarantee);
    forged.verify_consistency().expect("consistent by itself");
    let error = under(&two, forged).unwrap_err();
    assert!(error.contains("another profile"), "{error}");
    // The mechanism named is one that never makes hashed minima.
    let mut statement = two.certificate().statement().clone();
    statement.mechanism = "one-permutation-response".to_owned();
    let forged = authority!().certificate(statement, two.certificate().guarantee().clone());
    let error = under(&two, forged).unwrap_err();
    assert!(error.contains("no such mechanism"), "{error}");
}

#[test]
fn an_averaged_certificate_names_the_hash_model() {
    let of = |release: &Certificate, key: &str| release.statement().public.get(key).cloned();
    let mixed = mixture(30, 2, 8.0);
    let model = Some(PublicValue::from("ideal: independent uniform random functions"));
    assert_eq!(of(mixed.certificate(), "hash model"), model);
    assert_eq!(of(mixed.certificate(), "hash"), Some(PublicValue::from("fold64/v2")));
    let any = Some(PublicValue::from("none: the guarantee holds for every hash function"));
    assert_eq!(of(bucket(3, 4, 4.0, 1).certificate(), "hash model"), any);
    let bins = BinResponse::calibrate(16, 4, 3, Budget::new(3.0, 0.0).unwrap()).unwrap();
    let bins = bins.release(&sets(), PublicSeed::new(3), &mut rng()).unwrap();
    assert_eq!(of(bins.certificate(), "hash model"), any);
    under(&bins, bins.certificate().clone()).unwrap();
    under(&mixed, mixed.certificate().clone()).unwrap();
    // A certificate that says nothing of it is not this mechanism's.
    let mut statement = mixed.certificate().statement().clone();
    statement.public.remove("hash model");
    let silent = authority!().certificate(statement, mixed.certificate().guarantee().clone());
    assert!(under(&mixed, silent).unwrap_err().contains("hash model"));

    let noisy = |seed: u64| {
        let budget = Budget::new(8.0, 1e-4).unwrap();
        let accept = Acceptance::AcceptTrueDelta;
        let m = NoisySecureMinHash::published(64, 1, neighbours(), budget, accept).unwrap();
        m.release(&sets(), FreshSeed::reproducible_not_private(seed), &mut rng()).unwrap()
    };
    let release = noisy(1);
    assert_eq!(of(release.certificate(), "hash model"), model);
    decode::<NoisyBits, Certificate>(&encode(&release).unwrap()).unwrap();
    let swapped = Release::certified(noisy(1).into_parts().0, noisy(2).into_parts().1);
    assert!(encode(&swapped).unwrap_err().to_string().contains("another seed"));
}

/// Bins under fresh hash functions: what a certificate must say of them, and forgeries whose files are sealed again.
#[test]
fn fresh_bins_are_no_bins_of_any_seed() {
    let made = |bins, alpha, min_size| {
        let allowed = SetNeighbours::new(alpha, min_size).unwrap();
        FreshBinResponse::calibrate(bins, 4, allowed, Budget::new(4.0, 1e-6).unwrap()).unwrap()
    };
    let released = |m: &FreshBinResponse| {
        m.release(&sets(), FreshSeed::reproducible_not_private(2), &mut rng()).unwrap()
    };
    let honest = released(&made(8, 2, 30));
    under(&honest, honest.certificate().clone()).unwrap();
    let (statement, guarantee) =
        (honest.certificate().statement(), honest.certificate().guarantee());
    let of = |key: &str| statement.public.get(key).cloned();
    let model = PublicValue::from("ideal: independent uniform random functions");
    assert_eq!(of("hash model"), Some(model));
    assert!(of("seed origin").is_some(), "{:?}", statement.public);

    // Less noise: that of larger sets, that of fewer bins, the name of bins of any seed.
    for other in [released(&made(8, 2, 40)), released(&made(7, 2, 30))] {
        under(&honest, other.certificate().clone()).unwrap_err();
    }
    for name in ["one-permutation-response", "minhash-mixture-response"] {
        let mut statement = statement.clone();
        statement.mechanism = name.to_owned();
        let error = under(&honest, authority!().certificate(statement, guarantee.clone()));
        let error = error.unwrap_err();
        assert!(error.contains("no such mechanism"), "{error}");
    }
    // A guarantee that holds for some number of bins, and not for these.
    let Some(Profile::BinomialMixture { trials, probability, coordinate }) =
        guarantee.profile().cloned()
    else {
        panic!("{guarantee:?}")
    };
    assert_eq!((trials, (probability.get() * 30.0 * 1e9).round()), (2, 8e9));
    let claim = |trials, p: f64| {
        let probability = Probability::new(p).unwrap();
        let profile = Profile::BinomialMixture { trials, probability, coordinate };
        let budget = Budget::new(4.0, 1e-3).unwrap();
        let theorem = Theorem::OnePermutation;
        authority!().proven(guarantee.adjacency(), budget, profile, theorem)
    };
    // As of two bins: it holds together, and is not that of eight.
    let forged = authority!().certificate(statement.clone(), claim(2, 2.0 / 30.0).unwrap());
    forged.verify_consistency().expect("consistent by itself");
    assert!(under(&honest, forged).unwrap_err().contains("another profile"));
    // Of no number of bins.
    for (trials, p) in [(2, 1.99 / 30.0), (1, 1.99 / 31.0)] {
        let error = claim(trials, p).unwrap_err().to_string();
        assert!(error.contains("probability"), "{error}");
    }
    // A letter of two would be another mechanism.
    let profile = Profile::BinomialMixture {
        trials,
        probability,
        coordinate: CoordinateProfile::RandomizedResponse { keep: Probability::new(0.6).unwrap() },
    };
    let budget = Budget::new(4.0, 1e-3).unwrap();
    let made = authority!().proven(guarantee.adjacency(), budget, profile, Theorem::OnePermutation);
    assert!(made.is_err());
}
