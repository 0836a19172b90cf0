use super::csv::figure_csv;
use super::html::page;
use super::origin::number;
use super::svg::figure_svg;
use super::*;
use crate::framework::*;
use crate::{Effort, Table};
use std::time::Duration;

fn curve(label: &str, y: f64) -> Curve {
    Curve {
        label: label.into(),
        points: vec![
            Point::mean(1.0, &[y, y + 0.2]),
            Point::exact(2.0, f64::NAN),
            Point::exact(3.0, 2.0 * y),
        ],
        origin: Origin {
            mechanism: "noise <of> a & b".into(),
            k: Setting::Fixed(256.0),
            epsilon: Setting::AxisX,
            delta: Setting::Fixed(1e-6),
            sigma: Setting::PerPoint(vec![4.5, 3.5, 2.5]),
            seeds: Seeds::Derived(7),
            data: "t".into(),
            repetitions: 2,
        },
    }
}

fn figure() -> Figure {
    let panel = |title: &str, y: Axis| Panel {
        title: title.into(),
        x: Axis::log("epsilon"),
        y,
        curves: vec![curve("ours", 1.0), curve("theirs", 0.5)],
    };
    Figure {
        name: "fig".into(),
        caption: "a < b".into(),
        panels: vec![panel("left", Axis::linear("precision")), panel("right", Axis::log("sigma"))],
        columns: 2,
    }
}

fn outcome(report: Result<Report>) -> Outcome {
    Outcome { id: "own/t", title: "T", reference: "R", report, time: Duration::from_secs(1) }
}

fn summary() -> Summary {
    let mut report = Report { figures: vec![figure()], ..Report::default() };
    report.claim("x < y", true, "1 < 2").of("theorem 9").formula().catches(&[Sabotage::NoNoise]);
    let mut table = Table::new("numbers", "Some numbers", &["a", "b"]);
    table.row([1, 2]);
    report.tables.push(table);
    report.note("a remark");
    let broken = Err(crate::Error::invalid("k", 0, "positive"));
    Summary { outcomes: vec![outcome(Ok(report)), outcome(broken)], effort: Effort::Full, seed: 1 }
}

#[test]
fn svg_shows_every_part() {
    let svg = figure_svg(&figure()).unwrap();
    for text in ["left", "right", "epsilon", "precision", "sigma", "ours", "theirs"] {
        assert!(svg.contains(&format!("\n{text}\n</text>")), "{text} is missing");
    }
    // Two curves of two panels, two drawn points each, and the legend's two keys; the first
    // label has circles.
    assert_eq!(svg.matches("<circle").count(), 2 * 2 + 1);
    assert_eq!(svg.matches("<svg").count(), 1);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn figures_that_cannot_be_drawn_are_named() {
    let mut empty = figure();
    empty.panels[1].curves.clear();
    let error = figure_svg(&empty).unwrap_err().to_string();
    assert_eq!(error, "figure fig: panel \"right\": no drawable x");
    empty.panels.clear();
    assert_eq!(figure_svg(&empty).unwrap_err().to_string(), "figure fig: no panels");
}

#[test]
fn csv_states_everything_for_every_point() {
    let text = String::from_utf8(figure_csv(&figure())).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * 2 * 3);
    assert_eq!(lines[3], "left,ours,3,2,,noise <of> a & b,256,3,0.000001,2.5,derived from 7,t,2");
    assert!(lines[1].starts_with("left,ours,1,1.1,0.0999"), "{}", lines[1]);
}

#[test]
fn page_states_claims_and_origins() {
    let page = page(&summary()).unwrap();
    assert!(page.contains("<p>1 claims passed, 1 failed (0 of them known to).</p>"));
    assert!(
        page.contains("<span class=\"pass\">pass</span></td><td>x &lt; y</td><td>1 &lt; 2</td>")
    );
    assert!(page.contains("did not finish: k = 0 is not allowed"));
    assert!(page.contains("Full run") && page.contains("seed 1"));
    assert!(page.contains("<td>noise &lt;of&gt; a &amp; b</td><td>256</td><td>1, 2, 3</td>"));
    assert!(page.contains("<td>4.5, 3.5, 2.5</td><td>derived from 7</td><td>t</td><td>2</td>"));
}

fn catalogue() -> Vec<Box<dyn Experiment>> {
    let study = |id| {
        let run = |_: &Context<'_>| -> Result<Report> { Ok(Report::default()) };
        Box::new(Study { id, title: "T", reference: "R", run }) as Box<_>
    };
    vec![study("own/t"), study("own/other")]
}

#[test]
fn files_are_written_whole_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a/b");
    for _ in 0..2 {
        let index = write(&summary(), &out).unwrap();
        assert!(std::fs::read_to_string(index).unwrap().ends_with("</html>\n"));
    }
    let mut names: Vec<String> = std::fs::read_dir(out.join("own/t"))
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["fig.csv", "fig.svg", "numbers.csv", "report.json"]);
    let pages = publish(&summary(), &out, &catalogue()).unwrap();
    assert_eq!(pages, [out.join("own/t.md"), out.join("README.md")]);
    let index = std::fs::read_to_string(&pages[1]).unwrap();
    assert!(
        index.contains("1 claims passed, 0 failed; failures stay") && !index.contains("own/other"),
        "{index}"
    );
    assert!(index.contains("| [own/t](own/t.md) | T | R | 1 | 0 |"), "{index}");
    let text = std::fs::read_to_string(&pages[0]).unwrap();
    assert!(text.contains("![fig](t-fig.svg)") && out.join("own/t-fig.svg").exists());
    assert!(
        text.contains("| pass | x < y | 1 < 2 | theorem 9; formula; notices no noise |"),
        "{text}"
    );
    assert!(text.contains("`cargo xtask experiments --full own/t`"), "{text}");
}

#[test]
fn unwritable_places_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    write_atomic(&file, b"x").unwrap();
    let error = write_atomic(&file.join("below"), b"y").unwrap_err().to_string();
    assert!(error.contains("file/below"), "{error}");
}

#[test]
fn numbers_read_well() {
    let cases = [(0.0, "0"), (256.0, "256"), (1e-6, "1e-6"), (0.25, "0.25"), (4.224678, "4.2247")];
    for (x, text) in cases {
        assert_eq!(number(x), text);
    }
    assert_eq!(number(123_456.7), "123457");
}

/// Publishes a run, changes the next run, and compares.
fn agreement(change: impl Fn(&mut Curve)) -> Agreement {
    let folder = tempfile::tempdir().unwrap();
    let mut run = summary();
    run.outcomes.truncate(1);
    publish(&run, folder.path(), &catalogue()).unwrap();
    let report = run.outcomes[0].report.as_mut().unwrap();
    change(&mut report.figures[0].panels[1].curves[0]);
    compare(&run, folder.path()).unwrap().remove(0)
}

#[test]
fn equal_runs_agree() {
    let same = agreement(|_| ());
    assert_eq!((same.equal, same.within, same.without_bar), (12, 0, 0));
    assert_eq!(same.beyond, [""; 0]);
}

#[test]
fn differences_are_judged_by_the_error_bars() {
    // The bar of the first point is 0.1 in both runs, 0.1414 together.
    let near = agreement(|c| c.points[0].y += 0.84);
    assert_eq!((near.equal, near.within, near.beyond.len()), (11, 1, 0));
    let far = agreement(|c| c.points[0].y += 0.86);
    assert_eq!((far.equal, far.within, far.beyond.len()), (11, 0, 1));
    assert!(far.beyond[0].starts_with("fig, right, ours, x = 1: "), "{:?}", far.beyond);
}

#[test]
fn points_without_bars_are_equal_or_not_judged_unless_they_are_formulas() {
    let random = agreement(|c| c.points[2].y += 1e-6);
    assert_eq!((random.equal, random.without_bar, random.beyond.len()), (11, 1, 0));
    let formula = agreement(|c| {
        c.points[2].y += 1e-6;
        c.origin.seeds = Seeds::None;
    });
    assert_eq!((formula.equal, formula.beyond.len()), (11, 1));
}

#[test]
fn missing_curves_and_moved_points_are_told() {
    let renamed = agreement(|c| c.label = "other".into());
    assert_eq!(renamed.beyond.len(), 2, "{:?}", renamed.beyond);
    let shorter = agreement(|c| c.points.truncate(2));
    assert_eq!(shorter.beyond, ["fig, right, ours: other points"]);
    let moved = agreement(|c| c.points[1].x = 2.5);
    assert_eq!(moved.beyond, ["fig, right, ours: x = 2.5 against 2"]);
}

#[test]
fn unpublished_figures_are_told_and_unreadable_ones_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = summary();
    run.outcomes.truncate(1);
    let missing = compare(&run, folder.path()).unwrap().remove(0);
    assert_eq!(missing.beyond, ["fig: was not published"]);
    std::fs::create_dir_all(folder.path().join("own/t-fig.csv")).unwrap();
    let error = compare(&run, folder.path()).unwrap_err().to_string();
    assert!(error.contains("own/t-fig.csv"), "{error}");
}

#[cfg(feature = "sabotage")]
#[test]
fn what_was_not_tried_stays_as_it_was_while_the_same_claims_pass() {
    use crate::framework::trial::Trial;
    let folder = tempfile::tempdir().unwrap();
    let trial = |passing, noticed: &[(Sabotage, usize)], deaf: &[&str]| Trial {
        id: "own/t",
        passing,
        reached: vec![Sabotage::NoNoise, Sabotage::HalfNoise],
        noticed: noticed.iter().map(|(s, n)| (*s, Ok(*n))).collect(),
        missed: Vec::new(),
        deaf: deaf.iter().map(|d| (*d).to_owned()).collect(),
        failing: Vec::new(),
    };
    let page = |trial, chosen: &[Sabotage]| {
        let path = publish_trials(&[trial], chosen, 1, folder.path(), &catalogue()).unwrap();
        std::fs::read_to_string(path).unwrap()
    };
    let all = [(Sabotage::NoNoise, 3), (Sabotage::HalfNoise, 1)];
    let first = page(trial((4, 4), &all, &["a", "b"]), &Sabotage::ALL);
    assert!(first.contains("| own/t | 4/4 | 3 | 1 | - | -"), "{first}");
    // Others passed "b" too, which one of those tried now notices.
    let next =
        page(trial((4, 4), &[(Sabotage::HalfNoise, 2)], &["a", "c"]), &[Sabotage::HalfNoise]);
    assert!(next.contains("| own/t | 4/4 | 3 | 2 | - | -"), "{next}");
    assert!(next.ends_with("- own/t: a\n"), "{next}");
    let other = page(trial((5, 5), &[(Sabotage::HalfNoise, 2)], &[]), &[Sabotage::HalfNoise]);
    assert!(other.contains("| own/t | 5/5 | ? | 2 | - | -"), "{other}");
}
