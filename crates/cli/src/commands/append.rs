//! `dps append`: new rows beside a release, released as it was.

use super::content::Content;
use super::loaded::{AnyRelease, Asked, checked, mapped};
use super::release::{Like, Release};
use crate::error::{Error, Result};
use crate::flags::parsed;
use crate::output::Record;
use clap::{Args, Parser};
use dp_core::certificate::Trust;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::{self, AnyCertificate};
use dp_core::{Adjacency, Certificate, FreshSeed};
use sketch::bounded::BoundedLaw;
use sketch::projection::ProjectionSpec;
use std::ffi::OsString;
use std::path::PathBuf;

/// Options of `dps append`.
#[derive(Args)]
pub(crate) struct Append {
    /// The release that the new rows are to be searched together with; it stays as it is.
    release: PathBuf,
    /// Files of new rows or sets, and what `dps release` is told of input and output: NEW.csv --out NEW.dps --ledger FILE.
    /// What is protected, for how much and how follows from the release, and is not said again; without --ledger its certificate is
    /// taken at its word, and nobody checks that it was paid for. (`dps append RELEASE NEW.csv --help` lists the options.)
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "FILES AND OPTIONS"
    )]
    rest: Vec<OsString>,
}

/// The parser of what comes of it.
#[derive(Parser)]
#[command(name = "dps append RELEASE", no_binary_name = true)]
struct Again {
    #[command(flatten)]
    release: Release,
}

impl Append {
    /// Whether JSON is asked for among what is handed on.
    pub(crate) fn json(&self) -> bool {
        self.rest.iter().any(|word| word == "--json")
    }

    pub(crate) fn run(&self) -> Result<Record> {
        let (release, summary, _) = checked(&Content::open(&self.release)?, &Trust::none())?;
        let AnyCertificate::Private(certificate) = summary.certificate else {
            return Err(Error::Refused(format!(
                "{}: only releases with differential privacy are appended to",
                self.release.display()
            )));
        };
        let (command, words) = self.said_again(&release, &certificate, summary.kind)?;
        let rest = self.rest.iter().filter(|word| *word != "--json").cloned();
        let words = [command].map(OsString::from).into_iter().chain(rest).chain(words);
        let again = parsed::<Again>(words).map_err(|error| {
            if !error.use_stderr() {
                error.exit();
            }
            let said = error.render().to_string();
            let said = said.split("\n\nUsage").next().unwrap_or_default();
            let words: Vec<&str> = said.trim_start_matches("error: ").split_whitespace().collect();
            let path = self.release.display();
            Error::usage(format!("{} (what {path} says is not said again)", words.join(" ")))
        })?;
        let like = Like::new(self.release.clone(), certificate);
        again.release.like(like, projections(&release), mapped(&release)?);
        let record = again.release.run()?;
        Ok(record.text("beside", self.release.display().to_string()).text("adds up", ADDS_UP))
    }

    /// The command that made a release, and its options that the file states.
    fn said_again(
        &self,
        release: &AnyRelease,
        certificate: &Certificate,
        kind: release_file::Kind,
    ) -> Result<(&'static str, Vec<OsString>)> {
        let (statement, guarantee) = (certificate.statement(), certificate.guarantee());
        let path = self.release.display();
        if statement.public.contains_key(FreshSeed::MODEL_KEY) {
            return Err(Error::Refused(format!(
                "{path}: its guarantee averages over a seed that nobody knew before and that serves one release; its rows are \
                 known to be of that seed now, so that nothing is appended: release all rows anew with --calibration realised \
                 (sets: --mechanism bins)"
            )));
        }
        let mut words = adjacency(guarantee.adjacency());
        let mut say = |option: &str, value: String| words.extend([option.into(), value.into()]);
        say("--epsilon", format!("{:?}", guarantee.budget().epsilon.get()));
        say("--delta", format!("{:?}", guarantee.budget().delta.get()));
        if let Some(bound) = statement.public.get("largest entry") {
            say("--bound", serde_json::to_value(bound).unwrap_or_default().to_string());
        }
        let command = match release {
            AnyRelease::Sketch(sketch) => {
                let noise = match sketch.payload().noise() {
                    NoiseLaw::RoundedGaussian { .. } => "gaussian",
                    NoiseLaw::RoundedLaplace { .. } => "laplace",
                    NoiseLaw::Staircase { .. } => "staircase",
                    _ => return Err(release.cannot("how it is to be appended to")),
                };
                let store = match kind {
                    release_file::Kind::Sketch32 => "f32",
                    release_file::Kind::SketchCompact => "compact",
                    _ => "f64",
                };
                say("-k", sketch.payload().k().to_string());
                say("--noise", noise.into());
                say("--store", store.into());
                "sketch"
            }
            AnyRelease::Units(units) => {
                let units = units.payload();
                say("-k", units.projection().k().to_string());
                if units.lengths().is_some() {
                    words.push("--lengths".into());
                }
                "units"
            }
            AnyRelease::Bounded(bounded) => {
                let (low, high) = bounded.payload().range().ends();
                let guarantee = bounded.certificate().guarantee();
                let rows = guarantee.adjacency().rows();
                match bounded.payload().made_by(guarantee.budget(), rows)? {
                    BoundedLaw::Categories(c) => say("--categories", c.to_string()),
                    law => {
                        say("--low", format!("{low:?}"));
                        say("--high", format!("{high:?}"));
                        if law == BoundedLaw::OneBit {
                            words.push("--one-bit".into());
                        }
                    }
                }
                "bounded"
            }
            AnyRelease::Signs(signs) => {
                say("-k", signs.payload().bits().bits().to_string());
                let flips = match signs.payload().noise() {
                    NoiseLaw::SmoothBitFlip { rule, .. } if rule.starts_with("optimal") => {
                        "optimal"
                    }
                    NoiseLaw::SmoothBitFlip { .. } => "smooth",
                    _ => "response",
                };
                say("--flips", flips.into());
                "signs"
            }
            AnyRelease::Symbols(symbols) => {
                let symbols = symbols.payload();
                let scheme = symbols.scheme();
                say("-k", scheme.slots.to_string());
                say("--seed", scheme.seed.to_string());
                let minima = scheme.sketch.split('/').find_map(|part| part.strip_prefix("K="));
                match minima {
                    None if symbols.is_occupancy() => say("--mechanism", "occupancy".into()),
                    None => {
                        say("--mechanism", "bins".into());
                        say("--symbols", (symbols.alphabet() - 1).to_string());
                    }
                    Some(minima) => {
                        say("--mechanism", "buckets".into());
                        say("--concatenation", minima.to_owned());
                        say("--symbols", symbols.alphabet().to_string());
                    }
                }
                "minhash"
            }
            AnyRelease::Counts(_) => {
                return Err(Error::usage(format!(
                    "{path}: new sets beside counts of groups are released with the file that named the groups: dps release \
                     counts NEW --public FILE (or --groups FILE), the same adjacency and epsilon; dps search takes both"
                )));
            }
            other => return Err(other.cannot("a release that rows are appended to")),
        };
        Ok((command, words))
    }
}

/// What two releases cost together.
const ADDS_UP: &str = "with every other release of the ledger. Where no person of these rows is in another release, each pays for \
    one alone; a ledger cannot know that, and does not assume it";

/// The options that say what is protected.
fn adjacency(adjacency: Adjacency) -> Vec<OsString> {
    let each = match adjacency.each() {
        Adjacency::Attribute { beta } => format!("attribute --beta {:?}", beta.get()),
        Adjacency::RowShift { l2 } => format!("row-shift --shift {:?}", l2.get()),
        Adjacency::ReplaceRow { bound } => format!("replace-row --norm-bound {:?}", bound.get()),
        Adjacency::SetItems { alpha, min_size } => {
            format!("set-items --alpha {alpha} --min-size {min_size}")
        }
        _ => "any-input".into(),
    };
    let users = match adjacency.rows() {
        1 => String::new(),
        rows => format!(" --rows-a-user {rows}"),
    };
    let words = format!("--adjacency {each}{users}");
    words.split(' ').map(OsString::from).collect()
}

/// The public projections of its rows.
fn projections(release: &AnyRelease) -> Vec<ProjectionSpec> {
    match release {
        AnyRelease::Sketch(sketch) => vec![sketch.payload().projection()],
        AnyRelease::Units(units) => vec![units.payload().projection()],
        AnyRelease::Signs(signs) => signs.payload().projections().to_vec(),
        _ => Vec::new(),
    }
}
