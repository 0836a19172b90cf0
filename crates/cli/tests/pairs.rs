//! Many questions at once: pairs of a file, and searches by distance.

use crate::named::{D, KINDS, N, SKETCH, ids, room};
use crate::support::{numbers, text};
use serde_json::Value;

/// Pairs of a file by position and by name, against the same questions one by one.
#[test]
fn pairs_of_a_file_are_answered_as_single_ones() {
    let room = room();
    for (name, options) in KINDS {
        // Of the others `distance` knows nothing.
        if !["sketch", "units", "signs", "minhash"].contains(&name) {
            continue;
        }
        let flips = if name == "signs" { "--flips response" } else { "" };
        room.json(&format!("release {options} {flips} --out {name}.dps"));
        room.json(&format!("release {} {flips} --out bare.dps --force", unnamed(options)));
        let asked = [(0, 1), (7, 39), (39, 7), (5, 5)];
        let numbers: String = asked.iter().map(|(i, j)| format!("{i} {j}\n")).collect();
        room.write("numbers.txt", format!("\u{feff}{numbers}\n"));
        let named: String =
            asked.iter().map(|&(i, j)| format!("{},  {}\r\n", ids()[i], ids()[j])).collect();
        room.write("names.csv", named);
        for (release, pairs) in [("bare", "numbers.txt"), (name, "names.csv")] {
            let many = room.json(&format!("distance {release}.dps --pairs {pairs}"));
            assert_eq!(many["pairs"], asked.len(), "{name}");
            let many = many["estimates"].as_array().expect("rows");
            let mut rest = many.iter();
            for (i, j) in asked {
                let of = |row: usize| {
                    if release == "bare" { row.to_string() } else { ids()[row].clone() }
                };
                let one = room.json(&format!("distance {release}.dps {} {}", of(i), of(j)));
                for row in one["estimates"].as_array().expect("rows") {
                    let mut found = rest.next().expect("as many").clone();
                    let found = found.as_object_mut().expect("an object");
                    let said = ["i", "j", "id_i", "id_j"].map(|key| found.remove(key));
                    assert_eq!(said[..2], [Some(i.into()), Some(j.into())], "{name}");
                    let kept =
                        [i, j].map(|row| (release != "bare").then(|| ids()[row].clone().into()));
                    assert_eq!(said[2..], kept, "{name}");
                    assert_eq!(Value::from(found.clone()), *row, "{name} {i} {j}");
                }
            }
            assert!(rest.next().is_none(), "{name}");
        }
    }
}

/// The same release without names.
fn unnamed(options: &str) -> String {
    let left_out = if options.starts_with("units") { "--id 1" } else { "--id-first" };
    options.replace("--keep-id user_id", "--id 1").replace("--keep-id 1", left_out)
}

#[test]
fn pairs_that_cannot_be_asked_are_refused_with_their_line() {
    let room = room();
    room.json(&format!("release sketch users.csv --keep-id user_id --out named.dps {SKETCH}"));
    room.json(&format!("release sketch users.csv --id user_id --out bare.dps {SKETCH}"));
    let refused = |release: &str, pairs: &str, code: i32, words: &[&str]| {
        room.write("p.txt", pairs);
        room.refuses(&format!("distance {release}.dps --pairs p.txt"), code, words);
    };
    let known = format!("{} {}\n", ids()[0], ids()[1]);
    refused(
        "named",
        &format!("{known}\n{} nobody\n", ids()[2]),
        2,
        &["p.txt, line 3", "no row is called so", "by their ids"],
    );
    refused("named", "0 1\n", 2, &["line 1", "no row is called so"]);
    refused("bare", "0 1\n3 40\n", 2, &["p.txt, line 2", "40 rows", "from zero"]);
    refused("bare", "0 1\n-1 4\n", 2, &["line 2", "no row"]);
    refused("bare", "i,j\n0,1\n", 2, &["line 1", "no row"]);
    // Whatever stands in a file is not repeated.
    for release in ["named", "bare"] {
        room.write("p.txt", "0 Alice\n");
        let said = text(&room.run(&format!("distance {release}.dps --pairs p.txt")));
        assert!(said.contains("line 1") && !said.contains("Alice"), "{said}");
    }
    for bad in ["0 1 2\n", "0\n", "0,\n", ",1\n", "0,1,\n", "0\t1\t2\n"] {
        refused("bare", &format!("0 1\n{bad}"), 4, &["two rows", "record 2"]);
    }
    refused("bare", "\n \n", 4, &["no pair"]);
    room.refuses("distance bare.dps 0 1 --pairs p.txt", 2, &["--pairs"]);
    room.refuses("distance bare.dps --pairs nowhere.txt", 3, &["nowhere.txt"]);
    room.refuses("distance bare.dps", 2, &["--pairs FILE"]);
    // Names with commas and white space: tabs stand between.
    room.write("t.csv", "who,a,b\n\"Lee, Ann\",0.1,0.2\nBob Ray,0.3,0.4\n");
    let run = "release sketch t.csv --keep-id who --out t.dps -k 2 --family identity --adjacency attribute --beta 1 --bound 1 \
               --epsilon 64 --delta 1e-6";
    room.json(run);
    room.write("p.txt", "Lee, Ann\tBob Ray\n");
    let found = room.json("distance t.dps --pairs p.txt");
    assert_eq!(found["estimates"][0]["id_i"].as_str(), Some("Lee, Ann"));
}

/// The nearest rows by squared distance, against all distances, one by one.
#[test]
fn search_by_squared_distance_is_the_least_of_all_distances() {
    let room = room();
    room.json(&format!("release sketch users.csv --keep-id user_id --out a.dps --seed 3 {SKETCH}"));
    room.json(&format!("release sketch users.csv --id user_id --out b.dps --seed 3 {SKETCH}"));
    let asked = [0, 7, 39];
    for other in ["", "b.dps"] {
        let name = |row: usize| if other.is_empty() { ids()[row].clone() } else { row.to_string() };
        let all = asked.iter().flat_map(|&query| (0..N).map(move |row| (row, query)));
        // The row of the database first, that of the queries second.
        let pairs: String =
            all.map(|(row, query)| format!("{}\t{}\n", ids()[row], name(query))).collect();
        room.write("pairs.txt", pairs);
        let option = if other.is_empty() { "".into() } else { format!("--other {other}") };
        let distances = room
            .json(&format!("distance a.dps --pairs pairs.txt {option} --measure squared-distance"));
        let distances = distances["estimates"].as_array().expect("rows");
        let rows: Vec<String> = asked.iter().map(|&row| name(row)).collect();
        let option = if other.is_empty() { "".into() } else { format!("--queries {other}") };
        let found = room.json(&format!(
            "search a.dps {option} --row {} --top 6 --score squared-distance",
            rows.join(",")
        ));
        let hits = found["hits"].as_array().expect("hits");
        assert_eq!(hits.len(), 6 * asked.len());
        for (at, query) in asked.into_iter().enumerate() {
            let mut expected: Vec<(f64, u64)> = distances[at * N..(at + 1) * N]
                .iter()
                .map(|row| {
                    (row["estimate"].as_f64().expect("a number"), row["i"].as_u64().expect("a row"))
                })
                .filter(|&(_, row)| !other.is_empty() || row != query as u64)
                .collect();
            expected.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (hit, (distance, row)) in hits[at * 6..].iter().zip(expected).take(6) {
                assert_eq!(hit["query"], query, "{found}");
                assert_eq!(
                    (hit["row"].as_u64(), hit["squared_distance"].as_f64()),
                    (Some(row), Some(distance))
                );
            }
        }
    }
    // Exact queries carry no noise: half of the correction.
    let made = room.json("export a.dps --out a.csv");
    let noise = made["subtract_from_squared_norms"].as_f64().expect("a number");
    let table = String::from_utf8(room.read("a.csv")).expect("text");
    let released: Vec<Vec<f64>> = table
        .lines()
        .skip(1)
        .map(|line| line.split(',').skip(2).map(|cell| cell.parse().expect("a number")).collect())
        .collect();
    let found = room.json(
        "search a.dps --query users.csv --id user_id --row 5 --top 3 --score squared-distance",
    );
    let query = &numbers(N, D)[5 * D..6 * D];
    let mut expected: Vec<(f64, usize)> = released
        .iter()
        .enumerate()
        .map(|(i, row)| {
            (row.iter().zip(query).map(|(y, x)| (y - x) * (y - x)).sum::<f64>() - noise, i)
        })
        .collect();
    expected.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (hit, (distance, row)) in found["hits"].as_array().expect("hits").iter().zip(expected) {
        assert_eq!(hit["row"], row);
        let said = hit["squared_distance"].as_f64().expect("a number");
        assert!((said - distance).abs() < 1e-9, "{said} {distance}");
    }
    // Where rows are not as they were released there is no distance.
    for (options, words) in [("--denoise", "neither denoised nor guessed"), ("--top 0", "--top")] {
        let run = format!("search a.dps --score squared-distance {options}");
        let output = room.run(&run);
        assert!(!output.status.success() && text(&output).contains(words), "{}", text(&output));
    }
    for (name, options) in
        KINDS.into_iter().filter(|(name, _)| ["units", "signs", "minhash"].contains(name))
    {
        room.json(&format!("release {options} --out {name}.dps"));
        let output = room.run(&format!("search {name}.dps --score squared-distance --top 1"));
        assert!(!output.status.success(), "{name}: {}", text(&output));
    }
}
