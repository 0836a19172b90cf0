//! What a release or a stream takes where no mechanism is named, and what it says of a poor one.

use crate::planned::{SPENDS, rows};
use crate::support::Room;

/// What a release without a mechanism is made with: the option of the command that the plan prints.
fn option<'a>(command: &'a str, name: &str) -> Option<&'a str> {
    command.split_whitespace().skip_while(|word| *word != name).nth(1)
}

#[test]
fn a_release_of_rows_takes_what_the_plan_prints() {
    let room = Room::new();
    room.write("rows.csv", rows(120, 40));
    for (adjacency, budget, r2) in [
        ("attribute --beta 1", "--epsilon 4 --delta 1e-6", 9.0),
        ("attribute --beta 1", "--epsilon 4 --delta 0", 900.0),
        ("row-shift --shift 1", "--epsilon 4 --delta 1e-6", 30.0),
        ("replace-row --norm-bound 4", "--epsilon 8 --delta 1e-6", 20.0),
    ] {
        let privacy = format!("--adjacency {adjacency} {budget}");
        let plan = room.json(&format!(
            "plan distance --rows 120 --features 40 {privacy} --squared-distance {r2}"
        ));
        let printed = plan["the_best_release_is_made_by"].as_str().unwrap().to_owned();
        let release = format!(
            "release sketch rows.csv --bound 1 {privacy} --squared-distance {r2} --dry-run --out x.dps"
        );
        let output = room.run(&format!("{release} --json"));
        let (made, said): (serde_json::Value, _) = (
            serde_json::from_slice(&output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        );
        let mechanism = made["mechanism"].as_str().unwrap();
        let k = option(&printed, "-k").unwrap();
        assert!(mechanism.contains(&format!("to k = {k}")), "{mechanism}: {printed}");
        let averaged = printed.contains("--calibration averaged");
        assert_eq!(mechanism.contains("fresh"), averaged, "{mechanism}: {printed}");
        if let Some(noise) = option(&printed, "--noise") {
            assert!(
                mechanism.to_lowercase().contains(&format!("{noise} noise")),
                "{mechanism}: {printed}"
            );
        }
        assert_eq!(mechanism.contains("identity"), printed.contains("--family identity"));
        assert!(said.contains("the plan takes") && said.contains("considered too"), "{said}");
        assert!(!said.contains("warning: sketch"), "{said}");
    }
    // Named and far worse: said before anything is spent, and made all the same. Named and as good: nothing is said.
    let privacy =
        "--adjacency attribute --beta 1 --epsilon 0.5 --delta 0 --bound 1 --squared-distance 4";
    let said = |options: &str| {
        let output =
            room.run(&format!("release sketch rows.csv {options} {privacy} --dry-run --out x.dps"));
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let poor = said("-k 40 --noise laplace");
    assert!(poor.contains("times worse than the plan's best"), "{poor}");
    let good = said("-k 1");
    assert!(!good.contains("worse") && !good.contains("the plan takes"), "{good}");
    room.refuses(
        "release sketch rows.csv --bound 1 --adjacency attribute --beta 1 --epsilon 4 --delta 0 --out refused.dps",
        2,
        &["-k is missing", "plan"],
    );
}

#[test]
fn a_release_of_sets_takes_what_the_plan_prints() {
    let room = Room::new();
    let line =
        |i: usize| (0..12).map(|w| format!("w{}", (i / 2) * 5 + w)).collect::<Vec<_>>().join(" ");
    room.write("sets.txt", (0..40).map(|i| line(i) + "\n").collect::<String>());
    let facts = "--size 12 --near 0.5 --far 0.05";
    for budget in ["--epsilon 4 --delta 0", "--epsilon 16 --delta 1e-2", "--epsilon 1 --delta 1e-6"]
    {
        let plan = room.json(&format!("plan sets {budget} --alpha 1 --min-size 8 {facts}"));
        let printed = plan["best_recall_is_made_by"].as_str().unwrap();
        let privacy = format!("--adjacency set-items --alpha 1 --min-size 8 {budget}");
        let made = room
            .json(&format!("release sets sets.txt {privacy} {facts} --force --out planned.dps"));
        let asked = printed.strip_prefix("dps ").unwrap().replacen("FILE", "sets.txt", 1);
        let same = room.json(&asked.replace("--out FILE", "--force --out asked.dps"));
        for field in
            ["mechanism", "sketch", "slots", "alphabet", "concatenation", "least_keep_probability"]
        {
            assert_eq!(made.get(field), same.get(field), "{field}: {printed}");
        }
    }
    let privacy = "--adjacency set-items --alpha 1 --min-size 8 --epsilon 4 --delta 0";
    let said = |options: &str| {
        let output =
            room.run(&format!("release sets sets.txt {options} {privacy} --dry-run --out x.dps"));
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    // Every item of a position is answered: nothing is left of them.
    let poor = said(&format!("--mechanism mixture --symbols 2 {facts}"));
    assert!(poor.contains("times worse than the plan's best"), "{poor}");
    assert!(said(facts).contains("the plan takes bins"));
    for silent in ["", &format!("--mechanism bins {facts}")] {
        let said = said(silent);
        assert!(!said.contains("worse") && !said.contains("the plan takes"), "{said}");
    }
    room.refuses(
        &format!("release sets sets.txt --size 12 {privacy} --out refused.dps"),
        2,
        &["--size", "--near", "--far"],
    );
    // Seeds can be shared by bins alone, and a ledger pays for bins by sets of any size alone.
    let pay = "--adjacency set-items --alpha 1 --min-size 1";
    room.json(&format!("ledger init l.json --data sets --epsilon 90 --delta 1e-1 {pay}"));
    let rich =
        format!("--adjacency set-items --alpha 1 --min-size 8 --epsilon 16 --delta 1e-2 {facts}");
    for options in ["--seed 7", "--ledger l.json"] {
        let made =
            room.json(&format!("release sets sets.txt {rich} {options} --force --out paid.dps"));
        assert_eq!(made["mechanism"], "one-permutation-response", "{options}");
    }
}

#[test]
fn a_release_of_directions_takes_what_the_plan_prints() {
    let room = Room::new();
    room.write("rows.csv", rows(60, 40));
    for epsilon in [4, 16] {
        let plan = room.json(&format!("plan search --rows 1000 --features 40 --epsilon {epsilon}"));
        let printed = plan["the_best_release_is_made_by"].as_str().unwrap();
        let privacy = format!("--adjacency any-input --epsilon {epsilon} --delta 0");
        let said = |options: &str| {
            let run = format!("release units rows.csv {options} {privacy} --dry-run --out x.dps");
            let output = room.run(&run);
            assert!(output.status.success(), "{output:?}");
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
        };
        let (made, words) = said("");
        let k = option(printed, "-k").unwrap();
        assert!(made.contains(&format!("to k = {k}\n")), "{made}: {printed}");
        assert!(words.contains("the plan takes"), "{words}");
        assert!(!said(&format!("-k {k}")).1.contains("worse"));
        if epsilon == 16 {
            assert!(said("-k 1").1.contains("times worse than the plan's best"));
        }
    }
}

/// A covariance takes the noise that the plan lists first, and says so only where none is named.
#[test]
fn covariances_take_the_plans_noise() {
    let room = Room::new();
    room.write("rows.csv", rows(60, 3));
    let row = format!("--adjacency add-remove-row --norm-bound 2 {SPENDS}");
    let plan = room.json(&format!("plan covariance --rows 60 --features 3 {row}"));
    let best = plan["methods"][0]["error"].as_f64().unwrap();
    for (options, takes) in [("", true), ("--noise gaussian", false), ("--means", false)] {
        let output =
            room.run(&format!("release covariance rows.csv --out x.dps {options} {row} --dry-run"));
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        let words = format!("the plan takes gaussian: predicted error {best:.4}");
        assert_eq!(said.contains(&words), takes, "{options}: {said}");
    }
}

/// The plan is not asked for: bounds that it has no answer for are released all the same.
#[test]
fn what_a_plan_cannot_do_refuses_no_covariance() {
    let room = Room::new();
    room.write("rows.csv", rows(60, 3));
    let row = format!("--adjacency add-remove-row --norm-bound 1e-100 --clip {SPENDS}");
    room.refuses(
        &format!("plan covariance --rows 60 --features 3 {}", row.replace("--clip", "")),
        2,
        &["bound"],
    );
    room.json(&format!("release covariance rows.csv --out x.dps {row}"));
    room.json("verify x.dps");
}

/// A new stream takes the schedule that the plan puts first, a stream goes on as it began, and a schedule that is named and far
/// worse is said before anything is spent.
#[test]
fn streams_take_the_plans_schedule_and_keep_it() {
    let room = Room::new();
    room.write("rows.csv", rows(100, 3));
    let privacy = format!("--adjacency zero-row --norm-bound 1 {SPENDS}");
    let said = |options: &str| {
        let output = room.run(&format!("window rows.csv {options} {privacy}"));
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for (options, name) in [("", "block"), ("--horizon 60", "factorised")] {
        let plan = room.json(&format!("plan window --features 3 --window 64 {options} {privacy}"));
        let best = &plan["methods"][0];
        assert_eq!(best["method"], name);
        let words = format!(
            "the plan takes {name}: predicted error {:.4}",
            best["error"].as_f64().unwrap()
        );
        let run = format!("--window 64 {options} --out {name} --journal {name}.j");
        let first = said(&run);
        assert!(first.contains(&words) && first.contains("tree ("), "{first}");
        assert!(!said(&run).contains("the plan takes"), "a stream goes on as it began");
        let other = format!("window rows.csv {run} --schedule tree {privacy}");
        let other = other.replace("--horizon 60", "");
        room.refuses(&other, 1, &["another stream", "schedule"]);
    }
    // With this horizon the stream that began without one is no other.
    assert!(!said("--window 64 --horizon 60 --out block --journal block.j").contains("takes"));
    let other = format!("window rows.csv --window 64 --horizon 61 --out factorised {privacy}");
    room.refuses(&format!("{other} --journal factorised.j"), 1, &["another stream", "schedule"]);

    let long = "--window 1024 --block 1 --out long --journal long.j --dry-run";
    let plan = room.json(&format!("plan window --features 3 --window 1024 --block 1 {privacy}"));
    let error = |i: usize| plan["methods"][i]["error"].as_f64().unwrap();
    assert_eq!((&plan["methods"][0]["method"], error(1) > 2.0 * error(0)), (&"tree".into(), true));
    let poor = said(&format!("{long} --schedule block"));
    let words = format!("warning: block is predicted to be {:.1} times worse", error(1) / error(0));
    assert!(poor.contains(&words) && poor.contains("of tree"), "{poor}");
    let fewer = "--window 64 --out few --journal few.j --dry-run";
    for options in [
        format!("{long} --schedule tree"),
        format!("{fewer} --schedule tree"),
        // Not like with like: what a sketch errs by rests on the rows, a decayed sum is another question.
        format!("{long} --noise jl --sketch-rows 9"),
        format!("{long} --schedule block --histogram 0.3"),
        "--block 4 --schedule decayed --decay 0.8 --horizon 20 --out d --journal d.j --dry-run"
            .into(),
    ] {
        let quiet = said(&options);
        assert!(!quiet.contains("worse") && !quiet.contains("takes"), "{options}: {quiet}");
    }
}

/// A sketch of a size that is named and far worse than the recommended one is said, and made all the same.
#[test]
fn poor_sizes_of_low_rank_sketches_are_said() {
    let room = Room::new();
    room.write("rows.csv", rows(200, 30));
    let said = |options: &str| {
        let privacy = format!("--adjacency row-shift --shift 0.01 {SPENDS}");
        let output = room.run(&format!(
            "release low-rank rows.csv --rank 2 --row-bound 1 {options} {privacy} --dry-run --out x.dps"
        ));
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let poor = said("--oversampling 2");
    assert!(poor.contains("warning: a sketch of 4 columns is predicted to be"), "{poor}");
    assert!(poor.contains("columns, as recommended"), "{poor}");
    for good in ["", "--oversampling 20"] {
        assert!(!said(good).contains("worse"), "{good}");
    }
}

/// A sketch of second moments errs by more than so much whatever the rows: said where that is more than twice the best, and only there.
#[test]
fn sketches_of_second_moments_that_cannot_be_good_are_said() {
    let room = Room::new();
    room.write("rows.csv", rows(60, 3));
    let row = format!("--adjacency add-remove-row --norm-bound 2 {SPENDS}");
    let plan = room.json(&format!("plan covariance --rows 60 --features 3 {row}"));
    let best = plan["methods"][0]["error"].as_f64().unwrap();
    for rows in [1, 4, 64, 4096] {
        let run = format!(
            "release covariance rows.csv --out x.dps --noise jl --sketch-rows {rows} {row} --dry-run --json"
        );
        let output = room.run(&run);
        let made: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let least = made["predicted_error"].as_f64().unwrap();
        assert!(made["predicted_error_is_of"].as_str().unwrap().contains("at least"));
        let said = String::from_utf8(output.stderr).unwrap();
        let words = format!(
            "times worse than the plan's best: error {least:.4} against {best:.4} of gaussian"
        );
        assert_eq!(said.contains(&words), least > 2.0 * best, "{rows}: {said}");
        assert!(!said.contains("the plan takes"), "{said}");
    }
}

/// Why a regression gets no warning: with the same rows and budget either way can be more than twice as good as the other.
#[test]
fn what_is_known_of_the_target_decides_between_regressions() {
    let room = Room::new();
    let error = |facts: &str, method: &str| {
        let privacy = "--adjacency add-remove-row --norm-bound 1 --epsilon 1 --delta 1e-6";
        let plan = room.json(&format!(
            "plan regress --rows 2000000 --features 2 --label-bound 1 {facts} {privacy}"
        ));
        let methods = plan["methods"].as_array().unwrap();
        let way = methods.iter().find(|m| m["method"].as_str().unwrap().contains(method));
        way.unwrap()["error"].as_f64().unwrap()
    };
    let (clean, noisy) = ("--explained 0.1 --residual 0.05", "--explained 1 --residual 1");
    assert!(2.0 * error(clean, "Newton") < error(clean, "covariance"));
    assert!(2.0 * error(noisy, "covariance") < error(noisy, "Newton"));
}

/// Why rules of signs are not compared: one tells cosines and says how well, the other does neither.
#[test]
fn only_signs_that_are_flipped_alike_tell_cosines() {
    let room = Room::new();
    room.write("rows.csv", rows(60, 3));
    let privacy = format!("--adjacency attribute --beta 1 --bound 1 {SPENDS} --family gaussian");
    for flips in ["response", "optimal", "smooth"] {
        let alike = flips == "response";
        let run =
            format!("release signs rows.csv -k 3 --flips {flips} {privacy} --out {flips}.dps");
        let dry = room.json(&format!("{run} --dry-run"));
        let made = room.json(&run);
        assert_eq!(dry.get("predicted_error").is_some(), alike, "{flips}: {dry}");
        assert_eq!(dry.get("predicted_error"), made.get("predicted_error"));
        let output = room.run(&format!("distance {flips}.dps 0 1"));
        assert_eq!(
            output.status.success() && !output.stdout.is_empty(),
            alike,
            "{flips}: {output:?}"
        );
    }
}

/// Why counts get no warning: no option of them names a mechanism.
#[test]
fn counts_have_one_way() {
    let room = Room::new();
    for option in ["--noise laplace", "--mechanism mixture", "--calibration averaged"] {
        let run = format!(
            "release counts sets.txt {option} --adjacency set-items --alpha 1 --min-size 1 --epsilon 1 --delta 0"
        );
        room.refuses(&format!("{run} --out c.dps"), 2, &["unexpected argument"]);
    }
}

/// A dry run and the release that follows predict the same, of every kind.
#[test]
fn dry_runs_predict_what_releases_predict() {
    let room = Room::new();
    room.write("rows.csv", rows(80, 4));
    room.write("sets.txt", "a b c d\nb c d e\nx y z w\na x b y\n".repeat(5));
    room.write("groups.txt", "a b c\nd e x\ny z w\n");
    let row = format!("--adjacency add-remove-row --norm-bound 2 {SPENDS}");
    let items = "--adjacency set-items --alpha 1 --min-size 2";
    let facts = "--size 4 --near 0.5 --far 0.05";
    let (error, zero) = ("predicted_error", "standard_error_of_a_squared_distance_of_zero");
    for (run, field) in [
        (format!("sketch rows.csv -k 4 --adjacency attribute --beta 1 --bound 1 {SPENDS}"), zero),
        (
            "units rows.csv -k 2 --adjacency any-input --epsilon 9 --delta 0".into(),
            "standard_error_of_a_cosine",
        ),
        (
            format!("minhash sets.txt -k 8 --mechanism bins --symbols 4 {items} {facts} {SPENDS}"),
            error,
        ),
        (format!("counts sets.txt --groups groups.txt {items} --epsilon 1 --delta 0"), error),
        (format!("covariance rows.csv {row}"), error),
        (format!("covariance rows.csv --means {row}"), error),
        (format!("covariance rows.csv --noise jl --sketch-rows 64 {row}"), error),
        (
            format!(
                "low-rank rows.csv --rank 1 --row-bound 2 --adjacency row-shift --shift 1 {SPENDS}"
            ),
            error,
        ),
        (format!("regression rows.csv --target 1 --label-bound 1 --clip {row}"), error),
    ] {
        let dry = room.json(&format!("release {run} --dry-run --out x.dps"));
        let made = room.json(&format!("release {run} --force --out x.dps"));
        let value = dry[field].as_f64().unwrap_or_else(|| panic!("{run}: {dry}"));
        assert!(value > 0.0 && made[field].as_f64() == Some(value), "{run}: {dry} {made}");
    }
    let run = format!(
        "window rows.csv --window 40 --block 8 --out w --journal w.j --adjacency zero-row --norm-bound 2 {SPENDS}"
    );
    let (dry, made) = (room.json(&format!("{run} --dry-run")), room.json(&run));
    assert!(
        dry[error].as_f64().is_some_and(|e| e > 0.0) && dry[error] == made[error],
        "{dry} {made}"
    );
}
