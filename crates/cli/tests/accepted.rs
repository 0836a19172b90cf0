//! `dps verify` says what it did not check, and lets nothing pass that is not what it seems.

use crate::support::{Room, csv, numbers, signed_again, text};
use dp_core::{Certificate, Release, release_file};
use serde_json::Value;
use sketch::vectors::PrivateSketch;

const SKETCH: &str = "-k 4 --seed 3 --adjacency attribute --beta 2 --bound 1 --epsilon 1";

fn room() -> Room {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(60, 8), 8));
    room
}

/// The release with other values, or with another certificate, in a file that holds together.
fn rewritten(
    room: &Room,
    name: &str,
    values: impl Fn(f64) -> f64,
    certificate: impl Fn(&str) -> String,
) {
    let release: Release<PrivateSketch> =
        release_file::load(&room.path("a.dps")).expect("a release");
    let payload = release.payload();
    let text = certificate(&release.certificate().to_json());
    let certificate = Certificate::from_json(&signed_again(&text)).expect("holds together");
    // As a forger who knows the format: bound to the new values.
    let certificate = certificate.of_post_processing();
    let values = payload.values().iter().map(|&v| values(v)).collect();
    let noise = certificate.statement().noise.clone();
    let payload = PrivateSketch::new(payload.projection(), noise, values).expect("a sketch");
    release_file::write(&room.path(name), &Release::certified(payload, certificate))
        .expect("written");
}

#[test]
fn what_was_not_checked_is_said() {
    let room = room();
    room.json(&format!("release sketch users.csv --out a.dps {SKETCH} --delta 1e-6"));
    let gaps = |run: &str| room.json(run)["not_checked"].to_string();
    let found = gaps("verify a.dps");
    for words in
        ["no signature was checked", "who drew it", "nothing else fixes", "declared bounds"]
    {
        assert!(found.contains(words), "{found}");
    }
    assert!(!found.contains("sensitivity:"), "{found}");
    let shown = text(&room.run("verify a.dps"));
    assert!(shown.contains("stated grid") && shown.contains("not checked"), "{shown}");
    let certificate = room.run("inspect a.dps --certificate").stdout;
    room.write("c.json", certificate);
    assert!(gaps("verify c.json").contains("there is none beside a certificate"));
    room.json("release covariance users.csv --out c.dps --adjacency replace-row --norm-bound 4 --epsilon 1 --delta 1e-6");
    assert!(text(&room.run("verify c.dps")).contains("stated grid"));
    room.json(&format!("release signs users.csv --out s.dps {SKETCH} --delta 0"));
    assert!(gaps("verify s.dps").contains("whether its values carry the stated noise"));
}

/// An honest release of data that are all zero is the quietest there is.
#[test]
fn honest_releases_pass() {
    let room = Room::new();
    room.write("zero.csv", csv(&[0.0; 400], 4));
    room.write("one.csv", csv(&[0.0; 4], 4));
    for noise in [
        "--delta 1e-6 --noise gaussian",
        "--delta 0 --noise laplace",
        "--delta 0 --noise staircase",
        "--delta 1e-6 --noise gaussian --store f32",
        "--delta 0 --noise staircase --store f32",
        "--delta 0 --noise laplace --store f32",
        "--delta 1e-6 --noise gaussian --store compact",
        "--delta 0 --noise laplace --store compact",
    ] {
        for file in ["zero.csv", "one.csv"] {
            room.json(&format!("release sketch {file} --out a.dps --force {SKETCH} {noise}"));
            assert!(room.json("verify a.dps")["payload"].as_str().expect("text").contains("grid"));
        }
    }
    // Squares of these numbers underflow, or overflow.
    for bound in ["1e-200", "1e200"] {
        let tiny = format!(
            "-k 4 --adjacency attribute --beta {bound} --bound {bound} --epsilon 1 --delta 1e-6"
        );
        room.json(&format!("release sketch zero.csv --out a.dps --force {tiny}"));
        room.json("verify a.dps");
    }
}

/// Compact files are read by every command, and say what they are; noise that they cannot hold is refused first.
#[test]
fn compact_releases_are_releases() {
    let room = room();
    let sketch = |out: &str, store: &str| {
        let noise = "--delta 1e-6 --noise gaussian --insecure-test-noise 5";
        room.json(&format!(
            "release sketch users.csv --out {out} {SKETCH} {noise} --store {store}"
        ));
    };
    sketch("a.dps", "f64");
    sketch("c.dps", "compact");
    assert_eq!(room.json("inspect c.dps")["kind"], "sketch (compact)");
    room.json("verify c.dps --accept test-noise");
    let subtracted = |file: &str| {
        let found = room.json(&format!("export {file} --out {file}.csv --accept test-noise"));
        found["subtract_from_squared_norms"].as_f64().expect("a number")
    };
    let ratio = subtracted("c.dps") / subtracted("a.dps");
    // 1 + g^2/12 for a g between a sixteenth and an eighth of sigma.
    assert!((1.0 + 1.0 / 3072.0..=1.0 + 1.0 / 768.0).contains(&(ratio * (1.0 + 1e-12))), "{ratio}");
    for question in ["distance c.dps 0 1", "search c.dps --row 0 --top 3"] {
        room.json(&format!("{question} --accept test-noise"));
    }
    let stairs =
        format!("release sketch users.csv --out s.dps {SKETCH} --delta 0 --noise staircase");
    room.refuses(&format!("{stairs} --store compact"), 2, &["compact", "f64 or f32"]);
    assert!(!room.path("s.dps").exists());
}

#[test]
fn payloads_that_carry_no_such_noise_are_refused() {
    let room = room();
    for noise in [
        "--delta 1e-6 --noise gaussian",
        "--delta 0 --noise laplace",
        "--delta 0 --noise staircase",
    ] {
        room.json(&format!("release sketch users.csv --out a.dps --force {SKETCH} {noise}"));
        let same = str::to_owned;
        rewritten(&room, "same.dps", |v| v, same);
        room.json("verify same.dps");
        rewritten(&room, "off.dps", |v| v + 1e-12, same);
        room.refuses("verify off.dps", 1, &["not on the stated grid"]);
        // Constants, and the noise of four times the budget.
        rewritten(&room, "constant.dps", |_| 0.0, same);
        room.refuses("verify constant.dps", 1, &["vary less", "1e-9"]);
        room.json(&format!(
            "release sketch users.csv --out a.dps --force {} {noise}",
            SKETCH.replace("--epsilon 1", "--epsilon 8")
        ));
        let loud: Release<PrivateSketch> =
            release_file::load(&room.path("a.dps")).expect("a release");
        room.json(&format!(
            "release sketch users.csv --out a.dps --force {} {noise}",
            SKETCH.replace("--epsilon 1", "--epsilon 0.04")
        ));
        let quiet: Release<PrivateSketch> =
            release_file::load(&room.path("a.dps")).expect("a release");
        let noise = quiet.certificate().statement().noise.clone();
        let grid = match noise {
            dp_core::noise::NoiseLaw::RoundedGaussian { grid, .. }
            | dp_core::noise::NoiseLaw::RoundedLaplace { grid, .. }
            | dp_core::noise::NoiseLaw::Staircase { grid, .. } => grid,
            ref other => panic!("{other:?}"),
        };
        let values = loud.payload().values().iter().map(|&v| grid.round(v)).collect();
        let payload =
            PrivateSketch::new(quiet.payload().projection(), noise, values).expect("a sketch");
        let release = Release::certified(payload, quiet.certificate().clone().of_post_processing());
        release_file::write(&room.path("swapped.dps"), &release).expect("written");
        room.refuses("verify swapped.dps", 1, &["vary less"]);
    }
}

/// A sensitivity that the seed contradicts, or that can no longer be computed, is refused wherever a release
/// is used.
#[test]
fn a_forged_sensitivity_is_refused_everywhere() {
    let room = room();
    room.json(&format!("release sketch users.csv --out a.dps {SKETCH} --delta 1e-6"));
    room.json(
        "ledger init l.json --data x --epsilon 9 --delta 1e-5 --adjacency attribute --beta 4",
    );
    let before = room.read("l.json");
    let real = |text: &str, name: &str| {
        let value: Value = serde_json::from_str(text).expect("JSON");
        value["public"][name].clone()
    };
    let entry = |text: &str| format!("\"largest entry\": {}", real(text, "largest entry"));
    let swap = |text: &str, from: &str, to: &str| {
        let forged = text.replacen(from, to, 1);
        assert_ne!(forged, text, "{from} in {text}");
        forged
    };
    type Forge<'a> = Box<dyn Fn(&str) -> String + 'a>;
    let forgeries: [(&str, Forge<'_>); 4] = [
        ("wider.dps", Box::new(|t| swap(t, "\"beta\": 2.0", "\"beta\": 4.0"))),
        ("deleted.dps", Box::new(|t| swap(t, &format!("{},", entry(t)), ""))),
        ("typed.dps", Box::new(|t| swap(t, &entry(t), "\"largest entry\": \"1\""))),
        ("whole.dps", Box::new(|t| swap(t, &entry(t), "\"largest entry\": 1"))),
    ];
    for (name, forge) in forgeries {
        rewritten(&room, name, |v| v, forge);
        for question in ["verify", "search", "ledger spend l.json"] {
            room.refuses(&format!("{question} {name}"), 1, &["certificate rejected"]);
        }
        room.refuses(&format!("distance {name} 0 1"), 1, &["certificate rejected"]);
        let shown = room.json(&format!("inspect {name}"))["verification"].to_string();
        assert!(shown.contains("does NOT hold together"), "{shown}");
        // The certificate by itself.
        room.write("c.json", room.run(&format!("inspect {name} --certificate")).stdout);
        room.refuses("verify c.json", 1, &["certificate rejected"]);
        room.refuses("ledger spend l.json c.json", 1, &["certificate rejected"]);
    }
    assert_eq!(room.read("l.json"), before);
    // Called published, it must be accepted by name, and is computed again all the same.
    let published = |text: &str| {
        let value: Value = serde_json::from_str(text).expect("JSON");
        let theorem = value["guarantee"]["provenance"]["theorem"].to_string();
        let text = swap(text, "\"proven\"", "\"published\"");
        let claim = format!("\"source\": {theorem}, \"caveat\": \"\"");
        swap(&text, &format!("\"theorem\": {theorem}"), &claim)
    };
    rewritten(&room, "published.dps", |v| v, published);
    room.refuses("verify published.dps", 1, &["published claim", "--accept published"]);
    let accepted = room.json("verify published.dps --accept published");
    assert!(accepted["sensitivity"].to_string().contains("agrees"), "{accepted}");
    let wider = |text: &str| published(&swap(text, "\"beta\": 2.0", "\"beta\": 4.0"));
    rewritten(&room, "wider.dps", |v| v, wider);
    for question in ["verify wider.dps --accept published", "ledger spend l.json wider.dps"] {
        room.refuses(question, 1, &["certificate rejected"]);
    }
}

#[test]
fn known_noise_must_be_accepted_by_name() {
    let room = room();
    room.json(&format!(
        "release sketch users.csv --out t.dps {SKETCH} --delta 1e-6 --insecure-test-noise 7"
    ));
    room.refuses("verify t.dps", 1, &["anyone can run again", "--accept test-noise"]);
    room.refuses("verify t.dps --accept published", 1, &["--accept test-noise"]);
    let accepted = room.json("verify t.dps --accept test-noise");
    assert!(accepted["accepted_by_name"].as_str().expect("text").contains("anyone"));
}

/// Bits, and symbols, that a change touches are counted again from the parameters.
#[test]
fn forged_counts_are_refused() {
    use sketch::sets::PrivateSymbols;
    let room = room();
    let words = |i: usize| (0..12).map(|w| format!("w{} ", i * 5 + w)).collect::<String>() + "\n";
    room.write("sets.txt", (0..20).map(words).collect::<String>());
    let set = "--adjacency set-items --alpha 3 --min-size 4 --epsilon 4 --delta 0";
    room.json(&format!("release minhash sets.txt --out a.dps -k 20 {set}"));
    let release: Release<PrivateSymbols> =
        release_file::load(&room.path("a.dps")).expect("a release");
    // A change of nine items under a profile of three: nothing else in the certificate contradicts it.
    let text = release.certificate().to_json();
    let forged = text.replacen("\"alpha\": 3", "\"alpha\": 9", 1);
    assert_ne!(forged, text);
    let forged = Certificate::from_json(&signed_again(&forged)).expect("holds together");
    let release = Release::certified(release.payload().clone(), forged);
    release_file::write(&room.path("forged.dps"), &release).expect("written");
    room.json("verify a.dps");
    for command in ["verify", "search"] {
        room.refuses(&format!("{command} forged.dps"), 1, &["another profile than the payload's"]);
    }
}
