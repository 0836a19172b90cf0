//! Which columns of a file are used.

use super::InputOptions;
use crate::error::{Error, Result};

/// The columns of a file that are used, in the order of the file.
#[derive(Debug, Clone)]
pub(super) struct Selection {
    /// For every column of the file, whether it is used.
    pub(super) used: Vec<bool>,
    /// Names of those used.
    pub(super) names: Vec<String>,
}

impl Selection {
    /// Applies `--columns` and `--id` to the columns of a file, whose names may be unknown.
    pub(super) fn of(
        options: &InputOptions,
        count: usize,
        names: Option<&[String]>,
    ) -> Result<Self> {
        let mut used = vec![options.columns.is_empty(); count];
        for wanted in &options.columns {
            for column in resolve(wanted, count, names)? {
                used[column] = true;
            }
        }
        for unwanted in &options.left_out {
            for column in resolve(unwanted, count, names)? {
                used[column] = false;
            }
        }
        let name = |i: usize| match names {
            Some(names) => format!("column {:?}", names[i]),
            None => format!("column {}", i + 1),
        };
        let names = (0..count).filter(|&i| used[i]).map(name).collect();
        Ok(Self { used, names })
    }

    /// Positions of the columns used.
    pub(super) fn positions(&self) -> Vec<usize> {
        (0..self.used.len()).filter(|&i| self.used[i]).collect()
    }
}

fn resolve(text: &str, count: usize, names: Option<&[String]>) -> Result<Vec<usize>> {
    let text = text.trim();
    if let Some(at) = names.and_then(|names| names.iter().position(|n| n == text)) {
        return Ok(vec![at]);
    }
    let position = |t: &str| t.parse::<usize>().ok().filter(|p| (1..=count).contains(p));
    let range = match text.split_once('-') {
        Some((first, last)) => position(first).zip(position(last)),
        None => position(text).map(|p| (p, p)),
    };
    if let Some((first, last)) = range
        && first <= last
    {
        return Ok((first - 1..last).collect());
    }
    let known = names.map_or(String::new(), |names| {
        let some: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
        let more = if names.len() > some.len() { ", ..." } else { "" };
        format!("; they are called {}{more}", some.join(", "))
    });
    Err(Error::usage(format!("there is no column {text:?} among {count}{known}")))
}
