use super::samples::{adjacency, certificate};
use super::*;
use crate::accounting::{Method, Part};
use crate::adjacency::Partition;
use crate::budget::Delta;
use crate::output::{Existing, Output};
use proptest::prelude::*;
use std::io::Write;
use std::path::PathBuf;
use tempfile::TempDir;

fn start(epsilon: f64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    let limit = Budget::new(epsilon, 1e-6).unwrap();
    let file = BudgetFile::create(&path, "users", adjacency(), limit, FilterRule::Basic).unwrap();
    assert!((file.data(), file.lines(), file.recovered().len()) == ("users", 1, 0));
    (folder, path)
}

fn runs(file: &BudgetFile) -> u64 {
    file.ledger().entries().iter().map(|entry| entry.event().count()).sum()
}

/// What a reader is told: everything but hashes, ids and times.
fn meaning(file: &BudgetFile) -> (String, Vec<(String, Option<String>)>) {
    let charges = file.charges().iter();
    let charges = charges.map(|c| (c.id().to_owned(), c.payload().map(str::to_owned))).collect();
    (format!("{} {}", file.data(), file.ledger()), charges)
}

/// A ledger with payments of every kind, and its bytes.
pub(super) fn sample() -> (TempDir, PathBuf, Vec<u8>) {
    let (folder, path) = start(9.0);
    let guarantee = certificate(b"").guarantee().clone();
    BudgetFile::spend(&path, &guarantee, 2, "two runs").unwrap();
    let mut output = Output::create(&folder.path().join("a"), Existing::Keep).unwrap();
    output.pay_from(&path, &guarantee, "a release").unwrap();
    output.write_all(b"text").unwrap();
    output.finish(&crate::certificate::AnyCertificate::Private(certificate(b"text"))).unwrap();
    let (_, standing) =
        BudgetFile::record(&path, &certificate(b"other"), "elsewhere", Repeat::Refuse).unwrap();
    assert_eq!(standing, Standing::Kept);
    let bytes = std::fs::read(&path).unwrap();
    (folder, path, bytes)
}

/// One bit, every length, bytes at the end or in the middle: refused, or read as what it was.
#[test]
fn damage_is_refused_or_changes_nothing() {
    let (_folder, _, bytes) = sample();
    let told = meaning(&BudgetFile::parse(&bytes).unwrap());
    let mut refused = 0;
    let mut check = |damaged: &[u8], what: &str| match BudgetFile::parse(damaged) {
        Ok(file) => assert_eq!(meaning(&file), told, "{what}"),
        Err(_) => refused += 1,
    };
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        check(&damaged, &format!("bit {bit}"));
    }
    for length in 0..bytes.len() {
        check(&bytes[..length], &format!("the first {length} bytes"));
    }
    for length in 1..400 {
        let junk: Vec<u8> = (0..length).map(|i| (i * 7919 + length * 31) as u8).collect();
        check(&[&bytes[..], &junk].concat(), &format!("{length} bytes more"));
        let place = length * bytes.len() / 400;
        let (before, after) = bytes.split_at(place);
        check(&[before, &junk, after].concat(), &format!("{length} bytes at {place}"));
        check(&[before, &after[length.min(after.len())..]].concat(), "bytes taken out");
    }
    assert!(refused > bytes.len() * 8, "{refused}");
}

/// Lines with their hashes.
pub(super) fn lines_of(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8(bytes[lines::BEGINNING..].to_vec()).unwrap();
    text.lines().map(|line| line[65..].to_owned()).collect()
}

/// The file that a forger makes who knows the layout.
pub(super) fn forged(texts: &[String]) -> Vec<u8> {
    let (mut head, mut all) = (String::new(), String::new());
    for text in texts {
        head = lines::chained(&head, text.as_bytes());
        all += &format!("{head} {text}\n");
    }
    let mark = lines::Mark { lines: texts.len() as u64, head }.text();
    [lines::MAGIC, mark.as_bytes(), mark.as_bytes(), all.as_bytes()].concat()
}

/// Whoever computes the hash of an altered line again is found out by the next line, or the mark; whoever writes
/// all anew, by the head.
#[test]
fn hashes_made_anew_show_in_the_head() {
    let (_folder, _, bytes) = sample();
    let file = BudgetFile::parse(&bytes).unwrap();
    let told = meaning(&file);
    let texts = lines_of(&bytes);
    assert_eq!(forged(&texts).len(), bytes.len());
    assert_eq!(BudgetFile::parse(&forged(&texts)).unwrap().head(), file.head());
    let mut accepted = 0;
    for line in 0..texts.len() {
        for bit in 0..texts[line].len() * 8 {
            let mut text = texts[line].clone().into_bytes();
            text[bit / 8] ^= 1 << (bit % 8);
            let Ok(text) = String::from_utf8(text) else { continue };
            if text.contains('\n') {
                continue;
            }
            // All hashes and marks right again.
            let mut altered = texts.clone();
            altered[line] = text;
            if let Ok(read) = BudgetFile::parse(&forged(&altered)) {
                accepted += 1;
                assert_ne!(read.head(), file.head());
            }
            // The line's own hash right again.
            let mut one = bytes[..lines::BEGINNING].to_vec();
            let mut head = String::new();
            for (i, text) in altered.iter().enumerate() {
                let own = lines::chained(&head, text.as_bytes());
                one.extend(format!("{own} {text}\n").bytes());
                head = lines::chained(&head, texts[i].as_bytes());
            }
            if let Ok(read) = BudgetFile::parse(&one) {
                assert_eq!(meaning(&read), told);
            }
        }
        let mut shorter = texts.clone();
        shorter.remove(line);
        if let Ok(read) = BudgetFile::parse(&forged(&shorter)) {
            assert_ne!(read.head(), file.head());
        }
    }
    assert!(accepted > 0, "nothing is signed: a label can be forged");
}

/// Parts of the rows stand in their lines: read back, and read as what they say.
#[test]
fn parts_of_the_rows_stand_in_their_lines() {
    let (folder, path) = start(2.0);
    let guarantee = certificate(b"").guarantee().clone();
    let part = |name: &str| Part::new("regions", name, Partition::ByRow).unwrap();
    for name in ["north", "south", "west"] {
        BudgetFile::spend(&path, &guarantee, 1, part(name).labelled("a file")).unwrap();
    }
    let mut output = Output::create(&folder.path().join("a"), Existing::Keep).unwrap();
    output.pay_from(&path, &guarantee, part("south").labelled("a release")).unwrap();
    output.write_all(b"text").unwrap();
    output.finish(&crate::certificate::AnyCertificate::Private(certificate(b"text"))).unwrap();
    // South has paid twice: nothing of all rows, and nothing of south, has room left; the others have.
    let file = BudgetFile::read(&path).unwrap();
    assert_eq!((file.ledger().stated().0, runs(&file)), (2.0, 4));
    assert_eq!(file.ledger().entries()[3].part(), Some(&part("south")));
    for named in ["all rows".into(), part("south").labelled("more")] {
        assert!(BudgetFile::spend(&path, &guarantee, 1, named).is_err());
        assert!(BudgetFile::check(&path, &guarantee, 1, named).is_err());
    }
    assert!(BudgetFile::check(&path, &guarantee, 1, part("north").labelled("more")).is_ok());
    let twice = certificate(b"other");
    let (file, standing) =
        BudgetFile::record(&path, &twice, part("south").labelled("third"), Repeat::Refuse).unwrap();
    assert!(matches!(standing, Standing::Passed(_)) && file.ledger().stated().0 == 3.0);
    BudgetFile::add(&path, &certificate(b"north"), part("north").labelled("b")).unwrap_err();

    let bytes = std::fs::read(&path).unwrap();
    let told = BudgetFile::parse(&bytes).unwrap();
    let texts = lines_of(&bytes);
    assert_eq!(BudgetFile::parse(&forged(&texts)).unwrap().head(), told.head());
    // A forger's partition is read as what it says, or refused.
    let edited = |from: &str, to: &str| {
        let texts: Vec<String> = texts.iter().map(|text| text.replace(from, to)).collect();
        BudgetFile::parse(&forged(&texts))
    };
    assert_eq!(edited("by-row", "by-unit").unwrap().ledger().stated(), told.ledger().stated());
    for (from, to) in [
        ("by-row", "by-content"),
        ("by-row", "by-name"),
        ("\"north\"", "\"\""),
        ("\"north\"", "\"North\""),
        ("\"name\"", "\"title\""),
        (",\"partition\":\"regions\"", ""),
    ] {
        assert!(texts.iter().any(|text| text.contains(from)), "{from}");
        assert!(edited(from, to).is_err(), "{from} {to}");
    }
}

#[test]
fn a_torn_line_goes_with_the_next_command() {
    let (_folder, path, bytes) = sample();
    let before = BudgetFile::read(&path).unwrap();
    for torn in [&b"0123 spe"[..], &[0; 300], b"junk\n"] {
        std::fs::write(&path, [&bytes, torn].concat()).unwrap();
        assert_eq!(meaning(&BudgetFile::read(&path).unwrap()), meaning(&before));
        let file = BudgetFile::open(&path).unwrap();
        assert_eq!(file.head(), before.head());
        assert!(file.recovered()[0].contains("never finished"), "{:?}", file.recovered());
        assert_eq!(std::fs::read(&path).unwrap().len(), bytes.len());
        assert!(BudgetFile::open(&path).unwrap().recovered().is_empty());
    }
}

/// A whole older state, put back: nothing in the file shows it, but the head does.
#[test]
fn the_head_shows_an_older_state() {
    let (_folder, path) = start(9.0);
    let older = std::fs::read(&path).unwrap();
    let guarantee = certificate(b"").guarantee().clone();
    let now = BudgetFile::spend(&path, &guarantee, 1, "a run").unwrap();
    std::fs::write(&path, older).unwrap();
    assert_ne!(BudgetFile::open(&path).unwrap().head(), now.head());
}

/// What has happened is entered past the limit; what has not is refused; nothing is forgotten.
#[test]
fn what_has_happened_is_never_forgotten() {
    let (_folder, path) = start(1.5);
    let record = |payload: &[u8]| {
        BudgetFile::record(&path, &certificate(payload), "elsewhere", Repeat::Refuse).unwrap()
    };
    assert_eq!(record(b"1").1, Standing::Kept);
    for payload in [&b"2"[..], b"3"] {
        assert!(matches!(record(payload).1, Standing::Passed(Error::BudgetExceeded { .. })));
    }
    assert_eq!(runs(&BudgetFile::open(&path).unwrap()), 3);
    let refused = BudgetFile::add(&path, &certificate(b"4"), "unseen");
    assert!(matches!(refused, Err(Error::BudgetExceeded { .. })), "{refused:?}");
    let all = BudgetFile::open(&path).unwrap();
    let spent = all.ledger().epsilon(Delta::ZERO, Method::Basic).unwrap().upper.get();
    assert!((spent - 3.0).abs() < 1e-6, "{spent}");
}

/// The same number of bytes for a payment, however many there were.
#[test]
fn a_payment_writes_a_few_bytes() {
    let (_folder, path) = start(90.0);
    let guarantee = certificate(b"").guarantee().clone();
    let grown: Vec<u64> = (0..40)
        .map(|_| {
            let before = std::fs::metadata(&path).unwrap().len();
            BudgetFile::spend(&path, &guarantee, 1, "a run").unwrap();
            std::fs::metadata(&path).unwrap().len() - before
        })
        .collect();
    assert!(grown.iter().all(|&bytes| bytes == grown[0] && bytes < 600), "{grown:?}");
}

#[cfg(unix)]
#[test]
fn mode_and_second_names_stay() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let (folder, path) = start(9.0);
    let guarantee = certificate(b"").guarantee().clone();
    for mode in [0o600, 0o660, 0o640] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let before = std::fs::metadata(&path).unwrap();
        BudgetFile::spend(&path, &guarantee, 1, "a run").unwrap();
        let after = std::fs::metadata(&path).unwrap();
        assert_eq!(after.permissions().mode() & 0o777, mode);
        assert_eq!((after.ino(), after.uid()), (before.ino(), before.uid()));
    }
    // Two names lead to one file and one lock; nothing else lies beside it.
    let other = folder.path().join("other");
    std::fs::hard_link(&path, &other).unwrap();
    BudgetFile::spend(&other, &guarantee, 1, "a run").unwrap();
    assert_eq!(runs(&BudgetFile::open(&path).unwrap()), 4);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// The layout before, as it was written.
fn old(path: &Path, entries: u64) -> Ledger {
    let limit = Budget::new(5.0, 1e-6).unwrap();
    let mut ledger = Ledger::with_limit(adjacency(), limit, FilterRule::Basic);
    for i in 0..entries {
        ledger.spend(certificate(b"").guarantee(), 1, &format!("run {i}")).unwrap();
    }
    let text = serde_json::json!({"format": 1, "data": "users", "ledger": ledger});
    std::fs::write(path, serde_json::to_string_pretty(&text).unwrap()).unwrap();
    ledger
}

#[test]
fn older_ledgers_are_read_and_converted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.json");
    let ledger = old(&path, 3);
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(*BudgetFile::read(&path).unwrap().ledger(), ledger);
    assert_eq!(std::fs::read(&path).unwrap(), bytes, "reading changes nothing");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    }
    let guarantee = certificate(b"").guarantee().clone();
    let file = BudgetFile::spend(&path, &guarantee, 1, "run 3").unwrap();
    assert_eq!((runs(&file), file.data()), (4, "users"));
    assert_eq!(file.ledger().entries()[..3], *ledger.entries());
    assert_eq!(file.ledger().filter(), ledger.filter());
    let kept = folder.path().join("l.json.before-lines");
    assert_eq!(std::fs::read(&kept).unwrap(), bytes, "the old file is kept");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }
    // A conversion that was stopped after the second name was given goes on.
    std::fs::remove_file(&kept).unwrap();
    old(&path, 2);
    std::fs::hard_link(&path, &kept).unwrap();
    assert_eq!(runs(&BudgetFile::open(&path).unwrap()), 2);
    // One with other names would be split in two.
    std::fs::remove_file(&kept).unwrap();
    old(&path, 2);
    let other = folder.path().join("other");
    std::fs::remove_file(&other).unwrap_or_default();
    #[cfg(unix)]
    {
        std::fs::hard_link(&path, &other).unwrap();
        let refused = BudgetFile::spend(&path, &guarantee, 1, "a run").unwrap_err();
        assert!(refused.to_string().contains("hard links"), "{refused}");
    }
}

/// Before digests: refused by name, with what to do.
#[test]
fn the_oldest_ledgers_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("l.json");
    old(&path, 1);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"format\": 2", "\"format\": 1")).unwrap();
    for refused in [BudgetFile::open(&path), BudgetFile::read(&path)] {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("begin a new ledger"), "{refused}");
    }
    // One that was altered is not converted.
    std::fs::write(&path, text.replace("run 0", "run 1")).unwrap();
    assert!(BudgetFile::open(&path).unwrap_err().to_string().contains("digest"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// What is no file, or no ledger, is said to be that at once.
#[cfg(unix)]
#[test]
fn what_is_no_ledger_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in
        [("empty", ""), ("text", "age,height\n12,3\n"), ("begun", "dps-ledger 3\n")]
    {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let refused = BudgetFile::open(&path).unwrap_err().to_string();
        assert!(refused.contains("not a valid ledger") && !refused.contains("age"), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), bytes);
    }
    for path in [folder.path(), Path::new("/dev/null")] {
        assert!(matches!(BudgetFile::open(path), Err(Error::Io { .. })));
    }
}

/// What a property test does to a ledger.
#[derive(Debug, Clone)]
enum Act {
    Spend(u64),
    Add(u8),
    Record(u8),
    Publish(u8),
    Abandon,
    Tear(Vec<u8>),
    Reopen,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (1..3u64).prop_map(Act::Spend),
        (0..6u8).prop_map(Act::Add),
        (0..6u8).prop_map(Act::Record),
        (0..6u8).prop_map(Act::Publish),
        Just(Act::Abandon),
        proptest::collection::vec(any::<u8>(), 1..80).prop_map(Act::Tear),
        Just(Act::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(43), ..ProptestConfig::default() })]

    /// Against the simplest ledger there is: a number, a limit of 8, and a list of what was entered.
    #[test]
    fn a_ledger_is_a_sum_and_a_list(acts in proptest::collection::vec(act(), 1..14)) {
        let (folder, path) = start(8.0);
        let guarantee = certificate(b"").guarantee().clone();
        let (mut sum, mut entered, mut files) = (0u64, std::collections::BTreeSet::new(), 0);
        let mut torn = false;
        for act in acts {
            match act {
                Act::Spend(count) => {
                    let done = BudgetFile::spend(&path, &guarantee, count, "a run").is_ok();
                    prop_assert_eq!(done, sum + count <= 8);
                    sum += if done { count } else { 0 };
                }
                Act::Add(release) => {
                    let done = BudgetFile::add(&path, &certificate(&[release]), "unseen").is_ok();
                    prop_assert_eq!(done, sum < 8 && !entered.contains(&release));
                    sum += u64::from(done);
                    if done { entered.insert(release); }
                }
                Act::Record(release) => {
                    let done =
                        BudgetFile::record(&path, &certificate(&[release]), "seen", Repeat::Refuse);
                    prop_assert_eq!(done.is_ok(), entered.insert(release));
                    if let Ok((_, standing)) = done {
                        sum += 1;
                        prop_assert_eq!(standing == Standing::Kept, sum <= 8);
                    }
                }
                Act::Publish(release) => {
                    files += 1;
                    let out = folder.path().join(format!("r{files}"));
                    let mut output = Output::create(&out, Existing::Keep).unwrap();
                    let agreed = output.pay_from(&path, &guarantee, "r");
                    prop_assert_eq!(agreed.is_ok(), sum < 8);
                    if agreed.is_ok() {
                        let certificate = certificate(&[release]);
                        let any = crate::certificate::AnyCertificate::Private(certificate);
                        output.finish(&any).unwrap();
                        sum += 1;
                        entered.insert(release);
                    }
                    prop_assert_eq!(out.exists(), agreed.is_ok());
                }
                Act::Abandon => {
                    let out = folder.path().join("abandoned");
                    let mut output = Output::create(&out, Existing::Keep).unwrap();
                    let _ = output.pay_from(&path, &guarantee, "abandoned");
                    let _ = output.write(b"half");
                    drop(output);
                    prop_assert!(!out.exists());
                }
                Act::Tear(junk) => {
                    let one_line = junk.iter().rev().skip(1).all(|b| *b != b'\n');
                    if one_line {
                        // A line behind a torn one is no torn line: what writes next mends the first.
                        if torn {
                            BudgetFile::open(&path).unwrap();
                        }
                        torn = true;
                        let mut bytes = std::fs::read(&path).unwrap();
                        bytes.extend(junk);
                        std::fs::write(&path, bytes).unwrap();
                    }
                }
                Act::Reopen => {
                    let file = BudgetFile::open(&path).unwrap();
                    prop_assert!(file.charges().iter().all(|charge| !charge.is_open()));
                }
            }
            prop_assert_eq!(runs(&BudgetFile::read(&path).unwrap()), sum);
        }
    }
}
