//! What enters a release: columns, rows and sets that people did not mean are refused.

use crate::support::{Room, csv, number, numbers, text};

const SKETCH: &str = "-k 2 --adjacency attribute --beta 2 --bound 1 --epsilon 1 --delta 1e-6";

#[test]
fn columns_of_one_name_are_refused() {
    let room = Room::new();
    room.write("twice.csv", "a,a,c\n0.1,0.2,0.3\n");
    for options in ["--id a", "--columns c", ""] {
        let run = format!("release sketch twice.csv {options} --out refused.dps {SKETCH}");
        room.refuses(&run, 2, &["columns 1 and 2 have the same name"]);
    }
    // Values are never spoken of as names.
    room.write("bare.csv", "0.125,0.125,0.5\n0.1,0.2,0.3\n");
    let run = format!("release sketch bare.csv --out refused.dps {SKETCH}");
    room.refuses(&run, 2, &["--no-header"]);
    assert!(!text(&room.run(&run)).contains("0.125"));
}

#[test]
fn identifiers_enter_on_purpose_only() {
    let room = Room::new();
    for name in ["id", "user_id", "userId", "Unnamed: 0", "", "index"] {
        room.write("t.csv", format!("{name},age,height\n0.7,0.2,0.3\n0.5,0.6,0.7\n"));
        let run = |options: &str, out: &str| {
            format!("release sketch t.csv {options} --out {out} --force {SKETCH}")
        };
        room.refuses(&run("", "refused.dps"), 2, &["identifier", "--id 1", "--keep 1"]);
        room.refuses(&run("--columns 1-2", "refused.dps"), 2, &["identifier"]);
        let names = |options: &str| {
            let made = room.json(&run(options, "a.dps"));
            let names = made["columns_that_entered"].as_array().expect("names").clone();
            names.iter().map(|n| n.as_str().expect("text").to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names("--id 1"), ["age", "height"]);
        assert_eq!(names("--keep 1"), [name, "age", "height"]);
        assert_eq!(names("--columns 1,age"), [name, "age"]);
    }
    let shown = room.run(&format!("release sketch t.csv --id 1 --out a.dps --force {SKETCH}"));
    let shown = text(&shown);
    assert!(shown.contains("columns that entered") && shown.contains("age, height"), "{shown}");
    let dry = room.json(&format!("release sketch t.csv --id 1 --out b.dps --dry-run {SKETCH}"));
    assert_eq!(dry["columns_that_entered"][1], "height");
    // As pandas writes a table without names: "1" is a name, and a position of another column.
    room.write("pandas.csv", ",0,1,2\n0,0.1,0.2,0.3\n");
    let run = format!("release sketch pandas.csv --header --out refused.dps {SKETCH}");
    room.refuses(&run, 2, &["column 1 (\"\")", "index"]);
    room.refuses(&format!("{run} --id 1"), 2, &["name of column 3", "1-1"]);
    let made = run.replace("refused", "a") + " --force --id 1-1";
    assert_eq!(room.json(&made)["columns_that_entered"].as_array().expect("names").len(), 3);
}

#[test]
fn nothing_is_paid_for_a_file_without_rows() {
    let room = Room::new();
    room.write("empty.csv", "a,b\n");
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let dict = "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 2), }";
    npy.extend(format!("{dict:117}\n").as_bytes());
    room.write("empty.npy", npy);
    room.write("empty.svm", "# nothing\n");
    room.write("empty.txt", "");
    room.json(
        "ledger init a.json --data x --epsilon 9 --delta 1e-5 --adjacency attribute --beta 2",
    );
    room.json("ledger init r.json --data x --epsilon 9 --delta 1e-5 --adjacency replace-row --norm-bound 1");
    room.json("ledger init s.json --data x --epsilon 9 --delta 1e-5 --adjacency set-items --alpha 1 --min-size 1");
    let row = "--adjacency replace-row --norm-bound 1 --epsilon 1 --delta 1e-6";
    for (run, ledger) in [
        (format!("sketch empty.csv {SKETCH}"), "a.json"),
        (format!("sketch empty.npy {SKETCH}"), "a.json"),
        (format!("sketch empty.svm --features 2 {SKETCH}"), "a.json"),
        (format!("signs empty.csv {SKETCH}"), "a.json"),
        (format!("covariance empty.csv {row}"), "r.json"),
        (
            "minhash empty.txt --adjacency set-items --alpha 1 --min-size 1 --epsilon 1 --delta 1e-6".into(),
            "s.json",
        ),
    ] {
        for options in [format!("--ledger {ledger}"), "--dry-run".into(), String::new()] {
            let words = if run.contains("minhash") { "no set" } else { "no row" };
            room.refuses(&format!("release {run} --out refused.dps {options}"), 4, &[words]);
        }
        assert_eq!(room.json(&format!("ledger show {ledger}"))["releases"], 0, "{run}");
    }
}

#[test]
fn minhash_refuses_what_it_would_misread() {
    let room = Room::new();
    let set = "-k 5 --adjacency set-items --alpha 1 --min-size 1 --epsilon 1 --delta 0";
    let refuses = |name: &str, content: &[u8], options: &str, status: i32, word: &str| {
        room.write(name, content);
        let run = format!("release minhash {name} {options} --out refused.dps {set}");
        room.refuses(&run, status, &[word]);
    };
    // A header, and five columns.
    refuses("t.csv", b"user,age,items,x,y\n1,2,a,3,4\n", "--separator ,", 2, "CSV file is a table");
    refuses(
        "u.csv",
        b"user,age,items,x,y\n1,2,a,3,4\n",
        "--separator , --header",
        4,
        "names 5 columns",
    );
    refuses("h.txt", b"item\nb c\n", "", 4, "looks like a header");
    refuses("i.txt", b"user_id,item\nann,c\n", "--separator ,", 4, "looks like a header");
    // The first item with the name of the set.
    refuses(
        "n.txt",
        b"ann apple,pear\nbob fig,pear\n",
        "--separator , --id-first",
        4,
        "--id-first",
    );
    refuses(
        "m.txt",
        b"ann\tapple,pear\n",
        "--separator , --id-first",
        4,
        "an item would go with it",
    );
    // Words of other formats.
    refuses("j.txt", b"{\"a\": [1, 2]}\n", "", 4, "JSON");
    refuses("k.txt", b"[\"a\", \"b\"]\n", "--separator ,", 4, "JSON");
    refuses("p.txt", b"PAR1\x00\xff", "", 4, "Parquet");
    refuses("b.txt", b"\xff\xfe\n", "", 4, "not text");
    refuses("c.txt", b"a b,c d\n", "", 4, "--separator tab");
    refuses("q.txt", b"\"a, b\",c\n", "--separator ,", 4, "quote");
    refuses("r.txt", b"a b\rc d\re f\r", "", 4, "carriage return");
    refuses("o.txt", b"abc\n", "--separator=", 2, "--separator is empty");
    // What is meant is read.
    for (content, options) in [
        ("item\nb c\n", "--header"),
        ("b c\nd e\n", ""),
        ("b, c\nd, e\n", "--separator space"),
        ("ann,b,c\nbob,d\n", "--separator , --id-first"),
        ("ann smith\tb c\td\nbob\td\n", "--separator tab --id-first"),
        ("item b\nc\n", "--no-header"),
    ] {
        room.write("s.txt", content);
        let made = room.json(&format!("release minhash s.txt {options} --out s.dps --force {set}"));
        assert_eq!(made["sets"], if options == "--header" { 1 } else { 2 }, "{content}");
    }
}

#[test]
fn bounds_are_explained() {
    let room = Room::new();
    room.write("unit.csv", "a,b\n1.00000001,0\n");
    let row = "--adjacency replace-row --epsilon 1 --delta 1e-6";
    let run = |bound: &str| {
        format!("release covariance unit.csv --out refused.dps {row} --norm-bound {bound}")
    };
    room.refuses(&run("1"), 4, &["32 bits", "--norm-bound 1.000001", "--clip", "unit.csv"]);
    room.json(&run("1.000001").replace("refused", "a"));
    // What is advised does not depend on the row.
    room.write("huge.csv", "a,b\n70,0\n");
    let huge = text(&room.run(&run("1").replace("unit", "huge")));
    assert_eq!(huge.replace("huge", "unit"), text(&room.run(&run("1"))));

    room.write("small.csv", csv(&[0.1; 8], 4));
    let sketch = "release sketch small.csv -k 2 --adjacency attribute --epsilon 1 --delta 1e-6";
    let wide = text(&room.run(&format!("{sketch} --out b.dps --bound 0.2 --beta 1")));
    assert!(
        wide.contains("warning") && wide.contains("0.4") && wide.contains("only adds noise"),
        "{wide}"
    );
    let right = text(&room.run(&format!("{sketch} --out c.dps --bound 0.2 --beta 0.4")));
    assert!(!right.contains("warning"), "{right}");
    for (options, name) in
        [("--bound 1 --beta nan", "--beta NaN"), ("--bound inf --beta 1", "--bound inf")]
    {
        room.refuses(&format!("{sketch} --out refused.dps {options}"), 2, &[name, "positive"]);
    }
    let short = "release signs small.csv -k 8 --adjacency attribute --bound 1 --beta 0.1 --epsilon 1 \
                 --delta 1e-6 --out refused.dps --calibration averaged --least-norm 0";
    room.refuses(short, 2, &["--least-norm 0"]);
    // Errors of rows name the file.
    room.write("sets.txt", "a b\nc\n");
    let sets = "release minhash sets.txt --out refused.dps --adjacency set-items --alpha 1 --min-size 2 \
                --epsilon 1 --delta 0";
    room.refuses(sets, 4, &["sets.txt: a set has fewer items"]);
}

#[test]
fn every_release_says_how_noisy_it_is() {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(80, 12), 12));
    let made =
        room.json(&format!("release sketch users.csv --out a.dps --noise gaussian {SKETCH}"));
    let sigma = number(&made, "sigma");
    let expected = (8.0 * 2.0 * sigma.powi(4)).sqrt();
    let told = number(&made, "standard_error_of_a_squared_distance_of_zero");
    assert!(sigma > 1.0 && (told / expected - 1.0).abs() < 1e-12, "{made}");
    // A row and itself in another release of the same seed are at distance zero.
    let laplace = SKETCH.replace("1e-6", "0") + " --noise laplace";
    let made = room.json(&format!("release sketch users.csv --out l.dps {laplace}"));
    let (scale, told) =
        (number(&made, "scale"), number(&made, "standard_error_of_a_squared_distance_of_zero"));
    assert!((told / ((56.0 * 2.0f64).sqrt() * scale * scale) - 1.0).abs() < 1e-12, "{made}");
    let made = room.json(&format!("release signs users.csv --out s.dps {SKETCH}"));
    assert!(number(&made, "least_keep_probability") > 0.5, "{made}");
    // The content of a row, in its place, is as far from zero as a row that comes or goes.
    let row = "--norm-bound 4 --epsilon 1 --delta 1e-6";
    let covariance = |adjacency: &str, out: &str| {
        room.json(&format!(
            "release covariance users.csv --out {out} --adjacency {adjacency} {row}"
        ))
    };
    let (zero, come) = (covariance("zero-row", "z.dps"), covariance("add-remove-row", "c.dps"));
    assert_eq!(number(&zero, "sigma"), number(&come, "sigma"));
    assert!(number(&zero, "spectral_error_with_probability_0_95_at_most") > number(&zero, "sigma"));
    assert!(room.json("verify z.dps")["adjacency"].as_str().expect("text").contains("zero"));
    let words = "cannot protect adjacency zero-row";
    room.refuses(
        &format!("release sketch users.csv -k 2 --out refused.dps --adjacency zero-row {row}"),
        2,
        &[words],
    );
    let wishart =
        "release covariance users.csv --out refused.dps --noise wishart --adjacency zero-row";
    room.refuses(&format!("{wishart} {row}"), 2, &["wishart"]);
    assert!(!text(&room.run("release covariance --help")).contains("wishart"));
    // At a fixed delta several attributes cost more than their number.
    let about = made["epsilon_is_about"].as_str().expect("text");
    assert!(about.contains("2 attributes have epsilon") && !about.contains("m times"), "{about}");
}

#[test]
fn no_command_writes_over_what_is_no_release() {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(80, 4), 4));
    room.json("release covariance users.csv --out c.dps --adjacency replace-row --norm-bound 4 --epsilon 1 --delta 1e-6");
    let before = room.read("users.csv");
    room.refuses("pca c.dps --components 2 --out users.csv", 2, &["exists", "never written over"]);
    assert_eq!(room.read("users.csv"), before);
    room.json("pca c.dps --components 2 --out parts.csv");
    room.write("dps-pca.1", "mine");
    room.refuses("man --out .", 2, &["dps-pca.1", "never written over"]);
    assert_eq!(room.read("dps-pca.1"), b"mine");
    // A folder that is not there is made.
    for folder in ["pages", "more/pages"] {
        room.json(&format!("man --out {folder}"));
        assert!(room.path(folder).join("dps-pca.1").exists());
    }
}
