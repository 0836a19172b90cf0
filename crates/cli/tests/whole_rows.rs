//! Whole rows: what can be found is said, and users with several rows.

use crate::support::{Room, csv, number, numbers};
use serde_json::Value;

fn room() -> Room {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(80, 12), 12));
    room
}

/// Whole rows at a small epsilon: the plan and both kinds of releases say that nothing can be found, and at which epsilon
/// something would be; at that epsilon none of them says so of exact queries.
#[test]
fn releases_in_which_nothing_can_be_found_say_so() {
    let room = room();
    let note = |value: &Value| value["note"].as_str().map(str::to_owned);
    let whole = "--adjacency replace-row --norm-bound 1000";
    let makes = |name: &str, epsilon: &str, more: &str| {
        room.json(&format!(
            "release {name} users.csv --out x.dps --force -k 4 {whole} --epsilon {epsilon} {more}"
        ))
    };
    for dry in ["", "--dry-run"] {
        for (name, more) in [("units", "--delta 0"), ("sketch", "--bound 100 --delta 1e-6")] {
            let said = note(&makes(name, "3", &format!("{more} {dry}"))).expect("a note");
            assert!(said.contains("nothing can be found in a search of 80 rows"), "{said}");
        }
    }
    let needed = |said: &str| -> f64 {
        let (_, rest) = said.split_once("; epsilon ").expect("an epsilon");
        rest.split(' ').next().expect("a word").parse().expect("a number")
    };
    let said = note(&makes("units", "3", "--delta 0")).expect("a note");
    let epsilon = needed(&said) + 0.1;
    let better = note(&makes("units", &epsilon.to_string(), "--delta 0"));
    assert!(!better.unwrap_or_default().contains("nothing can be found"), "{said}");
    // Before anything is spent, for files that cannot be read twice too.
    let run = room.run(&format!(
        "release units users.csv --out x.dps --force -k 4 {whole} --epsilon 3 --delta 0"
    ));
    assert!(String::from_utf8_lossy(&run.stderr).contains("warning: nothing can be found"));
    let plan = |epsilon: f64| {
        room.json(&format!("plan search --rows 8000 --features 384 --epsilon {epsilon}"))
    };
    let poor = plan(4.0);
    let said = note(&poor).expect("a note");
    let epsilon = needed(&said) + 0.1;
    assert!(epsilon > 4.0 && note(&plan(epsilon)).is_none_or(|n| !n.contains("exact")), "{said}");
    let rich = plan(50.0);
    assert!(note(&rich).is_none(), "{rich}");
    room.refuses("plan search --rows 5 --features 9 --epsilon 4", 2, &["returned"]);
    room.refuses("plan search --rows 50 --features 9 --epsilon 65", 2, &["epsilon"]);
}

/// Of directions the cosine is told, of rows with lengths products and distances, with intervals that hold.
#[test]
fn unit_vectors_tell_cosines_and_with_lengths_distances() {
    let room = room();
    let values = numbers(80, 12);
    let dot = |i: usize, j: usize| -> f64 {
        (0..12).map(|c| values[12 * i + c] * values[12 * j + c]).sum()
    };
    let (product, squares) = (dot(0, 1), [dot(0, 0), dot(1, 1)]);
    let whole = "--family identity -k 12 --epsilon 20 --delta 0";
    room.json(&format!("release units users.csv --out u.dps --adjacency any-input {whole}"));
    let row = "--adjacency replace-row --norm-bound 4";
    room.json(&format!("release units users.csv --out l.dps --lengths {row} {whole}"));
    let cosine = product / (squares[0] * squares[1]).sqrt();
    let distance = squares[0] + squares[1] - 2.0 * product;
    for (file, expected) in [
        ("u.dps", vec![("cosine", cosine)]),
        ("l.dps", vec![("squared distance", distance), ("inner product", product)]),
    ] {
        let told = room.json(&format!("distance {file} 0 1 --confidence 0.99"));
        assert!(told.get("estimates_are_of").is_none(), "{told}");
        let estimates = told["estimates"].as_array().expect("rows");
        assert_eq!(estimates.len(), expected.len(), "{told}");
        for (estimate, (measure, truth)) in estimates.iter().zip(expected) {
            assert_eq!(estimate["measure"], measure);
            assert!(number(estimate, "standard_error") > 0.0, "{estimate}");
            assert!(
                number(estimate, "low") <= truth && truth <= number(estimate, "high"),
                "{told}"
            );
        }
    }
    assert_eq!(
        room.json("distance u.dps 0 1 --measure cosine")["estimates"][0]["measure"],
        "cosine"
    );
    room.refuses("distance l.dps 0 1 --measure cosine", 1, &["the release keeps lengths"]);
    room.refuses("distance u.dps 0 1 --measure squared-distance", 2, &["unit vectors"]);
    room.refuses("distance u.dps 0 80", 2, &["80"]);
    // Two releases of one seed; what the projection changes is said not to be counted.
    for name in ["a", "b"] {
        room.json(&format!(
            "release units users.csv --out {name}.dps -k 4 --seed 1 --adjacency any-input --epsilon 12 --delta 0"
        ));
    }
    let told = room.json("distance a.dps --other b.dps 0 1");
    assert!(told["estimates_are_of"].as_str().expect("text").contains("projected rows"), "{told}");
    room.refuses("distance u.dps --other l.dps 0 1", 1, &["fingerprint"]);
}

/// A unit of several rows from the file to the ledger: rows beyond the number are left out, their count is said on standard error
/// and nowhere in the release, noise grows as it must, and nothing passes that does not hold.
#[test]
fn users_with_several_rows_are_the_unit() {
    let room = room();
    let values = numbers(90, 3);
    let line = |i: usize| {
        let x = &values[3 * i..3 * i + 3];
        format!("{},u{},{},{}\n", x[0], i % 25, x[1], x[2])
    };
    let all: String = (0..90).map(line).collect();
    room.write("visits.csv", format!("a,who,b,c\n{all}"));
    let of = "--user who --rows-a-user 3";
    let whole = "--adjacency replace-row --norm-bound 10";
    room.json(&format!(
        "ledger init users.ledger --data visits --epsilon 100 --delta 1e-5 {whole} --rows-a-user 3"
    ));
    let state = room.json("ledger show users.ledger");
    assert!(
        state["adjacency"].as_str().expect("text").contains("up to 3 times for one user"),
        "{state}"
    );
    let released = |kind: &str, more: &str| {
        room.json(&format!("release {kind} visits.csv --force -k 2 --seed 1 {whole} {more}"))
    };
    let gauss = "--noise gaussian --epsilon 8 --delta 1e-6 --bound 10";
    let one = released("sketch", &format!("--out one.dps --id who {gauss}"));
    let made = released("sketch", &format!("--out s.dps {of} {gauss} --ledger users.ledger"));
    // 25 users, of whom 15 have four rows and ten have three.
    assert_eq!((one["n"].as_u64(), made["n"].as_u64()), (Some(90), Some(75)));
    let ratio = number(&made, "sigma") / number(&one, "sigma");
    assert!((ratio - 3f64.sqrt()).abs() < 1e-4, "{ratio}");
    assert!(made["adjacency"].as_str().expect("text").contains("up to 3 times for one user"));
    assert!(!made.to_string().contains("left out"), "{made}");
    let units = released(
        "units",
        &format!("--out u.dps {of} --epsilon 30 --delta 0 --ledger users.ledger"),
    );
    assert_eq!(units["n"].as_u64(), Some(75));
    let ten = released("units", "--out t.dps --id who --epsilon 10 --delta 0");
    let error = |made: &Value| number(made, "standard_error_of_a_cosine");
    assert!((error(&units) / error(&ten) - 1.0).abs() < 1e-6, "three times the price");
    for file in ["s.dps", "u.dps"] {
        let verified = room.json(&format!("verify {file}"));
        assert_eq!(verified["verdict"], "holds together", "{verified}");
        room.json(&format!("verify {file} --require adjacency=user,rows>=3"));
        room.refuses(&format!("verify {file} --require rows>=4"), 1, &["rows"]);
        room.json(&format!("search {file} --row 0 --top 3"));
    }
    let run = room.run(&format!(
        "release units visits.csv --out v.dps -k 2 {whole} {of} --epsilon 30 --delta 0"
    ));
    assert!(String::from_utf8_lossy(&run.stderr).contains("15 rows of users"), "{run:?}");
    assert!(!String::from_utf8_lossy(&run.stdout).contains("15 rows"));
    // One row of a user costs a user's ledger as much as all of them may: three times epsilon.
    room.json("ledger record users.ledger t.dps");
    for (command, code, what) in [
        (
            "release units visits.csv --out refused.dps -k 2 --adjacency any-input --epsilon 9 --delta 0 --user who",
            2,
            "rows-a-user",
        ),
        (
            "release units visits.csv --out refused.dps -k 2 --adjacency any-input --epsilon 9 --delta 0 --user nobody --rows-a-user 2",
            2,
            "no column",
        ),
        (
            "release units visits.csv --out refused.dps -k 2 --adjacency any-input --epsilon 9 --delta 0 --user who --rows-a-user 0",
            2,
            "rows",
        ),
        (
            "release sketch visits.csv --out refused.dps -k 2 --adjacency attribute --beta 1 --bound 10 --noise staircase --epsilon 2 --delta 0 --user who --rows-a-user 2",
            2,
            "adjacency",
        ),
        (
            "release sketch visits.csv --out refused.dps -k 2 --calibration averaged --adjacency row-shift --shift 1 --bound 10 --epsilon 2 --delta 1e-6 --user who --rows-a-user 2",
            2,
            "adjacency",
        ),
        (
            "release units visits.csv --out refused.dps -k 2 --adjacency any-input --epsilon 9 --delta 0 --user who --rows-a-user 2 --ledger users.json --disjoint-part regions/a --disjoint-by row",
            2,
            "--disjoint-by unit",
        ),
        (
            "release sketch visits.csv --out refused.dps -k 2 --adjacency attribute --beta 1 --bound 10 --epsilon 2 --delta 1e-6 --user who --rows-a-user 2 --ledger users.json --disjoint-part regions/a --disjoint-by content",
            2,
            "--disjoint-by unit",
        ),
        (
            "release covariance visits.csv --out refused.dps --noise jl --sketch-rows 20 --adjacency zero-row --norm-bound 9 --epsilon 2 --delta 1e-6 --user who --rows-a-user 2",
            1,
            "of a user with several rows",
        ),
        (
            "release signs visits.csv --out refused.dps -k 2 --adjacency attribute --beta 1 --bound 10 --epsilon 2 --delta 0 --individual-not-differential-privacy response --user who --rows-a-user 2",
            2,
            "adjacency",
        ),
        (
            "release signs visits.csv --out refused.dps -k 2 --calibration averaged --lift 9 --adjacency row-shift --shift 1 --bound 10 --epsilon 2 --delta 1e-6 --user who --rows-a-user 2",
            2,
            "adjacency",
        ),
    ] {
        room.refuses(command, code, &[what]);
    }
}

/// Signs, bounded values, covariances and regressions of users: what is released is what is released of the rows that enter, with
/// noise for all rows of a user, in certificates and ledgers of users.
#[test]
fn every_release_of_rows_takes_users() {
    let room = room();
    let values = numbers(90, 3);
    let row = |i: usize| {
        let x = &values[3 * i..3 * i + 3];
        (i % 25, format!("{},{},{}", x[0], x[1], x[2]))
    };
    let head = "who,a,b,c";
    let all: String = (0..90).map(|i| format!("u{},{}\n", row(i).0, row(i).1)).collect();
    // Three rows of each of 25 users are the first 75.
    let first: String = (0..75).map(|i| format!("u{},{}\n", row(i).0, row(i).1)).collect();
    room.write("visits.csv", format!("{head}\n{all}"));
    room.write("first.csv", format!("{head}\n{first}"));
    let whole = "--adjacency add-remove-row --norm-bound 10";
    let attribute = "--adjacency attribute --beta 1 --bound 10";
    for (unit, ledger) in [(whole, "rows.ledger"), (attribute, "attributes.ledger")] {
        // Of users with three rows: a release of more rows of a user is paid once.
        let unit = unit.replace(" --bound 10", "");
        room.json(&format!(
            "ledger init {ledger} --data visits --epsilon 100 --delta 1e-3 {unit} --rows-a-user 3"
        ));
    }
    let approximate = "--epsilon 8 --delta 1e-6";
    for (name, command, ledger, noise) in [
        ("c", format!("covariance {whole} {approximate}"), "rows.ledger", "sigma"),
        ("m", format!("covariance --means {whole} {approximate}"), "rows.ledger", "sigma"),
        ("w", format!("covariance --within .9 {whole} {approximate}"), "rows.ledger", ""),
        (
            "r",
            format!("regression --target c --label-bound 9 {whole} {approximate}"),
            "rows.ledger",
            "",
        ),
        (
            "s",
            format!("signs -k 2 --seed 1 {attribute} --epsilon 8 --delta 0"),
            "attributes.ledger",
            "",
        ),
        (
            "b",
            format!(
                "bounded --low -9 --high 9 {} --epsilon 8 --delta 0",
                "--adjacency attribute --beta 18"
            ),
            "",
            "",
        ),
    ] {
        let (kind, options) = command.split_once(' ').expect("options");
        // Three rows of a user may go where three others come.
        let rows = if command.contains(whole) { 6 } else { 3 };
        let run = |file: &str, out: &str, more: &str| {
            room.json(&format!("release {kind} {file} --out {out} {options} {more}"))
        };
        let of = "--user who --rows-a-user 3";
        let test = "--insecure-test-noise 3";
        // The same numbers as of the rows that enter.
        run("visits.csv", &format!("{name}1.dps"), &format!("{of} {test}"));
        run("first.csv", &format!("{name}2.dps"), &format!("{of} {test}"));
        let [a, b] = ["1", "2"].map(|i| room.read(&format!("{name}{i}.dps")));
        assert_eq!(a, b, "{command}");
        let paid = if ledger.is_empty() { String::new() } else { format!("--ledger {ledger}") };
        let made = run("visits.csv", &format!("{name}3.dps"), &format!("{of} {paid}"));
        let unit = format!("up to {rows} times for one user");
        assert!(made["adjacency"].as_str().expect("text").contains(&unit), "{made}");
        assert!(!made.to_string().contains("left out"), "{made}");
        let verified = room.json(&format!("verify {name}3.dps"));
        assert_eq!(verified["verdict"], "holds together", "{verified}");
        room.json(&format!("verify {name}3.dps --require adjacency=user,rows>={rows}"));
        let more = format!("verify {name}3.dps --require rows>={}", rows + 1);
        room.refuses(&more, 1, &["rows"]);
        if !noise.is_empty() {
            let one = run("first.csv", &format!("{name}4.dps"), "--id who");
            let ratio = number(&made, noise) / number(&one, noise);
            assert!((ratio - 6.0).abs() < 1e-4, "{ratio}");
        }
    }
    // Each costs a ledger of users its own epsilon, not three times it.
    for (ledger, count) in [("rows.ledger", 4), ("attributes.ledger", 1)] {
        let shown = room.json(&format!("ledger show {ledger}"));
        let entries = shown["entries"].as_array().expect("entries");
        assert_eq!(entries.len(), count);
        for entry in entries {
            assert!((number(entry, "epsilon") - 8.0).abs() < 1e-6, "{entry}");
        }
    }
}

/// Rows put in front of a user's push as many out: the released matrix moves by more than so many rows that come or go, and by no
/// more than is paid for.
#[test]
fn rows_that_push_others_out_are_paid_for() {
    let room = Room::new();
    let row = "--adjacency add-remove-row --norm-bound 1 --epsilon 1 --delta 1e-6";
    for most in [1, 2] {
        let (before, after) = ("u,0,1\n".repeat(most), "u,1,0\n".repeat(most) + "w,.1,.1\n");
        room.write("x.csv", format!("uid,a,b\n{after}"));
        room.write("y.csv", format!("uid,a,b\n{before}{after}"));
        let of = format!("{row} --user uid --rows-a-user {most} --insecure-test-noise 3");
        let matrix = |name: &str| -> Vec<f64> {
            let file = format!("{name}{most}");
            let run = format!("release covariance {name}.csv --out {file}.dps {of}");
            for said in [room.json(&format!("{run} --dry-run")), room.json(&run)] {
                let about = said["epsilon_is_about"].as_str().expect("text");
                let unit = format!("up to {} rows of one user that come or go", 2 * most);
                assert!(about.contains(&unit), "{said}");
            }
            room.json(&format!("export {file}.dps --out {file}.csv --accept test-noise"));
            let table = String::from_utf8(room.read(&format!("{file}.csv"))).expect("text");
            let cells = table.lines().skip(1).flat_map(|line| line.split(',').skip(1));
            cells.map(|cell| cell.parse().expect("a number")).collect()
        };
        let (x, y) = (matrix("x"), matrix("y"));
        assert_eq!((x.len(), y.len()), (4, 4));
        let moved = x.iter().zip(&y).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
        let said = room.json(&format!("inspect x{most}.dps"));
        let paid = number(&said["guarantee"]["profile"], "bound").powi(2);
        assert!((paid / (2 * most) as f64 - 1.0).abs() < 1e-4, "{said}");
        assert!(0.5 * paid < moved && moved <= paid, "{moved} {paid}");
    }
    // A sketch's noise is for one row; of a user they are two.
    let jl = format!("release covariance x.csv --out refused.dps {row} --user uid");
    let one = format!("{jl} --rows-a-user 1 --noise jl --sketch-rows 20");
    room.refuses(&one, 1, &["of a user with several rows"]);
    room.refuses(&format!("{jl} --rows-a-user 524289"), 2, &["at most 524288"]);
}

/// Sets alike: of every user the first enter, and all that enter lose the budget together.
#[test]
fn releases_of_sets_take_users() {
    let room = room();
    let line = |i: usize| format!("u{} a{} b{} c{}\n", i % 10, i, i % 7, i % 3);
    room.write("all.txt", (0..35).map(line).collect::<String>());
    room.write("first.txt", (0..20).map(line).collect::<String>());
    let of = "--user 1 --rows-a-user 2";
    let set_items = "--adjacency set-items --alpha 1 --min-size 1 --delta 0";
    room.json("ledger init sets.ledger --data sets --epsilon 100 --delta 1e-5 --adjacency set-items --alpha 1 --min-size 1 --rows-a-user 2");
    for (mechanism, unit) in [
        ("bins", set_items),
        ("occupancy", set_items),
        ("buckets", "--adjacency any-input --delta 0"),
    ] {
        let run = |file: &str, out: &str, more: &str| {
            room.json(&format!(
                "release minhash {file} --out {out} --force --mechanism {mechanism} -k 6 --seed 1 {unit} {more}"
            ))
        };
        let test = "--insecure-test-noise 3";
        run("all.txt", "1.dps", &format!("{of} --epsilon 8 {test}"));
        run("first.txt", "2.dps", &format!("{of} --epsilon 8 {test}"));
        assert_eq!(room.read("1.dps"), room.read("2.dps"), "{mechanism}");
        let made = run("all.txt", "3.dps", &format!("{of} --epsilon 8 --ledger sets.ledger"));
        assert!(made["adjacency"].as_str().expect("text").contains("up to 2 times for one user"));
        assert!(!made.to_string().contains("left out"), "{made}");
        let verified = room.json("verify 3.dps");
        assert_eq!(verified["verdict"], "holds together", "{verified}");
        room.json("verify 3.dps --require adjacency=user,rows>=2");
        let noisy = room.run(&format!(
            "release minhash all.txt --out 5.dps --force --mechanism {mechanism} -k 6 --seed 1 {unit} {of} --epsilon 8"
        ));
        assert!(String::from_utf8_lossy(&noisy.stderr).contains("15 sets of users"), "{noisy:?}");
        assert!(!String::from_utf8_lossy(&noisy.stdout).contains("15 sets"));
    }
    let entries = room.json("ledger show sets.ledger");
    for entry in entries["entries"].as_array().expect("entries") {
        assert!((number(entry, "epsilon") - 8.0).abs() < 1e-6, "{entry}");
    }
    for (more, what) in [
        ("--mechanism mixture", "--user needs hash functions"),
        ("--mechanism bins --fresh", "--user needs hash functions"),
        ("--mechanism bins --keep-id 1", "only column beside the items"),
    ] {
        let command =
            format!("release minhash all.txt --out 6.dps -k 6 {set_items} {of} --epsilon 8 {more}");
        room.refuses(&command.replace("--delta 0", "--delta 1e-6"), 2, &[what]);
    }
}

/// What comes after a release of users: appended rows, parts of a ledger, attacks, what is said of it; and plans that know of none.
#[test]
fn releases_of_users_are_handled_as_such() {
    let room = room();
    let values = numbers(40, 2);
    let line = |i: usize| format!("{},u{},{}\n", values[2 * i], i % 10, values[2 * i + 1]);
    let rows: String = (0..40).map(line).collect();
    room.write("visits.csv", format!("a,who,b\n{rows}"));
    let of = "--user who --rows-a-user 2";
    let unit = "--adjacency attribute --beta 2";
    room.json(&format!(
        "ledger init a.ledger --data visits --epsilon 100 --delta 1e-6 {unit} --rows-a-user 2"
    ));
    // Epsilon 2 a row takes three letters, and epsilon 4 four: the same range is asked for again.
    room.json(&format!(
        "release bounded visits.csv --out b.dps --low -1 --high 1 {unit} --epsilon 4 --delta 0 {of} --ledger a.ledger"
    ));
    room.json("append b.dps visits.csv --out more.dps --user who --ledger a.ledger");
    let public = |file: &str| room.json(&format!("inspect {file}"))["public"].clone();
    for name in ["lowest entry", "highest entry", "offsets"] {
        let (first, then) = (&public("b.dps")[name], &public("more.dps")[name]);
        assert!(first == then && !first.is_null(), "{name}: {first} {then}");
    }
    for by in ["row", "content"] {
        for how in ["record", "spend"] {
            let part = format!("--disjoint-part regions/north --disjoint-by {by}");
            room.refuses(
                &format!("ledger {how} a.ledger b.dps {part}"),
                2,
                &["--disjoint-by unit"],
            );
        }
    }
    let said = room.json("explain b.dps").to_string();
    assert!(said.contains("whose the rows are"), "{said}");
    room.json(&format!(
        "release covariance visits.csv --out c.dps --adjacency replace-row --norm-bound 2 --epsilon 2 --delta 1e-6 {of} --insecure-test-noise 1"
    ));
    room.write("rows.csv", csv(&values, 2));
    room.refuses("attack c.dps --truth rows.csv --public rows.csv", 2, &["one row a unit"]);
    // A row's share of epsilon chooses the size.
    let units = |privacy: &str| {
        room.json(&format!(
            "release units users.csv --out u.dps --force --adjacency any-input --delta 0 {privacy}"
        ))
    };
    room.write("named.csv", {
        let values = numbers(80, 12);
        let head: Vec<String> = (0..12).map(|j| format!("a{j}")).collect();
        let mut out = format!("who,{}\n", head.join(","));
        for (i, row) in values.chunks(12).enumerate() {
            let row: Vec<String> = row.iter().map(f64::to_string).collect();
            out += &format!("u{i},{}\n", row.join(","));
        }
        out
    });
    units("--epsilon 8");
    let columns = || room.json("inspect u.dps")["columns"].clone();
    let alone = columns();
    room.json(&format!(
        "release units named.csv --out u.dps --force --adjacency any-input --delta 0 --epsilon 16 {of}"
    ));
    assert_eq!(columns(), alone);
    room.write("sets.txt", "u1 a b\nu2 b c\n");
    room.refuses(
        "release minhash sets.txt --out m.dps --adjacency set-items --alpha 1 --min-size 1 --epsilon 8 --delta 0 \
         --size 5 --near .8 --far .1 --user 1 --rows-a-user 2",
        2,
        &["beside --user"],
    );
}
