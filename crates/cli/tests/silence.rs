//! No words of a file act on the terminal, and no values of a file are repeated.

use crate::support::{Room, csv, numbers, signed_again, text};
use dp_core::{Certificate, release_file};
use sketch::vectors::PrivateSketch;
use std::process::Output;

/// Escape sequences, line ends, C1 controls, changes of direction, invisible characters.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;x\u{7}a\r\nverdict  holds together\u{9b}31m\u{202e}b\u{2066}\u{200f}\u{2028}\u{feff}";

fn acts(c: char) -> bool {
    c.is_control() && c != '\n'
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// All that was printed, which must not act.
fn quiet(command: &str, output: &Output) -> String {
    let all = text(output);
    assert!(!all.contains(acts), "{command}: {all:?}");
    assert!(!all.contains("\nverdict  holds together\n"), "{command}: {all:?}");
    all
}

/// A sketch whose certificate has hostile words wherever words may stand.
fn hostile(room: &Room) {
    room.write("users.csv", csv(&numbers(20, 8), 8));
    room.json(
        "release sketch users.csv -k 4 --seed 3 --adjacency attribute --beta 2 --bound 1 --epsilon 1 --delta \
         1e-6 --out a.dps",
    );
    let release: dp_core::Release<PrivateSketch> =
        release_file::load(&room.path("a.dps")).expect("a release");
    let mut fields: serde_json::Value =
        serde_json::from_str(&release.certificate().to_json()).expect("JSON");
    fields["mechanism"] = HOSTILE.into();
    fields["library"] = HOSTILE.into();
    fields["public"][HOSTILE] = HOSTILE.into();
    let certificate =
        Certificate::from_json(&signed_again(&fields.to_string())).expect("consistent");
    let certificate = certificate.of_post_processing();
    let payload = release.payload();
    let noise = certificate.statement().noise.clone();
    let copy = PrivateSketch::new(payload.projection(), noise, payload.values().to_vec())
        .expect("a sketch");
    let release = dp_core::Release::certified(copy, certificate);
    release_file::write(&room.path("h.dps"), &release).expect("written");
}

#[test]
fn words_of_a_file_never_act() {
    let room = Room::new();
    hostile(&room);
    room.write("c.json", room.run("inspect h.dps --certificate").stdout);
    room.json(
        "ledger init l.json --data x --epsilon 9 --delta 1e-5 --adjacency attribute --beta 2",
    );
    for command in [
        "verify h.dps",
        "inspect h.dps",
        "inspect h.dps --certificate",
        "inspect c.json",
        "verify c.json",
        "search h.dps",
        "distance h.dps 0 1",
        "pca h.dps --components 1",
        "ledger spend l.json h.dps",
        "ledger show l.json",
        "inspect h.dps --guarantee",
    ] {
        quiet(command, &room.run(command));
        let output = room.run(&format!("{command} --json"));
        quiet(command, &output);
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON");
    }
    room.write("names.csv", "a\u{1b}[2J\u{202e},b\u{9b}\n0.1,0.2\n");
    let release = "release sketch names.csv -k 1 --adjacency attribute --beta 2 --bound 1 --epsilon 1 --delta 1e-6";
    for (name, flag) in [("n.dps", ""), ("m.dps", "--json")] {
        let command = format!("{release} --out {name} {flag}");
        let output = room.run(&command);
        assert!(
            output.status.success()
                && quiet(&command, &output).replace('_', " ").contains("columns that entered")
        );
    }
    // What was escaped reads back as it was: the digest holds.
    let shown = room.run("inspect c.json --certificate").stdout;
    assert_eq!(shown, room.read("c.json"));
}

/// A field that nobody knows, under a hostile name, and names of files.
#[test]
fn errors_never_act() {
    let room = Room::new();
    room.write(
        "n.json",
        serde_json::json!({"format": 3, "class": "private", HOSTILE: HOSTILE}).to_string(),
    );
    room.write("k.json", serde_json::json!({"format": 3, "class": HOSTILE}).to_string());
    for name in ["n.json", "k.json"] {
        for command in ["verify", "inspect", "search", "ledger show"] {
            quiet(name, &room.run(&format!("{command} {name}")));
        }
    }
    let name = "x\u{1b}[31m\u{202e}.dps";
    let mut command = room.command("verify");
    let output = command.arg(name).output().expect("runs");
    assert!(!output.status.success());
    quiet("a name", &output);
}

/// A file of data given where something else is expected, or without a header: nothing of it is repeated.
#[test]
fn values_are_not_repeated() {
    const SECRET: &str = "8675309";
    let room = Room::new();
    room.write("data.csv", format!("{SECRET}\n{SECRET},{SECRET}\n"));
    room.write("row.csv", format!("mary-{SECRET},{SECRET}-id\nbob,{SECRET}\n"));
    room.write("text.csv", format!("\"{SECRET}\"\n"));
    let sketch =
        "-k 1 --adjacency attribute --beta 2 --bound 1 --epsilon 1 --delta 1e-6 --out refused.dps";
    for name in ["data.csv", "row.csv", "text.csv"] {
        for command in [
            format!("verify {name}"),
            format!("inspect {name}"),
            format!("search {name}"),
            format!("inspect {name} --certificate"),
            format!("release sketch {name} {sketch}"),
            format!("release sketch {name} {sketch} --columns 7"),
            format!("release sketch {name} {sketch} --columns 2 --keep 2"),
        ] {
            for command in [command.clone(), format!("{command} --json")] {
                let output = room.run(&command);
                assert!(!output.status.success(), "{command}");
                let all = quiet(&command, &output);
                assert!(!all.contains(SECRET) && !all.contains("mary"), "{command}: {all}");
            }
        }
    }
}
