//! Release files of windows: as those of covariances, with the rows covered.

use super::release::{WindowCovariance, WindowSpan};
use crate::covariance::{CovarianceFacts, CovarianceNoise, put_covariance};
use crate::error::{Error, Result};
use dp_core::PublicValue;
use dp_core::certificate::PublicParameters;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{
    CertificateClass, Kind, Opened, Payload, Writer, fingerprint, to_json,
};
use serde::{Deserialize, Serialize};
use std::io::Write;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WindowFacts {
    span: WindowSpan,
    blocks: u64,
    covariance: CovarianceFacts,
}

impl WindowFacts {
    fn of(window: &WindowCovariance) -> Self {
        Self {
            span: window.span(),
            blocks: window.blocks(),
            covariance: CovarianceFacts::of(window.covariance()),
        }
    }
}

/// What every certificate of a window states about what was released.
pub(crate) fn window_parameters(
    span: WindowSpan,
    blocks: u64,
    dim: usize,
    noise: CovarianceNoise,
) -> Result<PublicParameters> {
    Ok([
        ("d", PublicValue::from(dim)),
        ("first_row", span.first_row.into()),
        ("end_row", span.end_row.into()),
        ("blocks", blocks.into()),
        ("release noise", to_json(&noise)?.into()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into())
}

impl Payload for WindowCovariance {
    type Error = Error;

    fn kinds(class: CertificateClass) -> &'static [Kind] {
        if class == CertificateClass::Private { &[Kind::Window] } else { &[] }
    }

    fn shape(&self) -> (usize, usize) {
        (self.covariance().dim(), self.covariance().dim())
    }

    fn fingerprint(&self) -> String {
        fingerprint(&WindowFacts::of(self))
    }

    fn parameters(&self) -> Result<String> {
        Ok(to_json(&WindowFacts::of(self))?)
    }

    fn write<W: Write>(&self, out: &mut Writer<W>) -> Result<()> {
        put_covariance(self.covariance(), out)
    }

    fn read(opened: &Opened<'_>) -> Result<Self> {
        let facts: WindowFacts = opened.summary.parameters()?;
        opened.summary.check_fingerprint(&fingerprint(&facts))?;
        let WindowFacts { span, blocks, covariance } = facts;
        opened.summary.check_public(&window_parameters(
            span,
            blocks,
            covariance.dim,
            covariance.noise,
        )?)?;
        let stated = &opened.summary.certificate.statement().noise;
        // A tree states the law of a node once a level.
        let node = match stated {
            NoiseLaw::Several { laws } if laws.iter().all(|law| *law == laws[0]) => laws.first(),
            _ => None,
        };
        let law = CovarianceNoise::of(node.unwrap_or(stated));
        if blocks == 0 || !law.is_some_and(|law| covariance.noise.is_a_sum_of(law, blocks)) {
            return Err(Error::rejected(
                "noise law",
                "is not that of blocks with the certificate's",
            ));
        }
        if covariance.has_sums() {
            return Err(Error::rejected("parameters", "windows come without sums"));
        }
        if span.first_row > span.end_row {
            return Err(Error::rejected("parameters", "the window ends before it begins"));
        }
        Ok(Self::new(span, blocks, covariance.take(opened)?))
    }
}
