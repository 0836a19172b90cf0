//! Maps of values and the ledger: `--divide` is a map that is stated, and entries pay for what a map makes of a change.

use crate::support::{Room, number, text};

const ATTRIBUTE: &str = "--adjacency attribute --beta 1 --bound 1 --epsilon 1 --delta 1e-6";
const ROWS: &str = "--adjacency replace-row --norm-bound 3 --epsilon 1 --delta 1e-6";
/// Pure, so that a change of so many steps costs so many epsilons.
const PURE: &str = "--adjacency attribute --beta 1 --bound 100 --epsilon 1 --delta 0 --noise laplace -k 2 --seed 3";

fn room() -> Room {
    let room = Room::new();
    room.write("bytes.csv", "a,b,c\n255,51,0\n0,102,51\n51,0,255\n");
    room.write("rows.csv", "a,b\n0.5,0.25\n0,0.5\n");
    room.write("byte.toml", "[default]\nscale = 0.00392156862745098\n");
    room
}

/// A ledger whose unit is one value of the file that changes by at most 1.
fn ledger(room: &Room, name: &str, epsilon: u32) {
    room.json(&format!(
        "ledger init {name} --data rows --epsilon {epsilon} --delta 1e-6 --adjacency attribute --beta 1"
    ));
}

fn spent(room: &Room, name: &str) -> f64 {
    number(&room.json(&format!("ledger show {name}")), "spent_epsilon")
}

#[test]
fn a_divisor_is_the_map_that_it_stands_for() {
    let room = room();
    let kinds = [
        format!("sketch -k 2 --seed 3 {ATTRIBUTE}"),
        format!("signs -k 2 --seed 3 {ATTRIBUTE}"),
        format!("signs -k 2 --calibration averaged --least-norm 0.1 {ATTRIBUTE}"),
        "units -k 2 --seed 3 --adjacency any-input --epsilon 4 --delta 0".to_owned(),
        "bounded --low 0 --high 1 --adjacency attribute --beta 1 --epsilon 1 --delta 0".to_owned(),
        format!("covariance {ROWS}"),
        format!("regression --target b --label-bound 1 {ROWS}"),
        "low-rank --rank 1 --row-bound 4 --adjacency row-shift --shift 1 --epsilon 1 --delta 1e-6"
            .to_owned(),
    ];
    for (i, kind) in kinds.iter().enumerate() {
        let made = |rest: &str, out: &str| {
            let done = room.run(&format!(
                "release {kind} bytes.csv {rest} --out {out} --insecure-test-noise 7"
            ));
            assert!(done.status.success(), "{kind} {rest}: {}", text(&done));
            room.read(out)
        };
        let (a, b) = (format!("a{i}.dps"), format!("b{i}.dps"));
        let same = made("--divide 255", &a) == made("--preprocess byte.toml", &b);
        // These projections are drawn anew each time.
        let fresh = kind.contains("averaged") || kind.starts_with("low-rank");
        assert!(same || fresh, "{kind}");
        let told = room.json(&format!("inspect {a}"));
        assert!(told["preprocessing"].to_string().contains("times 0.00392156862745098"), "{told}");
    }
    room.json("search a0.dps --query bytes.csv --accept test-noise");
    // Where nothing could state it, it is refused, and by its name.
    for (kind, words) in [
        ("--calibration averaged --lift 1", ["--divide", "--lift"]),
        (
            "--individual-not-differential-privacy response --seed 3",
            ["--divide", "differential privacy"],
        ),
    ] {
        let made =
            format!("release signs bytes.csv -k 2 {kind} {ATTRIBUTE} --divide 255 --out c.dps");
        room.refuses(&made, 2, &words);
    }
    for bad in ["0", "-1", "inf", "nan", "5e-324", "1e308"] {
        let made = format!("release sketch bytes.csv -k 2 {ATTRIBUTE} --divide={bad} --out c.dps");
        room.refuses(&made, 2, &["--divide", "positive"]);
    }
    // What is missing is said by the same map.
    room.write("gaps.csv", "a,b\n255,\n0,102\n");
    let gaps = format!("release sketch gaps.csv -k 2 {ATTRIBUTE} --divide 255 --out d.dps");
    room.refuses(&gaps, 4, &["missing"]);
    room.json(&format!("{gaps} --missing zero"));
    assert!(room.json("inspect d.dps")["preprocessing"].to_string().contains("missing is 0"));
}

/// A ledger is about values as they are in the file: a map that makes changes larger makes them cost more, and one that makes them
/// smaller no less.
#[test]
fn ledgers_count_what_a_change_becomes() {
    let room = room();
    for (i, (map, least, most)) in [
        ("[default]\nscale = 100\n", 100.0, 100.1),
        ("[default]\nscale = -100\n", 100.0, 100.1),
        ("[columns.b]\nscale = 7\n", 7.0, 7.01),
        ("[default]\nscale = 0.01\n", 1.0, 1.0),
        // No further than across the range.
        ("[default]\nlow = 0\nhigh = 0.03125\nscale = 64\n", 2.0, 2.01),
        ("[default]\nlow = 0\nhigh = 0.005\nscale = 100\n", 1.0, 1.0),
    ]
    .into_iter()
    .enumerate()
    {
        room.write("one.toml", map);
        let (l, x) = (format!("l{i}"), format!("x{i}.dps"));
        ledger(&room, &l, 1000);
        room.json(&format!(
            "release sketch rows.csv {PURE} --preprocess one.toml --ledger {l} --out {x}"
        ));
        let found = spent(&room, &l);
        // The scale is a hair above what one change needs, for the grid.
        assert!(found >= least * (1.0 - 1e-8) && found <= most, "{map}: {found}");
    }
}

/// Every way into a ledger counts alike, and is refused before anything is written.
#[test]
fn every_way_into_a_ledger_counts_the_map() {
    let room = room();
    ledger(&room, "small", 2);
    let made = format!("release sketch rows.csv {PURE} --divide 0.01");
    for (way, left) in [
        ("--ledger small --out no.dps", "no.dps"),
        ("--ledger small --out no.dps --dry-run", "no.dps"),
        ("--ledger small --plan-parts --key no.key --out no.json", "no.json"),
    ] {
        room.refuses(&format!("{made} {way}"), 1, &["limit"]);
        assert!(!room.path(left).exists(), "{way}");
    }
    // A release that was made elsewhere.
    room.json(&format!("{made} --out y.dps"));
    room.refuses("ledger spend small y.dps", 1, &["limit"]);
    assert_eq!(spent(&room, "small"), 0.0);
    // And for other accountants, who know no map: refused where it makes changes larger, and only there.
    room.refuses("inspect y.dps --guarantee", 1, &["mapped", "100", "ledger record"]);
    room.json(&format!("release sketch rows.csv {PURE} --divide 4 --out z.dps"));
    assert!(room.run("inspect z.dps --guarantee").status.success());
    room.json(&format!("release sketch rows.csv {PURE} --insecure-test-noise 7 --out t.dps"));
    room.refuses("inspect t.dps --guarantee", 1, &["known number"]);
    // What is asked about it before it is entered, and what it costs when it has happened.
    ledger(&room, "large", 250);
    assert_eq!(number(&room.json("ledger show large --more y.dps"), "more_that_fit"), 2.0);
    room.json(&format!("release sketch rows.csv {PURE} --out plain.dps --ledger large"));
    let advantage = |file: &str| {
        let told = room.json(&format!("explain {file} --ledger large"));
        number(&told, "ledger_advantage_at_most")
    };
    // One epsilon that is entered, and a hundred besides.
    assert!(advantage("plain.dps") < 0.5 && advantage("y.dps") > 0.999_999);
    room.json("ledger record small y.dps");
    assert!(spent(&room, "small") >= 100.0 * (1.0 - 1e-8));
}

/// A ledger about whole rows as they are in the file: a release about shifts of mapped rows, or about rows that become zero behind
/// the map, pays for what such a row moves there.
#[test]
fn ledgers_of_whole_rows_count_the_map() {
    let room = room();
    room.write("rr.csv", "a,b,c\n0.9,0,0\n-0.9,0,0\n");
    room.write("large.toml", "[default]\nscale = 1000\n");
    room.write("shift.toml", "[default]\nshift = -1\n");
    let unit = |name: &str, adjacency: &str, epsilon: f64| {
        let made = format!("--adjacency {adjacency} --norm-bound 1");
        room.json(&format!("ledger init {name} --data d --epsilon {epsilon} --delta 1e-6 {made}"));
    };
    let shifts = "release sketch rr.csv --family identity -k 3 --noise gaussian --adjacency row-shift --bound 1000 --epsilon 1 --delta 1e-6";
    for (adjacency, shift) in [("replace-row", 2), ("zero-row", 1)] {
        unit(adjacency, adjacency, 1.0);
        let made = format!("{shifts} --shift {shift}");
        for map in ["--preprocess large.toml", "--divide 0.001", "--divide 0.5"] {
            room.refuses(&format!("{made} {map} --ledger {adjacency} --out no.dps"), 1, &["limit"]);
        }
        room.json(&format!("{made} {} --out mapped{shift}.dps", "--preprocess large.toml"));
        room.refuses(&format!("ledger spend {adjacency} mapped{shift}.dps"), 1, &["limit"]);
        assert_eq!(spent(&room, adjacency), 0.0);
        // As they stand, and mapped to smaller ones, each costs what it says.
        room.json(&format!("{made} --divide 2 --ledger {adjacency} --out small{shift}.dps"));
        assert!((spent(&room, adjacency) - 1.0).abs() < 1e-9);
    }
    // Zero behind the map is another row before it.
    let zeroed = "--adjacency zero-row --norm-bound 3 --epsilon 1 --delta 1e-6";
    unit("zero", "zero-row", 1.1);
    let window = "window rr.csv --window 2 --block 1 --out w --journal w.journal --noise gaussian";
    for made in
        [format!("release covariance rr.csv {zeroed} --out no.dps"), format!("{window} {zeroed}")]
    {
        room.refuses(&format!("{made} --preprocess shift.toml --ledger zero"), 1, &["limit"]);
    }
    room.json(&format!(
        "release covariance rr.csv {zeroed} --divide 0.5 --ledger zero --out z.dps"
    ));
    assert!((spent(&room, "zero") - 1.0).abs() < 1e-9);
}

/// What a reader demands of neighbours is about rows as they are in the file.
#[test]
fn demands_are_about_rows_before_the_map() {
    let room = room();
    room.write("shift.toml", "[default]\nshift = -1\n");
    let pair = "--epsilon 1 --delta 1e-6";
    let attribute = format!("--adjacency attribute --beta 1 --bound 1000 {pair}");
    room.json(&format!(
        "release sketch rows.csv -k 2 {attribute} --divide 0.0009765625 --out a.dps"
    ));
    room.refuses("verify a.dps --require beta>=1", 1, &["beta>=1", "mapped"]);
    room.refuses("verify a.dps --require adjacency=attribute,beta>=0.002", 1, &["beta>=0.002"]);
    room.json("verify a.dps --require adjacency=attribute,beta>=0.0009765625,epsilon<=1");
    let shifts = format!("--adjacency row-shift --shift 1 --bound 1000 {pair}");
    room.json(&format!("release sketch rows.csv -k 2 {shifts} --divide 0.015625 --out s.dps"));
    room.refuses("verify s.dps --require l2>=1", 1, &["l2>=1", "mapped"]);
    room.json("verify s.dps --require l2>=0.015625");
    let zeroed = format!("--adjacency zero-row --norm-bound 3 {pair}");
    room.json(&format!("release covariance rows.csv {zeroed} --preprocess shift.toml --out z.dps"));
    room.refuses("verify z.dps --require adjacency=zero-row", 1, &["zero-row", "mapped"]);
    room.json(&format!("release covariance rows.csv {zeroed} --divide 0.5 --out y.dps"));
    room.json("verify y.dps --require adjacency=zero-row,bound>=3");
}
