//! `dps explain`: what an attacker learns at most, of every kind of release, alone and with a ledger.

use crate::support::{Room, number, text};
use dp_core::explain::TradeOff;
use dp_core::release_file::{AnyCertificate, read_summary};
use dp_core::{PrivacyProfile, Probability};
use std::path::{Path, PathBuf};

/// The golden file of every kind.
fn golden() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let folders = std::fs::read_dir(corpus).expect("the corpus");
    let files = folders.flatten().flat_map(|folder| {
        let files = std::fs::read_dir(folder.path()).expect("a folder").flatten();
        files.map(|file| file.path()).collect::<Vec<_>>()
    });
    files.filter(|path| path.extension().is_some_and(|e| e == "dps")).collect()
}

#[test]
fn every_kind_of_release_is_explained_and_agrees_with_its_profile() {
    let room = Room::new();
    let (mut private, mut others) = (0, 0);
    for path in golden() {
        let Ok(summary) = read_summary(&path) else { continue };
        let AnyCertificate::Private(certificate) = summary.certificate else {
            let output = room.run(&format!("explain {}", path.display()));
            assert_eq!(output.status.code(), Some(1), "{}: {}", path.display(), text(&output));
            assert!(text(&output).contains("nothing bounds"), "{}", text(&output));
            others += 1;
            continue;
        };
        let said = room.json(&format!("explain {} --prior 0.2,0.5", path.display()));
        let Some(profile) = certificate.guarantee().profile() else { continue };
        private += 1;
        let best = TradeOff::new(profile).expect("within its limits");
        let zero = profile.log_delta(dp_core::Epsilon::ZERO).delta();
        assert!((number(&said, "advantage_at_most") - zero).abs() < 1e-9, "{}", path.display());
        for at in said["alarms"].as_array().expect("a table") {
            let known = best.missed_alarms(Probability::new(number(at, "false_alarms")).unwrap());
            assert!((number(at, "missed_at_least") - known).abs() < 1e-9, "{}", path.display());
            let sum = number(at, "missed_at_least") + number(at, "found_at_most");
            assert!((sum - 1.0).abs() < 1e-12);
        }
        let priors = said["guesses"].as_array().expect("a table");
        assert_eq!(priors.len(), 2);
        // The golden files are made with noise that anybody can make again.
        assert!(said["warning"].to_string().contains("that anyone can run again"), "{said}");
        assert!(!said["protected"].as_str().unwrap().is_empty());
        assert!(said["not_protected"].as_array().is_some_and(|list| list.len() > 2));
    }
    assert!(private >= 20 && others >= 3, "{private} and {others}");
}

/// One release among a ledger's entries is counted once; one that is not is counted besides.
#[test]
fn a_release_is_counted_once_with_its_ledger() {
    let room = Room::new();
    room.write("rows.csv", "a,b\n0.1,0.2\n0.3,0.4\n0.5,0.1\n");
    room.json(
        "ledger init budget.jsonl --data rows --epsilon 9 --delta 1e-3 --adjacency attribute --beta 1",
    );
    let release = |out: &str, ledger: &str| {
        room.json(&format!(
            "release sketch rows.csv --out {out} --k 2 --epsilon 1 --delta 1e-6 \
             --adjacency attribute --beta 1 --bound 1 --seed 7 --noise gaussian {ledger}"
        ));
    };
    release("entered.dps", "--ledger budget.jsonl");
    release("beside.dps", "");
    let alone = room.json("explain entered.dps");
    let entered = room.json("explain entered.dps --ledger budget.jsonl");
    let beside = room.json("explain beside.dps --ledger budget.jsonl");
    let one = number(&alone, "advantage_at_most");
    assert!(alone.get("ledger_alarms").is_none() && alone.get("warning").is_none(), "{alone}");
    assert!((number(&entered, "ledger_advantage_at_most") - one).abs() < 1e-9, "{entered}");
    assert!(number(&beside, "ledger_advantage_at_most") > 1.3 * one, "{beside}");
    assert_eq!(entered["in_the_ledger"], "is among its entries");
    room.refuses("explain entered.dps --prior 0", 2, &["--prior", "(0, 1)"]);
    room.refuses("explain entered.dps --failing 1", 2, &["--failing", "(0, 1)"]);
    room.refuses("explain rows.csv", 1, &["certificate"]);
}

#[test]
fn people_read_sentences() {
    let room = Room::new();
    let sketch = golden().into_iter().find(|p| p.ends_with("sketch-f64.dps")).expect("a file");
    let output = room.run(&format!("explain {}", sketch.display()));
    let said = text(&output);
    for words in ["the best guess is right in at most", "raises false alarms in 5 %", "held at"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// That some test reaches the bounds is said where one pair of inputs is known to move all that the profile says, and of one change.
#[test]
fn bounds_are_said_to_be_reached_where_they_are() {
    let room = Room::new();
    room.write("rows.csv", "a,b\n0.1,0.2\n0.3,0.4\n0.5,0.1\n");
    let pair = "--epsilon 1 --delta 1e-6";
    let row = "--adjacency replace-row --norm-bound 1";
    let cases = [
        (format!("sketch -k 2 --seed 3 --adjacency attribute --beta 1 --bound 1 {pair}"), true),
        (
            format!(
                "sketch -k 2 --seed 3 --noise gaussian --adjacency attribute --beta 1 --bound 1 {pair}"
            ),
            true,
        ),
        (
            format!("covariance --noise gaussian --adjacency add-remove-row --norm-bound 1 {pair}"),
            true,
        ),
        // A zeroed row keeps the constant behind it.
        (
            format!(
                "covariance --means --noise gaussian --adjacency zero-row --norm-bound 1 {pair}"
            ),
            false,
        ),
        // A row of one dimension that is replaced moves its square by less than two rows at right angles.
        (format!("covariance --noise gaussian {row} {pair}"), false),
        (format!("regression --target b --label-bound 1 {row} {pair}"), false),
        (format!("signs -k 2 --adjacency attribute --beta 1 --bound 1 {pair}"), false),
    ];
    for (i, (kind, reached)) in cases.into_iter().enumerate() {
        room.json(&format!("release {kind} rows.csv --out {i}.dps"));
        let said = room.json(&format!("explain {i}.dps"))["bounds"].as_str().unwrap().to_owned();
        assert_eq!(said == "reached by some test", reached, "{kind}: {said}");
    }
}
