//! `cargo xtask bench --scale`: how time and memory grow with the sizes of a release.

use crate::environment::folders;
use benches::comparison::{BUSY, Places, beside_others, measured_of};
use eval::Table;
use eval::render::{log_log, write_atomic};
use std::path::Path;
use std::process::{Command, ExitCode};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Where figures and table go.
const TO: &str = "docs/scale";
/// Each size: its name, where it stays while another one grows, and what it means.
const SIZES: [(&str, usize, &str); 4] = [
    ("n", 20_000, "rows"),
    ("d", 512, "features"),
    ("k", 128, "numbers, or bits, a row"),
    ("nonzeros", 64, "entries a sparse row"),
];
/// What the size that grows is multiplied by.
const FACTORS: [(usize, usize); 5] = [(1, 4), (1, 2), (1, 1), (2, 1), (4, 1)];
/// Times that a point is measured anew where other programs were busy.
const AGAIN: usize = 3;

/// A case at one value of the size that grows.
#[derive(Debug, Clone, PartialEq)]
struct Point {
    case: String,
    size: usize,
    value: usize,
    seconds: f64,
    bytes: f64,
}

/// Slope and its standard error of a line through logarithms.
fn exponent(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let points: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    if points.len() < 3 || points.iter().any(|(x, y)| !(x.is_finite() && y.is_finite())) {
        return None;
    }
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x0, y0) = (mean(|p| p.0), mean(|p| p.1));
    let square: f64 = points.iter().map(|(x, _)| (x - x0).powi(2)).sum();
    let slope = points.iter().map(|(x, y)| (x - x0) * (y - y0)).sum::<f64>() / square;
    let rest: f64 = points.iter().map(|(x, y)| (y - y0 - slope * (x - x0)).powi(2)).sum();
    (square > 0.0).then(|| (slope, (rest / (n - 2.0) / square).sqrt()))
}

/// Runs the program once: seconds and bytes.
fn once(program: &Path, case: &str, sizes: &[usize]) -> Outcome<(f64, f64)> {
    let sizes = sizes.iter().map(ToString::to_string);
    let output = Command::new(program).arg(case).args(sizes).output()?;
    if !output.status.success() {
        return Err(format!("{case}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let (seconds, bytes) = text.trim().split_once(' ').ok_or("two numbers are printed")?;
    Ok((seconds.parse()?, bytes.parse()?))
}

/// Measures a point while the machine is quiet.
fn quietly(mut measure: impl FnMut() -> Outcome<((f64, f64), f64)>) -> Outcome<(f64, f64)> {
    let mut busy = 0.0;
    for _ in 0..AGAIN {
        let (found, others) = measure()?;
        if others <= BUSY {
            return Ok(found);
        }
        busy = others;
    }
    Err(format!("other programs used {busy:.2} of a core, more than {BUSY}, {AGAIN} times").into())
}

/// One line a case: the exponents, of time and of memory, in each size.
fn table(cases: &[String], points: &[Point]) -> Vec<Vec<String>> {
    let of = |case: &str, size: usize, y: fn(&Point) -> f64| {
        let points = points.iter().filter(|p| p.case == case && p.size == size);
        let fitted = exponent(&points.map(|p| (p.value as f64, y(p))).collect::<Vec<_>>());
        fitted.map_or_else(String::new, |(slope, error)| format!("{slope:.2} +- {error:.2}"))
    };
    let line = |case: &String| {
        let time = (0..SIZES.len()).map(|size| of(case, size, |p| p.seconds));
        let memory = (0..SIZES.len()).map(|size| of(case, size, |p| p.bytes));
        std::iter::once(case.clone()).chain(time).chain(memory).collect()
    };
    cases.iter().map(line).collect()
}

/// One panel a size, one curve a case.
fn figure(name: &str, points: &[Point], axis: &str, y: fn(&Point) -> f64) -> Outcome<String> {
    let panels = SIZES.iter().enumerate().filter_map(|(size, (name, _, what))| {
        let mut curves: Vec<(&str, Vec<(f64, f64)>)> = Vec::new();
        for point in points.iter().filter(|p| p.size == size) {
            let at = (point.value as f64, y(point));
            match curves.last_mut().filter(|(case, _)| *case == point.case) {
                Some((_, curve)) => curve.push(at),
                None => curves.push((&point.case, vec![at])),
            }
        }
        (!curves.is_empty()).then_some((*name, [*what, axis], curves))
    });
    Ok(log_log(name, panels.collect())?)
}

pub(crate) fn run() -> Outcome<ExitCode> {
    let (root, target) = folders();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.current_dir(&root).args(["build", "--release", "--package", "benches"]);
    if !build.args(["--example", "scale"]).status()?.success() {
        return Err("the example `scale` cannot be built".into());
    }
    let program = target.join("release/examples/scale");
    let listed = String::from_utf8(Command::new(&program).output()?.stdout)?;
    let (mut cases, mut points) = (Vec::new(), Vec::new());
    for line in listed.lines() {
        let (case, grows) = line.split_once(": ").ok_or("a case and its sizes a line")?;
        cases.push(case.to_owned());
        for (size, (name, base, _)) in SIZES.iter().enumerate() {
            if !grows.split(' ').any(|known| known == *name) {
                continue;
            }
            for (times, over) in FACTORS {
                let mut sizes = SIZES.map(|(_, base, _)| base);
                sizes[size] = base * times / over;
                let value = sizes[size];
                eprintln!("{case}, {name} = {value}");
                let (seconds, bytes) = quietly(|| {
                    let (found, others) = beside_others(|| once(&program, case, &sizes));
                    Ok((found?, others))
                })?;
                points.push(Point { case: case.to_owned(), size, value, seconds, bytes });
            }
        }
    }
    let environments = root.join("benches/peers/envs");
    let of = measured_of(&Places { root: root.clone(), target, environments })?;
    publish(&root.join(TO), &of, &cases, &points)?;
    println!("{TO}/README.md");
    Ok(ExitCode::SUCCESS)
}

fn publish(to: &Path, of: &str, cases: &[String], points: &[Point]) -> Outcome<()> {
    let mut all = Table::new("points", "", &["case", "size", "value", "seconds", "bytes"]);
    for p in points {
        let cells = [SIZES[p.size].0.to_owned(), p.value.to_string(), p.seconds.to_string()];
        all.row(std::iter::once(p.case.clone()).chain(cells).chain([p.bytes.to_string()]));
    }
    write_atomic(&to.join("points.csv"), &all.csv())?;
    for (name, axis, y) in [
        ("time", "seconds", (|p| p.seconds) as fn(&Point) -> f64),
        ("memory", "bytes beside the input", |p| p.bytes),
    ] {
        write_atomic(
            &to.join(name).with_extension("svg"),
            figure(name, points, axis, y)?.as_bytes(),
        )?;
    }
    let names: Vec<String> = ["time", "memory"]
        .iter()
        .flat_map(|of| SIZES.iter().map(move |(name, ..)| format!("{of}, {name}")))
        .collect();
    let mut heads = vec!["case"];
    heads.extend(names.iter().map(String::as_str));
    let base: Vec<String> =
        SIZES.iter().map(|(name, base, what)| format!("{name} = {base} ({what})")).collect();
    let mut page = format!(
        "# How time and memory grow\n\n`cargo xtask bench --scale` made this page: one size grows, from a quarter to four times, while the \
         others stay at {}. Releases with fresh keys, searches of 1,000 rows for their ten nearest; time is the median of five runs or \
         more, memory what the first run needs beside its input, each point in a process of its own on a machine where other programs used \
         at most {BUSY} of a core. Measured of {of}.\n\nExponents are slopes of lines through the logarithms of five points, with their \
         standard errors; [the points](points.csv).\n\n",
        base.join(", "),
    );
    eval::markdown_table(&mut page, &heads, table(cases, points).into_iter());
    page += "\n![Time](time.svg)\n\n![Memory](memory.svg)\n";
    Ok(write_atomic(&to.join("README.md"), page.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_is_fitted_and_what_is_none_is_told_by_its_error() {
        let power = |x: f64| (x, 3.0 * x.powf(1.5));
        let (slope, error) = exponent(&[2.0, 4.0, 8.0, 32.0].map(power)).expect("four points");
        assert!((slope - 1.5).abs() < 1e-12 && error < 1e-12);
        let bent = [1.0, 2.0, 4.0, 8.0].map(|x| (x, 1.0 + x));
        let (slope, error) = exponent(&bent).expect("four points");
        assert!((0.5..0.9).contains(&slope) && error > 0.02);
        assert_eq!(exponent(&bent[..2]), None);
        assert_eq!(exponent(&[(1.0, 0.0), (2.0, 1.0), (3.0, 1.0)]), None);
        assert_eq!(exponent(&[(1.0, 1.0); 4]), None);
    }

    #[test]
    fn a_busy_machine_is_waited_for_and_told_at_last() {
        let mut busy = [9.0, 0.0].into_iter();
        let found = quietly(|| Ok(((1.0, 2.0), busy.next().expect("two turns are enough"))));
        assert_eq!(found.expect("quiet at last"), (1.0, 2.0));
        let words = quietly(|| Ok(((1.0, 2.0), 0.2))).expect_err("never quiet").to_string();
        assert!(words.contains("0.20 of a core"), "{words}");
    }

    #[test]
    fn the_page_has_every_case_size_and_figure() {
        let point = |case: &str, size: usize, value: usize| Point {
            case: case.into(),
            size,
            value,
            seconds: value as f64,
            bytes: (value * value) as f64,
        };
        let points: Vec<Point> = [("a", 0), ("a", 1), ("b", 1)]
            .iter()
            .flat_map(|&(case, size)| [1, 2, 4].map(|value| point(case, size, value)))
            .collect();
        let folder = target().join("scale-page");
        publish(&folder, "code; a processor", &["a".into(), "b".into()], &points).expect("written");
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("written");
        let page = read("README.md");
        assert!(
            page.contains("| a | 1.00 +- 0.00 | 1.00 +- 0.00 |  |  | 2.00 +- 0.00 |"),
            "{page}"
        );
        assert!(page.contains("| b |  | 1.00 +- 0.00 |"), "{page}");
        assert!(page.contains("Measured of code; a processor."), "{page}");
        assert_eq!(read("points.csv").lines().count(), 10);
        for figure in ["time.svg", "memory.svg"] {
            assert!(read(figure).contains("features"), "{figure}");
        }
    }

    fn target() -> std::path::PathBuf {
        folders().1.join("tmp")
    }
}
