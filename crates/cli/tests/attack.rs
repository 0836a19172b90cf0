//! `dps attack`: what attackers would have learnt, measured with the truth, and never a row of it.
//!
//! Intervals of 95 % miss once in twenty releases, so what is asserted of them is asserted of known noise.

use crate::support::{Room, csv, number, numbers, text};

fn attack<'a>(said: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let attacks = said["attacks"].as_array().expect("a table");
    let named = |a: &&serde_json::Value| a["attack"].as_str().is_some_and(|n| n.starts_with(name));
    attacks.iter().find(named).unwrap_or_else(|| panic!("{name} in {said}"))
}

/// Files of 300 true and 100 public rows of 6 columns.
fn rows(room: &Room) {
    let all = numbers(400, 6);
    room.write("truth.csv", csv(&all[..1800], 6));
    room.write("public.csv", csv(&all[1800..], 6));
    let labels = |from: usize, to: usize| -> String {
        let label = |i: usize| format!("{}\n", u8::from(all[i * 6] > 0.0));
        "label\n".to_owned() + &(from..to).map(label).collect::<String>()
    };
    room.write("truth-labels.csv", labels(0, 300));
    room.write("public-labels.csv", labels(300, 400));
}

#[test]
fn vectors_are_attacked_and_nothing_of_a_row_is_said() {
    let room = Room::new();
    rows(&room);
    room.json(
        "release sketch truth.csv --out rows.dps --k 6 --epsilon 4 --delta 0 --adjacency attribute --beta 2 \
         --bound 1 --seed 7 --noise laplace --insecure-test-noise 1",
    );
    let files = "attack rows.dps --truth truth.csv --public public.csv";
    let said = room.json(&format!(
        "{files} --truth-labels truth-labels.csv --public-labels public-labels.csv"
    ));
    assert!(said["warning"].as_str().is_some_and(|w| w.contains("not to be published")), "{said}");
    let mean = attack(&said, "rows: posterior mean");
    assert!(number(mean, "low") <= number(mean, "release"));
    assert_eq!(mean["at_most"], "-");
    assert!(
        mean["certificate_says"].as_str().unwrap().contains("does not speak of this"),
        "{mean}"
    );
    let label = attack(&said, "label: posterior mean");
    assert!(number(label, "clean_data") > number(label, "without_release") + 0.2, "{label}");
    let value = attack(&said, "one value");
    assert!(number(value, "low") <= number(value, "at_most") && number(value, "at_most") < 1.0);
    // No number of the data is printed: they have two decimals, and a comma after them.
    let output = room.run(files);
    let row = csv(&numbers(1, 6), 6);
    assert!(output.status.success() && !text(&output).contains(row.lines().nth(1).unwrap()));
    assert!(text(&output).contains("NOT private"));
}

#[test]
fn covariances_and_sets_are_attacked() {
    let room = Room::new();
    rows(&room);
    room.json(
        "release covariance truth.csv --out c.dps --epsilon 2 --delta 1e-6 --adjacency add-remove-row \
         --norm-bound 3 --insecure-test-noise 1",
    );
    let said = room.json("attack c.dps --truth truth.csv --public public.csv");
    let presence = attack(&said, "presence of a row: likelihood ratio");
    assert!(number(presence, "low") <= number(presence, "at_most"), "{presence}");
    attack(&said, "presence of a row: favoured");

    let sets = |from: usize, to: usize| -> String {
        let set = |i: usize| {
            (0..8).map(|j| format!("w{} ", (i * 7 + j * j * 3) % 200)).collect::<String>()
        };
        (from..to).map(|i| set(i).trim_end().to_owned() + "\n").collect()
    };
    room.write("sets.txt", sets(0, 200));
    room.write("others.txt", sets(200, 260));
    room.json(
        "release minhash sets.txt --out s.dps --mechanism mixture --epsilon 4 --delta 1e-5 --adjacency set-items --alpha 1 \
         --min-size 4 --insecure-test-noise 1",
    );
    let said = room.json("attack s.dps --truth sets.txt --public others.txt");
    let items = attack(&said, "items of a set");
    assert!(number(items, "low") <= number(items, "at_most"), "{items}");
}

#[test]
fn directions_and_signs_are_attacked() {
    let room = Room::new();
    rows(&room);
    room.json(
        "release units truth.csv --out units.dps --k 6 --epsilon 16 --delta 0 --adjacency any-input \
         --insecure-test-noise 1",
    );
    room.json(
        "release signs truth.csv --out signs.dps --k 6 --epsilon 6 --delta 0 --adjacency attribute --beta 2 --bound 1 \
         --seed 7 --insecure-test-noise 1",
    );
    let files = "--truth truth.csv --public public.csv --truth-labels truth-labels.csv --public-labels public-labels.csv";
    for (release, change) in [("units", "one row against its opposite"), ("signs", "one value")] {
        let said = room.json(&format!("attack {release}.dps {files}"));
        let inside = attack(&said, change);
        assert!(number(inside, "low") <= number(inside, "at_most"), "{inside}");
        assert!(number(inside, "release") > 0.6, "{inside}");
        let label = attack(&said, "label");
        assert!(number(label, "release") > number(label, "without_release"), "{label}");
        // Whole rows are inside the adjacency of unit vectors, not inside that of one value.
        assert_eq!(label["at_most"] == "-", release == "signs", "{label}");
    }
}

#[test]
fn two_releases_of_the_same_rows_are_linked_and_the_table_is_drawn() {
    let room = Room::new();
    rows(&room);
    for (file, seed) in [("one.dps", 7), ("two.dps", 8)] {
        room.json(&format!(
            "release sketch truth.csv --out {file} --k 6 --epsilon 60 --delta 0 --adjacency attribute --beta 2 --bound 1 \
             --seed {seed} --noise laplace --insecure-test-noise {seed}"
        ));
    }
    let files = "--truth truth.csv --public public.csv";
    let said = room.json(&format!("attack one.dps {files} --with two.dps --plot drawn.svg"));
    let links = attack(&said, "the same row in another release");
    // Some rows of the sample are equal, so that not even clean rows are all told apart.
    let (found, clean) = (number(links, "release"), number(links, "clean_data"));
    assert!(found > 0.7 * clean && found > 20.0 * number(links, "without_release"), "{links}");
    assert!(links["certificate_says"].as_str().unwrap().contains("does not speak"), "{links}");
    attack(&said, "the same change: low bits");
    attack(&said, "the same change: time");
    let drawn = String::from_utf8(room.read("drawn.svg")).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("NOT private"), "{drawn}");
    assert_eq!(drawn.matches("<circle").count(), said["attacks"].as_array().unwrap().len());
    // What is there stays; and another kind has no rows to link.
    room.refuses(&format!("attack one.dps {files} --plot drawn.svg"), 3, &["drawn.svg"]);
    room.json(
        "release covariance truth.csv --out c.dps --epsilon 2 --delta 1e-6 --adjacency add-remove-row \
         --norm-bound 3",
    );
    room.refuses(&format!("attack c.dps {files} --with one.dps"), 2, &["links"]);
    room.refuses(&format!("attack one.dps {files} --with c.dps --plot none.svg"), 2, &["links"]);
    assert!(!room.path("none.svg").exists());
}

#[test]
fn what_does_not_go_together_is_refused() {
    let room = Room::new();
    rows(&room);
    room.json(
        "release sketch truth.csv --out rows.dps --k 6 --epsilon 4 --delta 0 --adjacency attribute --beta 2 \
         --bound 1 --seed 7 --noise laplace",
    );
    room.json(
        "release low-rank truth.csv --out low.dps --rank 2 --epsilon 4 --delta 1e-6 --adjacency row-shift --shift 1 \
         --row-bound 4",
    );
    room.refuses(
        "attack rows.dps --truth public.csv --public truth.csv",
        2,
        &["rows of the truth"],
    );
    room.refuses("attack rows.dps --truth truth.csv --public none.csv", 3, &["none.csv"]);
    room.refuses("attack low.dps --truth truth.csv --public public.csv", 2, &["dps explain"]);
    room.refuses(
        "attack rows.dps --truth truth.csv --public public.csv --truth-labels truth-labels.csv",
        2,
        &["--public-labels"],
    );
    room.refuses(
        "attack rows.dps --truth truth.csv --public public.csv --truth-labels truth.csv --public-labels \
         public-labels.csv",
        4,
        &["whole numbers"],
    );
}
