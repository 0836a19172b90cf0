//! Occupancy bits and counts of groups from the release to the search.

use crate::support::Room;

/// Forty sets; two of each kind share all but two of fourteen items.
fn room() -> Room {
    let room = Room::new();
    let line = |i: usize| {
        let words: Vec<String> = (0..14).map(|w| format!("w{}", (i / 2) * 14 + w)).collect();
        format!("{} own{i}\n", words[1..].join(" "))
    };
    room.write("sets.txt", (0..40).map(line).collect::<String>());
    room
}

const SETS: &str = "--adjacency set-items --alpha 1 --min-size 1 --delta 0";

#[test]
fn occupancy_bits_are_released_searched_and_verified() {
    let room = room();
    let release = format!("release minhash sets.txt --mechanism occupancy -k 256 {SETS}");
    let made = room.json(&format!("{release} --epsilon 9 --seed 5 --out a.dps"));
    assert_eq!(made["mechanism"], "one-permutation-response");
    assert_eq!(made["sketch"], "one-permutation/B=1");
    room.json("verify a.dps");
    room.json("inspect a.dps");
    let found = room.json("distance a.dps 0 1");
    assert_eq!(found["estimates"][0]["measure"], "jaccard similarity");
    room.json(&format!("{release} --epsilon 7 --seed 5 --out b.dps"));
    for ask in ["--row 0,7", "--row 0,7 --queries b.dps", "--row 0,7 --query sets.txt"] {
        for denoise in ["", "--denoise"] {
            let hits = room.json(&format!("search a.dps {ask} --top 2 {denoise}"));
            let hits = hits["hits"].as_array().expect("rows").clone();
            assert_eq!(hits.len(), 4, "{ask}");
            // The twin is among the two best: next to the row itself where the queries are others.
            for (query, twin) in [(0, 1), (7, 6)] {
                let of = hits.iter().filter(|hit| hit["query"] == query);
                assert!(of.clone().any(|hit| hit["row"] == twin), "{ask} {denoise}: {hits:?}");
            }
        }
    }
    room.json(&format!("{release} --epsilon 9 --seed 6 --out c.dps"));
    room.refuses("search a.dps --queries c.dps", 1, &["signature schemes"]);
    room.refuses("search a.dps --score inner", 2, &["--score", "one way only"]);
    room.refuses("search a.dps --query sets.txt --score inner", 2, &["--score"]);
}

#[test]
fn what_does_not_go_with_occupancy_bits_is_refused() {
    let room = room();
    let refused = |options: &str, words: &[&str]| {
        let run = format!("release minhash sets.txt --out refused.dps -k 16 {options} --epsilon 2");
        room.refuses(&run, 2, words);
    };
    refused(&format!("--mechanism occupancy --symbols 4 {SETS}"), &["--symbols"]);
    refused(&format!("--mechanism occupancy --concatenation 2 {SETS}"), &["--concatenation"]);
    room.json(&format!("release minhash sets.txt --out bins.dps -k 16 {SETS} --epsilon 2"));
    room.refuses("search bins.dps --denoise", 2, &["denoised ranking", "set signatures"]);
    room.refuses("search bins.dps --query sets.txt", 2, &["exact queries", "set signatures"]);
}

/// Public sets of the same kinds as those of [`room`].
fn public(room: &Room) {
    let line = |i: usize| {
        let words: Vec<String> = (0..14)
            .filter(|w| !(w + i).is_multiple_of(5))
            .map(|w| format!("w{}", (i % 20) * 14 + w))
            .collect();
        format!("{}\n", words.join(" "))
    };
    room.write("public.txt", (0..80).map(line).collect::<String>());
    let group =
        |k: usize| (0..14).map(|w| format!("w{}", k * 14 + w)).collect::<Vec<_>>().join(" ");
    room.write("groups.txt", (0..20).map(|k| group(k) + "\n").collect::<String>());
}

#[test]
fn counts_of_groups_are_released_searched_and_verified() {
    let room = room();
    public(&room);
    let release = format!("release counts sets.txt {SETS} --epsilon 3");
    let made = room.json(&format!("{release} --groups groups.txt --out a.dps"));
    assert_eq!(made["mechanism"], "group-counts");
    assert_eq!(made["k"], 20);
    for run in ["verify a.dps", "inspect a.dps", "explain a.dps", "export a.dps --out a.csv"] {
        room.json(run);
    }
    room.json(&format!("{release} --groups groups.txt --out b.dps"));
    room.json(&format!("{release} --public public.txt --out c.dps"));
    for database in ["a.dps", "c.dps"] {
        for ask in ["--row 0,7", "--row 0,7 --query sets.txt"] {
            for guess in ["", "--denoise", "--public public.txt"] {
                let hits = room.json(&format!("search {database} {ask} --top 5 {guess}"));
                let hits = hits["hits"].as_array().expect("rows").clone();
                assert_eq!(hits.len(), 10, "{ask}");
                for (query, twin) in [(0, 1), (7, 6)] {
                    let of = hits.iter().filter(|hit| hit["query"] == query);
                    let found = of.clone().any(|hit| hit["row"] == twin);
                    // Chosen groups may be few: there the twin is looked for where they are its own.
                    assert!(found || database == "c.dps", "{database} {ask} {guess}: {hits:?}");
                }
            }
        }
    }
    room.json("search a.dps --queries b.dps --row 3");
    room.refuses("search a.dps --queries c.dps", 1, &["groups of items"]);
    room.refuses("search a.dps --score inner", 2, &["--score", "one way only"]);
    room.refuses("search a.dps --query sets.txt --score inner", 2, &["--score"]);
    room.refuses("search a.dps --denoise --public public.txt", 2, &["--public"]);
    room.refuses("distance a.dps 0 1", 2, &["counts of groups"]);
}

#[test]
fn what_does_not_go_with_counts_is_refused() {
    let room = room();
    public(&room);
    let refused = |options: &str, code: i32, words: &[&str]| {
        let run = format!("release counts sets.txt --out refused.dps {options} --epsilon 2");
        room.refuses(&run, code, words);
    };
    refused(SETS, 2, &["--public", "--groups"]);
    refused(&format!("--groups sets.txt {SETS}"), 2, &["is released"]);
    refused(&format!("--public ./sets.txt {SETS}"), 2, &["is released"]);
    refused(
        &format!("--public public.txt --groups groups.txt {SETS}"),
        2,
        &["cannot be used with"],
    );
    refused("--groups groups.txt --adjacency any-input --delta 0", 2, &["counts of groups"]);
    room.write("twice.txt", "a b\nc a\n");
    refused(&format!("--groups twice.txt {SETS}"), 2, &["each item in one"]);
    room.write("few.txt", "a b\nc a\n");
    refused(&format!("--public few.txt {SETS}"), 2, &["sets of a public sample"]);
    room.json(&format!("release minhash sets.txt --out bins.dps -k 16 {SETS} --epsilon 2"));
    room.refuses("search bins.dps --public public.txt", 2, &["ranking by public rows"]);
}

/// Hash functions drawn at release, and what they do not go with: a seed, other mechanisms, more bins than items.
#[test]
fn bins_under_fresh_hash_functions_are_released_and_verified() {
    let room = room();
    let sets = "--adjacency set-items --alpha 4 --min-size 14 --delta 1e-6 --epsilon 9";
    for mechanism in ["bins --symbols 3", "occupancy"] {
        let release = format!("release minhash sets.txt --mechanism {mechanism} --fresh {sets}");
        let made = room.json(&format!("{release} -k 8 --out fresh.dps --force"));
        assert_eq!(made["mechanism"], "one-permutation-fresh-response");
        room.json("verify fresh.dps");
        room.json("distance fresh.dps 0 1");
        room.refuses(&format!("{release} -k 8 --seed 3 --out x.dps"), 2, &["--seed", "--fresh"]);
        // Twelve items are common at least.
        room.refuses(&format!("{release} -k 13 --out x.dps"), 2, &["minimum set size = 14", "15"]);
        room.refuses(
            &format!("{release} -k 8 --min-size 15 --out x.dps").replace("--min-size 14 ", ""),
            4,
            &["fewer items", "15"],
        );
    }
    let other = format!("release minhash sets.txt -k 8 --mechanism mixture --fresh {sets}");
    room.refuses(&format!("{other} --out x.dps"), 2, &["--fresh has no effect"]);
    let any = "--adjacency any-input --epsilon 9 --delta 0";
    let other = format!("release minhash sets.txt -k 8 --mechanism buckets --fresh {any}");
    room.refuses(&format!("{other} --out x.dps"), 2, &["--fresh has no effect"]);
    // Another release under the same hash functions: rows of two sets that somebody aligned with them.
    let words = ["averages over a seed"];
    room.refuses("append fresh.dps sets.txt --out x.dps", 1, &words);
}
