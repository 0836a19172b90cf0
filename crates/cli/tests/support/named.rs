//! Rows and sets with names, and every kind of release that keeps them.

use crate::support::{Room, numbers};

pub(crate) const N: usize = 40;
pub(crate) const D: usize = 4;
pub(crate) const SKETCH: &str =
    "-k 4 --family identity --adjacency attribute --beta 1 --bound 1 --epsilon 64 --delta 1e-6";

pub(crate) fn ids() -> Vec<String> {
    (0..N).map(|i| format!("u{:06}", i * 37 % 1000)).collect()
}

pub(crate) fn table(names: &[String]) -> String {
    let mut out = "user_id,a0,a1,a2,a3\n".to_owned();
    for (name, row) in names.iter().zip(numbers(N, D).chunks(D)) {
        let row: Vec<String> = row.iter().map(f64::to_string).collect();
        out += &format!("{name},{}\n", row.join(","));
    }
    out
}

pub(crate) fn room() -> Room {
    let room = Room::new();
    room.write("users.csv", table(&ids()));
    let sets: Vec<String> = ids()
        .iter()
        .enumerate()
        .map(|(i, id)| {
            let items: Vec<String> = (0..6).map(|j| format!("x{}", (i * 5 + j * j) % 23)).collect();
            format!("{id} {}", items.join(" "))
        })
        .collect();
    room.write("sets.txt", sets.join("\n") + "\n");
    room
}

pub(crate) const KINDS: [(&str, &str); 6] = [
    (
        "sketch",
        "sketch users.csv --keep-id user_id -k 4 --family identity --adjacency attribute --beta 1 --bound 1 --epsilon 64 --delta 1e-6",
    ),
    (
        "units",
        "units users.csv --keep-id 1 -k 4 --family identity --adjacency any-input --epsilon 60 --delta 0",
    ),
    (
        "signs",
        "signs users.csv --keep-id user_id -k 4 --adjacency attribute --beta 1 --bound 1 --epsilon 20 --delta 0",
    ),
    (
        "individual",
        "signs users.csv --keep-id user_id -k 4 --adjacency attribute --beta 1 --bound 1 --epsilon 20 --delta 0 --individual-not-differential-privacy response",
    ),
    (
        "minhash",
        "minhash sets.txt --keep-id 1 -k 64 --adjacency set-items --alpha 1 --min-size 1 --epsilon 20 --delta 0",
    ),
    (
        "counts",
        "counts sets.txt --keep-id 1 --groups groups.txt --adjacency set-items --alpha 1 --min-size 1 --epsilon 20 --delta 0",
    ),
];
