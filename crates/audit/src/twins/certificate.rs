//! Certificates edited by hand: every number, one at a time.

use crate::mechanisms::averaged::Setup;
use crate::mechanisms::common::{bound, gaussian_budget, pure_budget};
use dp_core::certificate::canonical;
use dp_core::release_file::AnyCertificate;
use dp_core::{
    Adjacency, Budget, Certificate, FreshSeed, IndividualCertificate, NoGuarantee, NoiseRng,
    PublicSeed,
};
use eval::Result;
use linalg_dp::covariance::NoisyPower;
use linalg_dp::covariance::{CovarianceMechanism, GaussianCovariance, JlCovariance};
use linalg_dp::low_rank::{RangeFinder, Setting};
use linalg_dp::window::WindowMechanism;
use sha2::{Digest, Sha256};
use sketch::RowsView;
use sketch::distances::{NoiseAddition, RandomizedResponse, ValueRange};
use sketch::projection::Family;
use sketch::sets::{BucketPrivMin, ItemSet, MixtureResponse, PrivMin, SetNeighbours, SymbolShape};
use sketch::signs::{FlipRule, IndividualNoise, IndividualSigns, PrivateSigns, SignSketch};
use sketch::vectors::System;

/// How the edits of one kind of certificate fared.
#[derive(Debug, Clone)]
pub(crate) struct Edits {
    /// The mechanism whose certificate it is.
    pub(crate) name: &'static str,
    /// Single numbers changed, the digest left alone.
    pub(crate) tried: usize,
    /// Changes that were accepted: there must be none.
    pub(crate) accepted: Vec<String>,
    /// The same changes with the digest computed anew, as a forger would.
    pub(crate) resealed: usize,
    /// How many of these `verify` found inconsistent.
    pub(crate) resealed_rejected: usize,
}

/// Which reader checks a text.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Private,
    Individual,
    Nothing,
}

impl Kind {
    fn accepts(self, text: &str) -> bool {
        match self {
            Self::Private => Certificate::from_json(text).is_ok(),
            Self::Individual => text.parse::<IndividualCertificate>().is_ok(),
            Self::Nothing => text.parse::<NoGuarantee>().is_ok(),
        }
    }
}

/// Edits every number of a certificate of every kind.
///
/// # Errors
/// A mechanism that refuses its input.
pub(crate) fn edit_all() -> Result<Vec<Edits>> {
    Ok(samples()?.into_iter().map(|(name, kind, text)| edit(name, kind, &text)).collect())
}

fn edit(name: &'static str, kind: Kind, text: &str) -> Edits {
    let mut edits =
        Edits { name, tried: 0, accepted: Vec::new(), resealed: 0, resealed_rejected: 0 };
    if !kind.accepts(text) {
        edits.accepted.push("the original is refused".into());
    }
    for (start, end) in numbers(text) {
        for other in others(&text[start..end]) {
            let changed = format!("{}{other}{}", &text[..start], &text[end..]);
            edits.tried += 1;
            if kind.accepts(&changed) {
                edits.accepted.push(format!("{} to {other}", &text[start..end]));
            }
            if let Some(sealed) = reseal(&changed) {
                edits.resealed += 1;
                edits.resealed_rejected += usize::from(!kind.accepts(&sealed));
            }
        }
    }
    edits
}

/// Places of numbers outside strings.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let (mut places, mut i, mut quoted) = (Vec::new(), 0, false);
    while i < bytes.len() {
        match bytes[i] {
            b'\\' if quoted => i += 1,
            b'"' => quoted = !quoted,
            b'-' | b'0'..=b'9' if !quoted => {
                let start = i;
                while i < bytes.len()
                    && matches!(bytes[i], b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
                {
                    i += 1;
                }
                places.push((start, i));
                continue;
            }
            _ => {}
        }
        i += 1;
    }
    places
}

/// Other numbers in place of one: its neighbour, half, double.
fn others(number: &str) -> Vec<String> {
    if let Ok(whole) = number.parse::<i128>() {
        let all = [whole + 1, whole / 2, 2 * whole + 3];
        return all.iter().filter(|x| **x != whole).map(i128::to_string).collect();
    }
    let real: f64 = number.parse().unwrap_or(0.0);
    let all = [real.next_up(), 0.5 * real, 2.0 * real];
    all.iter().filter(|x| **x != real).map(|x| serde_json::json!(x).to_string()).collect()
}

/// The text with its digest computed anew: SHA-256 of the canonical text without it.
fn reseal(text: &str) -> Option<String> {
    let mut value: serde_json::Value = serde_json::from_str(text).ok()?;
    value.as_object_mut()?.remove("digest");
    let digest = Sha256::digest(canonical(&value));
    value["digest"] = digest.iter().map(|b| format!("{b:02x}")).collect::<String>().into();
    Some(value.to_string())
}

/// One certificate of every kind of noise law and profile.
fn samples() -> Result<Vec<(&'static str, Kind, String)>> {
    let mut rng = NoiseRng::deterministic_not_private(3);
    let rng = &mut rng;
    let (gaussian, pure) = (gaussian_budget()?, pure_budget()?);
    let (beta, one, norm) = (bound(1.0)?, bound(1.0)?, bound(1.0)?);
    let rows = RowsView::f64(2, 4, &[0.0, 0.5, 1.0, 0.25, 1.0, 0.0, 0.5, 0.5])?;
    let bits = RowsView::bits(2, 4, &[5, 9])?;
    let attribute = Adjacency::Attribute { beta };
    let add = Adjacency::AddRemoveRow { bound: norm };
    let fresh = || FreshSeed::reproducible_not_private(4);
    let sets = [ItemSet::new(vec![1, 2, 3])?, ItemSet::new(vec![2, 3, 4])?];
    let shape = SymbolShape::new(4, 1, 4)?;
    let mut all = Vec::new();
    let mut keep = |name, text: String| all.push((name, Kind::Private, text));
    for system in [System::DpOporp, System::DpOporpLaplace] {
        let budget = if system.is_pure() { pure } else { gaussian };
        let made = system.mechanism(4, 2, PublicSeed::new(5), beta, one, budget)?;
        keep(system.name(), made.release(rows, rng)?.certificate().to_json());
    }
    let setup = Setup::attribute()?;
    let row = RowsView::f64(1, setup.d, &setup.rows[0])?;
    keep(
        "averaged projection",
        setup.mechanism(gaussian)?.release(fresh(), row, rng)?.certificate().to_json(),
    );
    let made = NoiseAddition::new(2, 4, ValueRange::BITS, attribute, gaussian)?;
    keep("NoiseAddition", made.release(bits, rng)?.certificate().to_json());
    let made = RandomizedResponse::new(4, pure.epsilon)?;
    keep("RandomizedResponse", made.release(bits, rng)?.certificate().to_json());
    let sketch = SignSketch::single(Family::Oporp, 4, 2, PublicSeed::new(6))?;
    let made = PrivateSigns::new(sketch.clone(), FlipRule::OptimalSmooth, attribute, one, pure)?;
    keep("private signs", made.release(rows, rng)?.certificate().to_json());
    let made = MixtureResponse::calibrate(shape, SetNeighbours::new(2, 3)?, gaussian)?;
    keep("MinHash mixture", made.release(&sets, fresh(), rng)?.certificate().to_json());
    let made = BucketPrivMin::new(shape, pure.epsilon)?;
    keep("Bucket PrivMin", made.release(&sets, PublicSeed::new(7), rng)?.certificate().to_json());
    let setting = Setting::new((4, 3), 1, 2, beta, norm)?;
    let a = [0.5; 12];
    let made = RangeFinder::calibrate(setting, gaussian)?;
    let release = made.release(&RowsView::f64(4, 3, &a)?, fresh(), rng)?;
    keep("range finder", release.certificate().to_json());
    let plain = [0.6, 0.0, 0.0, 0.6];
    let covariances: [(&'static str, Box<dyn CovarianceMechanism>); 2] = [
        ("symmetric Gaussian", Box::new(GaussianCovariance::calibrate(2, add, gaussian)?)),
        ("Johnson-Lindenstrauss", Box::new(JlCovariance::calibrate(2, 4, add, gaussian)?)),
    ];
    for (name, made) in covariances {
        keep(name, made.release(&plain, rng)?.certificate().to_json());
    }
    let made = NoisyPower::calibrate(2, 1, 2, add, gaussian)?;
    keep(
        "noisy power method",
        made.release(&plain, PublicSeed::new(8), rng)?.certificate().to_json(),
    );
    use crate::mechanisms::window::{BLOCK, config, gaussian_blocks};
    let mechanism = WindowMechanism::calibrate(config(gaussian_blocks(), BLOCK, gaussian)?)?;
    let mut stream = mechanism.stream(&mut *rng);
    stream.push(&[1.0, 0.5])?;
    keep("private stream", stream.release()?.certificate().to_json());
    let made = IndividualSigns::new(
        sketch,
        IndividualNoise::Gaussian,
        attribute,
        one,
        Budget::new(1.0, 1e-2)?,
    )?;
    let certificate = made.release(rows, rng)?.certificate().clone();
    let text = AnyCertificate::from(certificate).to_json();
    all.push(("individual signs", Kind::Individual, text));
    let made = PrivMin::published(2, 20.0, pure.epsilon)?;
    let certificate = made.release(&sets, PublicSeed::new(9), rng)?.certificate().clone();
    let text = AnyCertificate::from(certificate).to_json();
    all.push(("PrivMin (no guarantee)", Kind::Nothing, text));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_outside_strings_only() {
        let text = r#"{"a 1": -2.5e-3, "b": "7\"8", "c": [1, 20]}"#;
        let found: Vec<&str> = numbers(text).into_iter().map(|(s, e)| &text[s..e]).collect();
        assert_eq!(found, ["-2.5e-3", "1", "20"]);
        assert_eq!(others("7"), ["8", "3", "17"]);
        assert_eq!(others("0.5")[1], "0.25");
    }

    #[test]
    fn every_edit_is_refused_and_a_seal_alone_is_not_trusted() {
        let edits = edit_all().expect("samples");
        assert!(edits.len() >= 13);
        for e in &edits {
            assert!(e.accepted.is_empty(), "{}: {:?}", e.name, e.accepted);
            assert!(e.tried > 8 && e.resealed == e.tried, "{} {}", e.name, e.tried);
        }
        // Resealing works (public parameters can be forged so), and consistency still bites.
        let all: usize = edits.iter().map(|e| e.resealed).sum();
        let rejected: usize = edits.iter().map(|e| e.resealed_rejected).sum();
        assert!(rejected < all && 10 * rejected > all, "{rejected} of {all}");
    }
}
