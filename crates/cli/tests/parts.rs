//! One release that several processes make: `--plan-parts`, `--part`, `dps merge`.
#![cfg(unix)]

use crate::support::{Room, csv, numbers, text};
use dp_core::ledger_file::BudgetFile;
use std::os::unix::fs::PermissionsExt;

const ATTRIBUTE: &str = "--adjacency attribute --beta 1 --bound 1 --epsilon 1";
const ROW: &str = "--adjacency replace-row --norm-bound 3 --epsilon 1 --delta 1e-6";

/// 130 rows in blocks of 20, the last of 10; and as many sets.
fn room() -> Room {
    let room = Room::new();
    room.write("rows.csv", csv(&numbers(130, 6), 6));
    let sets =
        (0..130).map(|i| (0..9).map(|j| format!("w{} ", (i + 7 * j) % 57)).collect::<String>());
    room.write("groups.txt", "w0 w1 w2\nw3 w4 w5 w6\nw50\n");
    room.write("sets.txt", sets.map(|set| set.trim_end().to_owned() + "\n").collect::<String>());
    room
}

/// Every kind of release that can be made in parts.
fn kinds() -> Vec<String> {
    let sets = "sets.txt --epsilon 2 --adjacency set-items --alpha 1 --min-size 9";
    vec![
        format!("sketch rows.csv -k 3 --seed 1 {ATTRIBUTE} --delta 1e-6 --noise gaussian"),
        format!("sketch rows.csv -k 3 --seed 1 {ATTRIBUTE} --delta 0 --noise laplace --store f32"),
        format!(
            "sketch rows.csv -k 3 --seed 1 {ATTRIBUTE} --delta 0 --noise laplace --store compact"
        ),
        format!("sketch rows.csv -k 3 --seed 1 {ATTRIBUTE} --delta 0 --noise staircase"),
        format!("sketch rows.csv -k 3 --calibration averaged {ROW} --clip"),
        format!(
            "units rows.csv -k 4 --seed 1 --adjacency row-shift --shift 1 --epsilon 4 --delta 0 --family gaussian"
        ),
        format!("signs rows.csv -k 5 --seed 1 --family gaussian {ATTRIBUTE} --delta 0"),
        format!("signs rows.csv -k 5 --calibration averaged --lift 2 {ATTRIBUTE} --delta 1e-6"),
        format!("minhash {sets} --delta 0 -k 7 --symbols 2 --seed 1"),
        format!("minhash {sets} --delta 1e-6 -k 7 --symbols 2 --mechanism mixture"),
        format!("counts {sets} --delta 0 --groups groups.txt"),
        format!("covariance rows.csv {ROW} --clip"),
        format!("covariance rows.csv {ROW} --clip --means --keep-names"),
        "bounded rows.csv --low -1 --high 1 --adjacency attribute --beta 2 --epsilon 4 --delta 0"
            .into(),
    ]
}

fn plan(room: &Room, kind: &str, name: &str) {
    room.json(&format!(
        "release {kind} --plan-parts --block-rows 20 --key {name}.key --out {name}.json"
    ));
}

/// Parts of a manifest whose mode is their owner's.
fn parts(room: &Room, kind: &str, name: &str, of: usize) -> Vec<String> {
    let part = |i: usize| {
        let out = format!("{name}-{i}-{of}.part");
        room.json(&format!(
            "release {kind} --manifest {name}.json --key {name}.key --part {i}/{of} --out {out}"
        ));
        let mode = std::fs::metadata(room.path(&out)).expect("written").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{out}");
        out
    };
    (1..=of).map(part).collect()
}

/// Merges under a copy of the key, as the first output of it.
fn merged(room: &Room, name: &str, parts: &[String], out: &str) -> Vec<u8> {
    std::fs::copy(room.path(&format!("{name}.key")), room.path("copy.key")).expect("copied");
    let parts = parts.join(" ");
    room.json(&format!("merge --manifest {name}.json --key copy.key --out {out} {parts}"));
    room.read(out)
}

#[test]
fn any_split_and_order_gives_the_bits_of_one_process() {
    let room = room();
    for (i, kind) in kinds().iter().enumerate() {
        let name = format!("m{i}");
        plan(&room, kind, &name);
        let whole = parts(&room, kind, &name, 1);
        let whole = merged(&room, &name, &whole, &format!("{name}.dps"));
        for of in [2, 3, 9] {
            let mut split = parts(&room, kind, &name, of);
            let forward = merged(&room, &name, &split, &format!("{name}-{of}.dps"));
            split.reverse();
            let backward = merged(&room, &name, &split, &format!("{name}-{of}-back.dps"));
            assert!(forward == whole && backward == whole, "{kind}: {of} parts");
        }
        let shown = room.run(&format!("verify {name}.dps"));
        assert!(shown.status.success(), "{kind}: {}", text(&shown));
        let inspected = room.json(&format!("inspect {name}.dps"));
        let generator = &inspected["generator"];
        assert_eq!(generator, "release-key-chacha12", "{inspected}");
        // Another key, other noise.
        plan(&room, kind, &format!("{name}b"));
        let other = parts(&room, kind, &format!("{name}b"), 2);
        let other = merged(&room, &format!("{name}b"), &other, &format!("{name}b.dps"));
        assert_ne!(other, whole, "{kind}");
    }
}

/// The exact statistic of a merged covariance: what it is without noise can be told from its error.
#[test]
fn merged_sums_count_every_row_once() {
    let room = room();
    let kind = "covariance rows.csv --adjacency replace-row --norm-bound 3 --epsilon 1e6 --delta 1e-6 --means";
    plan(&room, kind, "m");
    let split = parts(&room, kind, "m", 3);
    merged(&room, "m", &split, "m.dps");
    let moments = room.json("moments m.dps");
    let first: f64 = numbers(130, 6).chunks(6).map(|row| row[0]).sum();
    let found = moments.to_string();
    assert!(found.contains("130"), "{found}");
    assert!(found.contains(&format!("{:.3}", first / 130.0)[..5]), "{first} {found}");
}

#[test]
fn repeated_missing_and_foreign_parts_are_refused() {
    let room = room();
    for kind in [&kinds()[0], &kinds()[7], &kinds()[9]] {
        for name in ["a", "b"] {
            for end in ["key", "json"] {
                let _ = std::fs::remove_file(room.path(&format!("{name}.{end}")));
            }
            plan(&room, kind, name);
        }
        for old in std::fs::read_dir(room.folder()).expect("a folder") {
            let path = old.expect("a name").path();
            if path.extension().is_some_and(|end| end == "part") {
                std::fs::remove_file(path).expect("removed");
            }
        }
        let (a, b) = (parts(&room, kind, "a", 3), parts(&room, kind, "b", 3));
        let merge = |parts: &[&String], words: &[&str]| {
            let list: Vec<&str> = parts.iter().map(|p| p.as_str()).collect();
            let list = list.join(" ");
            let run = format!("merge --manifest a.json --key a.key --out refused.dps {list}");
            let output = room.run(&run);
            let said = text(&output);
            assert!(!output.status.success() && !room.path("refused.dps").exists(), "{said}");
            words.iter().for_each(|word| assert!(said.contains(word), "{word}: {said}"));
        };
        merge(&[&a[0], &a[1], &a[1], &a[2]], &["twice"]);
        merge(&[&a[0], &a[0], &a[1], &a[2]], &["twice"]);
        merge(&[&a[0], &a[2]], &["missing"]);
        merge(&[&a[1], &a[2]], &["missing"]);
        merge(&[&a[0], &a[1]], &["missing"]);
        merge(&[&a[0], &b[1], &a[2]], &["another manifest"]);
        merge(&[&a[0], &a[1], &"rows.csv".to_owned()], &["no part"]);
        // The key of one manifest opens no other, and a part is no release.
        let crossed = "merge --manifest a.json --key b.key --out refused.dps x.part";
        assert!(text(&room.run(crossed)).contains("another release key"));
        assert!(!room.run(&format!("inspect {}", a[0])).status.success());
        assert!(!room.run(&format!("verify {}", a[0])).status.success());
        // One bit anywhere.
        let whole = room.read(&a[1]);
        for at in [0, 8, whole.len() / 2, whole.len() - 45, whole.len() - 1] {
            let mut altered = whole.clone();
            altered[at] ^= 1;
            room.write("altered.part", &altered);
            merge(&[&a[0], &"altered.part".to_owned(), &a[2]], &[]);
        }
        room.write("altered.part", &whole[..whole.len() - 1]);
        merge(&[&a[0], &"altered.part".to_owned(), &a[2]], &[]);
        // None of this used the key.
        merged(&room, "a", &a, "a.dps");
        std::fs::remove_file(room.path("a.dps")).expect("removed");
    }
}

#[test]
fn another_mechanism_or_other_rows_are_refused() {
    let room = room();
    let kind = &kinds()[0];
    plan(&room, kind, "m");
    let part = |kind: &str| {
        let said =
            format!("release {kind} --manifest m.json --key m.key --part 1/2 --out refused.dps");
        let output = room.run(&said);
        assert!(!output.status.success() && !room.path("refused.dps").exists());
        text(&output)
    };
    for other in [
        kind.replace("-k 3", "-k 4"),
        kind.replace("--seed 1", "--seed 2"),
        kind.replace("--epsilon 1", "--epsilon 2"),
        kind.replace("--noise gaussian", "--noise laplace"),
        kind.clone() + " --store f32",
        kinds()[5].clone(),
    ] {
        let said = part(&other);
        assert!(said.contains("another mechanism"), "{said}");
    }
    // The same bytes under another name, or at another time, are not the pinned file.
    std::fs::copy(room.path("rows.csv"), room.path("same.csv")).expect("copied");
    assert!(part(&kind.replace("rows.csv", "same.csv")).contains("the manifest is of"));
    let before =
        std::fs::metadata(room.path("rows.csv")).expect("there").modified().expect("known");
    let original = room.read("rows.csv");
    let mut changed = original.clone();
    let at = changed.len() - 2;
    changed[at] = if changed[at] == b'1' { b'2' } else { b'1' };
    room.write("rows.csv", &changed);
    assert!(part(kind).contains("changed since"));
    // As long, and as old as it was: its rows tell. The last one is in the last part.
    let put_back = |bytes: &[u8]| {
        let path = room.write("rows.csv", bytes);
        let file = std::fs::File::options().write(true).open(path).expect("opens");
        file.set_modified(before).expect("set");
    };
    put_back(&changed);
    let last = format!("release {kind} --manifest m.json --key m.key --part 2/2 --out refused.dps");
    let said = text(&room.run(&last));
    assert!(said.contains("the rows of block 6 changed"), "{said}");
    assert!(!room.path("refused.dps").exists());
    put_back(&original);
    parts(&room, kind, "m", 2);
}

#[test]
fn work_that_is_done_twice_changes_nothing() {
    let room = room();
    for kind in kinds() {
        for end in ["key", "json"] {
            let _ = std::fs::remove_file(room.path(&format!("m.{end}")));
        }
        let _ = std::fs::remove_file(room.path("m-1-1.part"));
        plan(&room, &kind, "m");
        let first = parts(&room, &kind, "m", 1);
        let bytes = room.read(&first[0]);
        parts(&room, &kind, "m", 1);
        assert_eq!(room.read(&first[0]), bytes, "{kind}");
        // Another file of that name stays.
        room.write(&first[0], "something else");
        let run =
            format!("release {kind} --manifest m.json --key m.key --part 1/1 --out {}", first[0]);
        assert!(!room.run(&run).status.success());
        assert_eq!(room.read(&first[0]), b"something else");
    }
}

#[test]
fn one_key_publishes_one_output() {
    let room = room();
    let kind = &kinds()[0];
    plan(&room, kind, "m");
    let key = room.read("m.key");
    let split = parts(&room, kind, "m", 2).join(" ");
    let merge = |out: &str| format!("merge --manifest m.json --key m.key --out {out} {split}");
    room.json(&merge("one.dps"));
    // Overwritten in place: nothing of it is left in the file.
    let after = String::from_utf8(room.read("m.key")).expect("text");
    let digits = &String::from_utf8(key.clone()).expect("text")[22..86];
    assert!(!after.contains(digits) && after.contains(&"0".repeat(64)), "{after}");
    let payload = room.json("inspect one.dps")["payload"].clone();
    assert!(after.contains(payload.as_str().expect("a hash")), "{after}");
    room.refuses(&merge("two.dps"), 1, &["destroyed", "one key, one output"]);
    assert!(!room.path("two.dps").exists());
    // A merge that was killed after that has done all it was asked for; another file in its place has not.
    let held = room.read("one.dps");
    assert_eq!(room.json(&merge("one.dps"))["published"], "before: its key is destroyed");
    assert_eq!(room.read("one.dps"), held);
    room.json(&format!("release {kind} --out two.dps"));
    room.refuses(&merge("two.dps"), 1, &["destroyed", "one key, one output"]);
    std::fs::remove_file(room.path("two.dps")).expect("was written");
    let part = format!("release {kind} --manifest m.json --key m.key --part 1/2 --out p");
    room.refuses(&part, 1, &["destroyed"]);

    // A merge that was killed between binding its key and destroying it: the same output may be published, no other.
    let bound = |payload: &str| {
        let mut text = key.clone();
        let at = text.len() - 65;
        text[at..at + 64].copy_from_slice(payload.as_bytes());
        room.write("m.key", text);
    };
    bound(payload.as_str().expect("a hash"));
    room.json(&merge("one.dps"));
    bound(payload.as_str().expect("a hash"));
    room.json(&merge("again.dps"));
    assert_eq!(room.read("again.dps"), room.read("one.dps"));
    bound(&"ab".repeat(32));
    room.refuses(&merge("refused.dps"), 1, &["was used for an output"]);

    // A key that others can read, or that is none.
    room.write("m.key", &key);
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(room.path("m.key"), open).expect("set");
    room.refuses(&merge("refused.dps"), 1, &["can be read by others"]);
}

#[test]
fn the_ledger_is_charged_once_and_what_is_lost_stays_spent() {
    let room = room();
    room.json(
        "ledger init l.json --data rows --epsilon 2.5 --delta 1e-5 --adjacency attribute --beta 1",
    );
    let entries =
        || BudgetFile::read(&room.path("l.json")).expect("a ledger").ledger().entries().len();
    let kind = &kinds()[0];
    let with = |name: &str| {
        format!(
            "release {kind} --plan-parts --block-rows 20 --key {name}.key --out {name}.json --ledger l.json"
        )
    };
    room.json(&with("m"));
    assert_eq!(entries(), 1);
    let split = parts(&room, kind, "m", 3);
    merged(&room, "m", &split, "m.dps");
    assert_eq!(entries(), 1);
    let part =
        format!("release {kind} --manifest m.json --key m.key --part 1/2 --out p --ledger l.json");
    room.refuses(&part, 2, &["--part charges no ledger"]);
    // A second release is paid for again; one that is planned and never made stays spent, and is shown.
    room.json(&with("n"));
    assert_eq!(entries(), 2);
    let shown = room.json("ledger show l.json").to_string();
    let id = room
        .json("merge --manifest m.json --key m.key --out m2.dps m-1-3.part m-2-3.part m-3-3.part");
    assert!(shown.contains(id["release_id"].as_str().expect("text")), "{shown}");
    assert_eq!(shown.matches("reserved for release").count(), 2, "{shown}");
    // What the ledger refuses leaves neither key nor manifest.
    room.refuses(&with("o"), 1, &["limit"]);
    assert!(!room.path("o.key").exists() && !room.path("o.json").exists());
    assert_eq!(entries(), 2);
}

#[test]
fn what_cannot_be_made_in_parts_is_refused_before_anything_is_spent() {
    let room = room();
    let planned = "--plan-parts --key refused.key --out refused.dps";
    for (kind, words) in [
        (
            format!("covariance rows.csv {ROW} --clip --noise jl --sketch-rows 40"),
            "not made in parts",
        ),
        (
            format!("covariance rows.csv {ROW} --clip --within 0.9"),
            "bounded, signs, minhash, counts",
        ),
        (format!("sketch rows.csv -k 3 {ATTRIBUTE} --delta 1e-6"), "--seed is required"),
        (kinds()[0].clone() + " --dry-run", "leave"),
        (kinds()[0].clone() + " --insecure-test-noise 1", "leave"),
        (kinds()[0].replace("rows.csv", "-"), "can be read once only"),
    ] {
        let output = room.pipe(&format!("release {kind} {planned}"), b"a,b,c,d,e,f\n1,1,1,1,1,1\n");
        let said = text(&output);
        assert!(!output.status.success() && said.contains(words), "{kind}: {said}");
        assert!(!room.path("refused.key").exists() && !room.path("refused.dps").exists());
    }
    let alone = format!("release {} --key m.key --out refused.dps", kinds()[0]);
    room.refuses(&alone, 2, &["only a release in parts"]);
    // A key that exists is not written over, nor is a manifest.
    plan(&room, &kinds()[0], "m");
    let again = format!("release {} --plan-parts --key m.key --out refused.dps", kinds()[0]);
    assert!(!room.run(&again).status.success() && !room.path("refused.dps").exists());
    let again = format!("release {} --plan-parts --key n.key --out m.json", kinds()[0]);
    assert!(!room.run(&again).status.success() && !room.path("n.key").exists());
}

/// However the two are spelled; nothing is spent, and nothing is left of what was refused.
#[test]
fn key_and_manifest_are_two_files() {
    let room = room();
    room.json(
        "ledger init l.json --data rows --epsilon 2.5 --delta 1e-5 --adjacency attribute --beta 1",
    );
    std::fs::create_dir(room.path("d")).expect("made");
    std::os::unix::fs::symlink("d", room.path("also-d")).expect("linked");
    let kind = &kinds()[0];
    room.json(&format!("release {kind} --out r.dps"));
    let release = room.read("r.dps");
    for (key, out) in
        [("both", "both"), ("both", "./both"), ("d/both", "also-d/both"), ("key", "r.dps --force")]
    {
        let run = format!("release {kind} --plan-parts --key {key} --out {out} --ledger l.json");
        room.refuses(&run, 2, &["a new file for the manifest, beside --key"]);
        assert!(!room.path(key).exists(), "{out}");
    }
    assert_eq!(room.read("r.dps"), release);
    assert_eq!(room.json("ledger show l.json")["releases"], 0);
}

#[test]
fn a_key_may_come_from_the_environment() {
    let room = room();
    let kind = &kinds()[0];
    plan(&room, kind, "m");
    let from_file = parts(&room, kind, "m", 1);
    let key = String::from_utf8(room.read("m.key")).expect("text");
    let run = |digits: &str| {
        let mut command = room.command(&format!(
            "release {kind} --manifest m.json --key-variable OUR_KEY --part 1/1 --out e.part"
        ));
        command.env("OUR_KEY", digits).output().expect("runs")
    };
    assert!(run(&key[22..86]).status.success());
    assert_eq!(room.read("e.part"), room.read(&from_file[0]));
    let said = text(&run("abc"));
    assert!(said.contains("64 lower-case") && !said.contains("abc"), "{said}");
}

#[test]
fn a_merge_that_is_killed_publishes_the_same_or_nothing() {
    let room = room();
    let kind = &kinds()[0];
    plan(&room, kind, "m");
    let key = room.read("m.key");
    let split = parts(&room, kind, "m", 3);
    let whole = merged(&room, "m", &split, "m.dps");
    let split = split.join(" ");
    for wait in 0..16 {
        room.write("k.key", &key);
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(room.path("k.key"), private).expect("set");
        let _ = std::fs::remove_file(room.path("k.dps"));
        let merge = format!("merge --manifest m.json --key k.key --out k.dps {split}");
        let mut child = room.command(&merge);
        child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut child = child.spawn().expect("runs");
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let _ = child.kill();
        child.wait().expect("ends");
        // What has the name is whole; another file is never published with this key.
        let there = room.path("k.dps").exists();
        assert!(!there || room.read("k.dps") == whole);
        let said = text(&room.run(&merge));
        assert!(room.path("k.dps").exists(), "{said}");
        assert_eq!(room.read("k.dps"), whole, "{said}");
        let key = String::from_utf8(room.read("k.key")).expect("text");
        assert!(key.contains(&"0".repeat(64)), "the key is destroyed: {said}");
    }
}
