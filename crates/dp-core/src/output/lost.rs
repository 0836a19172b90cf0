//! A file system of the network does what it is told, loses the answer, and fails when it is told again.
#![cfg(unix)]

use super::*;

/// What is said of a rename that was done: asked again, the server finds the name taken; or nobody answers.
const SAID: [ErrorKind; 2] = [ErrorKind::AlreadyExists, ErrorKind::TimedOut];

/// The file of the room whose name ends in `end`.
fn ends_in(out: &Path, end: &str) -> Option<PathBuf> {
    let mut found = std::fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    found.find(|path| path.extension().is_some_and(|ending| ending == end))
}

/// A disk on which the file whose name ends in `end` is renamed to `to`, or `linked`: of the two steps of renaming, the
/// first is done; and what is said is that it failed. As on such file systems, no file is without a name.
fn lost(room: &Room, end: &'static str, to: &Path, linked: bool, said: ErrorKind) -> Disk {
    let (out, to) = (room.folder.path().join("out"), to.to_owned());
    let gate = move |operation: Operation, _: usize| {
        let from = ends_in(&out, end).filter(|_| operation == Operation::Rename);
        let done = from.is_some_and(|from| {
            let done =
                if linked { std::fs::hard_link(from, &to) } else { std::fs::rename(from, &to) };
            done.is_ok()
        });
        (0, if done { Err(std::io::Error::from(said)) } else { Ok(()) })
    };
    Disk::gated(Arc::new(gate), true)
}

/// A release that may have been read, by its name or by that it was moved to, is paid for: once.
#[test]
fn a_rename_that_was_done_all_the_same_is_paid_for() {
    for (said, linked, moved) in
        SAID.into_iter().flat_map(|said| [0, 1, 2, 3].map(|i| (said, i & 1 == 1, i & 2 == 2)))
    {
        let room = Room::new();
        let to = if moved { room.folder.path().join("published") } else { room.path("a") };
        let done = room.release(&lost(&room, "reserved", &to, linked, said), Existing::Keep);
        assert!(done.as_ref().unwrap_err().to_string().contains("stands in the ledger"));
        assert_eq!(room.counted(&BudgetFile::read(&room.ledger).unwrap()), 1, "spent at once");
        room.check_now(0);
        let file = BudgetFile::open(&room.ledger).unwrap();
        assert_eq!(room.counted(&file), 1, "{said} {linked} {moved}");
        assert_eq!(std::fs::read(to).unwrap(), CONTENT);
        // One that was moved under one of two names still gets the name it was paid for.
        let here = linked || !moved;
        assert_eq!(room.names(), if here { vec!["a"] } else { vec![] });
        if here {
            room.check_after(&done);
        }
    }
}

/// The same of the next command, which publishes what was interrupted.
#[test]
fn a_recovery_whose_answer_is_lost_is_paid_for() {
    for (said, linked) in SAID.into_iter().flat_map(|said| [(said, false), (said, true)]) {
        let mut published = 0;
        everywhere(Fault::Stops, false, |at, disk| {
            let room = Room::new();
            let done = room.release(&disk, Existing::Keep);
            let before = room.path("a").exists();
            let path = room.path("a");
            drop(Locked::open(&lost(&room, "reserved", &path, linked, said), &room.ledger));
            if !before && path.exists() {
                published += 1;
                let file = BudgetFile::read(&room.ledger).unwrap();
                assert_eq!(room.counted(&file), 1, "{said} {linked} {at}");
            }
            room.check_now(0);
            room.check_after(&done);
        });
        assert!(published > 0, "{said} {linked}");
    }
}

/// A release with another name besides may have been read by it: where its own name is another file's it waits, paid for.
#[test]
fn what_has_another_name_is_not_taken_back() {
    let room = Room::new();
    let to = room.folder.path().join("published");
    let disk = lost(&room, "reserved", &to, true, ErrorKind::AlreadyExists);
    let done = room.release(&disk, Existing::Keep);
    std::fs::write(room.path("a"), "other").unwrap();
    for _ in 0..2 {
        let file = BudgetFile::open(&room.ledger).unwrap();
        assert_eq!(room.counted(&file), 1);
        assert!(file.recovered()[0].contains("left as it is"), "{:?}", file.recovered());
        assert_eq!(std::fs::read(room.path("a")).unwrap(), b"other");
        assert_eq!(std::fs::read(&to).unwrap(), CONTENT);
    }
    std::fs::remove_file(room.path("a")).unwrap();
    room.check_after(&done);
    assert_eq!(std::fs::read(room.path("a")).unwrap(), CONTENT);
}

/// Renaming in two steps may leave the hidden name: it goes before the payment is closed.
#[test]
fn a_hidden_name_that_is_left_goes() {
    for fails in [false, true] {
        let room = Room::new();
        let (out, path) = (room.folder.path().join("out"), room.path("a"));
        let hidden = Mutex::new(None);
        let gate = move |operation: Operation, _: usize| {
            let mut hidden = hidden.lock().unwrap();
            if operation == Operation::Rename {
                *hidden = ends_in(&out, "reserved");
            } else if operation == Operation::Mode
                && let Some(hidden) = &*hidden
            {
                std::fs::hard_link(&path, hidden).unwrap();
            }
            let fails = fails && operation == Operation::Remove && path.exists();
            (0, if fails { Err(std::io::Error::other("it stays")) } else { Ok(()) })
        };
        let done = room.release(&Disk::gated(Arc::new(gate), false), Existing::Keep);
        assert!(done.is_ok(), "{done:?}");
        assert_eq!(room.names().len(), 1 + usize::from(fails));
        if fails {
            // Others could read it by its name, whatever has that now: never taken back.
            let kept = room.folder.path().join("kept");
            std::fs::rename(room.path("a"), &kept).unwrap();
            std::fs::write(room.path("a"), "other").unwrap();
            std::fs::remove_file(&kept).unwrap();
            let file = BudgetFile::open(&room.ledger).unwrap();
            assert_eq!(room.counted(&file), 1);
            assert!(file.recovered()[0].contains("left as it is"), "{:?}", file.recovered());
            std::fs::remove_file(room.path("a")).unwrap();
        }
        room.check_now(0);
        room.check_after(&done);
    }
}

/// A file that nothing pays for has its name where that leads to it, whatever was answered; nothing else is left.
#[test]
fn a_name_that_was_given_all_the_same_is_no_error() {
    for said in SAID {
        for (older, linked) in [(false, false), (false, true), (true, false)] {
            let room = Room::new();
            let path = room.path("a");
            if older {
                std::fs::write(&path, "older").unwrap();
            }
            let disk = lost(&room, "partial", &path, linked, said);
            let mut output = Output::on(disk, &path, Existing::Replace).unwrap();
            output.write_all(CONTENT).unwrap();
            output.commit().unwrap();
            assert_eq!(room.names(), ["a"], "{said} {older} {linked}");
            assert_eq!(std::fs::read(&path).unwrap(), CONTENT);
        }
    }
}

/// Where the name is there, and may not last, the error says so.
#[test]
fn a_folder_that_cannot_be_flushed_is_told() {
    let room = Room::new();
    let gate = |operation: Operation, _: usize| {
        let fails = operation == Operation::SyncFolder;
        (0, if fails { Err(std::io::Error::other("no room")) } else { Ok(()) })
    };
    let done =
        write_on(Disk::gated(Arc::new(gate), false), &room.path("a"), CONTENT, Access::Shared);
    assert!(done.unwrap_err().to_string().contains("the file has its name"));
    assert_eq!(std::fs::read(room.path("a")).unwrap(), CONTENT);
    assert_eq!(room.names(), ["a"]);
}
