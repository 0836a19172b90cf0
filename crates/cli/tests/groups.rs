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
