//! What a ledger takes, whose folder and whose file it is, and who waits for whom.

use super::*;
use crate::guarantee::Guarantee;
use crate::ledger_file::samples::certificate_of;
use crate::noise::GeneratorKind;
use std::sync::mpsc::channel;
use std::time::Duration;

/// A certificate of the sample's kind, as a release states it.
fn any(payload: &[u8]) -> AnyCertificate {
    AnyCertificate::Private(certificate(payload))
}

/// An output that others can read as it is written.
fn seen(path: &Path) -> Output {
    let mut output = Output::create(path, Existing::Keep).unwrap();
    output.staged.private = false;
    output
}

/// A line that no reader would take is not written, and what it was for is neither paid for nor published.
#[test]
fn what_a_line_has_no_room_for_is_refused() {
    let room = Room::new();
    let release = certificate(CONTENT);
    let guarantee = release.guarantee();
    let before = std::fs::read(&room.ledger).unwrap();
    let spend = |label: &str| BudgetFile::spend(&room.ledger, guarantee, 1, label).map(drop);
    let refused = |done: Result<()>| {
        let said = done.unwrap_err().to_string();
        assert!(said.contains("shorter label") && !said.contains("aaa"), "{said}");
        assert!(std::fs::read(&room.ledger).unwrap() == before, "nothing was written");
        assert!(!room.path("a").exists());
    };
    let label = "a".repeat(1_100_000);
    refused(spend(&label));
    refused(BudgetFile::declare(&room.ledger, guarantee, 1, &label).map(drop));
    refused(BudgetFile::check(&room.ledger, guarantee, 1, &label).map(drop));
    refused(BudgetFile::add(&room.ledger, &release, &label).map(drop));
    refused(BudgetFile::record(&room.ledger, &release, &label, Repeat::Enter).map(drop));
    let mut output = Output::create(&room.path("a"), Existing::Keep).unwrap();
    refused(output.pay_from(&room.ledger, guarantee, &label));
    refused(seen(&room.path("a")).pay_from(&room.ledger, guarantee, &label));
    let (limit, other) = (Budget::new(1.0, 0.0).unwrap(), room.folder.path().join("other"));
    let begun = BudgetFile::create(&other, &label, adjacency(), limit, FilterRule::Basic);
    refused(begun.map(drop));
    assert!(!other.exists());

    // The longest label of a payment, which leaves no room for the path of a release.
    spend("").unwrap();
    let rest = (1 << 20) - (std::fs::read(&room.ledger).unwrap().len() - before.len());
    std::fs::write(&room.ledger, &before).unwrap();
    refused(spend(&"a".repeat(rest + 1)));
    let label = "a".repeat(rest);
    output.pay_from(&room.ledger, guarantee, &label).unwrap();
    output.write_all(CONTENT).unwrap();
    refused(output.finish(&any(CONTENT)));
    spend(&label).unwrap();
    let file = BudgetFile::open(&room.ledger).unwrap();
    assert_eq!((room.counted(&file), file.lines()), (1, 2));
}

/// A file that has the number of the one that was to be replaced may be another one.
#[test]
fn what_was_changed_is_not_replaced() {
    let changed = b"it was changed since then";
    let mut interrupted = 0;
    everywhere(Fault::Stops, false, |at, disk| {
        let room = Room::new();
        std::fs::write(room.path("a"), "older").unwrap();
        let done = room.release(&disk, Existing::Replace);
        if std::fs::read(room.path("a")).unwrap() != b"older" {
            return;
        }
        interrupted += usize::from(done.is_err());
        // In place: device and number stay.
        std::fs::write(room.path("a"), changed).unwrap();
        room.check_after(&done);
        assert_eq!(std::fs::read(room.path("a")).unwrap(), changed, "{at}");
    });
    assert!(interrupted > 10, "{interrupted}");
    for pays in [true, false] {
        let room = Room::new();
        std::fs::write(room.path("a"), "older").unwrap();
        let mut output = Output::create(&room.path("a"), Existing::Replace).unwrap();
        if pays {
            output.pay_from(&room.ledger, certificate(CONTENT).guarantee(), "a").unwrap();
        }
        output.write_all(CONTENT).unwrap();
        std::fs::write(room.path("a"), changed).unwrap();
        let done = if pays { output.finish(&any(CONTENT)) } else { output.commit() };
        assert!(done.unwrap_err().to_string().contains("the one there was changed"));
        assert_eq!(std::fs::read(room.path("a")).unwrap(), changed);
        assert_eq!(room.counted(&BudgetFile::read(&room.ledger).unwrap()), 0);
        assert_eq!(room.names(), ["a"]);
    }
}

/// What lies in a folder is not known where another one has its name.
#[test]
fn another_folder_of_that_name_is_not_the_release_s() {
    let mut open = 0;
    everywhere(Fault::Stops, false, |at, disk| {
        let room = Room::new();
        let done = room.release(&disk, Existing::Keep);
        let (out, away) = (room.folder.path().join("out"), room.folder.path().join("away"));
        std::fs::rename(&out, &away).unwrap();
        std::fs::create_dir(&out).unwrap();
        let file = BudgetFile::open(&room.ledger).unwrap();
        if file.charges().iter().any(Charge::is_open) {
            open += 1;
            assert_eq!(room.counted(&file), 1, "{at}");
            let told = |said: &String| said.contains("another folder has the name");
            assert!(file.recovered().iter().any(told), "{:?}", file.recovered());
        }
        // By a link it is its own again.
        std::fs::remove_dir(&out).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&away, &out).unwrap();
            room.check_after(&done);
            std::fs::remove_file(&out).unwrap();
        }
        std::fs::rename(&away, &out).unwrap();
        room.check_after(&done);
    });
    assert!(open > 3, "{open} were open");
}

/// What was paid for first is held to what was paid.
#[test]
fn what_is_paid_for_first_is_what_is_released() {
    let room = Room::new();
    let paid = |name: &str, epsilon: f64, by: GeneratorKind| {
        let mut output = seen(&room.path(name));
        output.pay_from(&room.ledger, certificate(CONTENT).guarantee(), name).unwrap();
        output.write_all(CONTENT).unwrap();
        let receipt = output.receipt();
        let file = BudgetFile::read(&room.ledger).unwrap();
        assert_eq!(receipt.paid().unwrap().head, file.head());
        output.finish(&AnyCertificate::Private(certificate_of(CONTENT, epsilon, by)))
    };
    paid("a", 1.0, GeneratorKind::OsChacha12).unwrap();
    for (epsilon, by) in
        [(2.0, GeneratorKind::OsChacha12), (1.0, GeneratorKind::DeterministicNotPrivate)]
    {
        let said = paid("b", epsilon, by).unwrap_err().to_string();
        assert!(said.contains("stays spent"), "{said}");
    }
    assert_eq!(room.names(), ["a"]);
    assert_eq!(room.counted(&BudgetFile::open(&room.ledger).unwrap()), 3);
    // Nor is it published by no certificate.
    let other = Room::new();
    let mut output = seen(&other.path("a"));
    output.pay_from(&other.ledger, certificate(CONTENT).guarantee(), "a").unwrap();
    assert!(output.commit().unwrap_err().to_string().contains("a ledger pays"));
    assert!(other.names().is_empty());
}

/// A release never takes the place of what pays for it, by whatever name.
#[cfg(unix)]
#[test]
fn a_ledger_is_not_written_over() {
    let room = Room::new();
    let before = std::fs::read(&room.ledger).unwrap();
    let [hard, soft] = ["hard", "soft"].map(|name| room.folder.path().join(name));
    std::fs::hard_link(&room.ledger, &hard).unwrap();
    std::os::unix::fs::symlink(&room.ledger, &soft).unwrap();
    for (out, ledger) in
        [(&room.ledger, &room.ledger), (&hard, &room.ledger), (&soft, &room.ledger), (&hard, &soft)]
    {
        for private in [true, false] {
            let mut output = Output::create(out, Existing::Replace).unwrap();
            output.staged.private = private;
            let refused = output.pay_from(ledger, certificate(CONTENT).guarantee(), "a");
            assert!(refused.unwrap_err().to_string().contains("the place of the ledger"));
        }
    }
    assert!(std::fs::read(&room.ledger).unwrap() == before);
}

/// Behind a line that is not on the disk none is added: a crash leaves one line unfinished, and no hole.
#[test]
fn one_line_at_most_is_not_on_the_disk() {
    let room = Room::new();
    let two = room.folder.path().join("two");
    std::fs::create_dir(&two).unwrap();
    // Published, and left open: what is left of the hidden name cannot be removed.
    let stays = |operation: Operation, _: usize| {
        let fails = operation == Operation::Remove;
        (0, if fails { Err(std::io::Error::other("it stays")) } else { Ok(()) })
    };
    let disk = Disk::gated(Arc::new(stays), false);
    let (out, away) = (room.folder.path().join("out"), room.folder.path().join("away"));
    room.release(&disk, Existing::Keep).unwrap();
    std::fs::rename(&out, &away).unwrap();
    room.release_to(&two.join("b"), &disk, Existing::Keep).unwrap();
    std::fs::rename(&away, &out).unwrap();
    let file = BudgetFile::read(&room.ledger).unwrap();
    assert_eq!(file.charges().iter().filter(|charge| charge.is_open()).count(), 2);

    let waiting = Arc::new(Mutex::new((0, 0)));
    let (seen, mark) = (waiting.clone(), 104);
    let gate = move |operation: Operation, bytes: usize| {
        let (now, most) = &mut *seen.lock().unwrap();
        match operation {
            Operation::Write if bytes != mark => *now += 1,
            Operation::Sync => *now = 0,
            _ => {}
        }
        *most = (*most).max(*now);
        (0, Ok(()))
    };
    let locked = Locked::open(&Disk::gated(Arc::new(gate), false), &room.ledger).unwrap();
    assert_eq!(locked.recovered().len(), 2);
    drop(locked);
    assert_eq!(waiting.lock().unwrap().1, 1, "lines that were not on the disk");
    assert!(BudgetFile::open(&room.ledger).unwrap().recovered().is_empty());
}

/// Runs what may wait for ever.
fn ends(what: &str, work: impl FnOnce() + Send + 'static) {
    let (done, ended) = channel();
    std::thread::spawn(move || {
        work();
        done.send(()).unwrap();
    });
    assert!(
        ended.recv_timeout(Duration::from_secs(120)).is_ok(),
        "{what} ended in a panic, or never"
    );
}

/// Whoever waits for the lock has nothing that its holder waits for: an output that is paid for first waited for it with all signals
/// held off, which the holder waited for.
#[test]
fn payments_of_both_kinds_at_once_end() {
    ends("payments at once", || {
        let mut room = Room::new();
        room.ledger = room.folder.path().join("large");
        let limit = Budget::new(100.0, 0.0).unwrap();
        BudgetFile::create(&room.ledger, "users", adjacency(), limit, FilterRule::Basic).unwrap();
        std::thread::scope(|scope| {
            for first in [true, false] {
                let room = &room;
                scope.spawn(move || {
                    for i in 0..30 {
                        let path = room.path(&format!("{first}{i}"));
                        if first {
                            let guarantee = certificate(CONTENT).guarantee().clone();
                            seen(&path).pay_from(&room.ledger, &guarantee, "a").unwrap();
                        } else {
                            room.release_to(&path, &Disk::default(), Existing::Keep).unwrap();
                        }
                    }
                });
            }
        });
    });
}

/// A guarantee whose check takes its time.
fn slow(times: u64) -> Guarantee {
    let law = serde_json::json!({"kind": "laplace", "shift": 1.0, "scale": 70.0});
    let one = serde_json::json!({"kind": "binomial-mixture", "trials": 64, "probability": 0.02, "coordinate": law});
    let profile = serde_json::json!({"kind": "repeated", "profile": one, "times": times});
    let profile = serde_json::from_value(profile).unwrap();
    let budget = Budget::new(20.0, 1e-9).unwrap();
    Guarantee::declared(adjacency(), budget, profile, "nobody", "a test").unwrap()
}

/// A thread of a pool that holds the lock takes up no other release, which would wait for the lock above it.
#[test]
fn releases_from_the_threads_of_a_pool_end() {
    ends("releases from a pool", || {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Arc::new(folder.path().join("ledger"));
        let limit = Budget::new(1e9, 0.5).unwrap();
        BudgetFile::create(&ledger, "users", adjacency(), limit, FilterRule::Basic).unwrap();
        for times in 12..18 {
            BudgetFile::declare(&ledger, &slow(times), 1, "slow").unwrap();
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (done, each) = channel();
        for i in 0..40 {
            let (ledger, done) = (ledger.clone(), done.clone());
            let out = folder.path().join(format!("{i}"));
            pool.spawn(move || {
                let mut output = Output::create(&out, Existing::Keep).unwrap();
                output.pay_from(&ledger, certificate(CONTENT).guarantee(), "a").unwrap();
                output.write_all(CONTENT).unwrap();
                output.finish(&any(CONTENT)).unwrap();
                done.send(()).unwrap();
            });
            // One by one, so that a thread without work asks for that of others.
            std::thread::sleep(Duration::from_millis(3));
        }
        drop(done);
        assert_eq!(each.iter().count(), 40);
        assert_eq!(BudgetFile::open(&ledger).unwrap().ledger().entries().len(), 46);
    });
}
