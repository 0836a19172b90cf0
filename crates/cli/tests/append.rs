//! New rows beside a release: made as it was, paid for, and asked together with it.

use crate::support::{Room, csv, forged, number, numbers};
use serde_json::Value;
use sketch::search::{Queries, Score, SketchIndex};
use sketch::vectors::PrivateSketch;

const ATTRIBUTE: &str = "--adjacency attribute --beta 1";
const LEDGER: &str = "ledger init l.json --data days --epsilon 60 --delta 1e-3";

fn room() -> Room {
    let room = Room::new();
    let all = numbers(60, 8);
    room.write("old.csv", csv(&all[..40 * 8], 8));
    room.write("new.csv", csv(&all[40 * 8..], 8));
    room.write("asked.csv", csv(&numbers(3, 8), 8));
    let sets: Vec<String> = (0..60)
        .map(|i| (0..12).map(|j| format!("{} ", (i * 7 + j * j * 3) % 97)).collect())
        .collect();
    room.write("old.txt", sets[..40].join("\n"));
    room.write("new.txt", sets[40..].join("\n"));
    room
}

fn spent(room: &Room) -> f64 {
    number(&room.json("ledger show l.json"), "spent_epsilon")
}

/// What a search found for a query: rows and scores, those of this file after so many others.
fn hits(found: &Value, first: u64) -> Vec<(u64, u64, f64)> {
    let table = found["hits"].as_array().expect("hits").iter();
    let score = |hit: &Value| {
        let names = ["noisy_cosine", "differing_bits", "signed_sum", "score"];
        names.iter().find_map(|name| hit[*name].as_f64()).expect("a score")
    };
    let whole = |hit: &Value, name: &str| hit[name].as_u64().expect("a number");
    table.map(|hit| (whole(hit, "query"), whole(hit, "row") + first, score(hit))).collect()
}

/// Of two lists the best of every query, most similar first.
fn merged(
    one: Vec<(u64, u64, f64)>,
    two: Vec<(u64, u64, f64)>,
    top: usize,
    least: bool,
) -> Vec<f64> {
    let mut all = [one, two].concat();
    all.sort_by(|a, b| {
        let scores = if least { a.2.total_cmp(&b.2) } else { b.2.total_cmp(&a.2) };
        a.0.cmp(&b.0).then(scores)
    });
    let mut kept: Vec<f64> = Vec::new();
    let (mut query, mut count) = (u64::MAX, 0);
    for (of, _, score) in all {
        count = if of == query { count + 1 } else { 1 };
        query = of;
        if count <= top {
            kept.push(score);
        }
    }
    kept
}

/// The same scores, up to the order in which their sums were added.
fn equal(one: &[f64], two: &[f64]) -> bool {
    one.len() == two.len() && one.iter().zip(two).all(|(a, b)| (a - b).abs() < 1e-12)
}

#[test]
fn every_kind_of_rows_is_appended_to_and_asked_as_one() {
    let kinds = [
        ("sketch", "old.csv", "-k 4 --bound 1 --epsilon 8 --delta 1e-6", ATTRIBUTE, ""),
        (
            "sketch",
            "old.csv",
            "-k 4 --family gaussian --noise laplace --bound 1 --epsilon 8 --delta 0 --store f32",
            ATTRIBUTE,
            "",
        ),
        (
            "sketch",
            "old.csv",
            "-k 6 --bound 1 --noise gaussian --epsilon 8 --delta 1e-6 --store compact",
            ATTRIBUTE,
            "",
        ),
        ("sketch", "old.csv", "--grid 2x4/2 --bound 1 --epsilon 8 --delta 0", ATTRIBUTE, ""),
        (
            "units",
            "old.csv",
            "-k 8 --family identity --lengths --epsilon 8 --delta 0",
            "--adjacency replace-row --norm-bound 3",
            "",
        ),
        (
            "signs",
            "old.csv",
            "-k 16 --repetitions 2 --flips response --bound 1 --epsilon 8 --delta 0",
            ATTRIBUTE,
            "--bound 1",
        ),
        ("signs", "old.csv", "-k 8 --bound 1 --epsilon 8 --delta 0", ATTRIBUTE, ""),
        (
            "minhash",
            "old.txt",
            "-k 32 --symbols 8 --epsilon 8 --delta 0",
            "--adjacency set-items --alpha 1 --min-size 1",
            "",
        ),
        (
            "minhash",
            "old.txt",
            "-k 64 --mechanism occupancy --epsilon 8 --delta 0",
            "--adjacency set-items --alpha 1 --min-size 1",
            "",
        ),
        (
            "minhash",
            "old.txt",
            "-k 8 --mechanism buckets --symbols 3 --concatenation 2 --epsilon 8 --delta 0",
            "--adjacency any-input",
            "",
        ),
    ];
    for (kind, file, options, adjacency, again) in kinds {
        let room = room();
        room.json(&format!("{LEDGER} {adjacency}"));
        let said = format!("{kind} {options}");
        let old = room.json(&format!(
            "release {kind} {file} --out a.dps {options} {adjacency} --ledger l.json"
        ));
        let new = file.replace("old", "new");
        let run = format!("append a.dps {new} --out b.dps --ledger l.json {again}");
        assert_eq!(
            room.json(&format!("{run} --dry-run"))["dry_run"],
            "nothing was released or spent"
        );
        assert_eq!(spent(&room), 8.0, "{said}");
        let made = room.json(&run);
        for same in
            ["mechanism", "projection_seed", "seed", "k", "sigma", "scale", "epsilon", "adjacency"]
        {
            assert_eq!(old[same], made[same], "{said}: {same}");
        }
        assert!(made["adds_up"].as_str().is_some_and(|said| said.contains("every other release")));
        assert_eq!(spent(&room), 16.0, "{said}");
        let [a, b] = ["a", "b"].map(|name| room.json(&format!("inspect {name}.dps")));
        for same in ["kind", "fingerprint", "guarantee", "noise", "columns"] {
            assert_eq!(a[same], b[same], "{said}: {same}");
        }

        // Against searches of one release each, which know nothing of several.
        let signatures = kind == "minhash" && !options.contains("occupancy");
        if !signatures {
            let asked = room.json("search a.dps b.dps --row 0,39,40,59 --top 5");
            let found: Vec<f64> = hits(&asked, 0).iter().map(|hit| hit.2).collect();
            let apart: Vec<f64> = [("a", 0, "0"), ("a", 0, "39"), ("b", 40, "0"), ("b", 40, "19")]
                .iter()
                .flat_map(|(of, first, row)| {
                    let within =
                        hits(&room.json(&format!("search {of}.dps --row {row} --top 5")), *first);
                    let other = if *of == "a" { "b" } else { "a" };
                    let beside =
                        format!("search {other}.dps --queries {of}.dps --row {row} --top 5");
                    let beside = hits(&room.json(&beside), 40 - first);
                    merged(within, beside, 5, kind == "signs")
                })
                .collect();
            if options.contains("occupancy") {
                // These scores are about the mean of all sets that are searched: no search of one release has them.
                let turned = room.json("search b.dps a.dps --row 20,59,0,19 --top 5");
                let turned: Vec<f64> = hits(&turned, 0).iter().map(|hit| hit.2).collect();
                assert!(equal(&found, &turned), "{said}: {found:?} {turned:?}");
            } else {
                assert!(equal(&found, &apart), "{said}: {found:?} {apart:?}");
            }
            assert_eq!(found.len(), 20);
            for hit in asked["hits"].as_array().expect("hits") {
                let of = if hit["row"].as_u64() < Some(40) { "a.dps" } else { "b.dps" };
                assert_eq!(hit["release"], of);
            }
        }
        if file.ends_with("csv") {
            let top = |files: &str, first| {
                hits(&room.json(&format!("search {files} --query asked.csv --top 4")), first)
            };
            let found: Vec<f64> = top("a.dps b.dps", 0).iter().map(|hit| hit.2).collect();
            let apart = merged(top("a.dps", 0), top("b.dps", 40), 4, false);
            assert!(equal(&found, &apart), "{said}: {found:?} {apart:?}");
        }
        // Occupancy bits, sums of groups and signs with flips of many probabilities only rank.
        let only_rank = options.contains("occupancy")
            || options.contains("--grid")
            || kind == "signs" && !options.contains("--flips response");
        if !only_rank {
            for (i, j, apart) in [
                (2, 55, "distance a.dps --other b.dps 2 15"),
                (3, 9, "distance a.dps 3 9"),
                (41, 50, "distance b.dps 1 10"),
            ] {
                let joined = room.json(&format!("distance a.dps --also b.dps {i} {j}"));
                assert_eq!(joined["estimates"], room.json(apart)["estimates"], "{said} {i} {j}");
            }
        }
    }
}

/// A ranking that learns from all rows learns from those of both releases.
#[test]
fn denoised_answers_are_those_of_one_release_of_all_rows() {
    let room = room();
    let made = "-k 4 --bound 1 --epsilon 8 --delta 1e-6 --noise gaussian";
    room.json(&format!("release sketch old.csv --out a.dps {made} {ATTRIBUTE}"));
    room.json("append a.dps new.csv --out b.dps");
    let read = |name: &str| {
        dp_core::release_file::load::<PrivateSketch, dp_core::Certificate>(&room.path(name))
            .expect("a release")
    };
    let (a, b) = (read("a.dps"), read("b.dps"));
    let (a, b) = (a.payload(), b.payload());
    let values = [a.values(), b.values()].concat();
    let all = PrivateSketch::new(a.projection(), a.noise().clone(), values).expect("rows");
    let index = SketchIndex::denoised(&all, Score::Cosine).expect("an index");
    let rows = [7, 45];
    let queries = Queries::rows(&all, &rows).expect("rows");
    let found = index.top_k(&queries, 6).expect("found");
    let expected: Vec<u64> = (0..2)
        .flat_map(|query| {
            let of = found.indices(query).iter().map(|&row| u64::from(row));
            of.filter(move |&row| row != rows[query] as u64).take(5)
        })
        .collect();
    let told = room.json("search a.dps b.dps --row 7,45 --top 5 --denoise");
    let told: Vec<u64> = hits(&told, 0).iter().map(|hit| hit.1).collect();
    assert_eq!(told, expected);
}

#[test]
fn names_lead_to_rows_of_any_of_the_releases() {
    let room = room();
    for (file, from) in [("old.csv", 0), ("new.csv", 40)] {
        let lines = String::from_utf8(room.read(file)).expect("text");
        let mut lines = lines.lines().enumerate();
        let head = format!("who,{}\n", lines.next().expect("a header").1);
        let body: String = lines.map(|(i, line)| format!("u{},{line}\n", from + i - 1)).collect();
        room.write(file, head + &body);
    }
    let made = "-k 4 --bound 1 --epsilon 8 --delta 1e-6 --keep-id who";
    room.json(&format!("release sketch old.csv --out a.dps {made} {ATTRIBUTE}"));
    room.json("append a.dps new.csv --out b.dps --keep-id who");
    let found = room.json("search a.dps b.dps --row u45,u3 --top 3");
    for hit in found["hits"].as_array().expect("hits") {
        let row = hit["row"].as_u64().expect("a number");
        assert_eq!(hit["id"], format!("u{row}"));
        assert_eq!(hit["query_id"], format!("u{}", hit["query"]));
    }
    let named = room.json("distance a.dps --also b.dps u2 u55");
    assert_eq!((&named["i"], &named["j"]), (&2.into(), &55.into()));
    room.refuses("search a.dps b.dps --row u60", 2, &["u60", "no row is called so"]);

    // A name that two releases share says nothing; without names rows are counted.
    room.json("append a.dps old.csv --out again.dps --keep-id who");
    room.refuses(
        "search a.dps again.dps --row u1",
        1,
        &["names of rows", "the same in two releases"],
    );
    room.json("append a.dps new.csv --out plain.dps --id who");
    assert!(room.json("search a.dps plain.dps --row 45 --top 1")["hits"][0]["id"].is_null());
}

#[test]
fn what_differs_is_not_asked_together() {
    let room = room();
    let release = |name: &str, rest: &str| {
        room.json(&format!(
            "release sketch old.csv --out {name}.dps -k 4 --bound 1 {ATTRIBUTE} {rest}"
        ))
    };
    release("a", "--seed 1 --noise gaussian --epsilon 8 --delta 1e-6");
    release("seed", "--seed 2 --noise gaussian --epsilon 8 --delta 1e-6");
    release("budget", "--seed 1 --noise gaussian --epsilon 4 --delta 1e-6");
    release("grid", "--seed 1 --noise gaussian --epsilon 8 --delta 1e-6 --store compact");
    room.json(&format!(
        "release sketch old.csv --out bound.dps -k 4 --bound 3 {ATTRIBUTE} --seed 1 --noise gaussian --epsilon 8 --delta 1e-6"
    ));
    room.json(&format!(
        "release signs old.csv --out signs.dps -k 4 --bound 1 {ATTRIBUTE} --epsilon 8 --delta 0"
    ));
    std::fs::copy(room.path("a.dps"), room.path("copy.dps")).expect("copied");
    for (other, words) in [
        ("seed", "fingerprint"),
        ("budget", "noise"),
        ("grid", "steps"),
        ("bound", "certificates describe"),
        ("signs", "asked together"),
        ("copy", "they are one"),
        ("a", "they are one"),
    ] {
        let named = format!("a.dps, {other}.dps");
        room.refuses(&format!("search a.dps {other}.dps --row 0"), 1, &[words, &named]);
        room.refuses(&format!("distance a.dps --also {other}.dps 0 1"), 1, &[words, &named]);
    }
    // One noise on both sides would be subtracted as if it were two.
    room.json(&format!(
        "release sketch new.csv --out new.dps -k 4 --bound 1 {ATTRIBUTE} --seed 1 --noise gaussian --epsilon 8 --delta 1e-6"
    ));
    room.json("search a.dps new.dps --row 0 --score squared-distance");
    room.refuses("search new.dps a.dps --queries copy.dps", 1, &["a.dps is on both sides"]);
    let mut damaged = room.read("a.dps");
    damaged[40] ^= 1;
    room.write("damaged.dps", damaged);
    room.refuses("search a.dps damaged.dps --row 0", 1, &["damaged.dps: ", "altered"]);
    room.refuses(
        "distance a.dps --also seed.dps --other budget.dps 0 1",
        2,
        &["cannot be used with"],
    );
}

/// Whatever is refused is refused before it is paid for.
#[test]
fn nothing_is_spent_on_what_is_not_appended() {
    let room = room();
    room.json(&format!("{LEDGER} {ATTRIBUTE}"));
    let privacy = format!("--bound 1 --epsilon 8 --delta 1e-6 {ATTRIBUTE}");
    room.json(&format!("release sketch old.csv --out a.dps -k 4 {privacy} --ledger l.json"));
    let append = "append a.dps new.csv --out refused.dps --ledger l.json";

    // Options that the release has answered, or that would break what it rests on.
    for (option, words) in [
        ("--epsilon 1", "cannot be used multiple times"),
        ("--adjacency row-shift", "cannot be used multiple times"),
        ("-k 5", "cannot be used multiple times"),
        ("--seed 3", "--seed has no effect"),
        ("--family gaussian", "--family has no effect"),
        ("--public asked.csv", "--public has no effect"),
        ("--calibration averaged", "--calibration averaged"),
        ("--grid 2x4/2", "cannot be used with"),
        ("--columns a0,a1", "the new rows have 2 columns"),
        ("--user a0", "--rows-a-user"),
        ("--insecure-test-noise 1", "no ledger pays for it"),
    ] {
        room.refuses(&format!("{append} {option}"), 2, &[words]);
    }
    // A file that was changed; one that was sealed again by somebody who knows how: the ledger does not know it.
    let whole = room.read("a.dps");
    let mut edited = whole.clone();
    edited[40] ^= 1;
    room.write("edited.dps", edited);
    room.refuses(
        "append edited.dps new.csv --out refused.dps --ledger l.json",
        1,
        &["damaged or altered"],
    );
    room.write("sealed.dps", forged(&whole, |payload| payload[3] ^= 1));
    let sealed = "append sealed.dps new.csv --out refused.dps --ledger l.json";
    room.refuses(
        sealed,
        1,
        &["not among the releases that l.json has paid for", "dps ledger record"],
    );
    // One that is paid for elsewhere, and under another adjacency.
    room.json(&format!("release sketch old.csv --out free.dps -k 4 {privacy}"));
    room.refuses("append free.dps new.csv --out refused.dps --ledger l.json", 1, &["not among"]);
    room.json("ledger init row.json --data days --epsilon 60 --delta 1e-3 --adjacency replace-row --norm-bound 3");
    room.refuses("append a.dps new.csv --out refused.dps --ledger row.json", 1, &["row.json"]);
    room.json("release units old.csv --out u.dps -k 8 --family identity --epsilon 2 --delta 0 --adjacency replace-row --norm-bound 3");
    room.refuses("append u.dps new.csv --out refused.dps --ledger l.json", 1, &["not among"]);
    assert_eq!(room.json("ledger show row.json")["releases"], 0);

    // What averages over its seed, by whichever mechanism; what has no rows; what is no differential privacy.
    let rows = "--adjacency replace-row --norm-bound 3 --epsilon 8 --delta 1e-6";
    room.json(&format!(
        "release sketch old.csv --out fresh.dps -k 4 --calibration averaged {rows}"
    ));
    let sets = "--adjacency set-items --alpha 1 --min-size 3 --epsilon 4 --delta 1e-6";
    room.json(&format!(
        "release minhash old.txt --out mixture.dps -k 8 --mechanism mixture {sets}"
    ));
    room.json(&format!(
        "release signs old.csv --out flips.dps -k 8 --calibration averaged --lift 1 --bound 1 --epsilon 8 --delta 1e-6 {ATTRIBUTE}"
    ));
    for old in ["fresh", "mixture", "flips"] {
        let file = if old == "mixture" { "new.txt" } else { "new.csv" };
        let words = ["averages over a seed", "--calibration realised"];
        room.refuses(&format!("append {old}.dps {file} --out refused.dps"), 1, &words);
    }
    room.json(&format!("release covariance old.csv --out c.dps {rows}"));
    room.refuses(
        "append c.dps new.csv --out refused.dps",
        2,
        &["a release that rows are appended to"],
    );
    let individual = "--individual-not-differential-privacy response";
    room.json(&format!("release signs old.csv --out i.dps -k 8 {individual} --bound 1 --epsilon 1 --delta 0 {ATTRIBUTE}"));
    room.refuses(
        "append i.dps new.csv --out refused.dps",
        1,
        &["only releases with differential privacy"],
    );
    room.json(&format!(
        "release signs old.csv --out s.dps -k 8 --bound 1 --epsilon 1 --delta 0 {ATTRIBUTE}"
    ));
    let as_individual = format!("append s.dps new.csv --out refused.dps {individual}");
    room.refuses(&as_individual, 2, &["--individual-not-differential-privacy"]);

    assert_eq!(spent(&room), 8.0);
    // Until the limit: seven fit.
    for i in 0..6 {
        room.json(&format!("append a.dps new.csv --out n{i}.dps --ledger l.json"));
    }
    room.refuses(append, 1, &["limit"]);
    assert_eq!(spent(&room), 56.0);
}

/// Two processes that append at once: each pays for what it publishes, and of one name there is one.
#[test]
fn two_at_once_pay_for_what_they_publish() {
    let room = room();
    room.json(&format!("{LEDGER} {ATTRIBUTE}"));
    let privacy = format!("--bound 1 --epsilon 2 --delta 1e-6 {ATTRIBUTE}");
    room.json(&format!("release sketch old.csv --out a.dps -k 4 {privacy} --ledger l.json"));
    let mut files = 1;
    for round in 0..6 {
        let same = round % 2 == 0;
        let names = if same { ["b", "b"] } else { ["b", "c"] };
        let children = names.map(|name| {
            let run = format!("append a.dps new.csv --out {name}{round}.dps --ledger l.json");
            room.command(&run)
                .stderr(std::process::Stdio::null())
                .stdout(std::process::Stdio::null())
                .spawn()
                .expect("starts")
        });
        let done = children.map(|mut child| child.wait().expect("ends").success());
        let published = done.iter().filter(|done| **done).count();
        assert_eq!(published, if same { 1 } else { 2 }, "{round}");
        files += published;
        assert_eq!(spent(&room), 2.0 * files as f64);
    }
    room.json("search a.dps b1.dps c1.dps --row 0");
}

/// Killed as soon as the ledger is written: the next command publishes what was paid for, or takes the payment back.
#[cfg(unix)]
#[test]
fn what_is_killed_while_it_pays_is_made_good() {
    let room = room();
    room.json(&format!("ledger init l.json --data days --epsilon 600 --delta 1e-3 {ATTRIBUTE}"));
    let privacy = format!("--bound 1 --epsilon 2 --delta 1e-6 {ATTRIBUTE}");
    room.json(&format!("release sketch old.csv --out a.dps -k 4 {privacy} --ledger l.json"));
    let length = || std::fs::metadata(room.path("l.json")).expect("a ledger").len();
    for i in 0..30 {
        let before = length();
        let mut run = room.command(&format!("append a.dps new.csv --out n{i}.dps --ledger l.json"));
        let quiet = std::process::Stdio::null;
        let mut child = run.stdout(quiet()).stderr(quiet()).spawn().expect("starts");
        while length() == before && child.try_wait().expect("a process").is_none() {
            std::thread::yield_now();
        }
        let _ = child.kill();
        child.wait().expect("ends");
        let shown = room.json("ledger show l.json");
        let files = std::fs::read_dir(room.folder()).expect("a folder");
        let names: Vec<String> = files
            .map(|file| file.expect("a name").file_name().to_string_lossy().into_owned())
            .collect();
        assert!(!names.iter().any(|name| name.starts_with('.')), "{names:?}");
        let releases = names.iter().filter(|name| name.ends_with(".dps")).count();
        assert_eq!(shown["releases"], releases, "{i}");
    }
}
