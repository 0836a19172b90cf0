//! The tables and the last line.

use super::mechanisms::published::{RuleRow, rules};
use super::run::{Finding, Settings, TOTAL_ALARM, Verdict, audit};
use super::subject::{Role, Subject};
use super::twins::certificate::{Edits, edit_all};
use eval::Result;
use eval::markdown_table;
use eval::{Effort, Table};

/// Everything that an audit found.
#[derive(Debug, Clone)]
pub struct Summary {
    /// How it ran.
    pub settings: Settings,
    /// One finding an audit.
    pub findings: Vec<Finding>,
    /// Names of the twins that only the full audit runs, where this one is quick.
    pub left_to_full: Vec<String>,
    /// The twin that is not sampled: certificates edited by hand.
    pub(crate) edits: Vec<Edits>,
    /// What the published rules really give, by their exact profiles.
    pub(crate) rules: Vec<RuleRow>,
}

/// Runs every audit whose family or name contains one of `filters` (all, without filters), and tells
/// `told` about each.
///
/// # Errors
/// Whatever a mechanism refused; no audit matches.
pub fn run(settings: Settings, filters: &[String], told: impl Fn(&Finding)) -> Result<Summary> {
    let wanted = |s: &Subject| {
        let text = format!("{} {}", s.family, s.name).to_lowercase();
        filters.is_empty() || filters.iter().any(|f| text.contains(&f.to_lowercase()))
    };
    let all = everything()?;
    // The rate is shared by all audits, whichever run.
    let audits = all.len();
    let (mut findings, mut left_to_full) = (Vec::new(), Vec::new());
    for subject in all.into_iter().filter(wanted) {
        if subject.form == Effort::Full && settings.effort == Effort::Quick {
            left_to_full.push(subject.name);
            continue;
        }
        let finding = audit(&subject, settings, audits)?;
        told(&finding);
        findings.push(finding);
    }
    if findings.is_empty() {
        return Err(eval::Error::NoSuchExperiment { filter: filters.join(" ") });
    }
    let edits = if filters.is_empty() { edit_all()? } else { Vec::new() };
    Ok(Summary { settings, findings, left_to_full, edits, rules: rules()? })
}

/// Mechanisms and claims, the controls, the twin of each mechanism, and the other twins.
///
/// # Errors
/// A calibration that fails; a mechanism without a twin.
pub fn everything() -> Result<Vec<Subject>> {
    let mut all = super::mechanisms::all()?;
    all.extend(super::twins::controls()?);
    let own = super::twins::weakened(&all)?;
    all.extend(own);
    all.extend(super::twins::all()?);
    Ok(all)
}

impl Summary {
    fn with(&self, verdict: Verdict) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |f| f.verdict == verdict)
    }

    fn certificates_hold(&self) -> bool {
        self.edits.iter().all(|e| e.accepted.is_empty())
    }

    /// Whether all twins were caught and no mechanism accused.
    #[must_use]
    pub fn good(&self) -> bool {
        self.with(Verdict::Accused).next().is_none()
            && self.with(Verdict::Missed).next().is_none()
            && self.certificates_hold()
    }

    fn count(&self, keep: impl Fn(&Role) -> bool) -> usize {
        self.findings.iter().filter(|f| keep(&f.subject.role)).count()
    }

    /// The last line: `N mechanisms: none accused; M twins: all caught`, or what failed.
    #[must_use]
    pub fn last_line(&self) -> String {
        let mechanisms = self.count(|r| *r == Role::Mechanism);
        // Certificates edited by hand are one twin.
        let twins = self.count(|r| matches!(r, Role::Twin { .. }));
        let twins = twins + usize::from(!self.edits.is_empty());
        let names = |verdict| -> Vec<&str> {
            self.with(verdict).map(|f| f.subject.name.as_str()).collect()
        };
        let mut missed = names(Verdict::Missed);
        if !self.certificates_hold() {
            missed.push("certificate edited by hand");
        }
        let accused = names(Verdict::Accused);
        let said = |all: &[&str], none: &str, some: &str| match all {
            [] => none.to_owned(),
            names => format!("{some} {}", names.join("; ")),
        };
        let accused = said(&accused, "none accused", "ACCUSED");
        let missed = said(&missed, "all caught", "MISSED");
        format!("{mechanisms} mechanisms: {accused}; {twins} broken twins: {missed}")
    }

    /// One line on claims that are not ours to defend, roles apart.
    #[must_use]
    pub fn claims_line(&self) -> String {
        let others = self.count(|r| matches!(r, Role::ClaimOnly { .. }));
        let outside = self.count(|r| matches!(r, Role::OutsideClaim { .. }));
        format!(
            "{others} claims of others or that are not differential privacy: {} refuted; {outside} seen \
             outside their claim: {} give more away there",
            self.with(Verdict::Refuted).count(),
            self.with(Verdict::Outside).count()
        )
    }

    /// How many edits of each kind of certificate were refused, a line a kind.
    pub fn edits_lines(&self) -> impl Iterator<Item = String> + '_ {
        self.edits.iter().map(|edits| {
            let refused = edits.tried - edits.accepted.len().min(edits.tried);
            format!("certificate of {}: {refused} of {} edits refused", edits.name, edits.tried)
        })
    }

    /// The twins that need more runs than the quick form has; nothing in the full form.
    #[must_use]
    pub fn full_only_line(&self) -> Option<String> {
        let names = self.left_to_full.join("; ");
        (!names.is_empty())
            .then(|| format!("{} twins in the full audit only: {names}", self.left_to_full.len()))
    }

    /// Every finding, with all that was counted.
    #[must_use]
    pub fn table(&self) -> Table {
        let heads = [
            "family",
            "mechanism",
            "role",
            "pair",
            "claimed epsilon",
            "claimed delta",
            "exact epsilon",
            "epsilon of the pair",
            "tester",
            "event",
            "often",
            "seldom",
            "epsilon at least",
            "tightness",
            "delta at least",
            "verdict",
        ];
        let count = |c: super::confidence::Count| format!("{} of {}", c.hits, c.runs);
        let rows = self.findings.iter().map(|f| {
            let s = &f.subject;
            let role = match &s.role {
                Role::Mechanism => "mechanism".to_owned(),
                Role::Twin { .. } => "twin".to_owned(),
                Role::ClaimOnly { whose } => format!("claim: {whose}"),
                Role::OutsideClaim { claim } => format!("outside its claim: {claim}"),
            };
            let sign = if f.event.above { ">=" } else { "<" };
            vec![
                s.family.to_owned(),
                s.name.clone(),
                role,
                s.pair.clone(),
                s.claim.epsilon.to_string(),
                s.claim.delta.to_string(),
                s.exact.map_or(String::new(), |exact| format!("{exact:.4}")),
                s.truth.map_or(String::new(), |truth| format!("{truth:.4}")),
                f.tester.to_owned(),
                format!("score {sign} {:.4}", f.event.threshold),
                count(f.often),
                count(f.seldom),
                bounded(f.epsilon),
                tightness(f),
                format!("{:.4}", f.delta),
                f.verdict.to_string(),
            ]
        });
        Table {
            name: "audit".into(),
            caption: "Every audit.".into(),
            columns: heads.map(str::to_owned).to_vec(),
            rows: rows.collect(),
        }
    }

    /// The table as CSV.
    #[must_use]
    pub fn csv(&self) -> Vec<u8> {
        self.table().csv()
    }

    /// The mechanisms of which less than half was found, and why.
    fn below_half(&self) -> String {
        let mechanisms = self.findings.iter().filter(|f| f.subject.role == Role::Mechanism);
        let weak = mechanisms.filter(|f| f.nothing_to_find() || f.tightness() < 0.5);
        let reason = |f: &Finding| match f.subject.slack {
            Some(reason) => reason,
            None if f.nothing_to_find() => "the exact epsilon at this delta is 0: nothing to find",
            None => "these pairs and testers find no more",
        };
        let lines: Vec<String> =
            weak.map(|f| format!("- {}: {}.\n", f.subject.name, reason(f))).collect();
        if lines.is_empty() {
            return String::new();
        }
        format!("Less than half of the exact epsilon was found for:\n\n{}\n", lines.concat())
    }

    /// The page of the repository.
    #[must_use]
    pub fn markdown(&self) -> String {
        let effort = if self.settings.effort == Effort::Full { " --full" } else { "" };
        let mut out = format!(
            "# Privacy audit\n\n\
             Regenerate: `cargo xtask audit{effort} --seed {} --publish`. All counts: [audit.csv](audit.csv).\n\n\
             Every mechanism runs on an adjacent pair, found by search or taken from structure (zero, equal and \
             sparse rows, powers of two, subnormal numbers, the largest bound, one column and a hundred); an event is \
             chosen on training runs and counted on fresh ones. \"Epsilon at least\" is a lower confidence bound \
             (Clopper-Pearson on both rates) at the claimed delta. \"Exact\" is the epsilon that the certificate's own \
             profile gives at that delta: below the claim where a published rule adds more noise than its claim \
             needs, absent where no profile is known. Tightness is the bound over the exact epsilon (over the \
             claim, without one). All limits of all {} audits together are wrong with probability at most \
             {TOTAL_ALARM:e}. A bound above the claim or above the exact epsilon accuses; a bound below them proves \
             nothing (see [LIMITATIONS.md](LIMITATIONS.md)).\n\n\
             Every mechanism has a twin with less noise: 0.7 of it (for responses: 1/0.7 of the epsilon of each), or \
             the first lesser share, in steps of 0.05, that breaks by a quarter what accuses the mechanism; what the twin \
             truly gives on this pair is computed from the exact law and stated. The other twins have defects that \
             were made once, or nearly. They show which defects these testers see with these runs, and no others.\n\n\
             **{}**\n\n{}.\n\n",
            self.settings.seed,
            self.findings.len(),
            self.last_line(),
            self.claims_line()
        );
        if let Some(line) = self.full_only_line() {
            out.push_str(&format!("{line}.\n\n"));
        }
        let short = |f: &Finding| {
            let s = &f.subject;
            vec![
                s.name.clone(),
                format!("{}, {}", s.claim.epsilon, s.claim.delta),
                s.exact.map_or(String::new(), |exact| format!("{exact:.3}")),
                s.truth.map_or(String::new(), |truth| format!("{truth:.3}")),
                s.pair.clone(),
                f.tester.to_owned(),
                bounded(f.epsilon),
                tightness(f),
                f.verdict.to_string(),
            ]
        };
        let heads = [
            "",
            "claim",
            "exact",
            "truly",
            "pair",
            "tester",
            "epsilon at least",
            "tightness",
            "verdict",
        ];
        let mut section = |title: &str, keep: &dyn Fn(&Role) -> bool, below: &str| {
            out.push_str(title);
            let rows: Vec<_> =
                self.findings.iter().filter(|f| keep(&f.subject.role)).map(short).collect();
            markdown_table(&mut out, &heads, rows.into_iter());
            out.push_str(below);
        };
        section("## Mechanisms\n\n", &|r| *r == Role::Mechanism, &self.below_half());
        section(
            "## Broken twins\n\nEach has one defect, and the pair and testers of its healthy original. \
             Claim and exact epsilon are the original's; \"truly\" is what the twin gives on this pair, \
             where it is computed.\n\n",
            &|r| matches!(r, Role::Twin { .. }),
            "",
        );
        section(
            "## Claims of others, and individual differential privacy\n\n`refuted` is expected here: these \
             claims are published without a proof that covers them, or are not differential privacy at \
             all; the library says so in their certificates.\n\n",
            &|r| matches!(r, Role::ClaimOnly { .. }),
            "",
        );
        section(
            "## Outside their claim\n\nThe published windows claim privacy for one release at the end of the \
             stream. Here two successive releases are seen, of which they claim nothing: what is found does \
             not refute them.\n\n",
            &|r| matches!(r, Role::OutsideClaim { .. }),
            "",
        );
        out.push_str(
            "## Certificates edited by hand\n\nEvery number of a certificate, changed by one unit in the last place, \
             halved and doubled. With the digest left alone every edit must be refused. With the digest \
             computed anew by a forger, `verify` refuses what is inconsistent; what remains are public \
             parameters that nothing else fixes (shapes, seeds, grids): sign certificates where origin matters.\n\n",
        );
        let edits = self.edits.iter().map(|e| {
            vec![
                e.name.to_owned(),
                format!("{} of {}", e.tried - e.accepted.len().min(e.tried), e.tried),
                format!("{} of {}", e.resealed_rejected, e.resealed),
            ]
        });
        markdown_table(
            &mut out,
            &["certificate", "edits refused", "refused although resealed"],
            edits,
        );
        out.push_str(
            "## Published rules\n\nThe delta that the prescribed noise really gives at the claimed epsilon, by \
             its exact profile. Budgets outside a rule's own preconditions are left out.\n\n",
        );
        let rules = self.rules.iter().map(|r| {
            vec![
                r.rule.name().to_owned(),
                r.claimed.epsilon.to_string(),
                format!("{:e}", r.claimed.delta.get()),
                format!("{:.2e}", r.true_delta),
                if r.holds() { "holds".into() } else { "refuted".into() },
            ]
        });
        let heads = ["rule", "epsilon", "claimed delta", "true delta", ""];
        markdown_table(&mut out, &heads, rules);
        out.trim_end().to_owned() + "\n"
    }
}

/// Tightness, but where there is nothing to find.
fn tightness(f: &Finding) -> String {
    if f.nothing_to_find() { "-".into() } else { format!("{:.2}", f.tightness()) }
}

fn bounded(epsilon: f64) -> String {
    if epsilon.is_finite() { format!("{epsilon:.3}") } else { "infinite".into() }
}
