//! What `dps inspect --html` gathers for its page.

use super::content::Content;
use super::explain::usual;
use super::loaded::{self, AnyRelease};
use super::recheck;
use super::verify::gaps;
use super::worth::{class_name, doubts};
use crate::error::{Error, Result};
use crate::output::Record;
use crate::page::Page;
use dp_core::certificate::Trust;
use dp_core::explain::Explanation;
use dp_core::output::{Existing, Output};
use dp_core::release_file::{AnyCertificate, Summary};
use dp_core::{Probability, Release};
use linalg_dp::verify::{Finding, Report};
use sketch::Estimate;
use sketch::bounded::BoundedPairs;
use sketch::sets::SetPairs;
use sketch::signs::SignPairs;
use sketch::units::UnitPairs;
use sketch::vectors::Pairs;
use std::io::Write as _;
use std::path::Path;

/// Writes the page of a release or a certificate; a file that is there stays.
pub(super) fn write(content: &Content, to: &Path) -> Result<Record> {
    let trust = Trust::none();
    let none = Finding::NotChecked("there is none beside a certificate");
    let (certificate, summary, checked) = if content.is_release()? {
        let summary = content.summary()?;
        (summary.certificate.clone(), Some(summary), loaded::checked(content, &trust))
    } else {
        let certificate = content.certificate()?;
        let checked = recheck::certificate(&certificate, &trust);
        return page(
            content,
            to,
            &certificate,
            None,
            checked.map(|again| (None, Report::new(again, none))),
        );
    };
    let checked = checked.map(|(release, _, report)| (Some(release), report));
    page(content, to, &certificate, summary.as_ref(), checked)
}

fn page(
    content: &Content,
    to: &Path,
    certificate: &AnyCertificate,
    summary: Option<&Summary>,
    checked: Result<(Option<AnyRelease>, Report)>,
) -> Result<Record> {
    let worth = class_name(certificate);
    let explanation = match certificate {
        AnyCertificate::Private(certificate) => {
            Some(Explanation::of(certificate.guarantee(), &usual()?)?)
        }
        _ => None,
    };
    let (verdict, errors, gaps) = match &checked {
        Ok((release, report)) => (
            match doubts(certificate).as_slice() {
                [] => format!("Holds together: {worth}."),
                doubts => format!("Its numbers agree with each other, BUT {}.", doubts.join("; ")),
            },
            release.as_ref().map(expected).unwrap_or_default(),
            gaps(report, certificate.statement()),
        ),
        Err(error) => {
            let nothing = "anything: the check above ended with an error".to_owned();
            (format!("Does NOT hold together: {error}"), Vec::new(), vec![nothing])
        }
    };
    let page = Page {
        name: content.name(),
        summary,
        certificate,
        worth,
        verdict,
        explanation,
        errors,
        gaps,
    };
    let html = page.render();
    let mut output = Output::create(to, Existing::Keep)?;
    output.write_all(html.as_bytes()).map_err(|e| Error::io(to, e))?;
    output.finish(certificate)?;
    Ok(Record::new().text("page", to.display().to_string()).integer("bytes", html.len() as u64))
}

/// How far answers from this release are off, as the release itself tells.
fn expected(release: &AnyRelease) -> Vec<String> {
    let pair = |what: &str, estimate: sketch::Result<Estimate>| {
        let Ok(Estimate { value, standard_error }) = estimate else { return None };
        Some(format!(
            "the {what} of its first two rows is {value:.4}, with a standard error of {standard_error:.4}"
        ))
    };
    let spectral = |error: linalg_dp::Result<f64>| {
        let error = error.ok().filter(|error| error.is_finite())?;
        Some(format!(
            "the matrix differs from that of the data by at most {error:.4} in spectral norm, but with a \
             probability of at most 5 % over the noise"
        ))
    };
    let rare = Probability::new(0.05);
    let points: Vec<Option<String>> = match release {
        AnyRelease::Sketch(release) => {
            let pairs = Pairs::within(release);
            vec![
                pair("squared distance", pairs.squared_distance(0, 1)),
                pair("inner product", pairs.inner_product(0, 1)),
            ]
        }
        AnyRelease::Units(release) => vec![pair("cosine", UnitPairs::within(release).cosine(0, 1))],
        AnyRelease::Bounded(release) => {
            let pairs = BoundedPairs::within(release);
            vec![
                pair("squared distance", pairs.squared_distance(0, 1)),
                pair("inner product", pairs.inner_product(0, 1)),
            ]
        }
        AnyRelease::Symbols(release) => {
            vec![pair("Jaccard similarity", SetPairs::within(release).jaccard(0, 1))]
        }
        AnyRelease::Covariance(release) => {
            vec![rare.ok().and_then(|rare| spectral(release.payload().spectral_error(rare)))]
        }
        AnyRelease::Window(release) => {
            vec![rare.ok().and_then(|rare| spectral(release.payload().spectral_error(rare)))]
        }
        release => {
            let signs = loaded::Asked::signs(release).cloned();
            let signs = signs.map(|signs| Release::certified(signs, release.certificate()));
            let pairs = signs.as_ref().and_then(|signs| SignPairs::between(signs, signs).ok());
            vec![pairs.and_then(|pairs| pair("cosine", pairs.cosine(0, 1)))]
        }
    };
    points.into_iter().flatten().collect()
}
