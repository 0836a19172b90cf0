//! Files of signs and set signatures: what is read back gives the same estimates, bit for bit.

use dp_core::calibrate::Acceptance;
use dp_core::release_file::{
    CertificateClass, Kind, decode, encode, encode_as, load, open, read_summary, write,
};
use dp_core::{
    Adjacency, Budget, Certificate, Epsilon, FreshSeed, IndividualCertificate, NoGuarantee,
    NoiseRng, PublicSeed, Release,
};
use sketch::projection::Family;
use sketch::rows::RowsView;
use sketch::search::{Ranking, nearest, nearest_noisy};
use sketch::sets::{
    BinLaw, BinResponse, BucketPrivMin, CollisionLaw, ItemSet, MixtureResponse, NoisyBits,
    NoisySecureMinHash, PrivMin, PrivateSymbols, SetNeighbours, SetPairs, SetWriter,
    SignatureMatrix, SymbolShape,
};
use sketch::signs::{
    FlipRule, FreshConfig, FreshSigns, IndividualNoise, IndividualSigns, NormFloor, PrivateSigns,
    SignCodes, SignPairs, SignSketch, cosine_to_public_row,
};

fn bound<B: TryFrom<f64, Error = dp_core::Error>>(b: f64) -> B {
    B::try_from(b).unwrap()
}

fn attribute() -> Adjacency {
    Adjacency::Attribute { beta: bound(1.0) }
}

fn rng() -> NoiseRng {
    NoiseRng::deterministic_not_private(11)
}

fn data(n: usize, d: usize) -> Vec<f64> {
    (0..n * d).map(|i| ((i * i + 3 * i) % 11) as f64 / 11.0).collect()
}

fn sketch(bits: usize, repetitions: usize) -> SignSketch {
    SignSketch::repeated(Family::Oporp, 90, bits, repetitions, PublicSeed::new(5)).unwrap()
}

#[test]
fn signs_come_back_and_estimate_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("signs.dps");
    let x = data(7, 90);
    let rows = RowsView::f64(7, 90, &x).unwrap();
    let budget = Budget::new(30.0, 1e-6).unwrap();
    for (bits, repetitions) in [(64, 1), (70, 1), (72, 2), (3, 1)] {
        let sketch = sketch(bits, repetitions);
        for rule in
            [FlipRule::RandomizedResponse, FlipRule::PublishedSmooth, FlipRule::OptimalSmooth]
        {
            let m =
                PrivateSigns::new(sketch.clone(), rule, attribute(), bound(1.0), budget).unwrap();
            let release = m.release(rows, &mut rng()).unwrap();
            write(&path, &release).unwrap();
            let back = load::<SignCodes, Certificate>(&path).unwrap();
            assert_eq!(back.clone().map(|p| p), release);
            let summary = read_summary(&path).unwrap();
            assert_eq!((summary.kind, summary.rows), (Kind::Signs, 7));
            assert_eq!(summary.columns, bits as u64);
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!(open(&bytes).unwrap().payload.len(), 7 * bits.div_ceil(8));
            if rule == FlipRule::RandomizedResponse {
                let (a, b) = (
                    SignPairs::between(&release, &release).unwrap(),
                    SignPairs::between(&back, &back).unwrap(),
                );
                assert_eq!(a.hamming(0, 3).unwrap(), b.hamming(0, 3).unwrap());
                let confidence = dp_core::Probability::new(0.9).unwrap();
                let of = |r| cosine_to_public_row(&sketch, &x[..90], r, 2, confidence).ok();
                assert_eq!(of(&release), of(&back));
            }
        }
    }
}

#[test]
fn fresh_individual_and_plain_signs_say_what_they_are() {
    let x = data(5, 12);
    let rows = RowsView::f64(5, 12, &x).unwrap();
    let budget = Budget::new(4.0, 1e-6).unwrap();
    let (adjacency, floor) = (attribute(), NormFloor::Lifted(bound(2.0)));
    let config = FreshConfig { d: 12, bits: 10, floor, bound: bound(1.0), adjacency };
    let fresh = FreshSigns::exact(config, budget).unwrap();
    let seed = FreshSeed::reproducible_not_private(3);
    let release = fresh.release(rows, seed, &mut rng()).unwrap();
    let bytes = encode(&release).unwrap();
    assert_eq!(decode::<SignCodes, Certificate>(&bytes).unwrap().map(|p| p), release);

    let sketch = SignSketch::single(Family::Rademacher, 12, 10, PublicSeed::new(1)).unwrap();
    for noise in [IndividualNoise::Gaussian, IndividualNoise::RandomizedResponse] {
        let m = IndividualSigns::new(sketch.clone(), noise, adjacency, bound(1.0), budget).unwrap();
        let release = m.release(rows, &mut rng()).unwrap();
        let bytes = encode(&release).unwrap();
        assert_eq!(decode::<SignCodes, IndividualCertificate>(&bytes).unwrap().map(|p| p), release);
        assert!(decode::<SignCodes, Certificate>(&bytes).is_err(), "not differential privacy");
        let summary = open(&bytes).unwrap().summary;
        assert_eq!(summary.kind, Kind::IndividualSigns);
        assert_eq!(summary.certificate.class(), CertificateClass::Individual);
        assert!(summary.certificate.to_json().contains(IndividualCertificate::WARNING));
        assert!(encode_as(&release, Kind::Signs).is_err());
    }
    let plain = sketch.simhash(rows).unwrap();
    let bytes = encode(&plain).unwrap();
    assert_eq!(decode::<SignCodes, NoGuarantee>(&bytes).unwrap().map(|p| p), plain);
    assert_eq!(open(&bytes).unwrap().summary.kind, Kind::PlainSigns);
}

fn sets(count: u64) -> Vec<ItemSet> {
    (0..count).map(|i| ItemSet::new((i..i + 40).collect()).unwrap()).collect()
}

fn symbols_come_back(
    release: &Release<PrivateSymbols>,
    bits_of_a_symbol: usize,
) -> Release<PrivateSymbols> {
    let bytes = encode(release).unwrap();
    let opened = open(&bytes).unwrap();
    let p = release.payload();
    let row = (p.scheme().slots * bits_of_a_symbol).div_ceil(8);
    assert_eq!(opened.payload.len(), p.rows() * row);
    let back = decode::<PrivateSymbols, Certificate>(&bytes).unwrap();
    assert_eq!(&back.clone().map(|p| p), release);
    let best = |r| nearest(SetPairs::within(r), &[0, 4], 3, Ranking::Similarity).unwrap();
    assert_eq!(best(&back), best(release));
    back
}

#[test]
fn set_signatures_come_back_and_estimate_the_same() {
    let sets = sets(9);
    let neighbours = SetNeighbours::new(1, 30).unwrap();
    let budget = Budget::new(8.0, 1e-6).unwrap();
    let seed = || FreshSeed::reproducible_not_private(3);
    for (alphabet, bits) in [(2, 1), (5, 3), (256, 8)] {
        let shape = SymbolShape::new(65, 2, alphabet).unwrap();
        let m = MixtureResponse::calibrate(shape, neighbours, budget).unwrap();
        let release = m.release(&sets, seed(), &mut rng()).unwrap();
        let back = symbols_come_back(&release, bits);
        let estimate = |r: &Release<PrivateSymbols>| {
            let p = r.payload();
            let law = CollisionLaw::new(65, 2, p.alphabet(), p.keep()).unwrap();
            law.jaccard(SetPairs::within(r).agreeing(1, 2).unwrap())
        };
        assert_eq!(estimate(&back), estimate(&release));
    }
    let shape = SymbolShape::new(20, 1, 16).unwrap();
    let bucket = BucketPrivMin::new(shape, Epsilon::new(40.0).unwrap()).unwrap();
    symbols_come_back(&bucket.release(&sets, PublicSeed::new(2), &mut rng()).unwrap(), 4);

    let bins = BinResponse::calibrate(33, 8, 1, budget).unwrap();
    let release = bins.release(&sets, PublicSeed::new(2), &mut rng()).unwrap();
    let back = symbols_come_back(&release, 4);
    let estimate = |r: &Release<PrivateSymbols>| {
        BinLaw::of(r.payload()).unwrap().jaccard(SetPairs::within(r).outcomes(1, 2).unwrap())
    };
    assert_eq!(estimate(&back), estimate(&release));

    let noisy =
        NoisySecureMinHash::published(64, 1, neighbours, budget, Acceptance::AcceptTrueDelta)
            .unwrap();
    let release = noisy.release(&sets, seed(), &mut rng()).unwrap();
    let back = decode::<NoisyBits, Certificate>(&encode(&release).unwrap()).unwrap();
    assert_eq!(back.clone().map(|p| p), release);
    assert_eq!(back.payload().jaccard(0, 1).unwrap(), release.payload().jaccard(0, 1).unwrap());
    let best = |r| nearest_noisy(r, &[2], 3).unwrap();
    assert_eq!(best(&back), best(&release));

    let privmin = PrivMin::published(6, 40.0, Epsilon::new(1.0).unwrap()).unwrap();
    let release = privmin.release(&sets, PublicSeed::new(1), &mut rng()).unwrap();
    let bytes = encode(&release).unwrap();
    assert_eq!(decode::<SignatureMatrix, NoGuarantee>(&bytes).unwrap().map(|p| p), release);
    assert_eq!(open(&bytes).unwrap().summary.kind, Kind::PlainSignatures);
}

/// Cuts `n` things into uneven batches.
fn batches(n: usize) -> Vec<std::ops::Range<usize>> {
    let mut steps = [1, 700, 33, 2048, 5].into_iter().cycle();
    let (mut from, mut all) = (0, Vec::new());
    while from < n {
        let to = (from + steps.next().unwrap()).min(n);
        all.push(from..to);
        from = to;
    }
    all
}

#[test]
fn signatures_written_as_sets_come_are_those_of_one_release() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sets.dps");
    let sets = sets(2500);
    let neighbours = SetNeighbours::new(1, 30).unwrap();
    let budget = Budget::new(8.0, 1e-6).unwrap();
    let seed = || FreshSeed::reproducible_not_private(3);

    let shape = SymbolShape::new(501, 1, 4).unwrap();
    let m = MixtureResponse::calibrate(shape, neighbours, budget).unwrap();
    let whole = m.release(&sets, seed(), &mut rng()).unwrap();
    let mut noise_rng = rng();
    let mut writer = SetWriter::create(&path, &m, seed(), &mut noise_rng).unwrap();
    batches(sets.len()).into_iter().for_each(|r| writer.push(&sets[r]).unwrap());
    let written = writer.finish().unwrap().certificate;
    assert_eq!(&written.of_post_processing(), whole.certificate());
    assert_eq!(load::<PrivateSymbols, Certificate>(&path).unwrap().map(|p| p), whole);

    let m = BinResponse::calibrate(501, 8, 1, budget).unwrap();
    let whole = m.release(&sets, PublicSeed::new(2), &mut rng()).unwrap();
    let mut noise_rng = rng();
    let mut writer = SetWriter::create(&path, &m, PublicSeed::new(2), &mut noise_rng).unwrap();
    batches(sets.len()).into_iter().for_each(|r| writer.push(&sets[r]).unwrap());
    writer.finish().unwrap();
    assert_eq!(load::<PrivateSymbols, Certificate>(&path).unwrap().map(|p| p), whole);

    let m = BucketPrivMin::new(shape, Epsilon::new(900.0).unwrap()).unwrap();
    let whole = m.release(&sets, PublicSeed::new(2), &mut rng()).unwrap();
    let mut noise_rng = rng();
    let mut writer = SetWriter::create(&path, &m, PublicSeed::new(2), &mut noise_rng).unwrap();
    batches(sets.len()).into_iter().for_each(|r| writer.push(&sets[r]).unwrap());
    writer.finish().unwrap();
    assert_eq!(load::<PrivateSymbols, Certificate>(&path).unwrap().map(|p| p), whole);

    let m = NoisySecureMinHash::published(501, 1, neighbours, budget, Acceptance::AcceptTrueDelta);
    let m = m.unwrap();
    let whole = m.release(&sets, seed(), &mut rng()).unwrap();
    let mut noise_rng = rng();
    let mut writer = SetWriter::create(&path, &m, seed(), &mut noise_rng).unwrap();
    batches(sets.len()).into_iter().for_each(|r| writer.push(&sets[r]).unwrap());
    writer.finish().unwrap();
    assert_eq!(load::<NoisyBits, Certificate>(&path).unwrap().map(|p| p), whole);
}
