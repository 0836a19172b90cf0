//! A release on one page for whoever must sign it off: what is protected, how strongly, what an attacker learns
//! at most, whence the noise came, how large the error is, what nobody checked. It needs nothing from elsewhere,
//! runs no script, and nothing of the file acts in it.

pub(crate) mod chart;
mod curves;
mod html;

use dp_core::certificate::preprocessing::Preprocessing;
use dp_core::explain::{Explanation, Guess, Learned};
use dp_core::release_file::{AnyCertificate, Summary};
use html::{Body, escape, whole};

/// Most bytes of a page, but for its frame.
const ROOM: usize = 280_000;
/// Longest certificate that is shown.
const CERTIFICATE: usize = 60_000;

const STYLE: &str = "\
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;padding:1em;max-width:60rem;overflow-wrap:anywhere}
h1{font-size:1.5em;line-height:1.25}h2{font-size:1.2em;margin:1.6em 0 .4em;border-bottom:1px solid}
dl{display:grid;grid-template-columns:minmax(8em,14em) 1fr;gap:.15em 1em}dt{font-weight:600}dd{margin:0}
@media(max-width:600px){dl{display:block}dd{margin:0 0 .5em 1em}}
.verdict{border:2px solid;padding:.6em .8em;font-weight:600}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,22rem),1fr));gap:1em}
figure{margin:0}svg{width:100%;height:auto;display:block}figcaption{font-size:.9em}
svg text{font-size:13px;fill:currentColor}.axis,.line{fill:none;stroke:currentColor}.axis{stroke-width:1}
.line{stroke-width:2.5}.dashed{stroke-dasharray:6 5;stroke-width:1.5}.grid{stroke:currentColor;opacity:.15}
.point{fill:currentColor}.wide{overflow-x:auto}table{border-collapse:collapse;margin:.6em 0;font-size:.95em}
caption{text-align:left;padding:.2em 0}th,td{border:1px solid;padding:.2em .5em;text-align:right}
pre{white-space:pre-wrap;font-size:.8em}
@media print{details{display:none}}";

/// What a page is made of.
pub(crate) struct Page<'a> {
    /// Name of the file.
    pub(crate) name: String,
    /// What the file says besides its certificate, where it is a release.
    pub(crate) summary: Option<&'a Summary>,
    pub(crate) certificate: &'a AnyCertificate,
    /// What the guarantee is worth, in words.
    pub(crate) worth: &'a str,
    /// What came of the check.
    pub(crate) verdict: String,
    pub(crate) explanation: Option<Explanation>,
    /// How large the error is, one point each.
    pub(crate) errors: Vec<String>,
    /// What nobody checked.
    pub(crate) gaps: Vec<String>,
}

impl Page<'_> {
    /// The whole page.
    pub(crate) fn render(&self) -> String {
        let mut body = Body::new(ROOM);
        body.put(&format!("<h1>What {} gives away</h1>\n", escape(&self.name)));
        body.put(&format!("<p class=\"verdict\">{}</p>\n", escape(&self.verdict)));
        self.facts(&mut body);
        self.protected(&mut body);
        self.learnt(&mut body);
        self.noise(&mut body);
        body.heading("error", "How large the error is");
        match self.errors.as_slice() {
            [] => body.paragraph("Nothing is known of it from the release alone."),
            errors => body.list(errors),
        }
        body.heading("unchecked", "What nobody checked");
        body.list(&self.gaps);
        self.certificate(&mut body);
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>{}</title>\n<style>{STYLE}</style></head>\n<body><main>\n{}</main></body></html>\n",
            escape(&self.name),
            body.end()
        )
    }

    fn facts(&self, body: &mut Body) {
        let statement = self.certificate.statement();
        let mut facts = Vec::new();
        if let Some(Summary { kind, rows, columns, .. }) = self.summary {
            facts.push(("holds", format!("{}, {rows} rows, {columns} columns", kind.name())));
        }
        facts.push(("made by", statement.mechanism.clone()));
        facts.push(("guarantee", self.worth.to_owned()));
        if let AnyCertificate::Private(certificate) = self.certificate {
            let guarantee = certificate.guarantee();
            facts.push(("neighbours", guarantee.adjacency().to_string()));
            if let Ok(Some(stated)) = Preprocessing::stated(&statement.public) {
                facts.push((Preprocessing::KEY, Vec::<String>::from(&stated).join("; ")));
                facts.push(("units", Preprocessing::UNITS.into()));
            }
            facts.push(("budget", guarantee.budget().to_string()));
            if let Some(delta) = guarantee.true_delta() {
                facts.push(("delta that is truly given", delta.to_string()));
            }
        }
        body.facts(facts);
    }

    fn protected(&self, body: &mut Body) {
        body.heading("protected", "What is protected, and what is not");
        match &self.explanation {
            Some(explanation) => {
                body.put(&format!(
                    "<p><b>Protected:</b> {}.</p>\n",
                    escape(&explanation.protected)
                ));
                if self.certificate.statement().public.contains_key(Preprocessing::KEY) {
                    body.paragraph(
                        "All of this is about values after the preprocessing that is stated above: what changes by 1 in the file \
                         may change by more there.",
                    );
                }
                body.put("<p><b>Not protected:</b></p>\n");
                body.list(&explanation.not_protected);
            }
            None => body.paragraph("Nothing: no differential privacy is stated."),
        }
    }

    fn learnt(&self, body: &mut Body) {
        body.heading("learnt", "How strongly: what an attacker learns at most");
        let (Some(explanation), AnyCertificate::Private(certificate)) =
            (&self.explanation, self.certificate)
        else {
            return body.paragraph("Nothing bounds what an attacker learns.");
        };
        body.paragraph(
            "Whatever the attacker knows besides, and however long he computes, as long as the noise is secret:",
        );
        let learned = &explanation.alone;
        body.list(&learned.words);
        if let Some(charts) = curves::of(certificate.guarantee()) {
            body.put(&format!("<div class=\"charts\">\n{charts}</div>\n"));
        }
        numbers(body, learned);
        let several = explanation.several.iter();
        body.table(
            "Several changes together: true less false alarms of the best test",
            ["changes", "at most"],
            several.map(|&(changes, gain)| [changes.to_string(), short(gain)]),
        );
    }

    fn noise(&self, body: &mut Body) {
        let statement = self.certificate.statement();
        body.heading("noise", "Whence the noise came");
        let json = |value: serde_json::Result<serde_json::Value>| {
            value.map_or_else(|_| "not known".into(), |value| value.to_string())
        };
        let mut facts = vec![
            ("generator", json(serde_json::to_value(statement.generator))),
            ("law", json(serde_json::to_value(&statement.noise))),
        ];
        if let Some(explanation) = &self.explanation {
            facts.push(("at whose word", explanation.basis.clone()));
        }
        body.facts(facts);
        // The map stands above, in words.
        let public = statement.public.iter().filter(|(name, _)| *name != Preprocessing::KEY);
        let public = public.map(|(name, value)| (name.as_str(), json(serde_json::to_value(value))));
        body.paragraph("What else is public:");
        body.facts(public);
    }

    fn certificate(&self, body: &mut Body) {
        let text = self.certificate.to_json();
        if text.len() <= CERTIFICATE {
            // Line by line: line ends would act.
            let lines: Vec<String> = text.lines().map(whole).collect();
            let lines = lines.join("\n");
            body.put(&format!(
                "<details><summary>The certificate, for machines</summary><pre>{lines}</pre></details>\n"
            ));
        }
    }
}

fn numbers(body: &mut Body, learned: &Learned) {
    let alarms = learned.alarms.iter();
    body.table(
        "Whoever tests for the change: shares of all cases",
        ["false alarms", "missed, at least", "found, at most"],
        alarms.map(|at| [at.false_alarms, at.missed_at_least, at.found_at_most].map(short)),
    );
    let failing = learned.guesses.first().map_or(0.0, |guess| guess.passed_with);
    body.table(
        &format!("Whoever guesses: probabilities; the second and third fail with probability {failing} at most"),
        ["before", "after, at most", "after, at least", "right guesses, at most"],
        learned.guesses.iter().map(|guess| {
            let Guess { prior, belief_at_most, belief_at_least, right_at_most, .. } = *guess;
            [prior, belief_at_most, belief_at_least, right_at_most].map(short)
        }),
    );
}

/// Five digits.
fn short(value: f64) -> String {
    match value {
        x if x == 0.0 || (1e-4..1e6).contains(&x.abs()) => format!("{x:.5}"),
        x => format!("{x:.3e}"),
    }
}
