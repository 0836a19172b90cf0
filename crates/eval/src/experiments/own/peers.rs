//! Other libraries on the same tasks: numbers of `tools/reference/peers.py`.

use crate::Table;
use crate::error::{Error, Result};

/// Its output.
const MEASURED: &str = include_str!("../../../data/peers.csv");

/// What their columns mean, and what they do not compare.
pub(super) const NOTE: &str = "Other libraries: `tools/reference/peers.py` (medians of 16 data sets of the same law, each in a process of its own, \
    at most a minute). They claim delta 0, ours has delta 1e-6: their protection is stronger in that, where it holds. \
    diffprivlib 0.6.6 draws directions by rejection with a test whose factor is upside down, so its guarantee does not \
    follow from its proof and its directions are better than those of the law it names. opendp's regression is for one \
    feature only and is not here.";

/// What this project's audit says of their claims, by the same script.
const AUDITED: &str = include_str!("../../../data/peers-audit.csv");

fn records(text: &str) -> Result<Vec<Vec<String>>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let line = |record: csv::Result<csv::StringRecord>| match record {
        Ok(record) => Ok(record.iter().map(str::to_owned).collect()),
        Err(e) => Err(Error::Malformed { what: "peers.csv".into(), reason: e.to_string() }),
    };
    reader.records().map(line).collect()
}

/// Lower bounds of epsilon beside what is claimed.
pub(super) fn audits() -> Result<Table> {
    let mut table = Table::new(
        "audits",
        "This project's audit of their claims, 20 rows of which one is replaced: lower bounds of epsilon, 99.9 % each.",
        &["library", "claimed epsilon", "at least", "releases of either side"],
    );
    for line in records(AUDITED)? {
        let name = format!("{} {}", line[0], line[1]);
        table.row([name, line[2].clone(), line[3].clone(), line[6].clone()]);
    }
    Ok(table)
}

/// One line: task, method, version, n, d, setting, epsilon, median, sets, unfinished.
fn lines(task: &str) -> Result<Vec<Vec<String>>> {
    let of = |line: &Vec<String>| line[0] == task;
    Ok(records(MEASURED)?.into_iter().filter(of).collect())
}

/// Numbers of a method over the epsilons, one table row.
fn others(task: &str, describe: impl Fn(&[String]) -> String) -> Result<Vec<Vec<String>>> {
    let lines = lines(task)?;
    let row = |three: &[Vec<String>]| {
        let shown = |line: &Vec<String>| match (line[7].as_str(), line[9].as_str()) {
            ("", _) => "did not finish".to_owned(),
            (value, "0") => value.to_owned(),
            (value, lost) => format!("{value} ({lost} of {} did not finish)", line[8]),
        };
        let head = [describe(&three[0]), format!("{} {}", three[0][1], three[0][2])];
        head.into_iter().chain(three.iter().map(shown)).collect()
    };
    Ok(lines.chunks(3).map(row).collect())
}

/// Energy of components; ours as (d, k, one number an epsilon).
pub(super) fn components(ours: &[(usize, usize, Vec<f64>)]) -> Result<Table> {
    let mut table = Table::new(
        "peers",
        "Energy of k components over that of the best, 10,000 rows, eigenvalues 1/i, norm at most 1, one row replaced.",
        &["data", "library", "epsilon 0.3", "1", "3"],
    );
    let data = |d: &str, k: &str| format!("d = {d}, k = {k}");
    for (d, k, numbers) in ours {
        let head = [data(&d.to_string(), &k.to_string()), "this project".into()];
        table.row(head.into_iter().chain(numbers.iter().map(|x| format!("{x:.4}"))));
    }
    for row in others("pca", |line| data(&line[4], &line[5]))? {
        table.row(row);
    }
    Ok(table)
}

/// Excess risk of regressions; ours as (eigenvalues, method, one number an epsilon).
pub(super) fn regressions(ours: &[(f64, &'static str, Vec<f64>)]) -> Result<Table> {
    let mut table = Table::new(
        "risks",
        "Median excess risk over that of predicting zero, 20,000 rows, d = 50, one row added or removed.",
        &["eigenvalues", "method", "epsilon 0.3", "1", "3"],
    );
    let law = |power: f64| if power == 0.0 { "equal" } else { "1/i" };
    for (power, method, numbers) in ours {
        let head = [law(*power).to_owned(), (*method).to_owned()];
        table.row(head.into_iter().chain(numbers.iter().map(|x| format!("{x:.5}"))));
    }
    let power = |line: &[String]| law(line[5].parse().unwrap_or(f64::NAN)).to_owned();
    for row in others("regression", power)? {
        table.row(row);
    }
    Ok(table)
}
