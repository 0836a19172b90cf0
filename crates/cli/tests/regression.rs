//! `dps release regression` and what reads its files.

use crate::support::{Room, csv, forged, number, text};

const RUN: &str = "release regression rows.csv --target y --label-bound 1 --adjacency add-remove-row --norm-bound 1.5 \
                   --epsilon 4 --delta 1e-6";

/// `y = .6 a - .3 b + .2`, named columns, the target in the middle.
fn room() -> Room {
    let room = Room::new();
    let rows: Vec<f64> = (0..6000)
        .flat_map(|i| {
            let (a, b) = ((0.1 * f64::from(i)).sin(), (0.37 * f64::from(i)).cos());
            [a, 0.6 * a - 0.3 * b + 0.2, b]
        })
        .collect();
    let text = csv(&rows, 3);
    let (_, body) = text.split_once('\n').expect("a header");
    room.write("rows.csv", format!("a,y,b\n{body}"));
    room
}

#[test]
fn coefficients_are_released_paid_and_read() {
    let room = room();
    room.json("ledger init l.json --data x --epsilon 9 --delta 1e-5 --adjacency add-remove-row --norm-bound 1.5");
    let dry = room.json(&format!("{RUN} --out a.dps --dry-run --ledger l.json"));
    assert!(dry.to_string().contains("nothing was released") && !room.path("a.dps").exists());
    let made = room.json(&format!("{RUN} --out a.dps --intercept --keep-names --ledger l.json"));
    assert!(made["paid_from"].is_string(), "{made}");
    let read = room.json("regress a.dps");
    assert_eq!((&read["target"], &read["coefficients"][1]["name"]), (&"y".into(), &"b".into()));
    for (i, truth) in [0.6, -0.3].into_iter().enumerate() {
        let row = &read["coefficients"][i];
        assert!((number(row, "coefficient") - truth).abs() < 0.05, "{read}");
        assert!(number(row, "low") < number(row, "high"));
    }
    assert!((number(&read, "intercept") - 0.2).abs() < 0.05, "{read}");
    assert!(read["intervals_are_for"].as_str().expect("text").contains("without noise"));
    let verified = room.json("verify a.dps");
    assert!(verified["sensitivity"].to_string().contains("agrees"), "{verified}");
    assert!(verified["payload"].to_string().contains("grid"), "{verified}");
    assert!(room.json("inspect a.dps")["verification"].to_string().contains("holds together"));
    assert!(number(&room.json("explain a.dps"), "advantage_at_most") < 1.0);
    room.json("inspect a.dps --html a.html");
    room.json("export a.dps --out a.csv");
    let table = String::from_utf8(room.read("a.csv")).expect("text");
    assert_eq!(table.lines().count(), 2, "{table}");
    // Paid once: a crash before the file is there, or a second run, does not go unnoticed.
    room.refuses(&format!("{RUN} --out a.dps --ledger l.json"), 2, &["--force"]);
    room.json(&format!("{RUN} --out b.dps --ledger l.json"));
    room.refuses(&format!("{RUN} --out refused.dps --ledger l.json"), 1, &["over the limit"]);
    // Names stay home where nobody asks for them.
    let stated = &room.json("inspect b.dps")["public"];
    assert!(stated["d"].is_u64() && stated["columns"].is_null() && stated["target"].is_null());
    assert!(room.json("regress b.dps").get("intercept").is_none());
}

#[test]
fn mistakes_are_refused() {
    let room = room();
    let with = |from: &str, to: &str| format!("{} --out refused.dps", RUN.replace(from, to));
    room.refuses(&with("--target y", "--target z"), 2, &["--target", "1 to 3"]);
    room.refuses(&with("--target y", "--target 4"), 2, &["--target"]);
    room.refuses(&with("--label-bound 1", "--label-bound 0"), 2, &["--label-bound"]);
    room.refuses(&with("--delta 1e-6", "--delta 0"), 1, &["delta"]);
    room.refuses(&with("--target y", "--target y --columns y"), 2, &["beside its target"]);
    room.refuses(&with("add-remove-row --norm-bound 1.5", "any-input"), 2, &["add-remove-row"]);
    // The bound is on a row without its target.
    room.refuses(&with("--norm-bound 1.5", "--norm-bound 1"), 4, &["longer than", "--clip"]);
    room.json(&format!("{} --clip --out c.dps", RUN.replace("1.5", "1")));
    room.refuses(&with("--delta", "--bound 0.5 --delta"), 4, &["outside the declared bound"]);
    room.write("nan.csv", "a,y,b\n0,inf,0\n");
    room.refuses(&with("rows.csv", "nan.csv"), 4, &["nan.csv"]);
    room.write("far.csv", "a,y,b\n0.1,1e300,0.2\n1e-310,-1e300,0\n");
    room.json(&format!("{} --out far.dps", RUN.replace("rows.csv", "far.csv")));
    room.json("regress far.dps");
    // What a regression does not answer, and what is asked of it wrongly.
    room.json(&format!("{RUN} --out a.dps"));
    room.refuses("regress a.dps --target 1", 2, &["--target", "has its target"]);
    room.refuses("pca a.dps --components 1", 2, &["a regression"]);
    room.json("release covariance rows.csv --out cov.dps --adjacency replace-row --norm-bound 4 --epsilon 1 --delta 1e-6");
    room.refuses("regress cov.dps", 2, &["--target is required"]);
}

#[test]
fn edited_numbers_are_refused_under_every_right_hash() {
    let room = room();
    room.json(&format!("{RUN} --out a.dps --intercept"));
    let file = room.read("a.dps");
    let d = 3;
    let step = |t: usize| d + t * (2 * d + 1);
    // The coefficient, a clip, a gradient, a coefficient on the way, the matrix.
    for (at, words) in [
        (0, "do not follow"),
        (step(0), "no public size"),
        (step(1), "no public size"),
        (step(2) + 1, ""),
        (step(2) + 1 + d, "do not follow"),
        (step(4), ""),
        (step(4) + 1, "symmetric"),
    ] {
        for factor in [1.01, f64::NAN] {
            let bytes = forged(&file, |payload| {
                let place = &mut payload[8 * at..8 * at + 8];
                let value = f64::from_le_bytes(place.try_into().expect("eight")) * factor;
                place.copy_from_slice(&value.to_le_bytes());
            });
            room.write("forged.dps", bytes);
            for command in ["verify", "regress"] {
                let output = room.run(&format!("{command} forged.dps"));
                let said = text(&output);
                assert_eq!(output.status.code(), Some(1), "{at} {factor}: {said}");
                assert!(factor.is_nan() || said.contains(words), "{at}: {said}");
            }
        }
    }
}
