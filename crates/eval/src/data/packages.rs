//! Debian's package index: sparse sets, text and a graph in one table.

use crate::error::{Error, Result};
use flate2::read::GzDecoder;
use std::io::Read;
use std::sync::OnceLock;

static EMBEDDED: &[u8] = include_bytes!("../../data/debian-packages.tsv.gz");

/// One package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Name, unique.
    pub name: String,
    /// Archive section, for example `games`.
    pub section: String,
    /// One-line description.
    pub synopsis: String,
    /// Debtags such as `role::program`, sorted; often none.
    pub tags: Vec<String>,
    /// Names of the packages it depends on, sorted; not all of them are in the table.
    pub depends: Vec<String>,
}

/// The 63,666 packages of Debian 12, in order of name; parsed once, then shared.
///
/// # Panics
/// Never, unless the embedded file was damaged: its contents are tested.
#[must_use]
pub(crate) fn packages() -> &'static [Package] {
    static PARSED: OnceLock<Vec<Package>> = OnceLock::new();
    PARSED.get_or_init(|| {
        let mut text = String::new();
        GzDecoder::new(EMBEDDED).read_to_string(&mut text).expect("embedded table is gzip text");
        parse_packages("embedded packages", &text).expect("embedded table is well formed")
    })
}

/// Parses a table with the header `package section synopsis tags depends`, separated by
/// tabs, lists separated by commas; `name` is for messages.
///
/// # Errors
/// [`Error::Malformed`] naming the line for a wrong header or a wrong number of fields.
pub fn parse_packages(name: &str, text: &str) -> Result<Vec<Package>> {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    if header != "package\tsection\tsynopsis\ttags\tdepends" {
        return Err(Error::malformed(name, format!("line 1: unexpected header {header:?}")));
    }
    let list = |field: &str| {
        field.split(',').filter(|s| !s.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    lines
        .enumerate()
        .map(|(i, line)| match line.split('\t').collect::<Vec<_>>()[..] {
            [package, section, synopsis, tags, depends] => Ok(Package {
                name: package.to_owned(),
                section: section.to_owned(),
                synopsis: synopsis.to_owned(),
                tags: list(tags),
                depends: list(depends),
            }),
            ref fields => Err(Error::malformed(
                name,
                format!("line {}: {} fields instead of 5", i + 2, fields.len()),
            )),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_table_is_whole() {
        let all = packages();
        assert_eq!(all.len(), 63_666);
        let game = all.iter().find(|p| p.name == "2048-qt").unwrap();
        assert_eq!(game.section, "games");
        assert_eq!(game.synopsis, "mathematics based puzzle game");
        assert_eq!(game.tags.len(), 7);
        assert_eq!(game.depends.len(), 8);
        assert!(all.windows(2).all(|w| w[0].name < w[1].name), "names are sorted and unique");
    }

    #[test]
    fn errors_name_the_line() {
        let bad = |text: &str| parse_packages("t", text).unwrap_err().to_string();
        assert!(bad("").contains("line 1"));
        let text = "package\tsection\tsynopsis\ttags\tdepends\na\tb\tc\td\te\na\tb\n";
        assert_eq!(bad(text), "t: line 3: 2 fields instead of 5");
    }
}
