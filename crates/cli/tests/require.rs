//! `dps verify --require`, and what counts as differential privacy when nothing is said.

use crate::support::{Room, csv, numbers, text};

const SKETCH: &str = "sketch users.csv -k 4 --noise gaussian --seed 3 --adjacency attribute --beta 2 --bound 1 --epsilon 1 --delta 1e-6";

fn room() -> Room {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(60, 8), 8));
    room.json(&format!("release {SKETCH} --out a.dps"));
    room
}

#[test]
fn demands_are_met_or_named() {
    let room = room();
    for met in [
        "epsilon<=1,delta<=1e-6,adjacency=attribute,provenance=proven,generator=os",
        "epsilon<=1.5",
        "delta<=1e-6,beta>=2",
        // The profile says more than the point that is stated: less delta at a larger epsilon.
        "epsilon<=2,delta<=1e-12",
        "beta>=1.5",
    ] {
        let found = room.json(&format!("verify a.dps --require {met}"));
        assert!(found["promises"].is_string(), "{met}: {found}");
    }
    for (missed, words) in [
        ("epsilon<=0.9", "epsilon = 1"),
        ("epsilon<=0.9,delta<=1e-6", "epsilon<=0.9 is demanded"),
        ("delta<=1e-7", "delta = 1e-6"),
        // Of several the least, wherever it stands.
        ("epsilon<=0.9,delta<=1e-6,epsilon<=5", "epsilon<=0.9 is demanded"),
        ("epsilon<=5,delta<=1e-30,epsilon<=0.9,delta<=1e-6", "demanded"),
        ("epsilon<=1.01,delta<=1e-12", "demanded"),
        ("adjacency=replace-row", "one attribute changes"),
        ("epsilon<=1,beta>=2.5", "beta>=2.5"),
        ("bound>=1", "bound>=1"),
        ("provenance=declared", "provenance proven"),
    ] {
        room.refuses(&format!("verify a.dps --require {missed}"), 1, &[words]);
    }
    for wrong in
        ["epsilon<1", "epsilon=1", "colour=red", "provenance=good", "beta<=2", "epsilon<=x"]
    {
        room.refuses(&format!("verify a.dps --require {wrong}"), 2, &["epsilon<="]);
    }
}

/// What is not differential privacy, or of known noise, or not checked, is no guarantee by default; and no
/// acceptance turns it into what is demanded.
#[test]
fn weak_releases_meet_nothing() {
    let room = room();
    room.json(&format!("release {SKETCH} --out t.dps --insecure-test-noise 7"));
    room.refuses("verify t.dps", 1, &["anyone can run again", "--accept test-noise"]);
    room.json("verify t.dps --accept test-noise --require epsilon<=1");
    let demand = "verify t.dps --accept test-noise --require generator=os";
    room.refuses(demand, 1, &["anyone can draw again"]);
    room.json(
        "release signs users.csv --out i.dps -k 8 --seed 3 --individual-not-differential-privacy response --adjacency \
         attribute --beta 2 --bound 1 --epsilon 1 --delta 0",
    );
    room.refuses("verify i.dps", 1, &["not differential privacy", "--accept individual"]);
    room.json("verify i.dps --accept individual");
    let demand = "verify i.dps --accept individual --require epsilon<=1";
    room.refuses(demand, 1, &["meets no requirement of differential privacy"]);
    // It can be searched: nothing is claimed that would have to be checked.
    room.json("search i.dps --row 0 --top 2");
}

/// A projection that takes long to draw counts as not computed, in every command that reads it, before
/// anything is drawn.
#[test]
fn long_computations_must_be_allowed() {
    let room = room();
    room.write("wide.csv", csv(&numbers(2, 8300), 8300));
    room.json(
        "release sketch wide.csv -k 8300 --seed 3 --family very-sparse --adjacency attribute --beta 2 --bound 1 \
         --epsilon 1 --delta 1e-6 --out w.dps",
    );
    room.json(
        "ledger init l.json --data x --epsilon 9 --delta 1e-5 --adjacency attribute --beta 2",
    );
    for command in
        ["verify w.dps", "search w.dps", "distance w.dps 0 1", "ledger spend l.json w.dps"]
    {
        room.refuses(command, 1, &["takes long", "--long", "--accept sensitivity"]);
        let told = room.run(&format!("{command} --accept sensitivity"));
        assert!(told.status.success(), "{command}: {}", text(&told));
    }
    let shown = room.json("inspect w.dps")["verification"].to_string();
    assert!(shown.contains("NOT computed"), "{shown}");
}

/// What averages over a seed promises nothing below the share of seeds that it leaves out.
#[test]
fn averages_meet_no_demand_below_their_floor() {
    let room = room();
    room.json(
        "release sketch users.csv --noise gaussian --calibration averaged --family gaussian -k 2 --adjacency attribute --beta 2 \
         --bound 1 --epsilon 0.5 --delta 1e-6 --out av.dps",
    );
    room.json("verify av.dps --require epsilon<=30,delta<=1e-15");
    for delta in ["1e-20", "1e-100"] {
        let demand = format!("verify av.dps --require epsilon<=30,delta<={delta}");
        room.refuses(&demand, 1, &["demanded"]);
    }
}
