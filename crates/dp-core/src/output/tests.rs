//! A release is stopped, or an operation fails, before every single operation on the disk; then the next command
//! runs, and may be stopped as well.

use super::*;
use crate::accounting::{FilterRule, Standing};
use crate::budget::Budget;
use crate::disk::Operation;
use crate::ledger_file::samples::{adjacency, certificate};
use crate::ledger_file::{Charge, Repeat};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tempfile::TempDir;

mod ledgers;
mod lost;

/// Of a few blocks: the last of them pass the cache.
const CONTENT: &[u8] = &[7; 6 * 4096 + 100];

/// A folder with a ledger of limit 3, and releases that cost 1.
struct Room {
    folder: TempDir,
    ledger: PathBuf,
}

impl Room {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = folder.path().join("ledger");
        let limit = Budget::new(3.0, 1e-6).unwrap();
        BudgetFile::create(&ledger, "users", adjacency(), limit, FilterRule::Basic).unwrap();
        std::fs::create_dir(folder.path().join("out")).unwrap();
        Self { folder, ledger }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("out").join(name)
    }

    fn release(&self, disk: &Disk, existing: Existing) -> Result<()> {
        self.release_to(&self.path("a"), disk, existing)
    }

    fn release_to(&self, path: &Path, disk: &Disk, existing: Existing) -> Result<()> {
        let mut output = Output::on(disk.clone(), path, existing)?;
        let certificate = certificate(CONTENT);
        output.pay_from(&self.ledger, certificate.guarantee(), "a")?;
        output.write_all(CONTENT).map_err(|e| Error::io("a", &e))?;
        output.finish(&AnyCertificate::Private(certificate))
    }

    /// Names in the folder of releases.
    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.path().join("out")).unwrap();
        let mut names: Vec<_> =
            names.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn counted(&self, file: &BudgetFile) -> u64 {
        let spent = file.ledger().entries().len() as u64;
        assert!(spent <= 3, "within the limit");
        spent
    }

    /// What holds at any moment, whatever was stopped: a file that others can read is whole and paid for.
    #[cfg(unix)]
    fn check_now(&self, before: u64) {
        use std::os::unix::fs::PermissionsExt;
        let spent = self.counted(&BudgetFile::read(&self.ledger).unwrap());
        for name in self.names() {
            let path = self.path(&name);
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            if mode & 0o077 != 0 && std::fs::read(&path).unwrap() != b"older" {
                assert_eq!(std::fs::read(&path).unwrap(), CONTENT, "{name}");
                assert!(spent > before, "{name} is paid for");
            }
        }
    }

    /// What holds after the next command: payments are files, and nothing else is left.
    fn check_after(&self, done: &Result<()>) {
        let file = BudgetFile::open(&self.ledger).unwrap();
        assert!(file.charges().iter().all(|charge| !charge.is_open()));
        let names = self.names();
        assert!(names.iter().all(|name| name == "a"), "no orphan: {names:?}");
        let released = names.len() == 1 && std::fs::read(self.path("a")).unwrap() == CONTENT;
        assert_eq!(self.counted(&file), u64::from(released), "{done:?}");
        assert!(released || done.is_err());
        let again = BudgetFile::open(&self.ledger).unwrap();
        assert!(again.recovered().is_empty(), "{:?}", again.recovered());
        assert_eq!(again.head(), file.head());
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// One operation fails; a write after half of its bytes.
    Fails,
    /// The process is stopped before an operation; where that is a write, in the middle of it.
    Stops,
}

/// A disk on which something happens before operation `at`, and whether it did.
fn faulty(at: usize, fault: Fault, named: bool) -> (Disk, Arc<AtomicBool>) {
    let (count, hit) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
    let seen = hit.clone();
    let gate = move |operation: Operation, bytes: usize| {
        let now = count.fetch_add(1, Ordering::SeqCst);
        let here = now == at;
        seen.fetch_or(here, Ordering::SeqCst);
        let stopped = here || (fault == Fault::Stops && now > at);
        let half = if here && operation == Operation::Write { bytes / 2 } else { 0 };
        let error = || std::io::Error::other(format!("{operation:?} fails"));
        (half, if stopped { Err(error()) } else { Ok(()) })
    };
    (Disk::gated(Arc::new(gate), named), hit)
}

/// Runs `body` with a fault before its first operation, its second, and so on to the last.
fn everywhere(fault: Fault, named: bool, mut body: impl FnMut(usize, Disk)) -> usize {
    for at in 0.. {
        let (disk, hit) = faulty(at, fault, named);
        body(at, disk);
        if !hit.load(Ordering::SeqCst) {
            return at;
        }
    }
    unreachable!("a release has an end")
}

#[test]
fn every_fault_of_a_release_is_made_good() {
    for fault in [Fault::Fails, Fault::Stops] {
        for named in [false, true] {
            let operations = everywhere(fault, named, |_, disk| {
                let room = Room::new();
                let done = room.release(&disk, Existing::Keep);
                drop(disk);
                #[cfg(unix)]
                room.check_now(0);
                // A file that had a name from the start is removed by the next release of it.
                if named {
                    let next = Output::create(&room.path("a"), Existing::Replace).unwrap();
                    drop(next);
                }
                room.check_after(&done);
            });
            assert!(operations >= 15, "{operations} operations");
        }
    }
}

#[test]
fn every_fault_of_a_replacement_is_made_good() {
    for fault in [Fault::Fails, Fault::Stops] {
        everywhere(fault, false, |at, disk| {
            let room = Room::new();
            std::fs::write(room.path("a"), "older").unwrap();
            let done = room.release(&disk, Existing::Replace);
            #[cfg(unix)]
            room.check_now(0);
            room.check_after(&done);
            assert_eq!(room.names(), ["a"], "the old release or the new one, {at}");
        });
    }
}

/// The next command is stopped as well, anywhere; the one after it makes all good.
#[test]
fn a_recovery_that_is_stopped_is_made_good() {
    everywhere(Fault::Stops, false, |_, disk| {
        let prepared = Room::new();
        let done = prepared.release(&disk, Existing::Keep);
        everywhere(Fault::Stops, false, |_, disk| {
            drop(Locked::open(&disk, &prepared.ledger));
            #[cfg(unix)]
            prepared.check_now(0);
        });
        prepared.check_after(&done);
    });
}

/// Somebody else's file gets the name between any two operations: it stays, and nobody pays.
#[test]
fn a_name_that_is_taken_costs_nothing() {
    for at in 0.. {
        let room = Room::new();
        let (path, count) = (room.path("a"), Arc::new(AtomicUsize::new(0)));
        let seen = count.clone();
        let gate = move |_: Operation, _: usize| {
            if seen.fetch_add(1, Ordering::SeqCst) == at {
                let _ = std::fs::File::create_new(&path).and_then(|mut f| f.write_all(b"other"));
            }
            (0, Ok(()))
        };
        let done = room.release(&Disk::gated(Arc::new(gate), false), Existing::Keep);
        let file = BudgetFile::open(&room.ledger).unwrap();
        let kept = std::fs::read(room.path("a")).unwrap();
        assert_eq!(room.names(), ["a"]);
        assert_eq!(room.counted(&file), u64::from(kept == CONTENT), "operation {at}");
        assert_eq!(done.is_ok(), kept == CONTENT);
        if count.load(Ordering::SeqCst) <= at {
            return;
        }
    }
}

/// What could not be recovered is not lost: the folder comes back with its hidden file.
#[test]
fn a_folder_that_is_away_keeps_its_release() {
    let mut open = 0;
    everywhere(Fault::Stops, false, |_, disk| {
        let room = Room::new();
        let done = room.release(&disk, Existing::Keep);
        let (out, away) = (room.folder.path().join("out"), room.folder.path().join("away"));
        std::fs::rename(&out, &away).unwrap();
        let file = BudgetFile::open(&room.ledger).unwrap();
        open += usize::from(file.charges().iter().any(Charge::is_open));
        std::fs::rename(&away, &out).unwrap();
        room.check_after(&done);
    });
    assert!(open > 3, "{open} were open");
}

/// A release that was moved after it had its name may have been read: it stays paid for.
#[test]
fn what_may_have_been_seen_is_never_taken_back() {
    let mut moved = 0;
    everywhere(Fault::Stops, false, |_, disk| {
        let room = Room::new();
        let _ = room.release(&disk, Existing::Keep);
        let published = room.path("a").exists();
        if published {
            std::fs::rename(room.path("a"), room.folder.path().join("published")).unwrap();
            moved += 1;
            let file = BudgetFile::open(&room.ledger).unwrap();
            assert_eq!(room.counted(&file), 1);
        }
    });
    assert!(moved >= 3, "{moved}");
}

#[test]
fn a_stream_is_paid_for_before_its_first_byte() {
    struct Broken(PathBuf);
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            let file = BudgetFile::read(&self.0).unwrap();
            assert_eq!(file.ledger().entries().len(), 1, "paid for");
            Err(ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let room = Room::new();
    let certificate = certificate(CONTENT);
    let mut output = Output::stream("a pipe", Broken(room.ledger.clone())).unwrap();
    output.pay_from(&room.ledger, certificate.guarantee(), "a").unwrap();
    output.write_all(CONTENT).unwrap();
    assert_eq!(BudgetFile::read(&room.ledger).unwrap().ledger().entries().len(), 0);
    let receipt = output.receipt();
    assert!(output.finish(&AnyCertificate::Private(certificate)).is_err());
    let file = BudgetFile::open(&room.ledger).unwrap();
    assert_eq!(file.ledger().entries().len(), 1, "it may have been read: never taken back");
    assert_eq!(receipt.paid().unwrap().head, file.head());
}

/// Data that is refused, a limit that is passed on the way, a limit that is passed before.
#[test]
fn what_is_not_published_is_not_paid_for() {
    let room = Room::new();
    let (disk, certificate) = (Disk::default(), certificate(CONTENT));
    let open = |name: &str| {
        let mut output = Output::on(disk.clone(), &room.path(name), Existing::Keep).unwrap();
        output.pay_from(&room.ledger, certificate.guarantee(), name)?;
        Ok::<_, Error>(output)
    };
    drop(open("dropped").unwrap());
    let mut late = open("late").unwrap();
    late.write_all(CONTENT).unwrap();
    for name in ["1", "2", "3"] {
        open(name).unwrap().finish(&AnyCertificate::Private(certificate.clone())).unwrap();
    }
    let refused = late.finish(&AnyCertificate::Private(certificate.clone()));
    assert!(matches!(refused, Err(Error::BudgetExceeded { .. })), "{refused:?}");
    assert!(matches!(open("4"), Err(Error::BudgetExceeded { .. })));
    assert_eq!(room.names(), ["1", "2", "3"]);
    assert_eq!(BudgetFile::open(&room.ledger).unwrap().ledger().entries().len(), 3);
    assert!(Output::create(&room.path("1"), Existing::Keep).is_err());
    assert!(Output::create(&room.folder.path().join("no/such"), Existing::Keep).is_err());
    assert!(Output::create(Path::new("/"), Existing::Keep).is_err());
    assert!(Output::create(&room.path(&"x".repeat(300)), Existing::Keep).is_err());
}

/// The state machine's own payment is known when somebody enters the file by hand.
#[test]
fn a_release_is_entered_once() {
    let room = Room::new();
    room.release(&Disk::default(), Existing::Keep).unwrap();
    let certificate = certificate(CONTENT);
    for entered in [
        BudgetFile::add(&room.ledger, &certificate, "a").map(drop),
        BudgetFile::record(&room.ledger, &certificate, "a", Repeat::Refuse).map(drop),
    ] {
        assert!(entered.unwrap_err().to_string().contains("entered already"));
    }
    let (file, standing) =
        BudgetFile::record(&room.ledger, &certificate, "a", Repeat::Enter).unwrap();
    assert_eq!((file.ledger().entries().len(), standing), (2, Standing::Kept));
}

/// A file that nothing pays for, in the place of another one: old or new whatever is stopped, its mode what was asked,
/// and what a killed writer left goes with the next one.
#[test]
fn every_fault_of_a_file_that_is_written_over_is_made_good() {
    for (fault, named) in [(Fault::Fails, false), (Fault::Stops, false), (Fault::Stops, true)] {
        let operations = everywhere(fault, named, |at, disk| {
            let room = Room::new();
            let path = room.path("a");
            write(&path, b"older", Access::Owner).unwrap();
            let done = write_on(disk, &path, CONTENT, Access::Owner);
            let found = std::fs::read(&path).unwrap();
            assert!(found == CONTENT || found == b"older" && done.is_err(), "{fault:?} {at}");
            #[cfg(unix)]
            for name in room.names() {
                use std::os::unix::fs::PermissionsExt;
                let mode = std::fs::metadata(room.path(&name)).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{name}");
            }
            write(&path, b"newer", Access::Shared).unwrap();
            assert_eq!(room.names(), ["a"], "no orphan, {fault:?} {named} {at}");
            assert_eq!(std::fs::read(&path).unwrap(), b"newer");
        });
        assert!(operations >= 5, "{operations} operations");
    }
}

/// The same for a release that no ledger pays for.
#[test]
fn a_killed_replacement_without_a_ledger_leaves_nothing() {
    everywhere(Fault::Stops, false, |at, disk| {
        let room = Room::new();
        let path = room.path("a");
        std::fs::write(&path, "older").unwrap();
        let output = Output::on(disk, &path, Existing::Replace);
        let done = output.and_then(|mut output| {
            output.write_all(CONTENT).map_err(|e| Error::io("a", &e))?;
            output.commit()
        });
        drop(done);
        drop(Output::create(&path, Existing::Replace).unwrap());
        assert_eq!(room.names(), ["a"], "no orphan, {at}");
    });
}

#[test]
fn many_writers_at_once_never_disturb_each_other() {
    let room = Room::new();
    let path = room.path("a");
    std::thread::scope(|scope| {
        for i in 0..8u8 {
            let path = &path;
            scope.spawn(move || {
                (0..50).for_each(|_| write(path, &[i; 100], Access::Shared).unwrap());
            });
        }
    });
    let content = std::fs::read(&path).unwrap();
    assert!(content.len() == 100 && content.iter().all(|&b| b == content[0]));
    assert_eq!(room.names(), ["a"]);
    // A file that is to stay stays, also where it came while another was made.
    let late = room.path("b");
    let mut output = Output::create(&late, Existing::Keep).unwrap();
    output.write_all(CONTENT).unwrap();
    std::fs::write(&late, "first").unwrap();
    assert!(output.commit().unwrap_err().to_string().contains("took the name"));
    assert_eq!(std::fs::read(&late).unwrap(), b"first");
    assert!(write(Path::new("/"), b"", Access::Owner).is_err());
    assert!(write(&room.path("no/such"), b"", Access::Owner).is_err());
}
