//! What `docs/FORMAT.md` says of versions, seeds and names is what the code does.

use dp_core::certificate::CERTIFICATE_FORMAT;
use dp_core::release_file::{FORMAT, Kind, MAGIC};
use dp_core::{PublicSeed, PublicValue, Theorem};
use rand_core::Rng;

const PAGE: &str = include_str!("../../../docs/FORMAT.md");

/// The cells of each row of the page's tables.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    PAGE.lines().filter_map(|line| {
        let line = line.strip_prefix('|')?.strip_suffix('|')?;
        Some(line.split('|').map(str::trim).collect())
    })
}

#[test]
fn versions_and_magic_are_stated() {
    let version = |what: &str| {
        let row = rows().find(|row| row[0] == what).unwrap_or_else(|| panic!("{what}"));
        row[1].parse::<u32>().unwrap()
    };
    assert_eq!(version("release file"), FORMAT);
    assert_eq!(version("certificate"), CERTIFICATE_FORMAT);
    let ledger = dp_core::accounting::Ledger::new(dp_core::Adjacency::AnyInput);
    let ledger = serde_json::to_value(&ledger).unwrap();
    assert_eq!(ledger["format"], version("ledger as a value"));
    assert_eq!(version("ledger"), dp_core::ledger_file::FORMAT);
    assert!(PAGE.contains(&format!("magic `{}`", String::from_utf8_lossy(&MAGIC))));
}

#[test]
fn every_kind_has_its_code_and_class() {
    for kind in Kind::ALL {
        let code = kind.code().to_string();
        let row = rows().find(|row| row.len() == 5 && row[0] == code).unwrap_or_default();
        assert_eq!(row[2], kind.certificate_class().to_string(), "{}", kind.name());
    }
}

#[test]
fn every_theorem_is_on_the_page() {
    for theorem in Theorem::ALL {
        assert!(PAGE.contains(&format!("`{theorem}`")), "{theorem}");
    }
}

/// The page's table of words was computed by a program that shares nothing with this one.
#[test]
fn seeds_expand_as_the_page_says() {
    let mut checked = 0;
    for row in rows().filter(|row| row.len() == 3) {
        let Ok(stream) = row[1].parse::<u64>() else { continue };
        let words: Option<Vec<u64>> = row[2]
            .split_whitespace()
            .map(|word| u64::from_str_radix(word.strip_prefix('`')?.strip_suffix('`')?, 16).ok())
            .collect();
        let Some(words) = words.filter(|words| words.len() == 3) else { continue };
        let text = row[0].trim_matches('`');
        let value = match text.parse::<u64>() {
            Ok(number) => PublicValue::Integer(number),
            Err(_) => PublicValue::Text(text.to_owned()),
        };
        let mut stream = PublicSeed::try_from(value).unwrap().generator(stream);
        assert!(words.iter().all(|&word| stream.next_u64() == word), "{row:?}");
        checked += 1;
    }
    assert_eq!(checked, 5);
}
