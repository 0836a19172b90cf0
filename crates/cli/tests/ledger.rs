//! A ledger that is killed at any point, by anyone, never allows more than its limit.

mod support;

use dp_core::Error;
use dp_core::accounting::FilterRule;
use dp_core::ledger_file::BudgetFile;
use dp_core::{Adjacency, Budget, EntryBound, Guarantee, PublicSeed, Shift};
use sketch::projection::{Family, ProjectionSpec};
use sketch::vectors::PrivateProjection;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::{Room, csv, numbers};

fn adjacency() -> Adjacency {
    Adjacency::Attribute { beta: Shift::new(1.0).expect("positive") }
}

fn guarantee(epsilon: f64) -> Guarantee {
    let budget = Budget::new(epsilon, 1e-6).expect("valid");
    let one = EntryBound::new(1.0).expect("valid");
    let identity = ProjectionSpec::new(Family::Identity, 1, 1, PublicSeed::new(1)).expect("valid");
    let mechanism = PrivateProjection::gaussian(identity.build(), adjacency(), one, budget);
    mechanism.expect("calibrated").guarantee().clone()
}

fn ledger(room: &Room, epsilon: f64, rule: FilterRule) -> std::path::PathBuf {
    let path = room.path("budget.json");
    let limit = Budget::new(epsilon, 1e-4).expect("valid");
    BudgetFile::create(&path, "users", adjacency(), limit, rule).expect("created");
    path
}

/// Epsilons entered so far.
fn spent(path: &Path) -> Vec<f64> {
    let file = BudgetFile::read(path).expect("a valid ledger");
    file.ledger().entries().iter().map(|e| e.budget().epsilon.get()).collect()
}

/// Does nothing unless it is told to: the body of a process that spends, and may be killed.
#[test]
fn child() {
    let Ok(task) = std::env::var("LEDGER_TEST_CHILD") else { return };
    let words: Vec<&str> = task.split('|').collect();
    let [path, epsilon, runs, released] = words[..] else { panic!("{task}") };
    let guarantee = guarantee(epsilon.parse().expect("a number"));
    for run in 0..runs.parse().expect("a number") {
        match BudgetFile::spend(path.as_ref(), &guarantee, 1, "a run") {
            // Only now may anything be published: that is what this file stands for.
            Ok(_) => std::fs::write(format!("{released}-{run}"), "x").expect("written"),
            Err(Error::BudgetExceeded { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Starts this test binary again as [`child`].
fn spawn(path: &Path, epsilon: f64, runs: usize, released: &Path) -> Child {
    let task = format!("{}|{epsilon}|{runs}|{}", path.display(), released.display());
    Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "child"])
        .env("LEDGER_TEST_CHILD", task)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts")
}

/// Files that stand for releases.
fn releases(room: &Room) -> usize {
    let entries = std::fs::read_dir(room.folder()).expect("a folder").flatten();
    entries.filter(|e| e.file_name().to_string_lossy().starts_with("released")).count()
}

/// Processes that race for the same budget, and that are killed at random moments besides.
#[test]
fn racing_processes_share_one_limit() {
    let room = Room::new();
    let path = ledger(&room, 3.0, FilterRule::Basic);
    let mut children: Vec<Child> =
        (0..4).map(|i| spawn(&path, 0.3, 6, &room.path(&format!("released-{i}")))).collect();
    for child in &mut children {
        assert!(child.wait().expect("ends").success());
    }
    // 24 runs of 0.3 against 3: exactly ten are allowed, and ten released.
    assert_eq!(spent(&path).len(), 10);
    assert_eq!(releases(&room), 10);

    let room = Room::new();
    let path = ledger(&room, 3.0, FilterRule::Gdp);
    for round in 0u64..12 {
        let mut children: Vec<Child> = (0..3)
            .map(|i| spawn(&path, 0.2, 3, &room.path(&format!("released-{round}-{i}"))))
            .collect();
        std::thread::sleep(Duration::from_millis(round * 3 % 17));
        children[0].kill().expect("killed");
        children.iter_mut().for_each(|c| drop(c.wait()));
        assert!(releases(&room) <= spent(&path).len(), "round {round}");
    }
    let file = BudgetFile::read(&path).expect("valid");
    let all = file
        .ledger()
        .epsilon(dp_core::Delta::new(1e-4).expect("valid"), dp_core::accounting::Method::Gdp);
    assert!(all.expect("Gaussians").upper.get() <= 3.0);
}

/// Data that is refused costs nothing; a limit that is reached releases nothing.
#[test]
fn what_is_refused_costs_nothing() {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(400, 16), 16));
    room.write("bad.csv", csv(&[9.0; 16], 16));
    let attribute = "--adjacency attribute --beta 1";
    room.json(&format!("ledger init l.json --data users --epsilon 4 --delta 1e-4 {attribute}"));
    let release = |name: &str, rest: &str| {
        format!(
            "release sketch users.csv --out {name}.dps -k 8 --bound 1 --epsilon 0.4 --delta 1e-6 \
             --ledger l.json {attribute} {rest}"
        )
    };
    let heads: Vec<String> = (0..3)
        .map(|i| {
            let done = room.json(&release(&format!("r{i}"), ""));
            let head = done["ledger_head"].as_str().expect("a hash").to_owned();
            assert_eq!(room.json("ledger show l.json")["ledger_head"], head[..]);
            head
        })
        .collect();
    assert!(heads[0] != heads[1] && heads[1] != heads[2]);
    let refused = release("refused", "");
    room.refuses(&refused.replace("users.csv", "bad.csv"), 4, &["bound"]);
    room.refuses(&refused.replace("--epsilon 0.4", "--epsilon 4.1"), 1, &["limit"]);
    for out in ["no/such.dps", "r1.dps", "l.json", "users.csv", &("x".repeat(300) + ".dps")] {
        for rest in ["", "--dry-run"] {
            let run = refused.replace("refused.dps", out) + rest;
            // A dry run may name what --force would replace.
            let may = out == "r1.dps" && !rest.is_empty();
            assert_eq!(room.run(&run).status.success(), may, "{run}");
        }
    }
    let shown = room.json("ledger show l.json");
    assert_eq!((&shown["releases"], &shown["ledger_head"]), (&3.into(), &heads[2][..].into()));
    let entries = shown["entries"].as_array().expect("rows");
    assert_eq!(entries.len(), 3);
    for entry in entries {
        assert!(entry["entered"].as_str().expect("a time").starts_with("20"), "{entry}");
        assert_eq!(entry["certificate"].as_str().expect("a digest").len(), 64);
        assert_eq!(entry["state"], "paid");
    }
    let basic = shown["answers"][0]["epsilon"].as_f64().expect("a number");
    // The noise is pure, at the epsilon that a delta of 1e-6 brings down to 0.4.
    assert!(basic > 0.0 && basic <= 0.4 * 3.0 + 1e-5, "{basic}");
    // No lock file, no partial file.
    assert_eq!(std::fs::read_dir(room.folder()).expect("a folder").count(), 6);
}

/// What comes through standard input can be paid for: it is read once.
#[test]
fn standard_input_can_be_paid_for() {
    let room = Room::new();
    let attribute = "--adjacency attribute --beta 1";
    room.json(&format!("ledger init l.json --data users --epsilon 4 --delta 1e-4 {attribute}"));
    let run = format!(
        "release sketch - --out a.dps -k 8 --bound 1 --epsilon 0.4 --delta 1e-6 --ledger l.json {attribute}"
    );
    let done = room.pipe(&run, csv(&numbers(50, 16), 16).as_bytes());
    assert!(done.status.success(), "{}", support::text(&done));
    assert_eq!(spent(&room.path("l.json")).len(), 1);
}

#[test]
fn ledgers_refuse_what_does_not_belong() {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(50, 8), 8));
    let attribute = "--adjacency attribute --beta 1";
    room.refuses(
        "ledger init l.json --data users --epsilon 1 --delta 1e-4",
        2,
        &["--adjacency is required"],
    );
    room.json(&format!(
        "ledger init l.json --data users --epsilon 1 --delta 1e-4 --rule gdp {attribute}"
    ));
    room.refuses(
        &format!("ledger init l.json --data users --epsilon 9 --delta 1e-4 {attribute}"),
        1,
        &["never started again"],
    );
    // Changes of sets never make up a change of an attribute.
    room.write("sets.txt", "a b c d e\nb c d e f\n");
    room.refuses(
        "release minhash sets.txt --out refused.dps -k 4 --adjacency set-items --alpha 1 --min-size 4 \
         --epsilon 0.5 --delta 0 --ledger l.json",
        1,
        &["adjacency"],
    );
    // A release made elsewhere is entered by its file, once.
    room.json(&format!(
        "release sketch users.csv --out a.dps -k 4 --bound 1 --noise gaussian --epsilon 0.5 --delta 1e-6 {attribute}"
    ));
    assert_eq!(room.json("ledger spend l.json a.dps")["releases"], 1);
    // What noise is taken when none is named goes with how the ledger counts.
    let unnamed = format!(
        "release sketch users.csv --dry-run --out no.dps -k 4 --bound 1 --epsilon 0.1 --delta 1e-6 {attribute}"
    );
    let taken = |run: &str| room.json(run)["mechanism"].as_str().expect("text").to_owned();
    assert!(taken(&unnamed).contains("staircase"));
    assert!(!taken(&format!("{unnamed} --ledger l.json")).contains("staircase"));
    room.refuses("ledger spend l.json a.dps", 1, &["entered already"]);
    room.refuses("ledger record l.json a.dps", 1, &["entered already"]);
    // What nobody has seen is refused past the limit; what has happened is entered all the same.
    for i in 0..9 {
        let out = format!("r{i}.dps");
        room.json(&format!(
            "release sketch users.csv --out {out} -k 4 --bound 1 --noise gaussian --epsilon 0.5 --delta 1e-6 {attribute}"
        ));
        room.run(&format!("ledger spend l.json {out}"));
    }
    room.refuses("ledger spend l.json r8.dps", 1, &["limit"]);
    let before = room.json("ledger show l.json")["releases"].as_u64().expect("a number");
    let recorded = room.json("ledger record l.json r8.dps");
    assert_eq!(
        (&recorded["limit"], &recorded["releases"]),
        (&"PASSED".into(), &(before + 1).into())
    );
    // A limit that was passed is none: nothing rests on it any more.
    let shown = room.json("ledger show l.json");
    let [limit, hold] = ["limit", "answers_hold"].map(|key| shown[key].as_str().expect("a text"));
    assert!(limit.starts_with("PASSED: spent") || limit.contains("over the limit"), "{limit}");
    assert!(hold.contains("promises nothing any more") && !hold.contains("kept"), "{hold}");
    room.refuses("ledger record l.json r8.dps", 1, &["entered already"]);
    assert_eq!(room.json("ledger record l.json r8.dps --again")["releases"], before + 2);
    // Individual differential privacy.
    let certificate = dp_core::IndividualCertificate::new(
        dp_core::certificate::Statement {
            mechanism: "iDP-SignRP-RR".into(),
            noise: dp_core::noise::NoiseLaw::None,
            generator: dp_core::noise::GeneratorKind::OsChacha12,
            public: Default::default(),
        },
        adjacency(),
        Budget::new(0.1, 0.0).expect("valid"),
        "a test",
    );
    let certificate = dp_core::release_file::AnyCertificate::from(certificate);
    room.write("individual.json", certificate.to_json());
    room.refuses("ledger spend l.json individual.json", 1, &["individual"]);
    // An edited file: the entries and the limit are checked again.
    let text = String::from_utf8(room.read("l.json")).expect("text");
    room.write("edited.json", text.replacen("\"epsilon\":0.5", "\"epsilon\":0.1", 1));
    room.refuses("ledger show edited.json", 1, &["not a valid ledger"]);
    room.write("other.json", "{}");
    room.refuses("ledger show other.json", 1, &["not a valid ledger"]);
    room.refuses("ledger show nowhere.json", 3, &["nowhere.json"]);
}

/// Noise that anyone can subtract is neither paid for nor entered.
#[test]
fn test_noise_is_never_paid_for() {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(20, 8), 8));
    let attribute = "--adjacency attribute --beta 1";
    room.json(&format!("ledger init l.json --data users --epsilon 4 --delta 1e-4 {attribute}"));
    let release = |name: &str, options: &str| {
        format!(
            "release sketch users.csv --out {name}.dps -k 4 --bound 1 --epsilon 0.5 --delta 1e-6 \
             {attribute} {options}"
        )
    };
    let before = room.read("l.json");
    let both = release("refused", "--insecure-test-noise 7 --ledger l.json");
    room.refuses(&both, 2, &["--insecure-test-noise"]);
    room.refuses(&format!("{both} --dry-run"), 2, &["--insecure-test-noise"]);
    room.json(&release("test", "--insecure-test-noise 7"));
    room.refuses("ledger spend l.json test.dps", 1, &["generator", "not private"]);
    assert_eq!(room.read("l.json"), before);
    // What averages over a seed drawn by the system is entered.
    room.write("sets.txt", "a b c\nb c d e\n");
    let sets = "--adjacency set-items --alpha 1 --min-size 3";
    room.json(&format!("ledger init s.json --data sets --epsilon 4 --delta 1e-4 {sets}"));
    room.json(&format!(
        "release minhash sets.txt --out s.dps -k 20 --mechanism mixture --symbols 4 {sets} \
         --epsilon 4 --delta 1e-6"
    ));
    let origin = &room.json("inspect s.dps")["public"]["seed origin"];
    assert_eq!(*origin, "operating system");
    assert_eq!(room.json("ledger spend s.json s.dps")["releases"], 1);
}

/// The epsilons of the methods come with what they rest on; the limit is the guarantee.
#[test]
fn answers_come_with_their_condition() {
    let room = Room::new();
    let path = ledger(&room, 3.0, FilterRule::Gdp);
    BudgetFile::spend(&path, &guarantee(0.5), 2, "a run").expect("within the limit");
    let shown = room.json("ledger show budget.json");
    let condition = shown["answers_hold"].as_str().expect("a text");
    for words in ["only where", "fixed before", "the guarantee is the limit", "3"] {
        assert!(condition.contains(words), "{condition}");
    }
    // What was entered when it had happened was not chosen under the limit.
    room.json(
        "ledger init r.json --data users --epsilon 4 --delta 1e-4 --adjacency attribute --beta 1",
    );
    room.write("users.csv", csv(&numbers(20, 8), 8));
    room.json(
        "release sketch users.csv --out a.dps -k 4 --bound 1 --epsilon 0.5 --delta 1e-6 --adjacency attribute --beta 1",
    );
    room.json("ledger record r.json a.dps");
    let recorded = room.json("ledger show r.json");
    let hold = recorded["answers_hold"].as_str().expect("a text");
    assert!(hold.contains("1 were entered after they had happened"), "{hold}");
    assert!(!hold.contains("the guarantee is the limit"), "{hold}");
    let text = support::text(&room.run("ledger show budget.json"));
    assert!(text.lines().any(|line| line.starts_with("answers hold") && line.contains(condition)));
}

/// All names of a ledger lead to one file, and so to one lock.
#[cfg(unix)]
#[test]
fn names_of_a_ledger_lead_to_one_lock() {
    let room = Room::new();
    let path = ledger(&room, 3.0, FilterRule::Basic);
    let (hard, soft) = (room.path("hard"), room.path("soft"));
    std::fs::hard_link(&path, &hard).expect("linked");
    std::os::unix::fs::symlink(&path, &soft).expect("linked");
    for name in [&path, &hard, &soft] {
        BudgetFile::spend(name, &guarantee(0.5), 1, "a run").expect("within the limit");
    }
    assert_eq!(spent(&path).len(), 3);
    assert_eq!(std::fs::read_dir(room.folder()).expect("a folder").count(), 3, "no lock file");
}

/// The ledger is replaced while a process waits for its lock: the process must go on with the new one.
#[cfg(unix)]
#[test]
fn who_waits_for_a_lock_looks_again() {
    let room = Room::new();
    let path = ledger(&room, 3.0, FilterRule::Basic);
    let held = std::fs::File::open(&path).expect("opened");
    held.lock().expect("locked");
    std::thread::scope(|scope| {
        let waiting =
            scope.spawn(|| BudgetFile::spend(&path, &guarantee(0.5), 1, "a run").map(drop));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished(), "the lock holds");
        let new = room.path("new");
        std::fs::copy(&path, &new).expect("copied");
        std::fs::rename(&new, &path).expect("renamed");
        drop(held);
        waiting.join().expect("ends").expect("within the limit");
    });
    assert_eq!(spent(&path).len(), 1);
}

/// A release that has happened and that the limit's rule cannot count is entered past the limit, and the ledger still answers.
#[test]
fn what_a_rule_cannot_count_leaves_the_ledger_readable() {
    let room = Room::new();
    room.write("x.csv", csv(&numbers(20, 3), 3));
    let unit = "--adjacency add-remove-row --norm-bound 1";
    room.json(&format!(
        "release covariance x.csv --clip --out j.dps {unit} --noise jl --sketch-rows 4 --epsilon 2 --delta 1e-6"
    ));
    for rule in ["zcdp", "gdp"] {
        room.json(&format!(
            "ledger init {rule} --data d --epsilon 10 --delta 1e-5 --rule {rule} {unit}"
        ));
        let record = format!("ledger record {rule} j.dps");
        assert!(room.json(&record)["limit"].as_str().is_some_and(|l| l.contains("PASSED")));
        let shown = room.json(&format!("ledger show {rule}"));
        assert!(shown["limit"].as_str().is_some_and(|l| l.contains("PASSED")), "{shown}");
        assert!(shown["answers_hold"].as_str().is_some_and(|text| text.contains("was passed")));
    }
}
