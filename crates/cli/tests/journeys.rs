//! Five users from their first command to what they came for, by the commands of the guides where a guide has them; and how more
//! releases fit is told.
//!
//! What users of an earlier version met, sentence by sentence, and the test that holds the opposite:
//!
//! | what was met | held by |
//! | --- | --- |
//! | `zero-row` in every help, refused by all releases | `columns.rs`: `every_release_says_how_noisy_it_is` |
//! | a norm of 1 in 32 bits is refused | `columns.rs`: `bounds_are_explained` says `--norm-bound 1.000001` |
//! | `minhash` takes a header and five columns as items, drops an item, takes JSON as words | `columns.rs`: `minhash_refuses_what_it_would_misread` |
//! | `--bound 0.2 --beta 1` wastes noise in silence; `--beta nan` says bound; errors name `input:` | `columns.rs`: `bounds_are_explained` |
//! | Ctrl-C spends in silence and leaves a partial file | `interrupted.rs`: both tests |
//! | a ledger shows no dates, digests, left-overs under other rules than `basic` | here: `how_many_more_fit_is_told` |
//! | the same release spent twice counts twice | here: `how_many_more_fit_is_told` |
//! | disjoint blocks add up | they do, and `append` says so: here: `a_company_publishes_embeddings` |
//! | `pca --out` has no header; column names are stored nowhere | here: `a_data_scientist_analyses_a_covariance` |
//! | `release` prints neither sigma nor expected error | `columns.rs`: `every_release_says_how_noisy_it_is` |
//! | `plan` knows `attribute` only | `plans.rs`: `what_plans_print_runs`; here: `a_company_publishes_embeddings` |
//! | `--missing zero` refuses NaN | `habits.rs`: `what_pandas_writes_is_understood_or_said` |
//! | `.tsv` is not tab | `habits.rs`: `tables_named_tsv_hold_tabs` |
//! | `6-` and `x0-x18` are refused | `habits.rs`: `ranges_of_columns_are_open_or_named` |
//! | JSON keys are sentences, seeds of 64 bits break in other tools, warnings are on standard error only | `habits.rs`: `programs_read_names_seeds_and_warnings` |
//! | the digest's form, the container and the seeds are undocumented | `tools/verify`, written from `docs/FORMAT.md` alone |
//! | nothing is signed, there is no `--require` | here: `an_auditor_checks`; `require.rs`, `attest.rs` |

use crate::guide;
use crate::guide::{blocks, root};
use crate::support;
use crate::support::{Room, number, text};
use std::path::Path;

/// A folder with the rows of the samples.
fn room() -> Room {
    let room = Room::new();
    let from = root().join("crates/cli/data/digits.csv");
    std::fs::copy(from, room.path("digits.csv")).expect("copied");
    room
}

/// The commands of a guide that begin so, with their continued lines as one; at least one.
fn of_guide(name: &str, beginnings: &[&str]) -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs/guides").join(name)).expect("a guide");
    let all = blocks(&page, "sh").concat().replace("\\\n", " ");
    let lines =
        all.lines().map(str::trim).filter(|line| beginnings.iter().any(|b| line.starts_with(b)));
    let found: Vec<String> =
        lines.map(|line| line.strip_prefix("dps ").unwrap_or(line).to_owned()).collect();
    for beginning in beginnings {
        let bare = beginning.strip_prefix("dps ").unwrap_or(beginning);
        assert!(found.iter().any(|line| line.starts_with(bare)), "{name}: {beginning}");
    }
    found
}

/// Rows with a name, released whole, exported for other programs, searched with rows that are never released; next month's beside
/// them.
#[test]
fn a_company_publishes_embeddings() {
    let room = room();
    let shell = "head -n 101 digits.csv > known.csv; (head -n 1 digits.csv; sed -n 102,161p digits.csv) > mine.csv; \
                 (head -n 1 digits.csv; sed -n 162,201p digits.csv) > next.csv";
    let cut =
        std::process::Command::new("sh").args(["-c", shell]).current_dir(room.folder()).status();
    assert!(cut.expect("sh runs").success());

    // What it would take, before anything is read or spent.
    let plan = room.json("plan search --rows 100 --features 49 --epsilon 12");
    assert!(!plan["methods"].as_array().expect("methods").is_empty());
    room.json(
        "ledger init e.ledger --data embeddings --epsilon 24 --delta 0 --adjacency any-input",
    );
    let made = room.json(
        "release units mine.csv --keep-id id --id label --out directions.dps -k 8 --public known.csv \
         --adjacency any-input --epsilon 12 --delta 0 --ledger e.ledger",
    );
    assert_eq!(made["verification"], "holds together");
    // By name, in text and in Parquet.
    room.json("export directions.dps --out directions.csv");
    let table = String::from_utf8(room.read("directions.csv")).expect("text");
    assert!(table.starts_with("row,id,v0,") && table.contains("\n0,u100,"), "{table}");
    let exported = room.json("export directions.dps --out directions.parquet");
    assert_eq!((&exported["rows"], &exported["columns"]), (&60.into(), &8.into()));
    assert!(room.read("directions.parquet").starts_with(b"PAR1"));
    let found =
        room.json("search directions.dps --query known.csv --id id --id label --row 0 --top 3");
    let hits = found["hits"].as_array().expect("hits");
    assert!(
        hits.len() == 3
            && hits.iter().all(|hit| hit["id"].as_str().is_some_and(|id| id.starts_with('u')))
    );

    // Next month: the same again, paid for, and asked together.
    let more = room.json(
        "append directions.dps next.csv --keep-id id --id label --out next.dps --ledger e.ledger",
    );
    assert_eq!(more["beside"], "directions.dps");
    let adds = more["adds_up"].as_str().expect("text");
    assert!(
        adds.contains("no person of these rows is in another release")
            && adds.contains("does not assume")
    );
    assert_eq!(number(&room.json("ledger show e.ledger"), "spent_epsilon"), 24.0);
    let both = room.json(
        "search directions.dps next.dps --query known.csv --id id --id label --top 100 --row 0",
    );
    assert_eq!(both["hits"].as_array().expect("hits").len(), 100);
    room.refuses(
        "append directions.dps next.csv --id id --id label --out refused.dps --ledger e.ledger",
        1,
        &["limit"],
    );
}

/// The commands of the guide as they stand: a covariance, its components, a regression; names are in the tables.
#[test]
fn a_data_scientist_analyses_a_covariance() {
    let room = room();
    let commands = of_guide(
        "csv-to-sketch.md",
        &["dps release covariance", "dps pca", "dps regress", "dps moments", "dps export cov.dps"],
    );
    for command in &commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        let output = room.run(&words.join(" "));
        assert!(output.status.success(), "{command}: {}", text(&output));
    }
    assert!(commands.len() >= 8);
    // Three rows of 49 numbers; a matrix of 49 rows.
    let read = |name: &str| String::from_utf8(room.read(name)).expect("text");
    assert_eq!(
        (read("components.csv").lines().count(), read("covariance.csv").lines().count()),
        (3, 49)
    );
    // Without --keep-names there are none to show; with them a column is called by its name.
    let named = room.json("release covariance digits.csv --id id --id label --out named.dps --keep-names --adjacency replace-row --norm-bound 5 --clip --epsilon 4 --delta 1e-6");
    assert_eq!(named["verification"], "holds together");
    let fitted = room.json("regress named.dps --target p33");
    assert!(fitted.to_string().contains("p32"), "{fitted}");
    room.json("pca named.dps --components 2 --out named.csv --matrix matrix.csv");
    for (name, lines) in [("named.csv", 3), ("matrix.csv", 50)] {
        let table = read(name);
        assert!(table.starts_with("p00,p01,") && table.lines().count() == lines, "{table}");
        assert!(table.lines().all(|line| line.split(',').count() == 49));
    }
}

/// The guide of the daily job from its first to its last command, then a day that does not fit.
#[test]
fn an_engineer_runs_a_daily_job() {
    let room = room();
    let dps = Path::new(env!("CARGO_BIN_EXE_dps"));
    assert_eq!(guide::run("docs/guides/daily-job.md", room.folder(), dps, "", |_| true), 7);
    let shown = room.json("ledger show days.ledger --more");
    assert_eq!(shown["releases"], 3);
    let left = shown["more_that_fit"].as_u64().expect("a number");
    assert!(left >= 27, "thirty days were planned: {shown}");
    room.json("search out/2026-03-01.dps out/2026-03-02.dps --row 0,150 --top 3");
}

/// The error of every mechanism against epsilon, drawn from the numbers that are printed, and the same the second time. Figures of
/// the papers are regenerated by the guide's own commands in `xtask/tests/guides.rs`.
#[test]
fn a_researcher_regenerates_a_figure() {
    let room = room();
    let plan = of_guide("choose-a-mechanism.md", &["dps plan distance"])[0].clone();
    let told = [1, 2].map(|i| room.json(&format!("{plan} --plot error{i}.svg")));
    assert_eq!(told[0]["methods"], told[1]["methods"]);
    let drawn = ["error1.svg", "error2.svg"].map(|name| room.read(name));
    assert!(drawn[0] == drawn[1] && drawn[0].len() > 2000);
    let figure = String::from_utf8(drawn[0].clone()).expect("text");
    let best = told[0]["methods"][0]["method"].as_str().expect("a name");
    assert!(
        figure.starts_with("<svg") && figure.contains(best.split(' ').next().expect("a word")),
        "{best}"
    );
    // A figure is never written over.
    room.refuses(&format!("{plan} --plot error1.svg"), 3, &["error1.svg"]);
    assert_eq!(room.read("error1.svg"), drawn[0]);
}

/// An auditor has a file, a ledger, and a public key from elsewhere.
#[test]
fn an_auditor_checks() {
    let room = room();
    room.json("ledger init users.ledger --data digits --epsilon 20 --delta 1e-5 --adjacency attribute --beta 1");
    for command in of_guide(
        "csv-to-sketch.md",
        &["dps release sketch digits.csv --id id --id label --out digits.dps"],
    ) {
        room.json(&command.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let key =
        room.json("attest --new-key owner")["public_key"].as_str().expect("digits").to_owned();
    room.json("attest digits.dps --key owner --comment March");
    room.json("attest users.ledger --key owner");

    // The guide's commands, whose quotes are the shell's.
    for command in
        of_guide("csv-to-sketch.md", &["dps verify digits.dps", "dps inspect digits.dps"])
    {
        let words = command.replace('\'', "");
        let words = words.split('>').next().unwrap_or_default();
        if words.contains("--guarantee") {
            assert!(room.run(words).status.success());
            continue;
        }
        if words.contains("--require") {
            let parts: Vec<&str> = command.split('\'').collect();
            let mut demanded = room.command(parts[0]);
            let output = demanded.arg(parts[1]).output().expect("runs");
            assert!(output.status.success(), "{command}: {}", text(&output));
            continue;
        }
        room.json(words);
    }
    let told = room.json(&format!("verify digits.dps --signer {key}"));
    assert_eq!(
        (&told["verdict"], &told["signed_comment"]),
        (&"holds together".into(), &"March".into())
    );
    let gaps = told["not_checked"].to_string();
    assert!(gaps.contains("whose key it is") && gaps.contains("noise"), "{gaps}");
    let shown = room.json(&format!("ledger show users.ledger --signer {key}"));
    assert_eq!(shown["lines_since_the_signed_head"], 0);
    // The release that is in the file is the one that the ledger paid for.
    assert_eq!(shown["entries"][0]["certificate"], room.json("inspect digits.dps")["digest"]);

    // Another's key, a changed file, a changed ledger: each is seen.
    let other =
        room.json("attest --new-key other")["public_key"].as_str().expect("digits").to_owned();
    room.refuses(&format!("verify digits.dps --signer {other}"), 1, &["somebody else"]);
    let whole = room.read("digits.dps");
    room.write("digits.dps", support::forged(&whole, |payload| payload[11] ^= 1));
    room.refuses(&format!("verify digits.dps --signer {key}"), 1, &["another file"]);
    let ledger = String::from_utf8(room.read("users.ledger")).expect("text");
    room.write("users.ledger", ledger.replacen("\"epsilon\":8.0", "\"epsilon\":1.0", 1));
    room.refuses(&format!("ledger show users.ledger --signer {key}"), 1, &["users.ledger"]);
}

/// What is said to fit fits, and one more does not: by every rule, in a ledger that has paid for others already.
#[test]
fn how_many_more_fit_is_told() {
    let attribute = "--adjacency attribute --beta 1";
    let release = |room: &Room, name: &str, rest: &str| {
        room.run(&format!(
            "release sketch digits.csv --id id --id label --out {name}.dps -k 16 --bound 1 --seed 1 {attribute} {rest}"
        ))
    };
    for rule in ["basic", "zcdp", "gdp", "renyi"] {
        let room = room();
        room.json(&format!(
            "ledger init l --data days --epsilon 4 --delta 1e-5 --rule {rule} {attribute}"
        ));
        room.refuses("ledger show l --more", 2, &["no entry yet", "plan repeated"]);
        let large = "--noise gaussian --epsilon 1 --delta 1e-6";
        let small = "--noise gaussian --epsilon 0.7 --delta 1e-6";
        assert!(release(&room, "other", &format!("{large} --ledger l")).status.success());
        assert!(release(&room, "first", &format!("{small} --ledger l")).status.success());

        let shown = room.json("ledger show l --more");
        let entry = &shown["entries"][1];
        for what in ["entered", "certificate", "state", "id"] {
            assert!(entry[what].as_str().is_some_and(|said| said.len() >= 4), "{entry}");
        }
        let more = shown["more_that_fit"].as_u64().expect("a number");
        let rules = shown["more_by_rule_in_a_ledger_begun_with_it"].as_array().expect("a table");
        assert_eq!(rules.len(), 4);
        let own = rules.iter().find(|row| row["rule"] == rule).expect("its own rule");
        assert_eq!(own["more"], more);
        // The same from a file, of which the ledger knows nothing yet, and of its certificate.
        assert!(release(&room, "like", small).status.success());
        let like = room.json("ledger show l --more like.dps");
        assert_eq!(like["more_that_fit"], more, "{rule}");
        assert!((1..60).contains(&more), "{rule}: {more}");
        // The same release is not entered a second time.
        room.refuses("ledger spend l first.dps", 1, &["entered already"]);

        for i in 0..more {
            let output = release(&room, &format!("r{i}"), &format!("{small} --ledger l"));
            assert!(output.status.success(), "{rule}: {i} of {more}: {}", text(&output));
        }
        assert_eq!(room.json("ledger show l --more")["more_that_fit"], 0);
        let output = release(&room, "refused", &format!("{small} --ledger l"));
        assert_eq!(output.status.code(), Some(1), "{rule}: {}", text(&output));
        // Less still fits, or nothing does: it is asked, not guessed.
        let tiny = "--noise gaussian --epsilon 0.05 --delta 1e-7";
        assert!(release(&room, "tiny", tiny).status.success());
        let fits = room.json("ledger show l --more tiny.dps")["more_that_fit"].as_u64() > Some(0);
        let output = release(&room, "paid", &format!("{tiny} --ledger l"));
        assert_eq!(output.status.success(), fits, "{rule}: {}", text(&output));
    }
    let room = room();
    room.json(&format!("ledger init l --data days --epsilon 4 --delta 1e-5 {attribute}"));
    room.json(&format!("release signs digits.csv --id id --id label --out i.dps -k 8 --individual-not-differential-privacy response --bound 1 --epsilon 1 --delta 0 {attribute}"));
    room.refuses("ledger show l --more i.dps", 1, &["not differential privacy"]);
}
