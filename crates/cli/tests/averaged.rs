//! Releases of projections that are drawn for them, and signs under individual differential privacy.

use crate::support::{Room, csv, number, numbers, text};

fn room() -> Room {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(80, 100), 100));
    room
}

/// Standard deviation of the noise that a release file states.
fn sigma(room: &Room, file: &str) -> f64 {
    number(&room.json(&format!("inspect {file}"))["noise"], "sigma")
}

#[test]
fn a_fresh_projection_needs_less_noise_for_whole_rows() {
    let room = room();
    for (kind, privacy) in [
        ("row-shift", "--adjacency row-shift --shift 0.5 --bound 1 --epsilon 1 --delta 1e-6"),
        ("replace-row", "--adjacency replace-row --norm-bound 12 --epsilon 1 --delta 1e-6"),
    ] {
        let sketch = "release sketch users.csv --force -k 10";
        room.json(&format!("{sketch} --out known.dps {privacy}"));
        room.json(&format!("{sketch} --out gaussian.dps --family gaussian {privacy}"));
        let made = room.json(&format!(
            "{sketch} --out fresh.dps --calibration averaged --store f32 {privacy}"
        ));
        assert_eq!(made["projection"], "gaussian");
        assert_eq!(made["seed_origin"], "operating system", "{made}");
        assert!(number(&made, "true_delta") <= 1e-6);
        let fresh = sigma(&room, "fresh.dps");
        assert!(fresh < 0.7 * sigma(&room, "known.dps"), "{kind}");
        assert!(fresh < 0.7 * sigma(&room, "gaussian.dps"), "{kind}");
        let verified = room.json("verify fresh.dps");
        assert!(verified["sensitivity"].as_str().expect("checked").contains("agrees"));
        let distance = room.json("distance fresh.dps 0 1");
        assert!(number(&distance["estimates"][0], "standard_error") > 0.0);
        let hits = room.json("search fresh.dps --row 0 --top 4");
        assert_eq!(hits["hits"].as_array().expect("rows").len(), 4);
        // Another release has another projection.
        let again =
            room.json(&format!("{sketch} --out again.dps --calibration averaged {privacy}"));
        assert_ne!(again["projection_seed"], made["projection_seed"]);
        room.refuses("distance fresh.dps 0 1 --other again.dps", 1, &["fingerprint"]);
    }
    let averaged = "release sketch users.csv --out refused.dps -k 10 --calibration averaged \
                    --adjacency attribute --beta 1 --bound 1 --epsilon 1 --delta 1e-6";
    room.refuses(&format!("{averaged} --seed 3"), 2, &["--seed has no effect", "drawn at release"]);
    room.refuses(&format!("{averaged} --family oporp"), 2, &["--family gaussian only"]);
    room.refuses(&format!("{averaged} --noise laplace"), 2, &["Gaussian noise only"]);
    room.refuses(&format!("{averaged} --nonzeros 2"), 2, &["--nonzeros has no effect"]);
}

#[test]
fn signs_of_a_fresh_projection_count_on_a_least_norm() {
    let room = room();
    let signs = "release signs users.csv -k 32 --adjacency attribute --beta 0.1 --bound 1 \
                 --epsilon 2 --delta 1e-6";
    let known = room.json(&format!("{signs} --out known.dps --family gaussian --flips response"));
    assert!(number(&known, "true_delta") <= 1e-6);
    room.json(
        "ledger init spent.json --data users --epsilon 7 --delta 1e-5 --adjacency attribute --beta 0.1",
    );
    for (floor, lifted) in [("--least-norm 0.5", 0), ("--lift 2", 1)] {
        let made = room.json(&format!(
            "{signs} --out fresh.dps --force --calibration averaged --ledger spent.json {floor}"
        ));
        assert!(number(&made, "true_delta") <= 1e-6);
        assert_eq!(made["lifted"], lifted);
        let verified = room.json("verify fresh.dps");
        assert!(verified["sensitivity"].as_str().expect("checked").contains("agrees"));
        let keep = |file: &str| {
            let found = room.json(&format!("inspect {file}"));
            number(&found["noise"], "keep")
        };
        assert!(keep("fresh.dps") > keep("known.dps"), "fewer signs are flipped");
        let cosine = room.json("distance fresh.dps 0 1 --measure cosine");
        assert!(number(&cosine["estimates"][0], "standard_error") > 0.0);
        let of = cosine["estimates_are_of"].as_str().unwrap_or_default();
        assert_eq!(of.starts_with("rows with 2.0 appended"), lifted == 1, "{of}");
        let hits = room.json("search fresh.dps --row 0 --top 4");
        assert_eq!(hits["hits"].as_array().expect("rows").len(), 4);
    }
    assert_eq!(room.json("ledger show spent.json")["releases"], 2);
    let refused = format!("{signs} --out refused.dps --calibration averaged");
    room.refuses(&refused, 2, &["--least-norm M", "--lift M"]);
    room.refuses(&format!("{refused} --lift 1 --seed 3"), 2, &["--seed has no effect"]);
    room.refuses(
        &format!("{refused} --lift 1 --repetitions 2"),
        2,
        &["--repetitions has no effect"],
    );
    room.refuses(&format!("{refused} --lift 1 --flips optimal"), 2, &["--flips response"]);
    room.refuses(&format!("{refused} --lift 1 --family oporp"), 2, &["--family gaussian only"]);
    room.refuses(&format!("{signs} --out refused.dps --lift 1"), 2, &["--lift has no effect"]);
    // A short row is found before anything is paid.
    let paid = format!("{refused} --least-norm 30 --ledger spent.json");
    room.refuses(&paid, 4, &["least norm 30", "--lift", "private"]);
    assert_eq!(room.json("ledger show spent.json")["releases"], 2);
}

#[test]
fn individual_signs_never_look_like_differential_privacy() {
    let room = room();
    let signs = "release signs users.csv -k 16 --seed 1 --adjacency attribute --beta 0.1 --bound 1 \
                 --epsilon 1 --delta 1e-6";
    room.json(
        "ledger init spent.json --data users --epsilon 9 --delta 1e-5 --adjacency attribute --beta 0.1",
    );
    let before = room.read("spent.json");
    for noise in ["gaussian", "response"] {
        let individual = format!("{signs} --individual-not-differential-privacy {noise}");
        let printed = room.run(&format!("{individual} --out i.dps --force"));
        let printed = text(&printed);
        for words in
            ["NOT differentially private", "is not differential privacy", "individual epsilon"]
        {
            assert!(printed.contains(words), "no {words:?} in {printed}");
        }
        let made = room.json(&format!("{individual} --out i.dps --force"));
        assert!(made.get("epsilon").is_none() && made.get("true_delta").is_none(), "{made}");
        let dry = room.json(&format!("{individual} --out j.dps --dry-run"));
        assert!(dry.get("epsilon").is_none(), "{dry}");
        room.refuses("verify i.dps", 1, &["not differential privacy", "--accept individual"]);
        let verified = room.json("verify i.dps --accept individual");
        assert!(verified["guarantee"].as_str().expect("text").contains("no differential privacy"));
        room.json("search i.dps --row 0 --top 3");
        // No ledger takes it, neither on the way nor afterwards.
        let paid = format!("{individual} --out refused.dps --ledger spent.json");
        room.refuses(&paid, 2, &["--ledger counts differential privacy"]);
        room.refuses("ledger spend spent.json i.dps", 1, &["only certificates of differential"]);
        assert_eq!(room.read("spent.json"), before);
    }
    let refused =
        format!("{signs} --out refused.dps --individual-not-differential-privacy response");
    room.refuses(&format!("{refused} --flips smooth"), 2, &["--flips has no effect"]);
    room.refuses(
        &format!("{refused} --calibration averaged"),
        2,
        &["--calibration averaged has no"],
    );
    room.refuses(&format!("{refused} --lift 1"), 2, &["--lift has no effect"]);
}
