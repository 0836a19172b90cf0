//! Release files of rows, read a few rows at a time: for what is larger than memory.

use crate::error::{Error, Result};
use crate::pieced::{BLOCK, Pieced};
use crate::verify::{FALSE_ALARM, Finding, Report, Verifiable, consistent, verify_sensitivity};
use dp_core::certificate::Trust;
use dp_core::release_file::{InParts, RowIds, Summary};
use std::sync::Arc;

/// Numbers (or words of signs) of a piece: 16 MiB.
const PIECE: usize = 1 << 21;

/// A release file of rows that is read a few rows at a time, in memory of a few pieces. All is checked that
/// [`verify_use`](crate::verify::verify_use) checks of the whole; whether the values carry the stated noise, of each piece. What is
/// computed from pieces counts only when the file was read to its end, and so is handed on by questions alone
/// ([`Pieces::nearest`], [`Pieces::verify_use`]).
#[derive(Debug)]
pub struct Pieces<T: Pieced + Verifiable> {
    file: InParts,
    form: T::Form,
    left: usize,
    step: usize,
    sensitivity: Finding,
    /// The share of each piece of the probability that an honest release is refused.
    alarm: f64,
}

impl<T: Pieced + Verifiable> Pieces<T> {
    /// Takes a file of which nothing was read, and computes the sensitivity again.
    ///
    /// # Errors
    /// [`dp_core::Error::File`] for a file of another kind, and as [`verify_use`](crate::verify::verify_use).
    pub fn of(file: InParts, trust: &Trust) -> Result<Self> {
        let summary = file.summary();
        summary.expect(T::kinds(summary.certificate.class()))?;
        let form = T::form(summary)?;
        consistent(&summary.certificate)?;
        let unknown = Finding::NotChecked("what it follows from");
        let sensitivity = verify_sensitivity(summary, trust)?.unwrap_or(unknown);
        Report::new(sensitivity, Finding::Agrees).require(&summary.certificate, trust)?;
        let (left, _) = summary.shape()?;
        let rows = PIECE / T::numbers(&form).max(1);
        // Whole blocks of a search: its sums are then those of all rows at once.
        let step = if rows < BLOCK { rows.max(1) } else { rows / BLOCK * BLOCK };
        let alarm = FALSE_ALARM / left.div_ceil(step).max(1) as f64;
        Ok(Self { file, form, left, step, sensitivity, alarm })
    }

    /// What the file says of itself.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        self.file.summary()
    }

    /// What it says of its payload.
    pub(crate) fn form(&self) -> &T::Form {
        &self.form
    }

    /// The next rows; at the end, of no rows.
    fn piece(&mut self) -> Result<T> {
        let rows = self.step.min(self.left);
        self.left -= rows;
        T::piece(&mut self.form, &mut self.file, rows)
    }

    /// Reads all pieces, each while something is asked of the one before, and checks their numbers against the noise they are said
    /// to carry; then that all was what the certificate was written for. Gives back the answers joined, and what the rows are called,
    /// where that is kept.
    pub(crate) fn ask<A: Send>(
        mut self,
        ask: impl Fn(&T) -> Result<A> + Sync,
        join: impl Fn(A, A, usize) -> A,
    ) -> Result<(A, Report, Option<Arc<RowIds>>)> {
        match self.answers(ask, join) {
            Ok((answer, payload)) => {
                let report = Report::new(self.sensitivity, payload);
                Ok((answer, report, self.file.end()?.1))
            }
            Err(found) => Err(self.file.damage().map_or(found, Error::from)),
        }
    }

    fn answers<A: Send>(
        &mut self,
        ask: impl Fn(&T) -> Result<A> + Sync,
        join: impl Fn(A, A, usize) -> A,
    ) -> Result<(A, Finding)> {
        let noise = self.summary().certificate.statement().noise.clone();
        let alarm = self.alarm;
        let (mut before, mut first) = (None, 0);
        let mut piece = self.piece()?;
        loop {
            let answer = || Ok::<_, Error>((piece.noise(&noise, alarm)?, ask(&piece)?));
            let (next, answer) = rayon::join(|| self.piece(), answer);
            let (next, (payload, answer)) = (next?, answer?);
            let rows = piece.shape().0;
            let so_far = match before {
                None => answer,
                Some(before) => join(before, answer, first),
            };
            if next.shape().0 == 0 {
                return Ok((so_far, payload));
            }
            first += rows;
            (before, piece) = (Some(so_far), next);
        }
    }

    /// What [`verify_use`](crate::verify::verify_use) finds: whether the values carry the stated noise, in each piece.
    ///
    /// # Errors
    /// As [`verify_use`](crate::verify::verify_use).
    pub fn verify_use(self) -> Result<(Summary, Report)> {
        let summary = self.summary().clone();
        let (_, report, _) = self.ask(|_| Ok(()), |(), (), _| ())?;
        Ok((summary, report))
    }
}
