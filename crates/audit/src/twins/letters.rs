//! Defects of responses on letters and bits.

use crate::mechanisms::bounded::nine_cells;
use crate::mechanisms::common::{pure_budget, pure_noise};
use crate::mechanisms::minhash::{BATCH as SETS, Bucket};
use crate::mechanisms::signs::{BATCH, Signs, decimals, ones_at, thresholds};
use crate::subject::{Draw, Role, Side, Subject};
use dp_core::noise::{Bernoulli, KaryResponse};
use dp_core::{Budget, Probability, calibrate};
use eval::Result;
use rand_core::Rng;

fn off_by_one_bucket() -> Result<Subject> {
    let bucket = Bucket::new()?;
    let original = bucket.subject(pure_budget()?)?;
    let (positions, alphabet) =
        (bucket.shape.positions() as u64, u64::from(bucket.shape.alphabet()));
    let keep = calibrate::kary_response(original.claim, positions, alphabet)?;
    let law = KaryResponse::new(alphabet, keep)?;
    let clean = bucket.clean();
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut rng = draw.noise();
        let mut stream = rng.stream();
        let kept = Bernoulli::new(law.keep());
        for &letter in side.of(&clean[0], &clean[1]).repeat(SETS).iter() {
            let letter = letter as u64;
            out.push(if kept.sample(&mut stream) {
                letter as f64
            } else {
                let wide = u128::from(stream.next_u64()) * u128::from(alphabet - 1);
                let other = (wide >> 64) as u64;
                // `>` where `>=` is due: the letter itself comes again, its successor never.
                (other + u64::from(other > letter)) as f64
            });
        }
        Ok(())
    };
    Ok(original.twin("off-by-one bucket", sample))
}

/// The word that chooses the offset of a value decides its answer too: at two offsets of three the answer is always true.
fn one_word_twice() -> Result<Subject> {
    let original = nine_cells(Budget::new(3.0, 0.0)?)?;
    let (letters, batch) = (3, original.batch);
    let keep = calibrate::kary_response(original.claim, 1, letters)?;
    let sample = move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut rng = draw.noise();
        let mut stream = rng.stream();
        let steps = [*side.of(&0, &6), 2];
        for step in steps.repeat(batch) {
            let word = stream.next_u64();
            let offset = ((u128::from(word) * u128::from(letters)) >> 64) as u64;
            let letter = (step + letters - 1 - offset) / letters;
            let kept = (word as f64) < keep.get() * 2f64.powi(64);
            let other = stream.next_u64() & 1;
            let answer = if kept { letter } else { other + u64::from(other >= letter) };
            out.push((offset + letters * answer) as f64);
        }
        Ok(())
    };
    Ok(original.twin("bounded values, one word for offset and answer", sample))
}

/// Signs whose levels come from `level(|x| / step)` instead of the exact count.
fn by_level(
    signs: &Signs,
    level: fn(f64) -> u32,
) -> Result<impl Fn(Side, &Draw, &mut Vec<f64>) -> Result<()> + Send + Sync + use<>> {
    let table = signs.mechanism.flips();
    let [p, q] = [&signs.rows.left, &signs.rows.right].map(|row| ones_at(signs, row, table, level));
    let (p, q) = (p?, q?);
    Ok(move |side: Side, draw: &Draw, out: &mut Vec<f64>| {
        let mut rng = draw.noise();
        let mut stream = rng.stream();
        for &one in side.of(&p, &q).repeat(BATCH).iter() {
            let law = Bernoulli::new(Probability::new(one)?);
            out.push(f64::from(u8::from(law.sample(&mut stream))));
        }
        Ok(())
    })
}

/// The ceiling written as a rounded-down quotient plus one: right but for multiples of the step.
fn one_level_too_many() -> Result<Subject> {
    let signs = thresholds(pure_budget()?)?;
    let original = signs.subject("DP-SignOPORP at thresholds")?;
    let level = |quotient: f64| if quotient == 0.0 { 0 } else { quotient.floor() as u32 + 1 };
    Ok(original.twin("smooth flip, L rounded down and one added", by_level(&signs, level)?))
}

/// The plain quotient of computed numbers: one unit in the last place is a level.
fn plain_quotient() -> Result<Subject> {
    let signs = decimals(pure_budget()?)?;
    let original = signs.subject("DP-SignOPORP on decimals")?;
    let sample = by_level(&signs, |quotient| quotient.ceil() as u32)?;
    Ok(original.twin("smooth flip, L from a plain quotient", sample))
}

/// Rounding L down everywhere is no defect: values one attribute apart still differ by at most one
/// signed level, and every flip is likelier. Audited beside the twins, and never accused.
///
/// # Errors
/// A calibration that fails.
pub(super) fn rounded_down() -> Result<Subject> {
    Subject::built(pure_budget()?, pure_noise, |budget| {
        let signs = thresholds(budget)?;
        let original = signs.subject("DP-SignOPORP at thresholds")?;
        let level = |quotient: f64| quotient.floor() as u32;
        let control = original.twin("", by_level(&signs, level)?);
        let name = "control: L rounded down, weaker but private".into();
        Ok(Subject { name, role: Role::Mechanism, truth: original.truth, ..control })
    })
}

/// Twins on letters and bits.
pub(super) fn twins() -> Result<Vec<Subject>> {
    Ok(vec![off_by_one_bucket()?, one_word_twice()?, one_level_too_many()?, plain_quotient()?])
}
