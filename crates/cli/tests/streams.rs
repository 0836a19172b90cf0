//! Standard input, standard output and pipes: they work, or end in a clear error.

use crate::support::{Room, csv, numbers, text};
use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use std::process::{Command, Stdio};
use std::sync::Arc;

const SKETCH: &str =
    "-k 4 --seed 3 --adjacency attribute --beta 2 --bound 1 --epsilon 1 --delta 1e-6";

fn room() -> Room {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(60, 8), 8));
    room
}

/// No file called `-`, and no other than these.
fn only(room: &Room, names: &[&str]) {
    let found = std::fs::read_dir(room.folder()).expect("a folder").flatten();
    let mut found: Vec<_> = found.map(|e| e.file_name().into_string().expect("text")).collect();
    found.sort();
    assert_eq!(found, names);
}

/// A pipe that has the name of a file which is being written stops nobody: it is neither waited for nor removed.
#[cfg(unix)]
#[test]
fn a_pipe_in_the_way_is_left_alone() {
    let room = room();
    for name in [".x.dps.abc.partial", ".l.abc.partial"] {
        let made = Command::new("mkfifo").arg(room.path(name)).status().expect("mkfifo");
        assert!(made.success());
    }
    room.json("ledger init l --data x --epsilon 9 --delta 1e-5 --adjacency attribute --beta 2");
    room.json(&format!("release sketch users.csv --out x.dps {SKETCH} --ledger l"));
    only(&room, &[".l.abc.partial", ".x.dps.abc.partial", "l", "users.csv", "x.dps"]);
}

#[test]
fn a_release_goes_through_pipes() {
    let room = room();
    let data = room.read("users.csv");
    for (run, input) in [
        (format!("release sketch users.csv --out - {SKETCH}"), &[][..]),
        (format!("release sketch - --out - {SKETCH}"), &data),
    ] {
        for json in ["", " --json"] {
            let made = room.pipe(&format!("{run}{json}"), input);
            let said = String::from_utf8_lossy(&made.stderr);
            assert!(made.status.success() && said.contains("holds together"), "{said}");
            let release = made.stdout;
            assert!(release.starts_with(b"DPSKETCH"), "the release, and nothing else");
            for question in ["verify -", "inspect -", "distance - 0 1", "search - --row 0 --top 2"]
            {
                let answer = room.pipe(question, &release);
                assert!(answer.status.success(), "{question}: {}", text(&answer));
            }
            let certificate = room.pipe("inspect - --certificate", &release).stdout;
            let answer = room.pipe("verify -", &certificate);
            assert!(answer.status.success(), "{}", text(&answer));
        }
    }
    only(&room, &["users.csv"]);
    let covariance = "release covariance - --out - --adjacency replace-row --norm-bound 4 --epsilon 1 --delta 1e-6";
    let covariance = room.pipe(covariance, &data).stdout;
    let answer = room.pipe("pca - --components 2", &covariance);
    assert!(answer.status.success(), "{}", text(&answer));
    for (run, words) in
        [("verify -", "certificate rejected"), ("search - --queries -", "once only")]
    {
        let refused = room.pipe(run, if run == "verify -" { b"x" } else { &covariance });
        assert!(!refused.status.success() && text(&refused).contains(words), "{}", text(&refused));
    }
    // Words about a failure are no release.
    let refused =
        room.pipe(&format!("release sketch - --out - {SKETCH} --json"), b"a,b,c,d\n9,9,9,9\n");
    assert!(refused.status.code() == Some(4) && refused.stdout.is_empty(), "{}", text(&refused));
    assert!(text(&refused).contains("standard input"), "{}", text(&refused));
    only(&room, &["users.csv"]);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_written_to() {
    let room = room();
    let fifo = Command::new("mkfifo").arg(room.path("fifo")).status().expect("mkfifo runs");
    assert!(fifo.success());
    // An output that hangs would never end here.
    for out in ["fifo", "/dev/stdout", "/dev/null", "/proc/self/fd/1"] {
        let run = format!("release sketch users.csv --out {out} --force {SKETCH}");
        room.refuses(&run, 2, &[out, "--out -"]);
    }
    room.refuses(
        "ledger init - --data x --epsilon 1 --delta 0 --adjacency any-input",
        2,
        &["is a file"],
    );
    room.refuses("pca x --components 1 --out -", 2, &[".csv or .npy"]);
    // A pipe is read once, which is enough for a release that is paid for; a dry run leaves nothing to read.
    room.json(
        "ledger init l.json --data x --epsilon 9 --delta 1e-5 --adjacency attribute --beta 2",
    );
    let paid = format!("release sketch fifo --format csv --out paid.dps --ledger l.json {SKETCH}");
    let feed = |name: &str| {
        let copy = format!("cat {name} > fifo");
        let mut command = Command::new("sh");
        command.args(["-c", &copy]).current_dir(room.folder());
        command.stderr(Stdio::null()).spawn().expect("sh runs")
    };
    let mut data = feed("users.csv");
    room.json(&paid);
    data.wait().expect("ends");
    let mut data = feed("users.csv");
    room.refuses(&format!("{paid} --force --dry-run"), 2, &["once only"]);
    data.wait().expect("ends");
    room.json(&format!("release sketch users.csv --out a.dps {SKETCH}"));
    let mut release = feed("a.dps");
    assert_eq!(room.json("verify fifo")["rows"], 60);
    release.wait().expect("ends");
}

#[test]
fn formats_are_known_on_standard_input() {
    let room = room();
    let values = numbers(60, 8);
    let dict = "{'descr': '<f8', 'fortran_order': False, 'shape': (60, 8), }";
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend(((117 + 1) as u16).to_le_bytes());
    npy.extend(format!("{dict:117}\n").as_bytes());
    values.iter().for_each(|v| npy.extend(v.to_le_bytes()));
    let run = |options: &str, input: &[u8]| {
        let output =
            room.pipe(&format!("release sketch - {options} --out a.dps --force {SKETCH}"), input);
        (output.status.code(), text(&output))
    };
    let (status, said) = run("", &npy);
    assert!(status == Some(4) && said.contains("NPY array: say --format npy"), "{said}");
    let (status, said) = run("--format npy", &npy);
    assert!(status == Some(0), "{said}");
    let (status, said) = run("--format parquet", b"PAR1");
    assert!(status == Some(2) && said.contains("save it to a file first"), "{said}");
    let (status, said) = run("", b"PAR1");
    assert!(status == Some(4) && said.contains("Parquet"), "{said}");
    let column = |j: usize| {
        let values = values.iter().skip(j).step_by(8).copied().collect::<Vec<f64>>();
        (format!("a{j}"), Arc::new(Float64Array::from(values)) as ArrayRef)
    };
    let batch = RecordBatch::try_from_iter((0..8).map(column)).expect("a batch");
    let mut stream =
        arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).expect("arrow");
    stream.write(&batch).expect("written");
    let stream = stream.into_inner().expect("closed");
    let (status, said) = run("--format arrow", &stream);
    assert!(status == Some(0), "{said}");
    // As of `cat a.arrows b.arrows`.
    let (status, said) = run("--format arrow", &[&stream[..], &stream].concat());
    assert!(status == Some(4) && said.contains("bytes follow the mark"), "{said}");
    let mut file =
        arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).expect("arrow");
    file.write(&batch).expect("written");
    let (status, said) = run("--format arrow", &file.into_inner().expect("closed"));
    assert!(status == Some(2) && said.contains("or send an Arrow stream"), "{said}");
}
