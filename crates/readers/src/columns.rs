//! Which columns of a file are used.

use crate::error::{Error, Result};
use crate::options::RowsFile;
use std::collections::HashMap;

/// The columns of a file that are used, in the order of the file.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// For every column of the file, whether it is used.
    pub(crate) used: Vec<bool>,
    /// Names of those used, for messages.
    pub(crate) names: Vec<String>,
    /// The same as they stand in the file; positions where it has no names.
    pub(crate) entered: Vec<String>,
    /// The column that says what a row is called, which is not used.
    pub(crate) id: Option<usize>,
    /// The column that says whose a row is, which is not used; a CSV reader knows its own.
    #[cfg_attr(not(any(feature = "arrow", feature = "parquet")), expect(dead_code))]
    pub(crate) user: Option<usize>,
}

/// Most columns of a table, whose names are held several times.
const MOST_COLUMNS: usize = 1 << 17;

/// Refuses a table of more columns than are read, before their names are made.
pub(crate) fn few(count: usize) -> Result<()> {
    if count <= MOST_COLUMNS {
        return Ok(());
    }
    Err(Error::options(format!(
        "the table has {count} columns, and at most {MOST_COLUMNS} are read: store its rows as NPY, as one column of lists \
         (Parquet, Arrow) or as svmlight, which have no names"
    )))
}

/// Names, or parts of names, of columns that number rows or people.
const IDENTIFIERS: [&str; 10] = [
    "id",
    "ids",
    "uid",
    "uuid",
    "guid",
    "index",
    "rowid",
    "rowname",
    "rownames",
    "__index_level_0__",
];

/// Whether a name is that of an identifier, or none at all, as of the index that pandas writes.
pub(crate) fn is_suspicious(name: &str) -> bool {
    let name = name.trim().trim_start_matches('\u{feff}');
    let lower = name.to_lowercase();
    // The last word of snake_case, kebab-case, dotted names and camelCase.
    let camel = |end| name.strip_suffix(end).is_some_and(|s| s.ends_with(char::is_lowercase));
    let word = |w: &str| IDENTIFIERS.contains(&w);
    lower.is_empty()
        || lower.starts_with("unnamed:")
        || word(&lower)
        || lower.rsplit(['_', '-', '.', ' ']).next().is_some_and(word)
        || lower.starts_with("id_")
        || camel("Id")
        || camel("ID")
}

/// Refuses two columns of one name: `leave_out` would leave out one of them only.
fn distinct(names: &[String]) -> Result<()> {
    let mut seen = HashMap::new();
    for (at, name) in names.iter().enumerate() {
        if let Some(first) = seen.insert(name.trim(), at) {
            return Err(Error::options(format!(
                "columns {} and {} have the same name, so that `leave_out` and `columns` could mean either: \
                 rename one",
                first + 1,
                at + 1
            )));
        }
    }
    Ok(())
}

impl Selection {
    /// Applies `columns` and `leave_out` to the columns of a file, whose names may be unknown. What is not
    /// `vetted` may be a first row of values: no message repeats it.
    pub(crate) fn of(
        options: &RowsFile,
        count: usize,
        names: Option<&[String]>,
        vetted: bool,
    ) -> Result<Self> {
        Self::beside(options, count, names, vetted, &[])
    }

    /// The same where the file says itself which columns are its index.
    pub(crate) fn beside(
        options: &RowsFile,
        count: usize,
        names: Option<&[String]>,
        vetted: bool,
        index: &[String],
    ) -> Result<Self> {
        few(count)?;
        let mut used = vec![options.columns.is_empty(); count];
        if let Some(names) = names {
            distinct(names)?;
        }
        let mut answered = vec![false; count];
        for wanted in &options.columns {
            let columns = resolve(wanted, count, names, vetted)?;
            // Whoever names one column means it; a range may hold more than was thought of.
            if let [one] = columns[..] {
                answered[one] = true;
            }
            columns.into_iter().for_each(|column| used[column] = true);
        }
        for kept in &options.keep {
            resolve(kept, count, names, vetted)?
                .into_iter()
                .for_each(|column| answered[column] = true);
        }
        for unwanted in &options.leave_out {
            resolve(unwanted, count, names, vetted)?
                .into_iter()
                .for_each(|column| used[column] = false);
        }
        let one = |text: &String| Self::one(text, count, names, vetted);
        let user = options.users.as_ref().map(|users| one(&users.column)).transpose()?;
        let id = options.ids.as_ref().map(|id| one(&id.column)).transpose()?;
        [user, id].into_iter().flatten().for_each(|beside| used[beside] = false);
        let unanswered = |&i: &usize| used[i] && !answered[i];
        let stated = |i: usize| names.is_some_and(|names| index.contains(&names[i]));
        if let Some(names) = names
            && let Some(i) =
                (0..count).filter(unanswered).find(|&i| is_suspicious(&names[i]) || stated(i))
        {
            let at = i + 1;
            let name = if vetted { format!(" ({:?})", names[i]) } else { String::new() };
            let what = match stated(i) {
                true => format!("column {at}{name} is the index of the table, as the file says"),
                false => format!(
                    "the name of column {at}{name} looks like that of an identifier or an index"
                ),
            };
            return Err(Error::options(format!(
                "{what}, which must not enter a release: leave it out with `leave_out` {at}, or say `keep` {at} when it is data"
            )));
        }
        let entered = (0..count).filter(|&i| used[i]);
        let entered =
            entered.map(|i| names.map_or_else(|| (i + 1).to_string(), |n| n[i].clone())).collect();
        let name = |i: usize| match names {
            Some(names) if vetted => format!("column {:?}", names[i]),
            _ => format!("column {}", i + 1),
        };
        let names = (0..count).filter(|&i| used[i]).map(name).collect();
        Ok(Self { used, names, entered, id, user })
    }

    /// The position of the one column that a text names.
    pub(crate) fn one(
        text: &str,
        count: usize,
        names: Option<&[String]>,
        vetted: bool,
    ) -> Result<usize> {
        match resolve(text, count, names, vetted)?[..] {
            [one] => Ok(one),
            _ => {
                Err(Error::options(format!("{text:?} names several columns, and one is asked for")))
            }
        }
    }

    /// Positions of the columns that are read: those used, and the ones of ids and of users.
    #[cfg(any(feature = "arrow", feature = "parquet"))]
    pub(crate) fn read(&self) -> Vec<usize> {
        let beside = |i| self.id == Some(i) || self.user == Some(i);
        (0..self.used.len()).filter(|&i| self.used[i] || beside(i)).collect()
    }

    /// Positions of the columns used.
    pub(crate) fn positions(&self) -> Vec<usize> {
        (0..self.used.len()).filter(|&i| self.used[i]).collect()
    }
}

fn resolve(text: &str, count: usize, names: Option<&[String]>, vetted: bool) -> Result<Vec<usize>> {
    let text = text.trim();
    let position = |t: &str| t.parse::<usize>().ok().filter(|p| (1..=count).contains(p));
    let called = |t: &str| names.and_then(|names| names.iter().position(|name| name == t));
    if let Some(names) = names
        && names.iter().filter(|name| *name == text).count() > 1
    {
        return Err(Error::options(format!(
            "{text:?} is the name of several columns: say the position of the one that is meant, as in 3-3"
        )));
    }
    if let Some(at) = called(text) {
        if let Some(other) = position(text).filter(|p| *p != at + 1) {
            return Err(Error::options(format!(
                "{text} is the name of column {} and the position of another: say (after `leave_out`, `columns` or `keep`) {other}-{other} or \
                 {}-{} for the position that is meant",
                at + 1,
                at + 1,
                at + 1
            )));
        }
        return Ok(vec![at]);
    }
    if let Some(at) = position(text) {
        return Ok(vec![at - 1]);
    }
    // Names may hold the mark: every place where it may cut is tried.
    let mut ranges = text.match_indices('-').filter_map(|(cut, _)| {
        let (first, last) = (text[..cut].trim(), text[cut + 1..].trim());
        let positions = match (first, last) {
            ("", "") => None,
            ("", last) => Some(1).zip(position(last)),
            (first, "") => position(first).zip(Some(count)),
            (first, last) => position(first).zip(position(last)),
        };
        let named = || Some((called(first)? + 1, called(last)? + 1));
        positions.or_else(named).filter(|(first, last)| first <= last)
    });
    match (ranges.next(), ranges.next()) {
        (Some((first, last)), None) => return Ok((first - 1..last).collect()),
        (Some(_), Some(_)) => {
            return Err(Error::options(format!(
                "{text:?} is a range of columns in two ways, because names hold a -: say it by positions"
            )));
        }
        _ => {}
    }
    let known = names.filter(|_| vetted).map_or(String::new(), |names| {
        let some: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
        let more = if names.len() > some.len() { ", ..." } else { "" };
        format!("; they are called {}{more}", some.join(", "))
    });
    Err(Error::options(format!("there is no column {text:?} among {count}{known}")))
}

#[cfg(test)]
mod tests {
    use super::is_suspicious;

    #[test]
    fn identifiers_are_known_by_their_names() {
        for name in
            ["id", "ID", "user_id", "Unnamed: 0", "", " ", "userId", "orderID", "row.id", "index"]
        {
            assert!(is_suspicious(name), "{name}");
        }
        for name in
            ["age", "humid", "paid", "valid", "grid", "a0", "indexed_price", "COVID", "unnamed"]
        {
            assert!(!is_suspicious(name), "{name}");
        }
    }
}
