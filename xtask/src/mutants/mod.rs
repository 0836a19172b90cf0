//! `cargo xtask mutants`: breaks one expression at a time and asks whether a test notices.
//!
//! cargo-mutants lists the changes. All of them are compiled into one copy of the package, each behind a number that a test process
//! is told ("mutant schemata"; Untch, Offutt, Harrold 1993): a build for each would take most of the time. A test is asked
//! where it comes by the change, quick ones first, up to the first that fails. What cannot be chosen at run time, as in a
//! constant, is built alone. Of every group of modules a sample is run, in an order that the seed fixes; each result is
//! stored as soon as it is known, with the fingerprint of the file that was changed, so that a run goes on where the
//! last one stopped and repeats only what has been edited since.

mod copy;
mod groups;
mod results;
mod switch;
mod tests;

use crate::environment::folders;
use copy::{Copy, Endless};
use groups::{GROUPS, Group};
use results::{Outcome, Results, Stored};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use switch::{Mutant, Switched};
use tests::Test;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only groups whose name contains this text: calibrate, profile, noise, mechanism, accounting, flips,
    /// sensitivities.
    group: Option<String>,
    /// Mutants of a group that are run.
    #[arg(long, default_value_t = 400)]
    sample: usize,
    /// Chooses them.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs mutants that survived once more: after tests were added.
    #[arg(long)]
    again: bool,
    /// Mutants that are run at the same time, each with one test after the other.
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// Begins no mutant after this many minutes.
    #[arg(long)]
    minutes: Option<u64>,
    /// Only writes the page from what is stored.
    #[arg(long)]
    page: bool,
}

fn fingerprint(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The errors that a change itself makes: it has no such type, no such operator, no such name. Others may come of the choice between
/// changes.
const UNVIABLE: [&str; 10] =
    ["E0061", "E0277", "E0308", "E0369", "E0423", "E0425", "E0433", "E0368", "E0599", "E0600"];

/// A mutant that is to be run.
struct Chosen {
    /// The number of its group.
    group: usize,
    mutant: Mutant,
    /// The fingerprint of the file that it changes.
    source: String,
}

/// What is run of a package, and what is known of its groups.
struct Run<'a> {
    copy: &'a Copy,
    root: &'a Path,
    package: &'static str,
    groups: Vec<&'static Group>,
    results: Mutex<Vec<Results>>,
    chosen: Vec<Chosen>,
    /// Files as they are.
    texts: BTreeMap<String, String>,
}

impl<'a> Run<'a> {
    fn new(
        copy: &'a Copy,
        root: &'a Path,
        groups: Vec<&'static Group>,
        arguments: &Arguments,
    ) -> Outcome<Self> {
        let (mut results, mut chosen, mut texts) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (number, group) in groups.iter().enumerate() {
            let mut all = Vec::new();
            for listed in copy.listed(group.package, group.files)? {
                let file = listed["file"].as_str().ok_or("a mutant without a file")?.to_owned();
                if !texts.contains_key(&file) {
                    texts.insert(file.clone(), copy.read(&file)?);
                }
                let text = &texts[&file];
                let mutant = Mutant::new(&listed, text)?;
                let place = fingerprint(format!("{} {}", arguments.seed, mutant.name).as_bytes());
                let source = fingerprint(text.as_bytes());
                all.push((place, Chosen { group: number, mutant, source }));
            }
            all.sort_by(|a, b| (&a.0, &a.1.mutant.name).cmp(&(&b.0, &b.1.mutant.name)));
            let mut known = Results::read(root, group.name)?;
            (known.of, known.seed) = (all.len() as u64, arguments.seed);
            // What was said of a file that has changed is said no more.
            let sources: BTreeMap<&str, &str> =
                all.iter().map(|(_, one)| (&*one.mutant.name, &*one.source)).collect();
            known.mutants.retain(|name, stored| sources.get(&**name) == Some(&&*stored.source));
            let again = |stored: &Stored| arguments.again && stored.outcome == "survived";
            let count = all.len();
            let left: Vec<Chosen> = all
                .into_iter()
                .take(arguments.sample)
                .map(|(_, one)| one)
                .filter(|one| known.mutants.get(&one.mutant.name).is_none_or(again))
                .collect();
            println!("{}: {count} mutants, {} to run", group.name, left.len());
            results.push(known);
            chosen.extend(left);
        }
        let package = groups[0].package;
        Ok(Self { copy, root, package, groups, results: Mutex::new(results), chosen, texts })
    }

    fn store(&self, number: usize, outcome: &str) -> Outcome<()> {
        let Chosen { group, mutant, source } = &self.chosen[number];
        let mut results = self.results.lock().map_err(|_| "a worker stopped")?;
        let stored = Stored { outcome: outcome.to_owned(), source: source.clone() };
        results[*group].mutants.insert(mutant.name.clone(), stored);
        if outcome == "survived" {
            println!("survived: {}", mutant.name);
        }
        results[*group].write(self.root, self.groups[*group].name)
    }

    /// Writes these mutants into the copy, each behind its number, less those that do not compile there. Returns what can be
    /// chosen, and what must be built alone.
    fn switch(&self) -> Outcome<(Vec<usize>, BTreeSet<usize>)> {
        let (mut chosen, mut alone): (BTreeSet<usize>, BTreeSet<usize>) =
            ((0..self.chosen.len()).collect(), BTreeSet::new());
        let library = format!("crates/{}/src/lib.rs", self.package);
        let text = self.copy.read(&library)?;
        self.copy.write(&library, &(text + &switch::module(self.chosen.len())))?;
        loop {
            let mut written: BTreeMap<&str, Switched> = BTreeMap::new();
            for (file, text) in &self.texts {
                let of: Vec<(usize, &Mutant)> = chosen
                    .iter()
                    .map(|&number| (number, &self.chosen[number].mutant))
                    .filter(|(_, mutant)| mutant.file == *file)
                    .collect();
                let switched = switch::switched(text, &of, "crate::switched_mutants::on")?;
                self.copy.write(file, &switched.text)?;
                for number in &switched.left {
                    chosen.remove(number);
                    alone.insert(*number);
                }
                written.insert(file, switched);
            }
            let faults = self.copy.faults(self.package)?;
            if faults.is_empty() {
                return Ok((chosen.into_iter().collect(), alone));
            }
            let before = chosen.len();
            for fault in &faults {
                let Some(switched) = written.get(&*fault.file) else { continue };
                let (behind, there) = switched.behind(fault.lines.clone());
                for number in behind {
                    if !chosen.remove(&number) {
                        continue;
                    }
                    if there && UNVIABLE.contains(&&*fault.code) {
                        self.store(number, "unviable")?;
                    } else {
                        alone.insert(number);
                    }
                }
            }
            if chosen.len() == before {
                return Err(format!("the copy does not compile: {}", faults[0].text).into());
            }
        }
    }

    /// What becomes of a mutant that cannot be chosen at run time.
    fn alone(&self, number: usize, tests: &[Test]) -> Outcome<()> {
        let mutant = &self.chosen[number].mutant;
        let text = &self.texts[&mutant.file];
        self.copy.write(&mutant.file, &mutant.alone(text))?;
        // Tests were built before: where they are not now, it is the change.
        let sound = match self.copy.faults(self.package) {
            Err(error) if error.is::<Endless>() => false,
            faults => faults?.is_empty(),
        };
        let builds = sound && self.copy.programs(self.package).is_ok();
        let outcome = if builds { tests::verdict(tests, None)? } else { "unviable" };
        self.copy.write(&mutant.file, text)?;
        self.store(number, outcome)
    }

    fn all(&self, workers: usize, until: Option<Instant>) -> Outcome<()> {
        if self.chosen.is_empty() {
            return Ok(());
        }
        let over = || until.is_some_and(|until| Instant::now() > until);
        let (chosen, alone) = self.switch()?;
        println!("{}: {} in one build, {} each alone", self.package, chosen.len(), alone.len());
        let tests = tests::all(&self.copy.programs(self.package)?, &self.copy.folder, workers)?;
        println!("{}: {} tests pass as it is", self.package, tests.len());
        tests::at_once(workers, &chosen, |&number| match over() {
            true => Ok(()),
            false => self.store(number, tests::verdict(&tests, Some(number))?),
        })?;
        for (file, text) in &self.texts {
            self.copy.write(file, text)?;
        }
        for number in alone {
            if !over() {
                self.alone(number, &tests)?;
            }
        }
        Ok(())
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome<ExitCode> {
    let (root, target) = folders();
    let wanted = |group: &&Group| arguments.group.as_ref().is_none_or(|g| group.name.contains(g));
    let groups: Vec<&'static Group> = GROUPS.iter().filter(wanted).collect();
    if groups.is_empty() {
        return Err(format!("no group is called {:?}", arguments.group).into());
    }
    if !arguments.page {
        let copy = Copy::new(&root, &target.canonicalize()?)?;
        let until = arguments.minutes.map(|m| Instant::now() + Duration::from_secs(60 * m));
        for groups in groups.chunk_by(|a, b| a.package == b.package) {
            let run = Run::new(&copy, &root, groups.to_vec(), arguments)?;
            run.all(arguments.workers.max(1), until)?;
        }
    }
    results::publish(&root)?;
    Ok(ExitCode::SUCCESS)
}
