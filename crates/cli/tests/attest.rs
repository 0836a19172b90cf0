//! Signatures: what is signed is what is checked, by the key that was named, and nothing else.

use crate::support;
use crate::support::{Room, csv, numbers, text};

const RELEASE: &str = "release sketch users.csv -k 4 --bound 1 --epsilon 0.5 --delta 1e-6 --adjacency attribute --beta 1";

fn room() -> (Room, String) {
    let room = Room::new();
    room.write("users.csv", csv(&numbers(40, 8), 8));
    room.json(&format!("{RELEASE} --out a.dps"));
    let made = room.json("attest --new-key mine");
    let key = made["public_key"].as_str().expect("digits").to_owned();
    (room, key)
}

/// Writes `new` in the place of `name`.
fn edited(room: &Room, name: &str, from: &str, to: &str) {
    let old = String::from_utf8(room.read(name)).expect("text");
    assert!(old.contains(from), "{old}");
    room.write(name, old.replacen(from, to, 1));
}

#[test]
fn a_release_is_who_signed_it() {
    let (room, key) = room();
    room.refuses(&format!("verify a.dps --signer {key}"), 1, &["no attestation"]);
    let signed = room.json("attest a.dps --key mine --comment first");
    assert_eq!(signed["signed_comment"], "first");
    for signer in [&key, &key.to_uppercase(), "mine.pub"] {
        let told = room.json(&format!("verify a.dps --signer {signer}"));
        assert_eq!(told["signed_comment"], "first");
        assert_eq!(told["signed_by"], signed["signed_by"]);
        let gaps = told["not_checked"].to_string();
        assert!(gaps.contains("whose key it is") && !gaps.contains("no signature"), "{gaps}");
    }
    assert!(room.json("verify a.dps")["not_checked"].to_string().contains("no signature"));
    room.refuses("verify a.dps --signer mine", 2, &["mine.pub"]);
    room.refuses("verify a.dps --signer a.dps", 2, &["no public key"]);
    room.refuses(&format!("verify a.dps --signer {}", "0".repeat(64)), 2, &["no public key"]);
    room.refuses("verify a.dps --attestation a.dps.attestation", 2, &["--signer"]);

    // Another file's signature; another release of the same data; one bit.
    room.json(&format!("{RELEASE} --out b.dps"));
    let other = format!("verify b.dps --signer {key} --attestation a.dps.attestation");
    room.refuses(&other, 1, &["another file"]);
    let whole = room.read("a.dps");
    let forged = support::forged(&whole, |payload| payload[3] ^= 1);
    room.write("a.dps", forged);
    room.refuses(&format!("verify a.dps --signer {key}"), 1, &["another file"]);
    room.write("a.dps", &whole);

    // Edited words, a swapped key, a signature of somebody else under the pinned name, lengths.
    let honest = room.read("a.dps.attestation");
    edited(&room, "a.dps.attestation", "first", "newer");
    room.refuses(&format!("verify a.dps --signer {key}"), 1, &["does not fit"]);
    room.write("a.dps.attestation", &honest);
    let theirs =
        room.json("attest --new-key theirs")["public_key"].as_str().expect("digits").to_owned();
    room.refuses(&format!("verify a.dps --signer {theirs}"), 1, &["somebody else"]);
    edited(&room, "a.dps.attestation", &key, &theirs);
    room.refuses(&format!("verify a.dps --signer {theirs}"), 1, &["does not fit"]);
    room.write("a.dps.attestation", &honest);
    room.json("attest a.dps --key theirs --out t.attestation --comment first");
    edited(&room, "t.attestation", &theirs, &key);
    let swapped = format!("verify a.dps --signer {key} --attestation t.attestation");
    room.refuses(&swapped, 1, &["does not fit"]);
    for end in [0, 1, 17, 18, honest.len() / 2, honest.len() - 1] {
        room.write("cut.attestation", &honest[..end]);
        let cut = format!("verify a.dps --signer {key} --attestation cut.attestation");
        room.refuses(&cut, 1, &["no whole attestation"]);
    }
    room.json(&format!("verify a.dps --signer {key}"));
}

#[test]
fn keys_and_attestations_are_never_written_over() {
    let (room, _) = room();
    let secret = room.read("mine");
    room.refuses("attest --new-key mine", 3, &["mine"]);
    assert_eq!(room.read("mine"), secret);
    // Neither half is left where the other cannot be made.
    room.write("half.pub", "x");
    room.refuses("attest --new-key half", 3, &["half.pub"]);
    assert!(!room.path("half").exists());
    room.refuses("attest --new-key no/key", 3, &["no"]);
    room.json("attest a.dps --key mine");
    room.refuses("attest a.dps --key mine", 2, &["--force"]);
    room.json("attest a.dps --key mine --force --comment again");
    room.refuses("attest a.dps --key mine --force --out users.csv", 2, &["no attestation"]);
    room.refuses("attest users.csv --key mine", 1, &["not a valid ledger"]);
    room.refuses("attest a.dps --key mine.pub --out n", if cfg!(unix) { 1 } else { 2 }, &[]);
    room.refuses(
        &format!("attest a.dps --key mine --out n --comment {}", "x".repeat(4097)),
        2,
        &["4096"],
    );
    assert!(!room.path("n").exists() && !room.path("users.csv.attestation").exists());
    let printed = text(&room.run("attest a.dps --key mine --force"));
    let digits = String::from_utf8(secret).expect("text");
    let digits = digits.lines().nth(1).and_then(|l| l.strip_prefix("secret ")).expect("digits");
    assert!(digits.len() == 64 && !printed.contains(digits));
    assert!(!String::from_utf8(room.read("mine.pub")).expect("text").contains(digits));
}

#[cfg(unix)]
#[test]
fn a_key_is_its_owners() {
    use std::os::unix::fs::PermissionsExt;
    let (room, _) = room();
    let mode = |name: &str| {
        std::fs::metadata(room.path(name)).expect("a file").permissions().mode() & 0o777
    };
    assert_eq!(mode("mine"), 0o600);
    for open in [0o640, 0o604, 0o620] {
        std::fs::set_permissions(room.path("mine"), PermissionsExt::from_mode(open)).expect("set");
        room.refuses("attest a.dps --key mine", 1, &["others"]);
    }
    assert!(!room.path("a.dps.attestation").exists());
}

#[test]
fn a_ledger_goes_on_from_its_signed_head() {
    let (room, key) = room();
    let begin = |name: &str| {
        room.json(&format!(
            "ledger init {name} --data users --epsilon 4 --delta 1e-4 --adjacency attribute --beta 1"
        ));
    };
    begin("l");
    let pay = |name: &str, ledger: &str| {
        room.json(&format!("{RELEASE} --out {name}.dps --ledger {ledger}"))
    };
    pay("r1", "l");
    room.json("attest l --key mine");
    let show = format!("ledger show l --signer {key}");
    assert_eq!(room.json(&show)["lines_since_the_signed_head"], 0);
    let old = room.read("l");
    pay("r2", "l");
    let told = room.json(&show);
    // Reserved, committed, closed.
    assert_eq!(told["lines_since_the_signed_head"], 3);
    assert!(told["not_checked"].as_str().expect("text").contains("newest"), "{told}");
    // The newer head is not in the older copy; what was written anew has other hashes.
    room.json("attest l --key mine --force");
    let whole = room.read("l");
    room.write("l", &old);
    room.refuses(&show, 1, &["written anew"]);
    std::fs::remove_file(room.path("l")).expect("removed");
    begin("l");
    room.refuses(&show, 1, &["written anew"]);
    for i in 3..6 {
        pay(&format!("r{i}"), "l");
    }
    room.refuses(&show, 1, &["written anew"]);
    room.write("l", &whole);
    room.json(&show);
    // A release's signature is none of a ledger, and the other way round.
    room.json("attest a.dps --key mine");
    room.refuses(&format!("{show} --attestation a.dps.attestation"), 1, &["of a release"]);
    room.refuses(
        &format!("verify a.dps --signer {key} --attestation l.attestation"),
        1,
        &["another file"],
    );
}
