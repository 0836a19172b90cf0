//! Fresh seeds: 256 bits, expanded by a cipher, and what an average over them may claim.

use chacha20::ChaCha12Rng;
use dp_core::accounting::{Ledger, Method};
use dp_core::authority;
use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::{AdditiveNoise, GeneratorKind, Grid};
use dp_core::profile::CoordinateProfile;
use dp_core::{
    Adjacency, Budget, Delta, EntryBound, Error, FreshSeed, Guarantee, L2Sensitivity, NoiseScale,
    Probability, Profile, Provenance, PublicSeed, PublicValue, SeedOrigin, Shift, Theorem,
    calibrate,
};
use rand_core::{Rng, SeedableRng};

fn adjacency() -> Adjacency {
    Adjacency::RowShift { l2: Shift::new(1.0).unwrap() }
}

/// A fresh projection with four columns at a delta, and its noise.
fn averaged(delta: f64) -> (Budget, Profile, NoiseScale) {
    let budget = Budget::new(1.0, delta).unwrap();
    let entry_shift = L2Sensitivity::new(0.5).unwrap();
    let sigma = calibrate::chi_mixture_gaussian(budget, 4, entry_shift, 0.0).unwrap();
    (budget, Profile::ChiMixtureGaussian { k: 4, entry_shift, sigma, later_mu: 0.0 }, sigma)
}

#[test]
fn a_fresh_seed_is_the_key_of_chacha12() {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&0x0123_4567_89ab_cdef_u64.to_le_bytes());
    let seed = FreshSeed::reproducible_not_private(0x0123_4567_89ab_cdef).publish();
    for stream in [0, 1, u64::MAX] {
        let mut cipher = ChaCha12Rng::from_seed(key);
        cipher.set_stream(stream);
        let mut expanded = seed.generator(stream);
        assert!((0..100).all(|_| expanded.next_u64() == cipher.next_u64()), "stream {stream}");
    }
    assert_eq!((seed.bits(), PublicSeed::new(1).bits()), (256, 64));
    let first = |seed: PublicSeed| seed.generator(0).next_u64();
    assert_ne!(first(seed), first(seed.offset(1)));
    assert_ne!(
        first(FreshSeed::draw().unwrap().publish()),
        first(FreshSeed::draw().unwrap().publish())
    );
}

/// Eight bytes of a drawn seed repeat with probability 2^-64 a place.
#[test]
fn a_drawn_seed_has_bits_everywhere() {
    let text = |seed: FreshSeed| seed.publish().to_string();
    let (a, b) = (text(FreshSeed::draw().unwrap()), text(FreshSeed::draw().unwrap()));
    assert_eq!((a.len(), b.len()), (64, 64));
    assert!((0..4).all(|i| a[16 * i..16 * (i + 1)] != b[16 * i..16 * (i + 1)]), "{a} {b}");
}

#[test]
fn seeds_are_read_back_in_one_form_only() {
    let drawn = FreshSeed::reproducible_not_private(0xab).publish();
    for seed in [PublicSeed::new(u64::MAX), drawn] {
        let json = serde_json::to_string(&seed).unwrap();
        assert_eq!(serde_json::from_str::<PublicSeed>(&json).unwrap(), seed, "{json}");
        assert_eq!(PublicSeed::try_from(PublicValue::from(seed)).unwrap(), seed);
    }
    let hex = drawn.to_string();
    assert_eq!(hex, format!("ab{}", "0".repeat(62)));
    let bad = [
        hex.to_uppercase(),
        hex[..62].to_owned(),
        format!("{hex}00"),
        format!("+b{}", &hex[2..]),
        format!("é{}", &hex[2..]),
        String::new(),
    ];
    for text in bad {
        assert!(PublicSeed::try_from(PublicValue::from(text.as_str())).is_err(), "{text}");
    }
    assert!(PublicSeed::try_from(PublicValue::Real(1.0)).is_err());
    assert!(serde_json::from_str::<PublicSeed>("-1").is_err());
}

#[test]
fn a_fresh_seed_is_not_printed() {
    let shown = format!("{:?}", FreshSeed::reproducible_not_private(0xdead_beef));
    assert!(shown.contains("ReproducibleNotPrivate"), "{shown}");
    let secrets = ["3735928559", "deadbeef", "efbeadde", "239", "190", "222"];
    assert!(secrets.iter().all(|s| !shown.contains(s)), "{shown}");
}

/// With 64 bits a pair aligned with one seed has delta 5e-20 already.
#[test]
fn averages_claim_no_delta_below_their_floor() {
    let proven = |delta| {
        let (budget, profile, _) = averaged(delta);
        authority!().proven(adjacency(), budget, profile, Theorem::ProjectionFresh)
    };
    for delta in [1e-30, 1e-300, FreshSeed::LEAST_DELTA.next_down()] {
        assert!(matches!(proven(delta), Err(Error::InvalidParameter { .. })), "{delta:e}");
    }
    let guarantee = proven(FreshSeed::LEAST_DELTA).unwrap();
    assert!(matches!(guarantee.provenance(), Provenance::Proven { .. }));
    // Published claims that their profile meets are held to the same, and so are a ledger's answers.
    let (tiny, profile, _) = averaged(1e-60);
    let published = authority!().published(adjacency(), tiny, Some(profile), "r", "paper", "");
    assert!(matches!(published, Err(Error::InvalidParameter { .. })), "{published:?}");
    let mut ledger = Ledger::new(adjacency());
    ledger.spend(&guarantee, 1, "x").unwrap();
    assert!(ledger.epsilon(Delta::new(1e-30).unwrap(), Method::Pld).is_err());
    ledger.epsilon(Delta::new(1e-6).unwrap(), Method::Pld).unwrap();
    // One read back is held to the same.
    let (small, profile, _) = averaged(1e-30);
    let json = serde_json::to_string(&guarantee).unwrap();
    let edited = json
        .replace(&json_of(&guarantee.budget()), &json_of(&small))
        .replace(&json_of(guarantee.profile().unwrap()), &json_of(&profile));
    let error = serde_json::from_str::<Guarantee>(&edited).unwrap_err().to_string();
    assert!(error.contains("256") || error.contains("2^-64"), "{error}");
}

fn json_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

/// Bits that all differ and bits that agree give delta zero whatever the seed.
#[test]
fn a_mixture_that_is_pure_for_every_seed_may_claim_zero() {
    let keep = Probability::new(0.6).unwrap();
    let profile = Profile::BinomialMixture {
        trials: 4,
        probability: Probability::new(0.25).unwrap(),
        coordinate: CoordinateProfile::RandomizedResponse { keep },
    };
    let pure = Budget::new(4.0 * (0.6f64 / 0.4).ln() + 1e-9, 0.0).unwrap();
    let attribute = Adjacency::Attribute { beta: Shift::new(1.0).unwrap() };
    authority!().proven(attribute, pure, profile.clone(), Theorem::SignsFresh).unwrap();
    let tiny = Budget::new(4.0 * (0.6f64 / 0.4).ln() - 1e-18, 1e-25).unwrap();
    assert!(authority!().proven(attribute, tiny, profile, Theorem::SignsFresh).is_err());
}

/// A certificate whose average is over a seed of 64 bits enters no ledger.
#[test]
fn a_short_seed_under_an_average_enters_no_ledger() {
    let (budget, profile, sigma) = averaged(1e-6);
    let certificate = |seed: PublicSeed| {
        let guarantee = authority!()
            .proven(adjacency(), budget, profile.clone(), Theorem::ProjectionFresh)
            .unwrap();
        let grid = Grid::choose(sigma, EntryBound::new(8.0).unwrap()).unwrap();
        let public = PublicParameters::from([
            ("projection seed".to_owned(), PublicValue::from(seed)),
            (SeedOrigin::KEY.to_owned(), SeedOrigin::OperatingSystem.name().into()),
        ]);
        let statement = Statement {
            mechanism: "a fresh projection".into(),
            noise: authority!().gaussian(sigma, grid).unwrap().law(),
            generator: GeneratorKind::OsChacha12,
            public,
        };
        authority!().certificate(statement, guarantee)
    };
    let drawn = certificate(FreshSeed::draw().unwrap().publish());
    drawn.require_secret_randomness().unwrap();
    let model = drawn.statement().public.get(FreshSeed::MODEL_KEY);
    assert_eq!(model, Some(&FreshSeed::MODEL.into()));
    assert!(certificate(PublicSeed::draw().unwrap()).require_secret_randomness().is_err());
}

/// A published seed is copied from a certificate, a budget from a form.
#[test]
fn seeds_and_numbers_are_read_as_they_are_written() {
    let drawn = FreshSeed::reproducible_not_private(3).publish();
    for seed in [PublicSeed::new(7), PublicSeed::new(u64::MAX), drawn] {
        assert_eq!(seed.to_string().parse::<PublicSeed>(), Ok(seed));
    }
    for wrong in ["", "-1", "0x7", "18446744073709551616", &drawn.to_string()[1..]] {
        assert!(wrong.parse::<PublicSeed>().is_err(), "{wrong:?}");
    }
    assert_eq!("0.25".parse::<Probability>(), Probability::new(0.25));
    for wrong in ["1.5", "NaN", "a quarter", ""] {
        let error = wrong.parse::<Probability>().unwrap_err().to_string();
        assert!(error.contains("probability") && error.contains(wrong), "{error}");
    }
}

#[test]
fn parts_of_a_budget_add_up_to_at_most_the_whole() {
    let whole = Budget::new(0.7, 1e-6).unwrap();
    for parts in 1..2000 {
        let part = whole.split(parts).unwrap();
        for (part, whole) in
            [(part.epsilon.get(), whole.epsilon.get()), (part.delta.get(), whole.delta.get())]
        {
            let left = f64::from(parts).mul_add(-part, whole) / whole;
            assert!((0.0..1e-15 * f64::from(parts)).contains(&left), "{parts}: {left}");
        }
    }
    assert!(whole.split(0).unwrap_err().to_string().contains("parts of a budget = 0"));
    assert!(Budget::new(f64::MIN_POSITIVE, 0.0).unwrap().split(u32::MAX).is_ok());
    assert!(Budget::new(5e-324, 0.0).unwrap().split(2).is_err(), "nothing is left");
}
