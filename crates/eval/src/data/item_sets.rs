//! Sets of items: ratings and play counts turned into one set a user, and package sets.

use super::packages::packages;
use crate::error::{Error, Result};
use sketch::sets::ItemSet;
use std::collections::BTreeMap;
#[cfg(feature = "experiments")]
use std::path::Path;

/// Sets of items, and the rule that made them.
#[derive(Debug, Clone)]
pub struct ItemSets {
    /// Name of the data.
    pub name: String,
    /// How sets were made from it.
    pub rule: String,
    /// One set a user (or package), in order of its number (or name).
    pub sets: Vec<ItemSet>,
}

impl ItemSets {
    /// Only the sets of at least `min_size` items.
    #[must_use]
    pub fn at_least(mut self, min_size: usize) -> Self {
        self.sets.retain(|s| s.len() >= min_size);
        self.rule = format!("{}; sets of at least {min_size}", self.rule);
        self
    }

    /// Mean size.
    #[must_use]
    pub fn mean_size(&self) -> f64 {
        self.sets.iter().map(ItemSet::len).sum::<usize>() as f64 / self.sets.len().max(1) as f64
    }

    /// Name, rule and sizes, for reports.
    #[must_use]
    pub fn describe(&self) -> String {
        format!(
            "{} ({}; {} sets, mean size {:.1})",
            self.name,
            self.rule,
            self.sets.len(),
            self.mean_size()
        )
    }
}

/// The tags and dependencies of every package of the embedded table.
///
/// # Panics
/// Never, unless the embedded file was damaged.
#[must_use]
pub fn package_sets() -> ItemSets {
    let sets = packages()
        .iter()
        .filter_map(|p| {
            // A tag never has the name of a package: tags hold "::".
            let words = p.tags.iter().chain(&p.depends).map(String::as_str);
            ItemSet::from_words(words).ok()
        })
        .collect();
    let rule = "tags and dependencies of a package".to_owned();
    ItemSets { name: "Debian 12 packages".into(), rule, sets }
}

/// Which of a user's items are in the set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SetRule {
    /// Items whose value (a rating) is at least this.
    AtLeast(f64),
    /// The items of the largest values (play counts), at most this many; ties go to the smaller item.
    Largest(usize),
}

impl core::fmt::Display for SetRule {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::AtLeast(value) => write!(f, "value at least {value}"),
            Self::Largest(count) => write!(f, "the {count} largest values"),
        }
    }
}

/// Parses lines of `user item value ...` separated by tabs, with or without one line of heads:
/// MovieLens `u.data`, RecBole `.inter`, HetRec 2011 `user_ratedmovies.dat` and
/// `user_artists.dat` all are. `name` is for messages.
///
/// # Errors
/// [`Error::Malformed`] naming the line.
pub fn parse_user_items(name: &str, text: &str, rule: SetRule) -> Result<ItemSets> {
    let mut users: BTreeMap<u64, Vec<(u64, f64)>> = BTreeMap::new();
    for (i, line) in text.lines().enumerate() {
        let mut fields = line.split('\t').map(str::trim);
        let mut field = || fields.next().unwrap_or_default();
        let (user, item, value) = (field(), field(), field());
        match (user.parse(), item.parse(), value.parse::<f64>()) {
            (Ok(user), Ok(item), Ok(value)) if value.is_finite() => {
                users.entry(user).or_default().push((item, value));
            }
            // A first line of words is the line of heads.
            (Err(_), Err(_), Err(_)) if i == 0 && !item.is_empty() => {}
            _ if line.trim().is_empty() => {}
            _ => {
                let reason =
                    format!("line {}: expected user, item and value separated by tabs", i + 1);
                return Err(Error::malformed(name, reason));
            }
        }
    }
    let sets = users.into_values().filter_map(|items| choose(items, rule)).collect();
    Ok(ItemSets { name: name.into(), rule: rule.to_string(), sets })
}

fn choose(mut items: Vec<(u64, f64)>, rule: SetRule) -> Option<ItemSet> {
    match rule {
        SetRule::AtLeast(least) => items.retain(|&(_, value)| value >= least),
        SetRule::Largest(count) => {
            items.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            items.truncate(count);
        }
    }
    ItemSet::new(items.into_iter().map(|(item, _)| item).collect()).ok()
}

/// MovieLens from a folder: the first of `user_ratedmovies.dat` (HetRec 2011; ratings of at
/// least 4.5, as in the thesis), `u.data` or `ml-100k.inter` (MovieLens 100k, whole stars; ratings of
/// at least 4). `None` when the folder has none of them.
///
/// # Errors
/// When a file is there but cannot be read.
#[cfg(feature = "experiments")]
pub(crate) fn movielens(folder: &Path) -> Result<Option<ItemSets>> {
    first_of(
        folder,
        &[
            ("user_ratedmovies.dat", "MovieLens (HetRec 2011)", SetRule::AtLeast(4.5)),
            ("u.data", "MovieLens 100k", SetRule::AtLeast(4.0)),
            ("ml-100k.inter", "MovieLens 100k", SetRule::AtLeast(4.0)),
        ],
    )
}

/// Last.FM (HetRec 2011) from a folder that holds `user_artists.dat`: the 20 most played artists.
///
/// # Errors
/// When the file is there but cannot be read.
#[cfg(feature = "experiments")]
pub(crate) fn lastfm(folder: &Path) -> Result<Option<ItemSets>> {
    first_of(folder, &[("user_artists.dat", "Last.FM (HetRec 2011)", SetRule::Largest(20))])
}

#[cfg(feature = "experiments")]
fn first_of(folder: &Path, files: &[(&str, &str, SetRule)]) -> Result<Option<ItemSets>> {
    for &(file, name, rule) in files {
        let path = folder.join(file);
        if path.is_file() {
            let text = std::fs::read_to_string(&path).map_err(|e| Error::io(&path, e))?;
            let sets = parse_user_items(&path.display().to_string(), &text, rule)?;
            return Ok(Some(ItemSets { name: name.into(), ..sets }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_at_least_twenty_items_are_those_counted() {
        let sets = package_sets().at_least(20);
        assert_eq!(sets.sets.len(), 2_928);
        assert!((sets.mean_size() - 31.0).abs() < 1.0, "{}", sets.mean_size());
    }

    #[test]
    fn the_published_formats_parse_by_their_rules() {
        let hetrec =
            "userID\tmovieID\trating\tdate_day\n75\t3\t1\t29\n75\t32\t4.5\t29\n78\t32\t5\t1\n";
        let sets = parse_user_items("t", hetrec, SetRule::AtLeast(4.5)).expect("parses");
        let items: Vec<_> = sets.sets.iter().map(|s| s.items().to_vec()).collect();
        assert_eq!(items, [vec![32], vec![32]]);
        let recbole =
            "user_id:token\titem_id:token\trating:float\ttimestamp:float\n196\t242\t3\t881250949\n";
        assert!(
            parse_user_items("t", recbole, SetRule::AtLeast(4.0)).expect("parses").sets.is_empty()
        );
        let plain = "1\t10\t5\t0\n1\t11\t9\t0\n1\t12\t5\t0\n";
        let sets = parse_user_items("t", plain, SetRule::Largest(2)).expect("parses");
        assert_eq!(sets.sets[0].items(), [10, 11]);
        assert_eq!(sets.rule, "the 2 largest values");
    }

    #[test]
    fn broken_lines_are_named() {
        let error =
            parse_user_items("t", "1\t2\t3\n1\tx\t3\n", SetRule::AtLeast(0.0)).expect_err("bad");
        assert!(error.to_string().contains("t: line 2"), "{error}");
    }

    #[cfg(feature = "experiments")]
    #[test]
    fn a_folder_without_the_files_is_none() {
        let folder = tempfile::tempdir().expect("folder");
        assert!(movielens(folder.path()).expect("readable").is_none());
        std::fs::write(
            folder.path().join("user_artists.dat"),
            "userID\tartistID\tweight\n2\t51\t13883\n",
        )
        .expect("written");
        let sets = lastfm(folder.path()).expect("readable").expect("there");
        assert_eq!(
            sets.describe(),
            "Last.FM (HetRec 2011) (the 20 largest values; 1 sets, mean size 1.0)"
        );
    }
}
