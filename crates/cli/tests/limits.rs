//! Limits of the system end in an error that says what happened, and cost nothing.
#![cfg(unix)]

use crate::support::{Room, csv, numbers, text};
use std::process::{Command, Output, Stdio};

const OPTIONS: &str = "--adjacency attribute --beta 1 --bound 1 --epsilon 0.5 --delta 1e-6";

fn room() -> Room {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(3_000, 16), 16));
    room.json(
        "ledger init l.json --data x --epsilon 9 --delta 1e-4 --adjacency attribute --beta 1",
    );
    room
}

/// Runs in a shell that sets limits first.
fn limited(room: &Room, limit: &str, arguments: &str) -> Output {
    let run = format!("{limit} exec {} {arguments}", env!("CARGO_BIN_EXE_dps"));
    let mut command = Command::new("sh");
    command.args(["-c", &run]).current_dir(room.folder()).stdin(Stdio::null());
    command.output().expect("sh runs")
}

fn spent(room: &Room) -> u64 {
    room.json("ledger show l.json")["releases"].as_u64().expect("a number")
}

/// A folder that takes no file: the error names it and the way out before anything is read, and nothing is paid.
#[test]
fn a_folder_that_takes_no_file_costs_nothing() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let room = room();
    let release =
        |out: &str| format!("release sketch users.csv --out {out} -k 4 {OPTIONS} --ledger l.json");
    let refused = |ended: Output, out: &str, way: &str| {
        let all = text(&ended);
        assert_eq!(ended.status.code(), Some(3), "{out}: {all}");
        let folder = out.rsplit_once('/').expect("a folder").0;
        for words in [folder, "the folder is", way, "or name another"] {
            assert!(all.contains(words), "{out}: {words}: {all}");
        }
        assert_eq!(spent(&room), 0, "{out}");
    };
    refused(limited(&room, "", &release("missing/x.dps")), "missing/x.dps", "create it");
    refused(limited(&room, "", &release("users.csv/x.dps")), "users.csv/x.dps", "takes no file");
    let folder = text(&limited(&room, "", &release(".")));
    assert!(folder.contains("is a folder: --out names a file in it"), "{folder}");
    std::fs::create_dir(room.path("locked")).expect("made");
    let mode = PermissionsExt::from_mode(0o555);
    std::fs::set_permissions(room.path("locked"), mode).expect("its owner may");
    let way = "make it writable";
    let root = std::fs::metadata(room.folder()).expect("exists").uid() == 0;
    if !root {
        return refused(limited(&room, "", &release("locked/x.dps")), "locked/x.dps", way);
    }
    // Root writes everywhere: somebody else.
    #[cfg(target_os = "linux")]
    if let Some((dps, user)) = stranger(&room) {
        let mut command = Command::new(dps);
        command.args(release("locked/x.dps").split_whitespace()).current_dir(room.folder());
        let ended = as_user(command.stdin(Stdio::null()), user).output().expect("runs");
        refused(ended, "locked/x.dps", way);
    }
    assert_eq!(std::fs::read_dir(room.path("locked")).expect("a folder").count(), 0);
}

/// Files may not grow past some size: the release first, then the ledger.
#[test]
fn a_full_disk_costs_nothing() {
    let room = room();
    let release = |name: &str, k: usize| {
        format!("release sketch users.csv --out {name} -k {k} {OPTIONS} --ledger l.json")
    };
    // 512-byte blocks: 96 KB of release against 8 KB.
    let ended = limited(&room, "ulimit -f 16;", &release("a.dps", 4));
    assert_eq!(ended.status.code(), Some(3), "{}", text(&ended));
    assert!(text(&ended).contains("File too large"), "{}", text(&ended));
    assert_eq!(spent(&room), 0);
    // A ledger that may not grow any more, in the middle of a line or after one.
    room.write("users.csv", csv(&numbers(20, 16), 16));
    let size = |name: &str| std::fs::metadata(room.path(name)).expect("exists").len();
    let mut done = 0;
    for i in 0..12 {
        let before = size("l.json");
        let ended = limited(&room, "ulimit -f 12;", &release(&format!("r{i}.dps"), 4));
        let released = room.path(&format!("r{i}.dps")).exists();
        assert_eq!(ended.status.success(), released, "{}", text(&ended));
        done += u64::from(released);
        assert!(released || ended.status.code() == Some(3), "{}", text(&ended));
        assert_eq!(spent(&room), done, "{} bytes", before);
    }
    assert!((2..12).contains(&done), "{done}");
    let files = std::fs::read_dir(room.folder()).expect("a folder").count() as u64;
    assert_eq!(files, 2 + done, "nothing is left over");
    room.json(&release("last.dps", 4));
    assert_eq!(spent(&room), done + 1);
}

/// A matrix that does not fit in memory ends the process before anything is paid.
#[test]
fn what_memory_cannot_hold_costs_nothing() {
    let room = room();
    let d = 40_000;
    room.write("wide.csv", csv(&vec![0.001; d], d));
    room.json(
        "ledger init w.json --data x --epsilon 9 --delta 1e-4 --adjacency add-remove-row --norm-bound 1",
    );
    let run = "release covariance wide.csv --out w.dps --adjacency add-remove-row --norm-bound 1 \
               --epsilon 1 --delta 1e-6 --ledger w.json";
    let ended = limited(&room, "ulimit -v 3000000;", run);
    assert!(!ended.status.success() && !room.path("w.dps").exists(), "{}", text(&ended));
    assert_eq!(room.json("ledger show w.json")["releases"], 0);
}

#[test]
fn full_streams_end_in_a_status() {
    let room = room();
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("opened");
    let status = |mut command: Command| command.status().expect("runs").code();
    let mut refused = room.command("verify nowhere.dps");
    refused.stderr(full()).stdout(Stdio::null());
    assert_eq!(status(refused), Some(3));
    let mut warned = room.command(&format!(
        "release sketch users.csv --out a.dps -k 4 --insecure-test-noise 1 {OPTIONS}"
    ));
    warned.stderr(full()).stdout(Stdio::null());
    assert_eq!(status(warned), Some(0));
    let mut shown = room.command("ledger show l.json");
    shown.stdout(full()).stderr(Stdio::null());
    assert_eq!(status(shown), Some(3));
    // What standard output did not take may have been read all the same: it is paid for.
    let mut handed_on =
        room.command(&format!("release sketch users.csv --out - -k 4 --ledger l.json {OPTIONS}"));
    handed_on.stdout(full()).stderr(Stdio::piped());
    let ended = handed_on.output().expect("runs");
    assert_eq!(ended.status.code(), Some(3));
    assert!(text(&ended).contains("standard output"), "{}", text(&ended));
    assert_eq!(spent(&room), 1);
}

/// The system has no thread left: an error before anything is read, no panic, and nothing is paid. For as many
/// threads as a release may get, one after the other.
#[cfg(target_os = "linux")]
#[test]
fn no_threads_left_costs_nothing() {
    let room = room();
    let Some((dps, user)) = stranger(&room) else { return };
    let mut ended_well = 0;
    for threads in 1..=4 {
        let out = format!("t{threads}.dps");
        let run = format!("release sketch users.csv --out {out} -k 4 --ledger l.json {OPTIONS}");
        // A shell that cannot set this limit says so.
        let limit = format!("ulimit -u {threads} 2>/dev/null || ulimit -p {threads} || exit 99;");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{limit} exec {} {run}", dps.display())]);
        command.env("RAYON_NUM_THREADS", "2").current_dir(room.folder()).stdin(Stdio::null());
        let ended = as_user(&mut command, user).output().expect("sh runs");
        let all = text(&ended);
        assert!(!all.contains("panicked"), "{threads}: {all}");
        let released = room.path(&out).exists();
        let status = if released { 0 } else { 3 };
        assert_eq!(ended.status.code(), Some(status), "{threads}: {all}");
        ended_well += u64::from(released);
        assert_eq!(spent(&room), ended_well, "{threads}: {all}");
    }
    assert!(ended_well < 4, "no limit was met");
}

/// Whoever may write the ledger takes its lock, in whatever group he is: nobody else does, and owner and mode stay.
#[cfg(target_os = "linux")]
#[test]
fn others_of_the_group_take_the_lock() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    const GROUP: u32 = 70_001;
    let room = room();
    let Some((dps, _)) = stranger(&room) else { return };
    let ledger = room.path("l.json");
    std::os::unix::fs::chown(&ledger, Some(60_001), Some(GROUP)).expect("root may");
    std::fs::set_permissions(&ledger, PermissionsExt::from_mode(0o660)).expect("root may");
    let before = std::fs::metadata(&ledger).expect("exists");
    let release = |out: &str, user: (u32, u32)| {
        let run = format!("release sketch users.csv --out {out} -k 4 --ledger l.json {OPTIONS}");
        let mut command = Command::new(&dps);
        command.args(run.split_whitespace()).current_dir(room.folder());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        as_user(&mut command, user).spawn().expect("starts")
    };
    // The owner, and two others of the group.
    for (i, user) in [60_001, 60_002, 60_003].into_iter().enumerate() {
        let ended = release(&format!("g{i}.dps"), (user, GROUP)).wait_with_output().expect("ends");
        assert!(ended.status.success(), "{user}: {}", text(&ended));
        assert_eq!(spent(&room), i as u64 + 1);
    }
    // It is a lock: while somebody holds it, another one of the group waits.
    let held = std::fs::File::open(&ledger).expect("opened");
    held.lock().expect("locked");
    let mut waiting = release("waits.dps", (60_002, GROUP));
    std::thread::sleep(std::time::Duration::from_millis(400));
    assert!(waiting.try_wait().expect("asked").is_none(), "it does not wait");
    drop(held);
    assert!(waiting.wait().expect("ends").success());
    // Nobody else: refused, and nothing is left.
    let ended = release("other.dps", (60_004, 70_002)).wait_with_output().expect("ends");
    assert_eq!(ended.status.code(), Some(3), "{}", text(&ended));
    assert!(!room.path("other.dps").exists());
    assert_eq!(spent(&room), 4);
    let after = std::fs::metadata(&ledger).expect("exists");
    let identity = |file: &std::fs::Metadata| (file.ino(), file.uid(), file.gid(), file.mode());
    assert_eq!(identity(&after), identity(&before));
    // Data, ledger, program, four releases: no lock file.
    assert_eq!(std::fs::read_dir(room.folder()).expect("a folder").count(), 7);
}

/// Opens the room to everybody, with a program that everybody can run, and a user who is nobody else: root alone can
/// be another one, so everybody else skips.
#[cfg(target_os = "linux")]
fn stranger(room: &Room) -> Option<(std::path::PathBuf, (u32, u32))> {
    use std::io::Write;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let mode = |path: &std::path::Path, mode: u32| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("its owner may");
    };
    let user = std::fs::metadata(room.folder()).expect("exists").uid();
    if user != 0 {
        // Not a macro: the test harness would hold it back.
        let line = b"SKIPPED: other users of a ledger, and no threads left: only root can be another user\n";
        std::io::stderr().write_all(line).expect("written");
        return None;
    }
    let program = room.path("dps");
    // By another process: one that a parallel test starts would hold the file open for writing for a moment, and it
    // could not be run.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_dps")).arg(&program).status();
    assert!(copied.expect("runs").success());
    mode(&program, 0o755);
    mode(room.folder(), 0o777);
    mode(&room.path("users.csv"), 0o644);
    mode(&room.path("l.json"), 0o666);
    Some((program, (60_005, 70_005)))
}

#[cfg(target_os = "linux")]
fn as_user(command: &mut Command, (user, group): (u32, u32)) -> &mut Command {
    use std::os::unix::process::CommandExt;
    command.uid(user).gid(group)
}

/// What a header declares is not believed: a sketch of 2^30 columns would take minutes before the first row is read.
#[test]
fn declared_rows_are_not_believed() {
    let room = room();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (ROWS, 1073741824), }";
    for rows in ["1", "0"] {
        let header = header.replace("ROWS", rows);
        let mut npy = b"\x93NUMPY\x02\x00".to_vec();
        npy.extend((header.len() as u32).to_le_bytes());
        npy.extend(header.as_bytes());
        room.write("a.npy", npy);
        let run = format!("release sketch a.npy --out refused.dps -k 4 --ledger l.json {OPTIONS}");
        let ended = limited(&room, "ulimit -d 65536;", &run);
        assert!(text(&ended).contains("longer than all it holds"), "{}", text(&ended));
    }
    room.write("a.idx", [&[0, 0, 8, 2, 0, 0, 0, 1][..], &[127, 255, 255, 255]].concat());
    let run = format!(
        "release sketch a.idx --format idx --out refused.dps -k 4 --ledger l.json {OPTIONS}"
    );
    let ended = limited(&room, "ulimit -d 65536;", &run);
    assert!(text(&ended).contains("longer than all it holds"), "{}", text(&ended));
    assert_eq!(spent(&room), 0);
}

/// More hits than there are rows, and as many as can be counted.
#[test]
fn as_many_hits_as_there_are() {
    let room = room();
    room.write("few.csv", csv(&numbers(6, 16), 16));
    room.json(&format!("release sketch few.csv --out s.dps -k 4 {OPTIONS}"));
    room.json("release signs few.csv --out b.dps -k 4 --adjacency attribute --beta 0.1 --bound 1 --epsilon 1 --delta 0");
    room.write("sets.txt", "a b c\nb c d e\na c d\n");
    room.json(
        "release minhash sets.txt --out m.dps -k 20 --adjacency set-items --alpha 1 --min-size 3 \
         --epsilon 4 --delta 0",
    );
    let hits = |run: String| room.json(&run)["hits"].as_array().expect("rows").len();
    for (name, rows) in [("s.dps", 6), ("b.dps", 6), ("m.dps", 3)] {
        for top in [u64::MAX, u64::MAX - 1, 1 << 63, 100] {
            assert_eq!(
                hits(format!("search {name} --top {top}")),
                rows * (rows - 1),
                "{name} {top}"
            );
            let all = format!("search {name} --queries {name} --top {top}");
            // Signatures of equal content are one release: a set does not find itself.
            let itself = usize::from(name != "m.dps");
            assert_eq!(hits(all), rows * (rows - 1 + itself), "{name} {top}");
        }
    }
}

/// A pipe where a ledger should be would be waited for.
#[test]
fn a_pipe_is_no_ledger() {
    let room = room();
    let made = Command::new("mkfifo").arg(room.path("fifo")).status().expect("mkfifo runs");
    assert!(made.success());
    room.refuses("ledger show fifo", 3, &["it is not a file"]);
    room.refuses(
        &format!("release sketch users.csv --out refused.dps -k 4 --ledger fifo {OPTIONS}"),
        3,
        &["it is not a file"],
    );
    // Nor is a file of data, of which nothing is told.
    let told = text(&room.run(&format!(
        "release sketch users.csv --out refused.dps -k 4 --ledger users.csv {OPTIONS}"
    )));
    assert!(told.contains("not a valid ledger") && !told.contains("a0"), "{told}");
}

/// While data is in memory a crash writes none of it to the disk.
#[cfg(target_os = "linux")]
#[test]
fn a_crash_writes_no_memory() {
    let room = room();
    let run = format!("release sketch - --out a.dps -k 4 {OPTIONS}");
    let mut command = room.command(&run);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("runs");
    use std::io::Write;
    let rows = csv(&numbers(40_000, 8), 8);
    child.stdin.as_mut().expect("piped").write_all(rows.as_bytes()).expect("written");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id()));
    child.kill().expect("killed");
    child.wait().expect("ends");
    let limits = limits.expect("readable");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("a line");
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
}
