//! Groups of columns from public rows: planned, released, searched by posterior means.

use crate::support::Room;

const VALUE: &str = "--adjacency attribute --beta 1 --epsilon 4 --delta 0";

/// Rows of twelve numbers in two halves that move together, with a number that names each; every other row is public.
fn room() -> Room {
    let room = Room::new();
    let line = |i: usize| {
        let (a, b) = ((i * 37 % 101) as f64 / 101.0, (i * 53 % 97) as f64 / 97.0);
        let half = |x: f64| vec![format!("{x}"); 6].join(",");
        format!("{i},{},{}\n", half(a), half(b))
    };
    let head = (0..12).map(|c| format!(",c{c}")).collect::<String>();
    for (name, odd) in [("public.csv", 0), ("users.csv", 1)] {
        let lines: String = (0..100).map(|i| line(2 * i + odd)).collect();
        room.write(name, format!("id{head}\n{lines}"));
    }
    room
}

#[test]
fn groups_are_planned_among_public_rows() {
    let room = room();
    let plan = room.json(&format!("plan groups public.csv --id id {VALUE} --out groups.txt"));
    assert_eq!((&plan["best"], &plan["groups"]), (&"groups".into(), &2.into()), "{plan}");
    assert!(plan["found_with_groups"].as_f64() > plan["found_with_random_bins"].as_f64());
    let release =
        "release sketch users.csv --id id --bound 1 --noise staircase --groups-from groups.txt";
    room.json(&format!("{release} {VALUE} --out x.dps"));
    room.json("verify x.dps");
    for query in ["--row 0,3", "--row 0,3 --query users.csv --id id", "--row 0,3 --denoise"] {
        let guess = if query.contains("denoise") { "" } else { "--public public.csv --id id" };
        let query = query.trim_end_matches(" --id id");
        let hits = room.json(&format!("search x.dps {query} --top 5 {guess}"));
        assert_eq!(hits["hits"].as_array().expect("hits").len(), 10);
    }
    // What is there stays.
    room.refuses(
        &format!("plan groups public.csv --id id {VALUE} --out groups.txt"),
        3,
        &["groups.txt"],
    );
    room.json(&format!("plan groups public.csv --id id {VALUE}"));
    let asked = room.json(&format!(
        "plan groups public.csv --id id {VALUE} --plot g.svg --target {}",
        plan["found_with_groups"]
    ));
    // The trial's luck is the same at every epsilon, but not how it falls out.
    assert!(asked["epsilon_needed"].as_f64().expect("a number") < 6.0, "{asked}");
    assert!(String::from_utf8(room.read("g.svg")).expect("text").contains("<polyline"));
    let other =
        "plan groups public.csv --id id --adjacency row-shift --shift 1 --epsilon 1 --delta 0";
    room.refuses(other, 2, &["groups of columns"]);
    room.refuses("search x.dps --row 0 --id id", 2, &["--id"]);
    room.refuses("search x.dps --row 0 --public public.csv --denoise --id id", 2, &["--public"]);
    room.write("narrow.csv", "a,b\n0.1,0.2\n0.3,0.1\n0.2,0.2\n");
    room.refuses("search x.dps --row 0 --public narrow.csv", 1, &["attributes of the moments"]);
}

/// What follows from a public file is published and paid by nobody: none is a file that is released, first or later, by another
/// name or through standard input.
#[cfg(unix)]
#[test]
fn what_is_released_is_not_public() {
    use crate::support::{csv, numbers, text};
    let room = room();
    std::fs::hard_link(room.path("users.csv"), room.path("hard.csv")).expect("linked");
    std::os::unix::fs::symlink("users.csv", room.path("soft.csv")).expect("linked");
    room.write("square.csv", csv(&numbers(4, 4), 4));
    room.write("one.csv", "1\n");
    room.write("known.txt", "a b\nc d\n");
    room.write("sets.txt", "a b c\nb c d\n");
    std::fs::hard_link(room.path("sets.txt"), room.path("hard.txt")).expect("linked");
    let any = "-k 2 --adjacency any-input --epsilon 12 --delta 0";
    let value = "--bound 1 --adjacency attribute --beta 1 --epsilon 4 --delta 0";
    let items = "--adjacency set-items --alpha 1 --min-size 2 --epsilon 4 --delta 0";
    for run in [
        format!("units users.csv --id id --public users.csv {any}"),
        format!("units users.csv --id id --public hard.csv {any}"),
        format!("units users.csv --id id --public soft.csv {any}"),
        format!("units public.csv users.csv --id id --public users.csv {any}"),
        format!("units public.csv hard.csv --id id --public ./users.csv {any}"),
        format!("sketch public.csv users.csv --id id --public users.csv -k 2 {value}"),
        format!("signs public.csv users.csv --id id --public hard.csv -k 2 {value}"),
        format!("sketch square.csv --matrix square.csv {value}"),
        format!("sketch one.csv --no-header --groups-from one.csv {value}"),
        format!("counts sets.txt --public hard.txt {items}"),
        format!("counts known.txt sets.txt --public sets.txt {items}"),
        format!("counts known.txt sets.txt --groups hard.txt {items}"),
    ] {
        let words = &["names a file that is released", "may be known"];
        room.refuses(&format!("release {run} --out refused.dps"), 2, words);
    }
    let piped =
        format!("release units - --format csv --id id --public users.csv {any} --out refused.dps");
    let mut command = room.command(&piped);
    command.stdin(std::fs::File::open(room.path("users.csv")).expect("opened"));
    let said = text(&command.output().expect("runs"));
    assert!(said.contains("names a file that is released"), "{said}");
    assert!(!room.path("refused.dps").exists());
    room.json(&format!("release units users.csv --id id --public public.csv {any} --out x.dps"));
}
