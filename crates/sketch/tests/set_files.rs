//! Files of set signatures: what a payload states again must be what its certificate states.

use dp_core::authority;
use dp_core::calibrate::Acceptance;
use dp_core::certificate::PublicValue;
use dp_core::release_file::{decode, encode};
use dp_core::{Budget, Certificate, Epsilon, FreshSeed, NoiseRng, PublicSeed, Release};
use sketch::sets::{
    BinResponse, BucketPrivMin, ItemSet, MixtureResponse, NoisyBits, NoisySecureMinHash,
    PrivateSymbols, SetNeighbours, SymbolShape,
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
