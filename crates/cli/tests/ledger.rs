//! A ledger that is killed at any point, by anyone, never allows more than its limit.

mod support;

use dp_core::accounting::FilterRule;
use dp_core::{Adjacency, Budget, EntryBound, Guarantee, PublicSeed, Shift};
use dps_cli::ledger_file::{BudgetFile, Error, Step};
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

/// Reads nothing unless it is told to: the body of a process that dies on the way.
#[test]
fn child() {
    let Ok(task) = std::env::var("LEDGER_TEST_CHILD") else { return };
    let words: Vec<&str> = task.split('|').collect();
    let [path, epsilon, step, runs, released] = words[..] else { panic!("{task}") };
    let guarantee = guarantee(epsilon.parse().expect("a number"));
    let die_at: usize = step.parse().expect("a number");
    for run in 0..runs.parse().expect("a number") {
        let done = BudgetFile::spend_in_steps(path.as_ref(), &guarantee, 1, "a run", |step| {
            if Step::ALL.get(die_at) == Some(&step) {
                std::process::abort();
            }
        });
        match done {
            // Only now may anything be published: that is what this file stands for.
            Ok(_) => std::fs::write(format!("{released}-{run}"), "x").expect("written"),
            Err(Error::Refused(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Starts this test binary again as [`child`].
fn spawn(path: &Path, epsilon: f64, die_at: usize, runs: usize, released: &Path) -> Child {
    let task = format!("{}|{epsilon}|{die_at}|{runs}|{}", path.display(), released.display());
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

/// Random sequences of runs, most of them killed at a step: what was released was paid, and
/// what was paid keeps the limit.
#[test]
fn killed_at_any_step_it_never_allows_more_than_the_limit() {
    let room = Room::new();
    let path = ledger(&room, 3.0, FilterRule::Basic);
    let mut state = 12_345u64;
    let mut killed = [0; Step::ALL.len()];
    for run in 0..45 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let die_at = (state >> 33) as usize % (Step::ALL.len() + 1);
        let epsilon = [0.05, 0.11, 0.4][(state >> 50) as usize % 3];
        let released = room.path(&format!("released-{run}"));
        let before = (spent(&path).len(), releases(&room));
        let status = spawn(&path, epsilon, die_at, 1, &released).wait().expect("ends");
        let after = (spent(&path).len(), releases(&room));
        let refused = status.success() && after.1 == before.1;
        match Step::ALL.get(die_at) {
            Some(step) if !status.success() => {
                killed[die_at] += 1;
                assert_eq!(after.1, before.1, "nothing is released by the dead");
                assert_eq!(after.0 - before.0, usize::from(*step == Step::Entered), "{step:?}");
            }
            // The last steps are not reached by what the limit refuses.
            Some(step) => assert!(refused && *step > Step::Read, "{step:?}"),
            None => assert_eq!(after.0 - before.0, after.1 - before.1),
        }
        let total: f64 = spent(&path).iter().sum();
        assert!(total <= 3.0 * (1.0 + 1e-9), "{total}");
        assert!(releases(&room) <= spent(&path).len());
    }
    assert!(killed.iter().all(|&n| n > 0), "every step was interrupted: {killed:?}");
    assert!(releases(&room) > 3);
}

/// Processes that race for the same budget, and that are killed at random moments besides.
#[test]
fn racing_processes_share_one_limit() {
    let room = Room::new();
    let path = ledger(&room, 3.0, FilterRule::Basic);
    let never = Step::ALL.len();
    let mut children: Vec<Child> =
        (0..4).map(|i| spawn(&path, 0.3, never, 6, &room.path(&format!("released-{i}")))).collect();
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
            .map(|i| spawn(&path, 0.2, never, 3, &room.path(&format!("released-{round}-{i}"))))
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

/// The whole of `dps release --ledger`, killed at random moments: a release that exists was paid.
#[test]
fn a_release_that_exists_was_paid() {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(4_000, 16), 16));
    let attribute = "--adjacency attribute --beta 1";
    room.json(&format!("ledger init l.json --data users --epsilon 4 --delta 1e-4 {attribute}"));
    let release = |i: usize| {
        format!(
            "release sketch users.csv --out r{i}.dps -k 8 --bound 1 --epsilon 0.4 --delta 1e-6 \
             --ledger l.json {attribute}"
        )
    };
    let count = || (0..14).filter(|i| room.path(&format!("r{i}.dps")).exists()).count();
    for i in 0..14 {
        let mut command = room.command(&release(i));
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
        if i % 2 == 0 {
            std::thread::sleep(Duration::from_millis(i as u64 * 5));
            child.kill().expect("killed");
        }
        child.wait().expect("ends");
        assert!(count() <= spent(&room.path("l.json")).len(), "run {i}");
    }
    let paid = spent(&room.path("l.json"));
    assert!(paid.len() <= 10 && count() >= 5, "{} paid, {} released", paid.len(), count());
    // Data that is refused costs nothing; a limit that is reached releases nothing.
    room.write("bad.csv", csv(&[9.0; 16], 16));
    room.refuses(
        &release(0).replace("users.csv", "bad.csv").replace("r0", "refused"),
        4,
        &["bound"],
    );
    assert_eq!(spent(&room.path("l.json")).len(), paid.len());
    room.refuses(
        &release(0).replace("--epsilon 0.4", "--epsilon 4.1").replace("r0", "refused"),
        1,
        &["limit"],
    );
    let shown = room.json("ledger show l.json");
    assert_eq!(shown["releases"], paid.len());
    assert_eq!(shown["entries"].as_array().expect("rows").len(), paid.len());
    let basic = shown["answers"][0]["epsilon"].as_f64().expect("a number");
    // Evaluated at the limit's delta, which is above the sum of theirs.
    assert!(basic > 0.0 && basic <= 0.4 * paid.len() as f64 + 1e-9, "{basic}");
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
    // A release made elsewhere is entered by its file; twice, until the limit.
    room.json(&format!(
        "release sketch users.csv --out a.dps -k 4 --bound 1 --epsilon 0.5 --delta 1e-6 {attribute}"
    ));
    assert_eq!(room.json("ledger spend l.json a.dps")["releases"], 1);
    room.json("ledger spend l.json a.dps");
    for _ in 0..9 {
        room.run("ledger spend l.json a.dps");
    }
    room.refuses("ledger spend l.json a.dps", 1, &["limit"]);
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
    room.write("individual.json", certificate.to_json());
    room.refuses("ledger spend l.json individual.json", 1, &["individual"]);
    // An edited file: the entries and the limit are checked again.
    let text = String::from_utf8(room.read("l.json")).expect("text");
    room.write("edited.json", text.replacen("0.5", "0.1", 1));
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
    let condition = shown["answers hold"].as_str().expect("a text");
    for words in ["only where", "fixed before", "the guarantee is the limit", "3"] {
        assert!(condition.contains(words), "{condition}");
    }
    let text = support::text(&room.run("ledger show budget.json"));
    assert!(text.lines().any(|line| line.starts_with("answers hold") && line.contains(condition)));
}

/// Two names of one file would each get a lock, and each their own next state.
#[cfg(unix)]
#[test]
fn a_ledger_has_one_name() {
    let room = Room::new();
    let path = ledger(&room, 3.0, FilterRule::Basic);
    let other = room.path("other-name.json");
    std::fs::hard_link(&path, &other).expect("linked");
    for name in [&path, &other] {
        let refused = BudgetFile::spend(name, &guarantee(0.5), 1, "a run");
        assert!(matches!(refused, Err(Error::SeveralNames(_))), "{refused:?}");
    }
    assert!(spent(&path).is_empty());
    std::fs::remove_file(&other).expect("removed");
    // A symbolic link leads to the one file and the one lock.
    std::os::unix::fs::symlink(&path, &other).expect("linked");
    BudgetFile::spend(&path, &guarantee(0.5), 1, "a run").expect("one name again");
    BudgetFile::spend(&other, &guarantee(0.5), 1, "a run").expect("the same file");
    assert_eq!(spent(&path).len(), 2);
}

/// The lock file is deleted while a process waits for it: it must not go on beside the holder of
/// the one that took its place.
#[cfg(unix)]
#[test]
fn a_deleted_lock_lets_nobody_in() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let room = Room::new();
    let path = ledger(&room, 3.0, FilterRule::Basic);
    let lock = room.path("budget.json.lock");
    let held = || {
        let options = std::fs::OpenOptions::new().create(true).append(true).open(&lock);
        let file = options.expect("opened");
        file.lock().expect("locked");
        file
    };
    let first = held();
    let inside = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            BudgetFile::spend_in_steps(&path, &guarantee(0.5), 1, "a run", |_| {
                inside.store(true, Ordering::SeqCst);
            })
        });
        std::thread::sleep(Duration::from_millis(400));
        assert!(!inside.load(Ordering::SeqCst), "the first lock holds");
        std::fs::remove_file(&lock).expect("removed");
        let second = held();
        drop(first);
        std::thread::sleep(Duration::from_millis(400));
        let slipped_in = inside.load(Ordering::SeqCst);
        drop(second);
        waiting.join().expect("ends").expect("within the limit");
        assert!(!slipped_in, "the second lock holds too");
    });
    assert_eq!(spent(&path).len(), 1);
}
