//! Every kind of release end to end.

use crate::support::{Room, csv, number, numbers, text};
use serde_json::Value;

const PRIVACY: &str = "--adjacency attribute --beta 1 --bound 1 --epsilon 1 --delta 1e-6";

fn room() -> Room {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(80, 12), 12));
    room
}

#[test]
fn a_sketch_is_released_verified_and_asked() {
    let room = room();
    let made = room.json(&format!("release sketch users.csv --out a.dps -k 6 --seed 9 {PRIVACY}"));
    assert_eq!(
        (made["n"].as_u64(), made["d"].as_u64(), made["k"].as_u64()),
        (Some(80), Some(12), Some(6))
    );
    assert_eq!(made["noise_generator"], "os-chacha12");
    assert!(number(&made, "true_delta") <= 1e-6);
    assert!(made["epsilon_is_about"].as_str().expect("text").contains("whole file"));
    let verified = room.json("verify a.dps");
    assert_eq!(verified["verdict"], "holds together");
    assert_eq!(verified["rows"], 80);
    let inspected = room.json("inspect a.dps");
    assert_eq!(inspected["public"]["projection seed"], 9);
    // A certificate by itself.
    let certificate = room.run("inspect a.dps --certificate");
    room.write("a.json", &certificate.stdout);
    assert_eq!(room.json("verify a.json")["epsilon"], 1.0);

    let distance = room.json("distance a.dps 0 1");
    let names: Vec<&str> = distance["estimates"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|e| e["measure"].as_str().expect("a name"))
        .collect();
    assert!(names.starts_with(&["squared distance", "inner product"]), "{names:?}");
    let squared = &distance["estimates"][0];
    assert!(number(squared, "low") <= number(squared, "high"));
    assert!(number(squared, "standard_error") > 0.0);

    // The same seed compares, another does not.
    room.json(&format!("release sketch users.csv --out b.dps -k 6 --seed 9 {PRIVACY}"));
    room.json(&format!("release sketch users.csv --out c.dps -k 6 --seed 8 {PRIVACY}"));
    room.json("distance a.dps 0 0 --other b.dps --measure squared-distance");
    room.refuses("distance a.dps 0 0 --other c.dps", 1, &["fingerprint"]);
    room.refuses("distance a.dps 0 80", 2, &["80"]);
    let hits = room.json("search a.dps --queries b.dps --row 3,5 --top 4 --score inner");
    assert_eq!(hits["hits"].as_array().expect("rows").len(), 8);
    let within = room.json("search a.dps --row 3 --top 79");
    let rows = within["hits"].as_array().expect("rows");
    assert!(rows.len() == 79 && rows.iter().all(|hit| hit["row"] != 3));
    // Without --seed two releases differ in seed, and record it.
    let fresh = room.json(&format!("release sketch users.csv --out d.dps -k 6 {PRIVACY}"));
    assert_ne!(fresh["projection_seed"], made["projection_seed"]);
    let table = room.run("distance a.dps 0 1");
    assert!(text(&table).contains("measure"), "{}", text(&table));
}

#[test]
fn unit_vectors_are_released_and_asked_with_exact_queries() {
    let room = room();
    let privacy = "--adjacency any-input --epsilon 12 --delta 0";
    let made = room.json(&format!("release units users.csv --out u.dps -k 4 --seed 5 {privacy}"));
    assert_eq!((made["n"].as_u64(), made["k"].as_u64()), (Some(80), Some(4)));
    assert_eq!(number(&made, "true_delta"), 0.0);
    assert!(number(&made, "standard_error_of_a_cosine") < 1.0 && made["note"].is_null());
    assert_eq!(room.json("verify u.dps")["verdict"], "holds together");
    for score in ["cosine", "inner"] {
        let hits = room.json(&format!("search u.dps --row 2 --top 3 --score {score}"));
        assert_eq!(hits["hits"].as_array().expect("rows").len(), 3);
        let exact = format!("search u.dps --query users.csv --row 0,7 --top 80 --score {score}");
        assert_eq!(room.json(&exact)["hits"].as_array().expect("rows").len(), 160);
    }
    // Where nothing can be told apart, that is said, and what would be needed.
    let weak = privacy.replace("12", "4");
    let made =
        room.json(&format!("release units users.csv --out w.dps -k 12 --family identity {weak}"));
    let note = made["note"].as_str().expect("a note");
    assert!(note.contains("would be needed") && note.contains("nothing"), "{note}");
    // Lengths need a bound on them, and no projection.
    let lengths = "release units users.csv --out l.dps -k 12 --family identity --lengths";
    room.refuses(&format!("{lengths} {privacy}"), 2, &["--norm-bound"]);
    let row = "--adjacency replace-row --norm-bound 1000 --epsilon 9 --delta 0";
    assert_eq!(room.json(&format!("{lengths} {row}"))["lengths_up_to"], 1000.0);
    room.refuses("search l.dps --queries u.dps", 1, &["fingerprint"]);
    // Signs, of whatever flips, and sketches take exact queries too.
    for flips in ["optimal", "smooth", "response"] {
        let signs = "release signs users.csv --out s.dps --force -k 12 --bound 1000 --adjacency attribute --beta 1";
        room.json(&format!("{signs} --flips {flips} --epsilon 8 --delta 0"));
        let hits = room.json("search s.dps --query users.csv --row 0,7 --top 80");
        let hits = hits["hits"].as_array().expect("rows");
        let score = |hit: &serde_json::Value| number(hit, "signed_sum");
        assert!(hits.len() == 160 && score(&hits[0]) >= score(&hits[79]));
        room.refuses("search s.dps --query users.csv --score inner", 2, &["--score"]);
    }
    let lift = "--calibration averaged --lift 5 --bound 1000 --adjacency attribute --beta 1";
    room.json(&format!(
        "release signs users.csv --out s.dps --force -k 12 {lift} --epsilon 8 --delta 1e-6"
    ));
    let hits = room.json("search s.dps --query users.csv --row 3 --top 2");
    assert_eq!(hits["hits"].as_array().expect("rows").len(), 2);
    room.json(&format!("release sketch users.csv --out a.dps -k 6 --seed 9 {PRIVACY}"));
    let hits = room.json("search a.dps --query users.csv --row 1 --top 5");
    assert_eq!(hits["hits"].as_array().expect("rows").len(), 5);
    room.refuses("search a.dps --query users.csv --queries a.dps", 2, &["--query"]);
    room.write("narrow.csv", "a,b\n0.1,0.2\n");
    room.refuses("search a.dps --query narrow.csv", 4, &["narrow.csv", "2 columns", "--id"]);
}

#[test]
fn every_family_and_noise_is_released() {
    let room = room();
    for family in [
        "gaussian",
        "rademacher",
        "achlioptas",
        "very-sparse",
        "sparse-jl",
        "hashed-copies",
        "srht",
        "oporp",
        "count-sketch",
    ] {
        for noise in ["--noise gaussian", "--noise laplace --delta 0"] {
            let privacy = PRIVACY.replace("--delta 1e-6", "");
            let delta = if noise.contains("delta") { "" } else { "--delta 1e-6" };
            let found = room.json(&format!(
                "release sketch users.csv --out x.dps --force -k 8 --family {family} --store f32 {noise} \
                 {privacy} {delta}"
            ));
            assert_eq!(found["projection"], family);
            room.json("verify x.dps");
        }
    }
    let pure = PRIVACY.replace("--delta 1e-6", "--delta 0");
    for family in ["oporp", "count-sketch"] {
        let found = room.json(&format!(
            "release sketch users.csv --out x.dps --force -k 8 --family {family} --noise staircase {pure}"
        ));
        assert_eq!(found["delta"], 0.0);
        assert!(found["staircase_epsilon"].as_f64().is_some(), "{found}");
        room.json("verify x.dps");
        room.json("distance x.dps 0 1");
    }
    room.refuses(
        &format!("release sketch users.csv --out refused.dps -k 8 --family gaussian --noise staircase {pure}"),
        2,
        &["one change moves", "Laplace"],
    );
    room.write("groups.txt", "1, 1, -2, 2, 3, 3, -1, 4, 4, 4, 1, 2");
    for (groups, k) in [("--grid 3x4/2", 4), ("--groups-from groups.txt", 4)] {
        let found = room.json(&format!(
            "release sketch users.csv --out x.dps --force {groups} --noise staircase {pure}"
        ));
        assert_eq!((&found["projection"], &found["k"]), (&"grouped".into(), &k.into()));
        room.json("verify x.dps");
        room.json("search x.dps --row 0 --top 3");
        room.json("search x.dps --row 0 --top 3 --public users.csv");
        // Sums of groups tell no distance of rows.
        room.refuses("distance x.dps 0 1", 1, &["chosen groups"]);
    }
    // Directions of rows that are public, and a matrix of one's own.
    room.write("public.csv", csv(&numbers(100, 12)[240..], 12));
    let matrix: Vec<f64> = (0..24).map(|i| f64::from(i) / 24.0 - 0.5).collect();
    room.write("matrix.csv", csv(&matrix, 2));
    for given in ["--public public.csv -k 2", "--matrix matrix.csv"] {
        let found =
            room.json(&format!("release sketch users.csv --out x.dps --force {given} {PRIVACY}"));
        assert_eq!((&found["projection"], &found["k"]), (&"given".into(), &2.into()));
        room.json("verify x.dps");
        room.json("search x.dps --row 0 --top 3");
        room.json("search x.dps --query public.csv --row 0 --top 3");
        room.refuses("distance x.dps 0 1", 1, &["given matrix"]);
        let units = "--adjacency any-input --epsilon 12 --delta 0";
        let found =
            room.json(&format!("release units users.csv --out y.dps --force {given} {units}"));
        assert_eq!((&found["projection"], &found["k"]), (&"given".into(), &2.into()));
        room.json("verify y.dps");
        room.json("search y.dps --query public.csv --row 0 --top 3");
        room.json(&format!("release signs users.csv --out z.dps --force {given} {PRIVACY}"));
        room.json("verify z.dps");
    }
    room.write("narrow.csv", csv(&numbers(20, 5), 5));
    room.write("wide.csv", csv(&[2.0; 24], 2));
    for (given, what) in [
        ("--public users.csv -k 2", "aside that may be known"),
        ("--public ./users.csv -k 2", "aside that may be known"),
        ("--public narrow.csv -k 2", "as the matrix says"),
        ("--public nowhere.csv -k 2", "nowhere.csv"),
        ("--public public.csv", "-k"),
        ("--public public.csv -k 12", "beside the mean"),
        ("--public public.csv -k 2 --seed 3", "--seed"),
        ("--public public.csv -k 2 --family oporp", "--family"),
        ("--public public.csv -k 2 --nonzeros 2", "--nonzeros"),
        ("--public public.csv -k 2 --calibration averaged", "gaussian only"),
        ("--matrix narrow.csv", "matrix"),
        ("--matrix wide.csv", "divide the matrix"),
        ("--matrix matrix.csv -k 2", "-k"),
    ] {
        let run = format!("release sketch users.csv --out refused.dps {given} {PRIVACY}");
        let status = if given.contains("nowhere") { 3 } else { 2 };
        room.refuses(&run, status, &[what]);
        assert!(!room.path("refused.dps").exists());
    }
    for (groups, what) in [
        ("--grid 4x4/2", "groups say"),
        ("--grid 3x4", "28x28/4"),
        ("--grid 3x4/0", "grid"),
        ("--groups-from nowhere.txt", "nowhere.txt"),
        ("--groups-from users.csv", "groups"),
        ("--grid 3x4/2 --seed 3", "--seed"),
        ("--grid 3x4/2 --nonzeros 2", "--nonzeros"),
        ("--grid 3x4/2 -k 3", "-k"),
    ] {
        let run = format!("release sketch users.csv --out refused.dps {groups} {PRIVACY}");
        room.refuses(&run, 2, &[what]);
    }
    let whole = room.json(
        "release sketch users.csv --out x.dps --force -k 12 --family identity --adjacency replace-row \
         --norm-bound 4 --epsilon 1 --delta 1e-6",
    );
    assert_eq!(whole["k"], 12);
    room.json(
        "release sketch users.csv --out x.dps --force -k 4 --adjacency row-shift --shift 0.5 --bound 1 \
         --epsilon 1 --delta 1e-6",
    );
}

#[test]
fn signs_are_released_and_searched() {
    let room = room();
    for flips in ["optimal", "smooth", "response"] {
        let found = room.json(&format!(
            "release signs users.csv --out s.dps --force -k 8 --seed 1 --repetitions 2 --flips {flips} \
             {PRIVACY}"
        ));
        assert!(number(&found, "true_delta") <= 1e-6);
        let verified = room.json("verify s.dps");
        assert!(verified["sensitivity"].as_str().expect("checked").contains("agrees"));
        let hits = room.json("search s.dps --row 0 --top 5");
        assert_eq!(hits["hits"].as_array().expect("rows").len(), 5);
    }
    room.refuses("distance s.dps 0 1 --measure cosine", 1, &["Gaussian projections only"]);
    let bits = room.json("distance s.dps 0 1");
    assert_eq!(bits["estimates"].as_array().expect("rows").len(), 1);
    let bits = &bits["estimates"][0];
    assert_eq!(bits["measure"], "hamming distance");
    assert!(number(bits, "low") >= 0.0 && number(bits, "high") <= 8.0);
    room.json(&format!(
        "release signs users.csv --out g.dps -k 8 --seed 1 --family gaussian --flips response {PRIVACY}"
    ));
    let cosine = &room.json("distance g.dps 0 1 --measure cosine")["estimates"][0];
    assert!(number(cosine, "low") >= -1.0 && number(cosine, "high") <= 1.0);
    room.refuses("distance s.dps 0 1 --measure jaccard", 2, &["jaccard"]);
    room.refuses(
        "release signs users.csv --out refused.dps -k 8 --adjacency row-shift --shift 1 --bound 1 \
         --epsilon 1 --delta 0",
        2,
        &["--adjacency attribute"],
    );
}

#[test]
fn sets_are_released_and_searched() {
    let room = Room::new();
    let line = |i: usize| {
        let words: Vec<String> = (0..12).map(|w| format!("w{}", (i / 2) * 5 + w)).collect();
        words.join(" ")
    };
    room.write("sets.txt", (0..40).map(|i| line(i) + "\n").collect::<String>());
    let set = "--adjacency set-items --alpha 1 --min-size 4";
    for mechanism in [
        format!("--mechanism bins --symbols 8 {set} --epsilon 8 --delta 0"),
        format!("--mechanism mixture --symbols 4 {set} --epsilon 8 --delta 1e-6"),
        "--mechanism buckets --symbols 2 --adjacency any-input --epsilon 60 --delta 0".into(),
    ] {
        let found =
            room.json(&format!("release minhash sets.txt --out m.dps --force -k 60 {mechanism}"));
        assert_eq!(found["sets"], 40);
        room.json("verify m.dps");
        let found = room.json("distance m.dps 0 1");
        assert_eq!(found["estimates"][0]["measure"], "jaccard similarity");
        let hits = room.json("search m.dps --row 0,7 --top 3");
        assert_eq!(hits["hits"].as_array().expect("rows").len(), 6);
    }
    room.json("ledger init one.json --data sets --epsilon 9 --delta 0 --adjacency set-items --alpha 1 --min-size 1");
    let paid =
        format!("release minhash sets.txt --out m.dps --force -k 60 {set} --epsilon 8 --delta 0");
    room.json(&format!("{paid} --ledger one.json"));
    room.write("names.tsv", "ann\ta b\tc d\nbob\tc d\te\n");
    let found = room.json(
        "release minhash names.tsv --out n.dps --separator tab --id-first -k 5 --adjacency set-items \
         --alpha 1 --min-size 2 --epsilon 1 --delta 0"
    );
    assert_eq!(found["sets"], 2);
    room.write("short.txt", "a b c d\na\n");
    room.refuses(
        &format!("release minhash short.txt --out refused.dps -k 5 {set} --epsilon 1 --delta 0"),
        4,
        &["--min-size", "record 2", "private"],
    );
    room.write("empty.txt", "a b\n\nc\n");
    room.refuses(
        &format!("release minhash empty.txt --out refused.dps -k 5 {set} --epsilon 1 --delta 0"),
        4,
        &["no item"],
    );
}

#[test]
fn matrices_are_released_and_analysed() {
    let room = room();
    let row = "--adjacency add-remove-row --norm-bound 4 --epsilon 20 --delta 1e-6";
    for (i, noise) in ["gaussian", "jl --sketch-rows 400"].into_iter().enumerate() {
        let found = room.json(&format!(
            "release covariance users.csv --out c.dps --force --noise {noise} {row}"
        ));
        // The number of rows is private under this adjacency: it is nowhere in the output.
        assert_eq!((found["d"].as_u64(), &found["n"]), (Some(12), &Value::Null));
        let values = found.as_object().expect("an object").values();
        assert!(values.into_iter().all(|v| v.as_f64() != Some(80.0)), "{found}");
        room.json("verify c.dps");
        let found = room.json(&format!("pca c.dps --components 3 --out parts{i}.csv"));
        assert_eq!(found["components"].as_array().expect("rows").len(), 3);
        for part in found["components"].as_array().expect("rows") {
            let explained = number(part, "explained");
            assert!(explained >= 0.0 && number(part, "typical_error") > 0.0, "{part}");
        }
        let sines = ["typical", "guaranteed"].map(|kind| {
            number(&found, &format!("{kind}_sine_of_the_largest_angle_to_the_true_space"))
        });
        assert!(sines[0] <= sines[1], "{found}");
        let parts = String::from_utf8(room.read(&format!("parts{i}.csv"))).expect("text");
        for line in parts.lines() {
            let direction: Vec<f64> =
                line.split(',').map(|v| v.parse().expect("a number")).collect();
            let norm: f64 = direction.iter().map(|v| v * v).sum();
            assert!(direction.len() == 12 && (norm - 1.0).abs() < 1e-9, "{norm}");
        }
    }
    room.json("pca c.dps --components 2 --out parts.npy --matrix whole.csv");
    let whole = String::from_utf8(room.read("whole.csv")).expect("text");
    assert!(whole.lines().count() == 12 && whole.lines().all(|l| l.split(',').count() == 12));
    room.refuses("pca c.dps --components 2 --matrix whole.csv", 2, &["exists"]);
    room.refuses("pca c.dps --components 2 --out a.csv --matrix a.csv", 2, &["choose two"]);
    // Regression reads symmetric Gaussian noise, and says what its intervals are for.
    room.refuses("regress c.dps --target 1", 1, &["symmetric Gaussian"]);
    room.json(&format!("release covariance users.csv --out g.dps {row}"));
    let found = room.json("regress g.dps --target 3 --failure 0.1");
    let coefficients = found["coefficients"].as_array().expect("rows");
    assert!(
        coefficients.len() == 11
            && found["intervals_are_for"].as_str().is_some_and(|t| t.contains("ridge"))
    );
    for row in coefficients {
        assert!(row["column"] != 3 && number(row, "low") <= number(row, "high"), "{row}");
    }
    // With sums: means, components around them, an intercept; without, each is refused with the way out.
    room.refuses("moments g.dps", 1, &["release moments"]);
    room.refuses("pca g.dps --components 2 --center", 1, &["release moments"]);
    room.refuses(
        &format!(
            "release covariance users.csv --out m.dps --means --noise jl --sketch-rows 9 {row}"
        ),
        2,
        &["--means"],
    );
    room.json(&format!("release covariance users.csv --out m.dps --means {row}"));
    room.json("verify m.dps");
    let found = room.json("moments m.dps --correlations rho.csv");
    assert!(number(&found, "rows_at_least") <= number(&found, "rows"), "{found}");
    assert_eq!(found["columns"].as_array().expect("rows").len(), 12);
    for column in found["columns"].as_array().expect("rows") {
        for what in ["mean", "deviation"] {
            let at = |end: &str| number(column, &format!("{what}{end}"));
            assert!(at("_at_least") <= at("") && at("") <= at("_at_most"), "{column}");
        }
    }
    assert_eq!(String::from_utf8(room.read("rho.csv")).expect("text").lines().count(), 12);
    room.refuses("moments m.dps --correlations rho.csv", 2, &["exists"]);
    assert_eq!(room.json("pca m.dps --components 2 --center")["around"], "the mean");
    assert_eq!(room.json("pca m.dps --components 2")["around"], "zero");
    let found = room.json("regress m.dps --target 3");
    assert!(number(&found, "intercept_at_least") <= number(&found, "intercept"), "{found}");
    for target in ["0", "13", "x3"] {
        room.refuses(&format!("regress g.dps --target {target}"), 2, &["columns 1 to 12"]);
    }
    // Names are kept where that is asked for, and then taken and given.
    room.json(&format!("release covariance users.csv --out n.dps --means --keep-names {row}"));
    room.json("verify n.dps");
    let found = room.json("moments n.dps");
    let third = found["columns"][2]["name"].as_str().expect("a name").to_owned();
    let line = room.json(&format!("regress n.dps --target {third}"));
    assert!(line["target"] == 3 && line["coefficients"][0]["name"].is_string(), "{line}");
    assert_eq!(room.json("pca n.dps --components 1")["columns"][2], third.as_str());
    assert!(room.json("moments m.dps")["columns"][2]["name"].is_null());
    // A bound that is chosen: the norms are counted in a first pass.
    let far = row.replace("--norm-bound 4", "--norm-bound 4000");
    room.json(&format!("release covariance users.csv --out q.dps --within 0.9 {far}"));
    let inspected = room.json("inspect q.dps").to_string();
    assert!(inspected.contains("chosen bound"), "{inspected}");
    room.json("verify q.dps");
    for (options, why) in [
        ("--within 1.5", "--within"),
        ("--within 0.2", "[.5, .999]"),
        ("--within 0.9 --noise jl --sketch-rows 9", "--within needs"),
    ] {
        room.refuses(
            &format!("release covariance users.csv --out refused.dps {options} {far}"),
            2,
            &[why],
        );
    }
    assert!(room.read("parts.npy").starts_with(b"\x93NUMPY"));
    room.refuses("pca c.dps --components 13", 2, &["13"]);
    room.refuses("distance c.dps 0 1", 2, &["covariance"]);
    // A row above the bound is refused, or scaled without being counted.
    let tight = row.replace("--norm-bound 4", "--norm-bound 1");
    room.refuses(
        &format!("release covariance users.csv --out refused.dps {tight}"),
        4,
        &["norm bound 1", "--clip"],
    );
    let clipped =
        room.run(&format!("release covariance users.csv --out c.dps --force --clip {tight}"));
    assert!(clipped.status.success() && text(&clipped).contains("private"), "{}", text(&clipped));

    let found = room.json(
        "release low-rank users.csv --out l.dps --rank 3 --oversampling 4 --row-bound 4 \
         --adjacency row-shift --shift 1 --epsilon 200 --delta 1e-6",
    );
    assert_eq!(found["rank"], 3);
    room.json("verify l.dps");
    let parts = room.json("pca l.dps --components 1");
    assert!(number(&parts["components"][0], "explained") > 0.0);
}

/// The commands that plans print run as they are, with names for the files.
#[test]
fn planned_commands_run() {
    let room = room();
    let words = |i: usize| (0..12).map(|w| format!("w{} ", i * 5 + w)).collect::<String>() + "\n";
    room.write("sets.txt", (0..40).map(words).collect::<String>());
    let run = |command: &Value, file: &str| {
        let command = command.as_str().expect("a command").strip_prefix("dps ").expect("of dps");
        let command = command.replacen("FILE", file, 1).replace("FILE", "planned.dps --force");
        room.json(&command);
        room.json("verify planned.dps");
    };
    let plan = room.json(
        "plan vectors --rows 80 --features 12 --epsilon 4 --delta 1e-6 --adjacency attribute --beta 1 --low -1 --squared-distance 6",
    );
    run(&plan["the_best_release_is_made_by"], "users.csv");
    for epsilon in [2, 30] {
        let plan = room.json(&format!("plan search --rows 80 --features 12 --epsilon {epsilon}"));
        run(&plan["the_best_release_is_made_by"], "users.csv");
    }
    for budget in ["--epsilon 4 --delta 1e-6", "--epsilon 8 --delta 0"] {
        for alpha in [1, 3] {
            let plan = room.json(&format!(
                "plan sets {budget} --alpha {alpha} --min-size 4 --size 12 --near 0.5 --far 0.1"
            ));
            run(&plan["best_recall_is_made_by"], "sets.txt");
            run(&plan["best_error_is_made_by"], "sets.txt");
        }
    }
}
