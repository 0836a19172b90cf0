//! Which tests of a package come by which mutants, and what they say of each.

use super::results::Outcome;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Bytes of memory that a test may ask for: a mutant may ask for all there is.
const MEMORY: u64 = 12 << 30;

/// One test in a program of them.
#[derive(Debug, Clone)]
pub(super) struct Test {
    program: PathBuf,
    folder: PathBuf,
    name: String,
    took: Duration,
    /// Numbers of the mutants that it comes by.
    reaches: BTreeSet<usize>,
}

/// How a process of tests ended.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Passed,
    Failed,
    Stuck,
}

/// Runs some tests of one program, one after the other.
fn run(tests: &[&Test], told: (&str, &str), most: Duration) -> Outcome<End> {
    let mut command = Command::new("sh");
    let limited = format!("ulimit -v {}; exec \"$0\" \"$@\"", MEMORY >> 10);
    command.args(["-c", &limited]).arg(&tests[0].program).args(["--exact", "--test-threads=1"]);
    command.args(tests.iter().map(|test| &test.name)).current_dir(&tests[0].folder);
    command.env_remove("MUTANT_CHOSEN").env_remove("MUTANTS_SEEN").env(told.0, told.1);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let (mut child, begun) = (command.spawn()?, Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { End::Passed } else { End::Failed });
        }
        if begun.elapsed() > most {
            child.kill()?;
            child.wait()?;
            return Ok(End::Stuck);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Does this for each item, several at a time.
pub(super) fn at_once<T: Sync>(
    workers: usize,
    items: &[T],
    each: impl Fn(&T) -> Outcome<()> + Sync,
) -> Outcome<()> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), String> {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            each(item).map_err(|fault| fault.to_string())?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        running.into_iter().try_for_each(|worker| match worker.join() {
            Ok(outcome) => Ok(outcome?),
            Err(_) => Err("a worker panicked".into()),
        })
    })
}

/// All tests of these programs; they must pass, and with what they come by where the programs have mutants.
pub(super) fn all(
    programs: &[(PathBuf, PathBuf)],
    scratch: &Path,
    workers: usize,
) -> Outcome<Vec<Test>> {
    let mut tests = Vec::new();
    for (program, folder) in programs {
        let listed = Command::new(program).args(["--list", "--format", "terse"]).output()?;
        for line in String::from_utf8(listed.stdout)?.lines() {
            if let Some(name) = line.strip_suffix(": test") {
                tests.push(Test {
                    program: program.clone(),
                    folder: folder.clone(),
                    name: name.to_owned(),
                    took: Duration::MAX,
                    reaches: BTreeSet::new(),
                });
            }
        }
    }
    let known = Mutex::new(Vec::new());
    let numbers: Vec<usize> = (0..tests.len()).collect();
    at_once(workers, &numbers, |&number| {
        let mut test = tests[number].clone();
        let seen = scratch.join(format!("seen-{number}"));
        let _ = std::fs::remove_file(&seen);
        let begun = Instant::now();
        let told = ("MUTANTS_SEEN", &*seen.to_string_lossy());
        if run(&[&test], told, Duration::from_secs(900))? != End::Passed {
            return Err(format!("{} does not pass as it is", test.name).into());
        }
        test.took = begun.elapsed();
        let reached = std::fs::read_to_string(seen).unwrap_or_default();
        test.reaches = reached.lines().map(str::parse).collect::<Result<_, _>>()?;
        known.lock().map_err(|_| "a worker stopped")?.push(test);
        Ok(())
    })?;
    let mut tests = known.into_inner()?;
    tests.sort_by_key(|test| test.took);
    Ok(tests)
}

/// What tests say of a mutant: those that come by it, or all where it stands alone; the quickest first, up to the first that fails.
pub(super) fn verdict(tests: &[Test], number: Option<usize>) -> Outcome<&'static str> {
    let asked = |test: &&Test| number.is_none_or(|number| test.reaches.contains(&number));
    let mut left: Vec<&Test> = tests.iter().filter(asked).collect();
    let chosen = number.unwrap_or(0).to_string();
    let mut room = Duration::from_millis(200);
    while let Some(first) = left.first().map(|test| test.program.clone()) {
        // Tests of one program share a process, few at first, for as long as they have no more than some time together.
        let (mut part, mut others, mut sum) = (Vec::new(), Vec::new(), Duration::ZERO);
        for test in left {
            if test.program == first && (part.is_empty() || sum + test.took <= room) {
                sum += test.took;
                part.push(test);
            } else {
                others.push(test);
            }
        }
        match run(&part, ("MUTANT_CHOSEN", &chosen), 10 * sum + Duration::from_secs(10))? {
            End::Passed => {}
            End::Failed => return Ok("caught"),
            End::Stuck => return Ok("stuck"),
        }
        left = others;
        room *= 2;
    }
    Ok("survived")
}
