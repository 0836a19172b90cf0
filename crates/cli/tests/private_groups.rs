//! `dps release sketch --groups private` and what reads its files.

use crate::support::{Room, csv, forged, number, text};

const RUN: &str = "release vectors rows.csv --groups private --adjacency attribute --beta 1 --bound 1 --row-norm 1.6 \
                   --epsilon 4 --delta 1e-6";

/// Six columns of two factors, and a name.
fn room() -> Room {
    let room = Room::new();
    let rows: Vec<f64> = (0..4000)
        .flat_map(|i| {
            let i = f64::from(i);
            let factors = [0.5 + 0.5 * (0.1 * i).sin(), 0.5 + 0.5 * (0.37 * i).cos()];
            (0..6).map(move |j| factors[j % 2])
        })
        .collect();
    let table = csv(&rows, 6);
    let mut named = String::from("id,a,b,c,d,e,f\n");
    for (i, line) in table.lines().skip(1).enumerate() {
        named.push_str(&format!("n{i},{line}\n"));
    }
    room.write("rows.csv", table);
    room.write("named.csv", named);
    room
}

#[test]
fn groups_are_released_paid_once_and_searched() {
    let room = room();
    room.json(
        "ledger init l.json --data x --epsilon 9 --delta 1e-5 --adjacency attribute --beta 1",
    );
    let dry = room.json(&format!("{RUN} --out a.dps --dry-run --ledger l.json"));
    assert!(dry.to_string().contains("nothing was released") && !room.path("a.dps").exists());
    let made = room.json(&format!("{RUN} --out a.dps --ledger l.json"));
    assert!(made["paid_from"].is_string() && number(&made, "groups") == 2.0, "{made}");
    assert_eq!(number(&made, "epsilon_of_the_sums_alone"), 3.0);
    // One payment, of the whole.
    let ledger = room.json("ledger show l.json");
    assert_eq!(ledger["entries"].as_array().expect("a list").len(), 1, "{ledger}");
    assert_eq!(number(&ledger, "spent_epsilon"), 4.0, "{ledger}");
    let verified = room.json("verify a.dps");
    assert!(verified["sensitivity"].to_string().contains("agrees"), "{verified}");
    assert!(room.json("inspect a.dps")["verification"].to_string().contains("holds together"));
    assert!(number(&room.json("explain a.dps"), "advantage_at_most") < 1.0);
    room.json("inspect a.dps --html a.html");
    room.json("export a.dps --out a.csv");
    let table = String::from_utf8(room.read("a.csv")).expect("text");
    assert_eq!(table.lines().count(), 4001, "{}", &table[..100]);
    let found = room.json("search a.dps --row 7 --top 3");
    assert_eq!(found["hits"].as_array().expect("a list").len(), 3, "{found}");
    room.json("search a.dps --row 7 --top 3 --score inner");
    room.refuses("search a.dps --score squared-distance", 1, &["cannot be estimated"]);
    // A query that nobody releases: rows of the two factors far apart are found among those like it.
    room.write("query.csv", "a,b,c,d,e,f\n1,0,1,0,1,0\n");
    let asked = room.json("search a.dps --query query.csv --top 5");
    assert_eq!(asked["hits"].as_array().expect("a list").len(), 5, "{asked}");
    // Names go with rows, once each although they are read twice.
    room.json(&format!("{} --out n.dps --keep-id id", RUN.replace("rows.csv", "named.csv")));
    let found = room.json("search n.dps --row n7 --top 2");
    assert!(found["hits"][0]["id"].as_str().expect("a name").starts_with('n'), "{found}");
}

#[test]
fn mistakes_are_refused_before_anything_is_spent() {
    let room = room();
    room.json(
        "ledger init l.json --data x --epsilon 9 --delta 1e-5 --adjacency attribute --beta 1",
    );
    let with =
        |from: &str, to: &str| format!("{} --out no.dps --ledger l.json", RUN.replace(from, to));
    for (command, status, words) in [
        (with("--delta 1e-6", "--delta 0"), 2, "second moments"),
        (with("--row-norm 1.6", "--row-norm 0"), 2, "--row-norm"),
        (with("--row-norm 1.6", "--moments-share 1"), 2, "--moments-share"),
        (with("--row-norm 1.6", "--moments-share 0.999"), 1, "32"),
        (with("--epsilon 4", "--epsilon 40"), 1, "20"),
        (with("--row-norm 1.6", "-k 3"), 2, "cannot be used with"),
        (with("--row-norm 1.6", "--grid 2x3/1"), 2, "cannot be used with"),
        (with("--row-norm 1.6", "--family oporp"), 2, "cannot be used with"),
        (with("--row-norm 1.6", "--noise laplace"), 2, "staircase only"),
        (with("--row-norm 1.6", "--store f32"), 2, "--store"),
        (with("--row-norm 1.6", "--seed 3"), 2, "--seed"),
        (with("--row-norm 1.6", "--calibration averaged"), 2, "--calibration"),
        (with("attribute --beta 1", "row-shift --shift 1"), 2, "attribute"),
        (with("--bound 1 ", ""), 2, "--bound"),
        (with("--bound 1 ", "--bound 0.9 "), 4, "outside the declared bound"),
        (with("--groups private", "-k 3"), 2, "--row-norm"),
        (with("rows.csv", "-"), 2, "once only"),
        (with("--groups private", "--groups public"), 2, "private"),
    ] {
        room.refuses(&command, status, &[words]);
        assert!(!room.path("no.dps").exists(), "{command}");
    }
    let entries = room.json("ledger show l.json");
    assert_eq!(entries["entries"].as_array().map_or(0, Vec::len), 0, "{entries}");
    // What sums of groups do not answer.
    room.json(&format!("{RUN} --out a.dps"));
    room.refuses("distance a.dps 0 1", 2, &["sums of private groups"]);
    room.json(&format!("{RUN} --out b.dps"));
    room.refuses("search a.dps --queries b.dps", 2, &["groups of their own"]);
    room.refuses("search a.dps --denoise", 2, &["denoised"]);
    room.refuses("append a.dps rows.csv --out c.dps", 2, &["sums of private groups"]);
}

/// Edited numbers under right hashes: sums and moments off their grids, moments of other columns.
#[test]
fn edited_moments_are_refused_under_every_right_hash() {
    let room = room();
    room.json(&format!("{RUN} --out a.dps"));
    let file = room.read("a.dps");
    let edited = |edit: &dyn Fn(&mut [f64])| {
        forged(&file, |payload| {
            let mut values: Vec<f64> =
                payload.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
            edit(&mut values);
            *payload = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        })
    };
    // 4000 sums of two groups, then 28 moments.
    let moments = 8000;
    for (bytes, words) in [
        (edited(&|v| v[0] += 0.1), "grid"),
        (edited(&|v| v[moments] += 0.1), "grid"),
        (edited(&|v| v[moments + 3] = f64::NAN), "finite"),
        (edited(&|v| v[moments..].fill(0.0)), ""),
        // Columns a and c no longer move together.
        (edited(&|v| v[moments + 3] = -v[moments + 3]), "moments"),
    ] {
        room.write("forged.dps", bytes);
        for command in ["verify", "search"] {
            let output = room.run(&format!("{command} forged.dps"));
            let said = text(&output);
            assert_eq!(output.status.code(), Some(1), "{words}: {said}");
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}
