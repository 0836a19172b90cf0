//! Plans of matrices and of repeated releases: what they print can be run, and is what then holds.

mod support;

use support::Room;

const SPENDS: &str = "--epsilon 2 --delta 1e-6";

fn rows(n: usize, d: usize) -> String {
    let value = |i: usize, j: usize| {
        ((i * 7 + j * 13) % 19) as f64 / 19.0 * if j == 0 { 0.3 } else { 0.02 }
    };
    let row = |i| (0..d).map(|j| value(i, j).to_string()).collect::<Vec<_>>().join(",");
    let names: String = (0..d).map(|j| format!("{}c{j}", if j > 0 { "," } else { "" })).collect();
    core::iter::once(names).chain((0..n).map(row)).map(|line| line + "\n").collect()
}

/// The command that a plan prints, with these in the places of its files.
fn command(plan: &serde_json::Value, key: &str, out: &str) -> String {
    let text = plan[key].as_str().unwrap_or_else(|| panic!("{key}: {plan}"));
    let text = text.strip_prefix("dps ").unwrap().replacen("FILE", "rows.csv", 1);
    text.replace("FOLDER", out).replace("FILE", out)
}

#[test]
fn what_plans_print_runs() {
    let room = Room::new();
    room.write("rows.csv", rows(240, 3));
    let of_rows = format!("--adjacency replace-row --norm-bound 1 {SPENDS}");
    let plan = room.json(&format!("plan covariance --rows 240 --features 3 {of_rows} --gap 0.5"));
    let best = &plan["methods"][0];
    let number = |name: &str| best[name].as_f64().unwrap();
    assert!(number("low") < number("error") && number("error") < number("high"), "{plan}");
    let released = command(&plan, "the_best_release_is_made_by", "c.dps");
    let released = room.json(&released);
    let bound = released["spectral_error_with_probability_0_95_at_most"].as_f64().unwrap();
    // A spectral norm is at most the Frobenius norm that was planned, and at least its share of 3 directions.
    assert!(bound < 2.0 * number("high") && bound > 0.3 * number("low"), "{bound} {plan}");

    let plan = room.json(&format!(
        "plan low-rank --rows 240 --features 3 --rank 1 --row-bound 1 --adjacency row-shift --shift 0.001 {SPENDS}"
    ));
    assert_eq!(plan["methods"].as_array().unwrap().len(), 3);
    room.json(&command(&plan, "find_and_project_is_made_by", "l.dps"));

    let stream = format!("--adjacency zero-row --norm-bound 1 {SPENDS}");
    let plan = room.json(&format!("plan window --features 3 --window 64 --horizon 60 {stream}"));
    let names: Vec<_> = plan["methods"].as_array().unwrap().iter().map(|m| &m["method"]).collect();
    assert_eq!(names, ["factorised", "block", "tree"]);
    let run = command(&plan, "the_best_stream_is_made_by", "out");
    room.json(&run.replace("--journal out", "--journal journal"));
    let without = room.json(&format!("plan window --features 3 --window 64 {stream}"));
    assert_eq!(without["methods"].as_array().unwrap().len(), 2);
}

/// Curves are pictures of their own, are never written over, and nothing is left of one that was refused.
#[test]
fn curves_are_drawn() {
    let room = Room::new();
    let rows = format!("--adjacency replace-row --norm-bound 1 {SPENDS}");
    for (name, plan) in [
        (
            "distance",
            format!(
                "distance --rows 9 --features 64 --squared-distance 4 --adjacency attribute --beta 1 {SPENDS}"
            ),
        ),
        ("covariance", format!("covariance --rows 1000 --features 5 {rows}")),
        (
            "low-rank",
            format!(
                "low-rank --rows 60 --features 90 --rank 2 --row-bound 9 --adjacency row-shift --shift 1 {SPENDS}"
            ),
        ),
        ("window", format!("window --features 3 --window 64 {rows}")),
        (
            "regress",
            format!(
                "regress --rows 1000 --features 3 --label-bound 1 --explained 1 --residual 1 {rows}"
            ),
        ),
        ("component", format!("covariance --rows 9000 --features 5 --gap 0.5 {rows}")),
        ("similarity", format!("{SETS} --aim error")),
    ] {
        room.json(&format!("plan {plan} --plot {name}.svg"));
        let drawn = std::fs::read_to_string(room.path(&format!("{name}.svg"))).unwrap();
        assert!(drawn.starts_with("<svg xmlns=") && drawn.ends_with("</svg>\n"), "{drawn}");
        let lines: Vec<&str> = drawn.lines().filter(|l| l.starts_with("<polyline")).collect();
        assert!((1..=3).contains(&lines.len()), "{name}: {drawn}");
        // The best falls from left to right: its heights rise, counted from the top.
        let points = lines[0].split("points=\"").nth(1).unwrap().trim_end_matches("\"/>");
        let heights: Vec<f64> =
            points.split(' ').map(|p| p.split(',').nth(1).unwrap().parse().unwrap()).collect();
        assert!(heights.len() >= 8 && heights.windows(2).all(|w| w[0] <= w[1] + 0.5), "{name}");
        room.refuses(&format!("plan {plan} --plot {name}.svg"), 3, &["svg"]);
    }
    for (name, plan) in [
        ("search", "search --rows 1000 --features 64 --epsilon 8"),
        ("sets", SETS),
        ("repeated", "repeated --times 20 --epsilon 2 --delta 1e-6"),
    ] {
        room.json(&format!("plan {plan} --plot {name}.svg"));
        let drawn = std::fs::read_to_string(room.path(&format!("{name}.svg"))).unwrap();
        let line = drawn.lines().find(|l| l.starts_with("<polyline")).unwrap();
        let points = line.split("points=\"").nth(1).unwrap().trim_end_matches("\"/>");
        let heights: Vec<f64> =
            points.split(' ').map(|p| p.split(',').nth(1).unwrap().parse().unwrap()).collect();
        // More budget finds more, and lets every release have more.
        assert!(heights.len() >= 8 && heights.windows(2).all(|w| w[0] >= w[1] - 0.5), "{name}");
        assert!(heights[0] > heights[heights.len() - 1] + 50.0, "{name}: {heights:?}");
    }
}

const SETS: &str =
    "similar-sets --epsilon 4 --delta 1e-6 --alpha 1 --min-size 10 --size 20 --near 0.5 --far 0.05";

/// At the epsilon that is named the best way does what was asked, and at a twentieth less it does not.
#[test]
fn targets_are_met_at_the_epsilon_that_is_named() {
    let room = Room::new();
    let rows = "--adjacency replace-row --norm-bound 1 --delta 1e-6";
    for (plan, target, read, less) in [
        (
            "distance --rows 9 --features 64 --squared-distance 4 --adjacency attribute --beta 1 --delta 1e-6".to_owned(),
            2.0,
            "/methods/0/standard_error",
            true,
        ),
        (format!("covariance --rows 1000 --features 5 {rows}"), 3.0, "/methods/0/error", true),
        (
            format!("covariance --rows 1000 --features 5 --gap 0.5 {rows}"),
            0.05,
            "/squared_sine_to_the_first_component",
            true,
        ),
        (
            "low-rank --rows 60 --features 90 --rank 2 --row-bound 9 --adjacency row-shift --shift 1 --delta 1e-6".into(),
            15.0,
            "/methods/0/error",
            true,
        ),
        (format!("window --features 3 --window 64 {rows}"), 20.0, "/methods/0/error", true),
        (
            format!("regress --rows 1000 --features 3 --label-bound 1 --explained 1 --residual 1 {rows}"),
            0.3,
            "/methods/0/error",
            true,
        ),
        ("search --rows 1000 --features 64".into(), 0.5, "/methods/1/recall", false),
        (SETS.replace("--epsilon 4 ", ""), 0.6, "/plans/0/recall", false),
        (SETS.replace("--epsilon 4 ", "--aim error "), 0.15, "/plans/1/standard_error", true),
        ("repeated --times 20 --delta 1e-6".into(), 0.5, "/each/0/epsilon", false),
    ] {
        let at = |epsilon: f64, more: &str| {
            room.json(&format!("plan {plan} --epsilon {epsilon} {more}"))
        };
        let asked = at(2.0, &format!("--target {target}"));
        let needed = asked["epsilon_needed"].as_f64().unwrap_or_else(|| panic!("{plan}: {asked}"));
        let predicted = |epsilon: f64| at(epsilon, "").pointer(read).unwrap().as_f64().unwrap();
        let (there, before) = (predicted(needed), predicted(0.95 * needed));
        let met = |x: f64| if less { x <= target * 1.000_001 } else { x >= target * 0.999_999 };
        assert!(met(there) && !met(before), "{plan}: {needed}: {there}, before {before}");
    }
    let distance = "plan distance --rows 9 --features 64 --squared-distance 4 --adjacency attribute --beta 1 --epsilon 1 --delta 1e-6";
    assert_eq!(room.json(&format!("{distance} --target 1e-9"))["epsilon_needed"], "above 64");
    for bad in ["0", "-1", "nan"] {
        room.refuses(&format!("{distance} --target {bad}"), 2, &["--target"]);
    }
    room.refuses(
        "plan search --rows 9 --features 9 --epsilon 1 --target 1.5",
        2,
        &["--target 1.5", "(0, 1]"],
    );
}

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

/// Regressions: the best is what a file then shows, and what is hopeless is named.
#[test]
fn regressions_are_planned() {
    let room = Room::new();
    room.write("rows.csv", rows(240, 3));
    let facts = "--features 2 --label-bound 0.1 --explained 0.02 --residual 0.01 --adjacency add-remove-row --norm-bound 1";
    let plan = room.json(&format!("plan regress --rows 1000000 {facts} {SPENDS}"));
    let names: Vec<_> = plan["methods"].as_array().unwrap().iter().map(|m| &m["method"]).collect();
    assert_eq!(names.len(), 3);
    let best = &plan["methods"][0];
    let number = |name: &str| best[name].as_f64().unwrap();
    assert!(number("low") < number("error") && number("error") < number("high"), "{plan}");
    assert!(number("relative_error") < 0.1, "{plan}");
    let run = command(&plan, "the_best_release_is_made_by", "r.dps").replace("COLUMN", "c2");
    room.json(&run);
    let poor = room.json(&format!("plan regress --rows 20 {facts} --epsilon 0.1 --delta 1e-6"));
    assert!(poor["note"].as_str().unwrap().contains("nothing of the coefficients"), "{poor}");
    for (bad, words) in [
        ("--rows 20 --features 0", "features"),
        ("--rows 20 --features 300", "features"),
        ("--rows 0 --features 2", "rows"),
        ("--rows 20 --features 2 --decay 9", "--decay"),
        ("--rows 20 --features 2 --typical-norm 2", "--typical-norm"),
    ] {
        room.refuses(
            &format!(
                "plan regress {bad} --label-bound 1 --explained 1 --residual 1 --adjacency replace-row --norm-bound 1 {SPENDS}"
            ),
            2,
            &[words],
        );
    }
    let distance = room.json(
        "plan distance --rows 100 --features 64 --squared-distance 4 --adjacency attribute --beta 1 --epsilon 4 --delta 1e-6",
    );
    let best = &distance["methods"][0];
    let [low, high] = ["low", "high"].map(|name| best[name].as_f64().unwrap());
    assert!(low < best["standard_error"].as_f64().unwrap() && high < 1.5 * low, "{distance}");
}

/// Where nothing is seen, plans say so, and what would be needed.
#[test]
fn where_nothing_works_plans_say_so() {
    let room = Room::new();
    let poor = "--epsilon 0.1 --delta 1e-6";
    let plan = room.json(&format!(
        "plan covariance --rows 100 --features 200 --adjacency replace-row --norm-bound 1 {poor} --gap 0.3"
    ));
    assert!(plan["note"].as_str().unwrap().contains("times as many rows"));
    let needed = plan["component"].as_str().unwrap();
    let factor: f64 =
        needed.split(": ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    // With so many more rows it is what was said.
    let rows = (100.0 * factor).ceil();
    let enough = room.json(&format!(
        "plan covariance --rows {rows} --features 200 --adjacency replace-row --norm-bound 1 {poor} --gap 0.3"
    ));
    let sine = enough["squared_sine_to_the_first_component"].as_f64().unwrap();
    assert!((sine - 0.1).abs() < 0.001, "{sine}");
    let plan = room.json(&format!(
        "plan low-rank --rows 50 --features 400 --rank 2 --row-bound 1 --adjacency row-shift --shift 1 {poor}"
    ));
    assert!(plan["note"].as_str().unwrap().contains("zero matrix"));
    assert!(plan.get("find_and_project_is_made_by").is_none());
    for (bad, words) in [
        ("plan covariance --rows 9 --features 0", "dim"),
        ("plan covariance --rows 9 --features 3 --typical-norm 2", "--typical-norm"),
        ("plan covariance --rows 9 --features 3 --gap 0", "--gap"),
        ("plan window --features 3 --window 64 --block 7", "block"),
    ] {
        room.refuses(&format!("{bad} --adjacency replace-row --norm-bound 1 {poor}"), 2, &[words]);
    }
}

/// So many releases fit under the limit, and not one more.
#[test]
fn what_is_planned_for_each_release_lasts_as_long_as_was_asked() {
    let room = Room::new();
    room.write("rows.csv", "a,b\n0.5,0.25\n0.125,1\n");
    let adjacency = "--adjacency attribute --beta 1";
    for (rule, noise, at) in [
        ("renyi", "gaussian", 0),
        ("gdp", "gaussian", 0),
        ("zcdp", "laplace", 1),
        ("renyi", "staircase", 2),
    ] {
        let limit = format!("--rule {rule} --epsilon 3 --delta 1e-6");
        let plan = room.json(&format!("plan repeated --times 4 {limit}"));
        let each = &plan["each"][at];
        assert_eq!(each["noise"].as_str().unwrap().to_lowercase(), noise);
        let (epsilon, delta) = (&each["epsilon"], each["delta"].as_f64().unwrap());
        let ledger = format!("{rule}-{noise}.ledger");
        room.json(&format!("ledger init {ledger} --data rows {adjacency} {limit}"));
        let release = |i| {
            format!(
                "release sketch rows.csv --out {rule}-{noise}-{i}.dps --family identity -k 2 --noise {noise} --bound 1 \
                 {adjacency} --epsilon {epsilon} --delta {delta:e} --ledger {ledger}"
            )
        };
        (0..4).for_each(|i| drop(room.json(&release(i))));
        room.refuses(&release(4), 1, &["limit"]);
    }
    room.refuses("plan repeated --times 0 --epsilon 1 --delta 0", 2, &["--times"]);
    room.refuses("plan repeated --times 5 --epsilon -1 --delta 0", 2, &["epsilon"]);
    // No rule here adds up an infinite Renyi divergence or a delta that is not there.
    let pure = room.json("plan repeated --times 5 --epsilon 1 --delta 0 --rule basic");
    assert_eq!(pure["each"].as_array().unwrap().len(), 2);
    assert!((pure["each"][0]["epsilon"].as_f64().unwrap() - 0.2).abs() < 2e-6, "{pure}");
}
