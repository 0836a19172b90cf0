//! Small valid inputs of every target: one release a kind, and texts. Their noise is that of the
//! deterministic test generator, and their certificates say so.

use crate::sample::{Failure, Sample};

use dp_core::accounting::{FilterRule, Ledger};
use dp_core::authority;
use dp_core::calibrate::Acceptance;
use dp_core::release_file::{AnyCertificate, Kind, encode, encode_as, open};
use dp_core::{
    Adjacency, Budget, Epsilon, FreshSeed, NoiseRng, NormBound, Probability, Profile, PublicSeed,
    Shift, calibrate,
};
use linalg_dp::covariance::{
    CovarianceMechanism, GaussianCovariance, JlCovariance, QuantileConfig, QuantileCovariance,
    WishartCovariance, WishartShape,
};
use linalg_dp::groups::{GroupsConfig, PrivateGroups};
use linalg_dp::low_rank::{Pfp, PfpOptions, RangeFinder, Setting};
use linalg_dp::newton::{NewtonConfig, PrivateNewton};
use linalg_dp::window::{BlockNoise, Keep, Pace, Schedule, StreamConfig, WindowMechanism};
use sketch::bounded::{BoundedConfig, BoundedLaw, PrivateBounded};
use sketch::distances::ValueRange;
use sketch::projection::{Family, Groups, ProjectionSpec, PublicMatrix};
use sketch::rows::RowsView;
use sketch::sets::{
    BinResponse, BucketPrivMin, GroupCounts, ItemGroups, ItemSet, MixtureResponse,
    NoisySecureMinHash, PrivMin, SetNeighbours, SymbolShape,
};
use sketch::signs::{
    FlipRule, FreshConfig, FreshSigns, IndividualNoise, IndividualSigns, NormFloor, PrivateSigns,
    SignSketch,
};
use sketch::units::{PrivateUnits, UnitsConfig};
use sketch::vectors::{AveragedProjection, PrivateProjection};

/// All samples, those of releases first.
///
/// # Errors
/// When a mechanism refuses: never.
pub fn samples() -> Result<Vec<Sample>, Failure> {
    let mut all = releases()?;
    let mut texts = Vec::new();
    for sample in &all {
        let certificate = open(&sample.bytes)?.summary.certificate;
        let name = sample.name.replace(".dps", ".json");
        if let AnyCertificate::Private(c) = &certificate {
            let pair = serde_json::to_vec(&(c.statement(), c.guarantee()))?;
            texts.push(Sample::new("guarantee", name.clone(), pair));
        }
        texts.push(Sample::new("certificate", name, certificate.to_json()));
    }
    let ledger = ledger()?;
    texts.push(Sample::new("ledger", "two-entries.json", serde_json::to_string(&ledger)?));
    texts.push(Sample::new("ledger", "lines.ledger", crate::ledgers::sample(&ledger)?));
    texts.push(Sample::new("ledger", "expenses.json", expenses()?));
    texts.extend(journals()?);
    texts.extend(data_sets());
    texts.extend(crate::input_samples::inputs()?);
    all.push(Sample::new("release_container", "sketch-f32.dps", all[1].bytes.clone()));
    all.extend(texts);
    Ok(all)
}

fn budget() -> Result<Budget, Failure> {
    Ok(Budget::new(2.0, 1e-5)?)
}

fn one<B: TryFrom<f64, Error = dp_core::Error>>() -> Result<B, Failure> {
    Ok(B::try_from(1.0)?)
}

fn rng() -> NoiseRng {
    NoiseRng::deterministic_not_private(2012)
}

fn data(n: usize, d: usize) -> Vec<f64> {
    (0..n * d).map(|i| ((i * 7 + 3) % 11) as f64 / 44.0).collect()
}

/// One file a kind.
///
/// # Errors
/// When a mechanism refuses: never.
pub fn releases() -> Result<Vec<Sample>, Failure> {
    let mut all = sketches()?;
    all.extend(set_signatures()?);
    all.extend(matrices()?);
    Ok(all)
}

fn sketches() -> Result<Vec<Sample>, Failure> {
    let (n, d) = (3, 9);
    let x = data(n, d);
    let rows = RowsView::f64(n, d, &x)?;
    let attribute = Adjacency::Attribute { beta: one()? };
    let spec = ProjectionSpec::new(Family::Oporp, d, 4, PublicSeed::new(5))?;
    let mechanism = PrivateProjection::gaussian(spec.build(), attribute, one()?, budget()?)?;
    let release = mechanism.release(rows, &mut rng())?;
    let signs = SignSketch::repeated(Family::Oporp, d, 6, 2, PublicSeed::new(6))?;
    let rule = FlipRule::RandomizedResponse;
    let private = PrivateSigns::new(signs.clone(), rule, attribute, one()?, budget()?)?;
    let noise = IndividualNoise::RandomizedResponse;
    let individual = IndividualSigns::new(signs.clone(), noise, attribute, one()?, budget()?)?;
    let laplace =
        PrivateProjection::laplace(spec.build(), attribute, one()?, Budget::new(2.0, 0.0)?)?;
    let stairs =
        PrivateProjection::staircase(spec.build(), attribute, one()?, Budget::new(2.0, 0.0)?)?;
    let groups = Groups::new(&[1, 1, -2, 3, 2, -3, 4, 4, 1])?.spec().build();
    let grouped = PrivateProjection::staircase(groups, attribute, one()?, Budget::new(2.0, 0.0)?)?;
    let shift = Adjacency::RowShift { l2: one()? };
    let fresh = AveragedProjection::gaussian(d, 4, shift, one()?, budget()?)?;
    let smooth = FlipRule::OptimalSmooth;
    let smooth = PrivateSigns::new(signs.clone(), smooth, attribute, one()?, budget()?)?;
    let floor = NormFloor::Lifted(NormBound::new(4.0)?);
    let drawn = FreshConfig { d, bits: 6, floor, bound: one()?, adjacency: attribute };
    let drawn = FreshSigns::exact(drawn, budget()?)?;
    let seed = || FreshSeed::reproducible_not_private(6);
    let units = |spec: ProjectionSpec, lengths| -> Result<Vec<u8>, Failure> {
        let (projection, adjacency) = (spec.build(), Adjacency::AnyInput);
        let config = UnitsConfig { projection, adjacency, lengths };
        let mechanism = PrivateUnits::new(config, Budget::new(8.0, 0.0)?)?;
        Ok(encode(&mechanism.release(rows, &mut rng())?)?)
    };
    let range = ValueRange::new(-1.0, 1.0)?;
    let bounded = |one_bit| -> Result<Vec<u8>, Failure> {
        let config = BoundedConfig {
            d,
            range,
            beta: Shift::new(2.0)?,
            law: if one_bit { BoundedLaw::OneBit } else { BoundedLaw::LeastError },
            clip: true,
        };
        let mechanism = PrivateBounded::new(config, Budget::new(3.0, 0.0)?)?;
        Ok(encode(&mechanism.release(rows, &mut rng())?)?)
    };
    let two = NormBound::new(2.0)?;
    let seed_9 = PublicSeed::new(9);
    let directions = units(ProjectionSpec::new(Family::Oporp, d, 4, seed_9)?, None)?;
    let lengths = units(ProjectionSpec::new(Family::Identity, d, d, seed_9)?, Some(two))?;
    let entries: Vec<f64> = (0..d * 2).map(|i| i as f64 / 32.0 - 0.3).collect();
    let matrix = PublicMatrix::new(d, 2, &entries)?.spec();
    let given = PrivateProjection::gaussian(matrix.build(), shift, one()?, budget()?)?;
    let target = "release_signs";
    Ok(vec![
        Sample::new("release_sketch", "sketch-f64.dps", encode(&release)?),
        Sample::new("release_sketch", "sketch-f32.dps", encode_as(&release, Kind::Sketch32)?),
        Sample::new(
            "release_sketch",
            "sketch-compact.dps",
            encode_as(&release, Kind::SketchCompact)?,
        ),
        Sample::new(target, "signs.dps", encode(&private.release(rows, &mut rng())?)?),
        Sample::new(target, "individual.dps", encode(&individual.release(rows, &mut rng())?)?),
        Sample::new(target, "plain.dps", encode(&signs.simhash(rows)?)?),
        Sample::new(target, "smooth.dps", encode(&smooth.release(rows, &mut rng())?)?),
        Sample::new(target, "fresh.dps", encode(&drawn.release(rows, seed(), &mut rng())?)?),
        Sample::new(
            "release_sketch",
            "sketch-laplace.dps",
            encode(&laplace.release(rows, &mut rng())?)?,
        ),
        Sample::new(
            "release_sketch",
            "sketch-staircase.dps",
            encode(&stairs.release(rows, &mut rng())?)?,
        ),
        Sample::new(
            "release_sketch",
            "sketch-grouped.dps",
            encode(&grouped.release(rows, &mut rng())?)?,
        ),
        Sample::new(
            "release_sketch",
            "sketch-fresh.dps",
            encode(&fresh.release(seed(), rows, &mut rng())?)?,
        ),
        Sample::new(
            "release_sketch",
            "sketch-given.dps",
            encode(&given.release(rows, &mut rng())?)?,
        ),
        Sample::new("release_units", "units-given.dps", units(matrix, None)?),
        Sample::new("release_units", "bounded.dps", bounded(false)?),
        Sample::new("release_units", "bounded-one-bit.dps", bounded(true)?),
        Sample::new("release_units", "units.dps", directions),
        Sample::new("release_units", "units-lengths.dps", lengths),
    ])
}

fn set_signatures() -> Result<Vec<Sample>, Failure> {
    let sets: Vec<ItemSet> =
        (0..3).map(|i| ItemSet::new((i..i + 12).collect())).collect::<Result<_, _>>()?;
    let neighbours = SetNeighbours::new(1, 12)?;
    let seed = || FreshSeed::reproducible_not_private(7);
    let accept = Acceptance::AcceptTrueDelta;
    let hashed = MixtureResponse::calibrate(SymbolShape::new(5, 1, 4)?, neighbours, budget()?)?;
    let bins = BinResponse::calibrate(6, 4, 1, budget()?)?;
    let occupancy = BinResponse::calibrate(20, 1, 1, Budget::new(2.0, 0.0)?)?;
    let noisy = NoisySecureMinHash::published(8, 1, neighbours, budget()?, accept)?;
    let privmin = PrivMin::published(3, 12.0, Epsilon::new(1.0)?)?;
    let buckets = BucketPrivMin::new(SymbolShape::new(5, 1, 4)?, Epsilon::new(20.0)?)?;
    let groups =
        ItemGroups::new(&[ItemSet::new(vec![1, 4, 12])?, ItemSet::new(vec![0, u64::MAX])?])?;
    let counts = GroupCounts::calibrate(groups, 1, Budget::new(2.0, 0.0)?)?;
    let public = PublicSeed::new(8);
    let target = "release_sets";
    Ok(vec![
        Sample::new(target, "symbols.dps", encode(&hashed.release(&sets, seed(), &mut rng())?)?),
        Sample::new(target, "bins.dps", encode(&bins.release(&sets, public, &mut rng())?)?),
        Sample::new(target, "counts.dps", encode(&counts.release(&sets, &mut rng())?)?),
        Sample::new(target, "noisy.dps", encode(&noisy.release(&sets, seed(), &mut rng())?)?),
        Sample::new(target, "privmin.dps", encode(&privmin.release(&sets, public, &mut rng())?)?),
        Sample::new(target, "buckets.dps", encode(&buckets.release(&sets, public, &mut rng())?)?),
        Sample::new(
            target,
            "occupancy.dps",
            encode(&occupancy.release(&sets, public, &mut rng())?)?,
        ),
    ])
}

fn matrices() -> Result<Vec<Sample>, Failure> {
    let target = "release_matrices";
    let row = Adjacency::AddRemoveRow { bound: one()? };
    let (d, x) = (2, data(10, 2));
    let replaced = Adjacency::ReplaceRow { bound: one()? };
    let shape = WishartShape::LeastDof;
    let moments = |adjacency| -> Result<_, Failure> {
        Ok(GaussianCovariance::calibrate_moments(d, adjacency, budget()?)?)
    };
    let mechanisms: [(&str, Box<dyn CovarianceMechanism>); 6] = [
        ("moments.dps", Box::new(moments(row)?)),
        ("moments-replaced.dps", Box::new(moments(replaced)?)),
        ("gaussian.dps", Box::new(GaussianCovariance::calibrate(d, row, budget()?)?)),
        ("jl.dps", Box::new(JlCovariance::calibrate(d, 3, row, budget()?)?)),
        ("jl-replaced.dps", Box::new(JlCovariance::calibrate(d, 3, replaced, budget()?)?)),
        ("wishart.dps", Box::new(WishartCovariance::calibrate(d, row, budget()?, shape)?)),
    ];
    let mut all = Vec::new();
    for (name, mechanism) in mechanisms {
        all.push(Sample::new(target, name, encode(&mechanism.release(&x, &mut rng())?)?));
    }
    let within = Probability::new(0.9)?;
    let choice = QuantileConfig { dim: d, adjacency: replaced, within, means: true };
    let chosen = QuantileCovariance::calibrate(choice, budget()?)?;
    let mut norms = chosen.norms(rng());
    norms.push(&x)?;
    let mut stream = norms.choose();
    stream.name_columns(&["height".to_owned(), "weight".to_owned()])?;
    stream.push(&x)?;
    all.push(Sample::new(target, "chosen.dps", encode(&stream.finish()?)?));
    for (name, adjacency, intercept) in
        [("regression.dps", row, false), ("regression-intercept.dps", replaced, true)]
    {
        let config = NewtonConfig { features: d, adjacency, label_bound: one()?, intercept };
        let mut mechanism = PrivateNewton::calibrate(config, budget()?)?;
        if intercept {
            mechanism.name_columns(&["height", "weight", "age"].map(str::to_owned))?;
        }
        let release = mechanism.release(&data(10, d + 1), &mut rng())?;
        all.push(Sample::new(target, name, encode(&release)?));
    }
    let (bound, norm, share) = (one()?, NormBound::new(0.5)?, Probability::new(0.25)?);
    let adjacency = Adjacency::Attribute { beta: one()? };
    let asked = GroupsConfig { d: 6, adjacency, bound, norm, share };
    let rows = data(10, 6);
    let release = PrivateGroups::calibrate(asked, budget()?)?
        .release(RowsView::f64(10, 6, &rows)?, &mut rng())?;
    all.push(Sample::new(target, "private-groups.dps", encode(&release)?));
    let (m, n) = (5, 6);
    let a = data(m, n);
    let a = RowsView::f64(m, n, &a)?;
    let setting = Setting::new((m, n), 1, 2, Shift::new(0.1)?, one()?)?;
    let seed = || FreshSeed::reproducible_not_private(9);
    let range = RangeFinder::calibrate(setting, budget()?)?.release(&a, seed(), &mut rng())?;
    let pfp = Pfp::calibrate(setting, budget()?, PfpOptions::default())?;
    let low_rank = pfp.release(&a, seed(), &mut rng())?;
    all.push(Sample::new(target, "range.dps", encode(&range)?));
    all.push(Sample::new(target, "low-rank.dps", encode(&low_rank)?));
    let (noise, jl) = (BlockNoise::SymmetricGaussian, BlockNoise::JohnsonLindenstrauss { rows: 3 });
    for (name, schedule) in [
        ("window.dps", Schedule::Tree { noise }),
        ("window-jl.dps", Schedule::Tree { noise: jl }),
        ("window-blocks.dps", Schedule::Block { noise, keep: Keep::Blocks }),
        ("window-factorised.dps", Schedule::Factorised { horizon: 8 }),
    ] {
        let mechanism = WindowMechanism::calibrate(config(schedule)?)?;
        let mut stream = mechanism.stream(rng());
        stream.push(&x)?;
        all.push(Sample::new(target, name, encode(&stream.release()?)?));
    }
    Ok(all)
}

fn config(schedule: Schedule) -> Result<StreamConfig, Failure> {
    Ok(StreamConfig {
        dim: 2,
        window: 4,
        block: 2,
        pace: Pace::Rows,
        adjacency: Adjacency::ZeroRow { bound: one()? },
        budget: budget()?,
        schedule,
    })
}

fn journals() -> Result<Vec<Sample>, Failure> {
    let noise = BlockNoise::SymmetricGaussian;
    let schedules = [
        ("block", Schedule::Block { noise, keep: Keep::Blocks }),
        ("tree", Schedule::Tree { noise }),
        ("tree-jl", Schedule::Tree { noise: BlockNoise::JohnsonLindenstrauss { rows: 3 } }),
        ("factorised", Schedule::Factorised { horizon: 8 }),
        ("decayed", Schedule::Decayed { decay: 0.5, horizon: 8 }),
    ];
    let folder = std::env::temp_dir().join(format!("dps-samples-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let mut all = Vec::new();
    for (name, schedule) in schedules {
        let path = folder.join(name);
        let mechanism = WindowMechanism::calibrate(config(schedule)?)?;
        let mut stream = mechanism.stream_with_journal(&path, "", rng())?;
        stream.push(&data(5, 2))?;
        all.push(Sample::new("journal", format!("{name}.journal"), std::fs::read(&path)?));
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(all)
}

fn ledger() -> Result<Ledger, Failure> {
    let attribute = Adjacency::Attribute { beta: one()? };
    let mut ledger = Ledger::with_limit(attribute, Budget::new(10.0, 1e-3)?, FilterRule::Basic);
    let keep = calibrate::randomized_response(budget()?, 3)?;
    let profile = Profile::RandomizedResponse { bits: 3, keep };
    let guarantee =
        authority!().proven(attribute, budget()?, profile, dp_core::Theorem::SignsTouched)?;
    ledger.spend(&guarantee, 2, "signs")?;
    ledger.spend(&guarantee, 1, "more signs")?;
    Ok(ledger)
}

/// Guarantees to enter, with counts: the kinds of profile that a ledger composes.
fn expenses() -> Result<String, Failure> {
    let attribute = Adjacency::Attribute { beta: one()? };
    let budget = budget()?;
    let l2 = dp_core::L2Sensitivity::new(1.0)?;
    let sigma = calibrate::gaussian(budget, l2)?;
    let l1 = dp_core::L1Sensitivity::new(1.0)?;
    let scale = calibrate::laplace(budget, l1)?;
    let keep = calibrate::randomized_response(budget, 3)?;
    let coordinate = dp_core::profile::CoordinateProfile::RandomizedResponse { keep };
    let probability = dp_core::Probability::new(0.5)?;
    let profiles = [
        Profile::Gaussian { sensitivity: l2, sigma },
        Profile::Laplace { sensitivity: l1, scale },
        Profile::RandomizedResponse { bits: 3, keep },
        Profile::BinomialMixture { trials: 3, probability, coordinate },
    ];
    let guarantees = profiles
        .map(|p| dp_core::Guarantee::declared(attribute, budget, p, "a test", "a sample"))
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    let counted: Vec<_> = guarantees.iter().zip([1u64, 2, 3, 1]).collect();
    Ok(serde_json::to_string(&counted)?)
}

fn data_sets() -> Vec<Sample> {
    let idx = [0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6];
    // The same, stored without compression by gzip.
    let gz = [
        31, 139, 8, 0, 0, 0, 0, 0, 0, 255, 1, 18, 0, 237, 255, 0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3,
        1, 2, 3, 4, 5, 6, 72, 148, 62, 229, 18, 0, 0, 0,
    ];
    let packages = "package\tsection\tsynopsis\ttags\tdepends\n\
        a\tgames\tA game\trole::program,use::gaming\tb,c\nb\tlibs\tA library\t\t\n";
    vec![
        Sample::new("idx", "plain.idx", idx),
        Sample::new("idx", "gzip.idx.gz", gz),
        Sample::new("libsvm", "two-rows.txt", "1 1:0.5 7:-2\n-1 3:1e-3\n"),
        Sample::new(
            "item_sets",
            "heads.tsv",
            "user\titem\trating\n1\t10\t5\n1\t11\t3.5\n2\t10\t4\n",
        ),
        Sample::new("packages", "two.tsv", packages),
    ]
}
