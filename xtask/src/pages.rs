//! `cargo xtask pages`: what people see, in a browser without a window, on a phone and on a desk.

use crate::environment::folders;
use crate::python::{Result, command};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Say that it was skipped, and succeed, where there is no browser.
    #[arg(long)]
    optional: bool,
    /// The report of experiments to look at, made by `cargo xtask experiments`; without it some short ones are run.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
}

/// Looks into the pages: nothing is cut off, wider than the screen, small or pale, and nothing comes from elsewhere.
const MEASURE: &str = include_str!("pages.js");

/// Short experiments of every kind of figure and table.
const SHORT: [&str; 4] = ["kenthapadi-2013/fig1", "edge-cuts", "item-sets", "row-shift"];

/// All that is measured, broken: if it passes, nothing is.
const BROKEN: &str = "<!doctype html><meta charset=utf-8><title>Broken</title><script>0</script>
<p>A page that is as long as it takes to be looked at, and on which everything that is looked for is to be found.</p>
<p style='width: 1400px'>wide</p><p style='margin-left: 1300px'>outside</p><p style='font-size: 8px'>small</p>
<p style='color: #aaa'>pale</p><img src=missing.png>";

/// What is found on it, at each width.
const FOUND: [&str; 7] = [
    "pixels wide",
    "a script",
    "no image at",
    "without words",
    "cut off",
    "letters of 8.0 pixels",
    "contrast of 2.3",
];

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Some(browser) = browser() else {
        println!(
            "SKIPPED: no page was looked at: there is no `chromium` (or the one named by BROWSER)"
        );
        return Ok(if arguments.optional { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    };
    let (root, target) = folders();
    let folder = target.join("pages");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    std::fs::write(folder.join("broken.html"), BROKEN)?;
    let (_, found) = look(&browser, &folder, &["broken.html".into()])?;
    for width in ["at 390 pixels", "at 1280 pixels"] {
        for what in FOUND {
            if !found.iter().any(|line| line.contains(width) && line.contains(what)) {
                return Err(format!("nothing {what:?} was found {width} on a broken page").into());
            }
        }
    }
    let mut pages = certificates(&root, &command(&root, &target)?, &folder)?;
    let report = match &arguments.report {
        Some(report) => report.canonicalize()?,
        None => short(&folder.join("report"))?,
    };
    pages.push(report.join("index.html").display().to_string());
    let (measured, wrong) = look(&browser, &folder, &pages)?;
    wrong.iter().take(40).for_each(|line| println!("{line}"));
    println!("{} pages, {measured} times looked at, {} things wrong", pages.len(), wrong.len());
    let good = wrong.is_empty() && measured == 2 * pages.len() as u64;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The browser that is there.
fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("BROWSER").map(PathBuf::from);
    let known = ["chromium", "chromium-browser", "google-chrome"].map(PathBuf::from);
    named.into_iter().chain(known).find(|name| {
        let asked = Command::new(name).arg("--version").output();
        asked.is_ok_and(|said| said.status.success())
    })
}

/// `dps inspect --html` of every release whose bytes are kept.
fn certificates(root: &Path, command: &Path, folder: &Path) -> Result<Vec<String>> {
    let kinds = ["sketch", "signs", "sets", "units", "matrices"];
    let mut pages = Vec::new();
    for kind in kinds {
        for file in std::fs::read_dir(root.join(format!("fuzz/corpus/release_{kind}")))? {
            let file = file?.path();
            let page = file.file_stem().ok_or("a release without a name")?.to_string_lossy();
            let page = format!("{kind}-{page}.html");
            let mut inspect = Command::new(command);
            inspect.arg("inspect").arg(&file).arg("--html").arg(folder.join(&page));
            if !inspect.stdout(Stdio::null()).status()?.success() {
                return Err(format!("failed: {inspect:?}").into());
            }
            pages.push(page);
        }
    }
    Ok(pages)
}

/// A report of short experiments.
fn short(out: &Path) -> Result<PathBuf> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("experiments").args(SHORT).arg("--out").arg(out).stdout(Stdio::null());
    match command.status()?.success() {
        true => Ok(out.to_owned()),
        false => Err(format!("failed: {command:?}").into()),
    }
}

/// How often a page was looked at, and what was wrong with it; pages stand in the folder, or are named in full.
fn look(browser: &Path, folder: &Path, pages: &[String]) -> Result<(u64, Vec<String>)> {
    let measure = folder.join("measure.html");
    let list = serde_json::to_string(pages)?;
    std::fs::write(
        &measure,
        format!(
            "<!doctype html><meta charset=utf-8><title>Measure</title><body><script>const PAGES = {list};\n{MEASURE}</script></body>"
        ),
    )?;
    let output = Command::new(browser)
        .args(["--headless", "--disable-gpu", "--allow-file-access-from-files"])
        // Pages of our own; a sandbox is not to be had by root.
        .args(["--no-sandbox", "--virtual-time-budget=600000", "--dump-dom"])
        .arg(format!("file://{}", measure.display()))
        .stderr(Stdio::null())
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let answer =
        text.split_once("<pre id=\"answer\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (answer, _) = answer.ok_or("the browser gave no answer")?;
    let answer = answer.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let answer: serde_json::Value = serde_json::from_str(&answer)?;
    let wrong = answer["wrong"].as_array().ok_or("an answer without a list")?;
    let wrong = wrong.iter().filter_map(|line| line.as_str().map(str::to_owned)).collect();
    Ok((answer["measured"].as_u64().unwrap_or(0), wrong))
}
