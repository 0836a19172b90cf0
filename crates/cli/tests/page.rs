//! `dps inspect --html`: one page that says everything, needs nothing from elsewhere, and in which nothing of a
//! file acts.

use crate::support::{Room, text};
use dp_core::certificate::{PublicValue, Statement};
use dp_core::noise::{GeneratorKind, Grid, NoiseLaw};
use dp_core::release_file::AnyCertificate;
use dp_core::{
    Adjacency, Budget, Certificate, Guarantee, L2Sensitivity, NoGuarantee, NoiseScale, Profile,
    Shift,
};
use std::path::{Path, PathBuf};

/// Markup that acts in a page, were it not escaped.
const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=\"alert('2')\">&amp;\u{1b}[2K\u{202e}</title></pre>";

fn statement(name: &str, values: usize) -> Statement {
    let grid = Grid::new(-12).expect("a grid");
    let noise = NoiseLaw::RoundedGaussian { sigma: NoiseScale::new(5.0).expect("positive"), grid };
    let generator = GeneratorKind::OsChacha12;
    let public = (0..values).map(|i| (format!("{name} {i}"), PublicValue::Text(name.repeat(3))));
    Statement { mechanism: name.to_owned(), noise, generator, public: public.collect() }
}

fn declared(name: &str, values: usize) -> Certificate {
    let (sensitivity, sigma) = (L2Sensitivity::new(1.0), NoiseScale::new(5.0));
    let sensitivity = sensitivity.expect("positive");
    let profile = Profile::Gaussian { sensitivity, sigma: sigma.expect("positive") };
    let adjacency = Adjacency::Attribute { beta: Shift::new(1.0).expect("positive") };
    let budget = Budget::new(2.0, 1e-5).expect("valid");
    let guarantee = Guarantee::declared(adjacency, budget, profile, name, name).expect("meets");
    Certificate::declared(statement(name, values), guarantee).expect("consistent")
}

/// The page of a file, which must be whole.
fn page(room: &Room, file: &Path, to: &str) -> String {
    let output = room.run(&format!("inspect {} --html {to}", file.display()));
    assert!(output.status.success(), "{}: {}", file.display(), text(&output));
    let html = String::from_utf8(room.read(to)).expect("text");
    assert!(html.len() < 300_000 && html.ends_with("</main></body></html>\n"), "{}", html.len());
    html
}

/// Tags that were opened and not closed, in order; every tag is one that the page knows.
fn open_tags(html: &str) -> Vec<&str> {
    const KNOWN: [&str; 36] = [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "p",
        "b",
        "ul",
        "li",
        "dl",
        "dt",
        "dd",
        "div",
        "table",
        "caption",
        "tr",
        "th",
        "td",
        "figure",
        "figcaption",
        "svg",
        "desc",
        "path",
        "text",
        "polyline",
        "circle",
        "details",
        "summary",
        "pre",
        "code",
        "br",
        "span",
    ];
    const EMPTY: [&str; 2] = ["meta", "br"];
    let mut open = Vec::new();
    for part in html.split('<').skip(1) {
        let (tag, _) = part.split_once('>').expect("a tag ends");
        if tag.starts_with('!') {
            continue;
        }
        let name = tag.trim_start_matches('/').split([' ', '/']).next().expect("a name");
        assert!(KNOWN.contains(&name), "<{tag}>");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "<{tag}>");
        } else if !EMPTY.contains(&name) && !tag.ends_with('/') {
            open.push(name);
        }
    }
    open
}

fn acts(html: &str) -> Vec<&str> {
    let tags = html.split('<').skip(1).filter_map(|part| part.split_once('>')).map(|(tag, _)| tag);
    tags.filter(|tag| {
        // Every other part stands in quotes.
        let tag: String = tag.to_lowercase().split('"').step_by(2).collect();
        let handler = tag.split_whitespace().skip(1).any(|word| word.starts_with("on"));
        handler
            || ["script", "iframe", "link", "img", "object"].iter().any(|t| tag.starts_with(t))
            || ["src=", "href=", "url(", "@import"].iter().any(|t| tag.contains(t))
    })
    .collect()
}

fn golden() -> Vec<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let folders = std::fs::read_dir(corpus).expect("the corpus").flatten();
    let files = folders.flat_map(|f| std::fs::read_dir(f.path()).expect("a folder").flatten());
    files.map(|f| f.path()).filter(|path| path.extension().is_some_and(|e| e == "dps")).collect()
}

#[test]
fn every_kind_of_release_has_a_page_that_stands_alone() {
    let room = Room::new();
    let mut pages = 0;
    for (i, file) in golden().iter().enumerate() {
        if !room.run(&format!("inspect {}", file.display())).status.success() {
            continue;
        }
        let html = page(&room, file, &format!("{i}.html"));
        assert_eq!(open_tags(&html), Vec::<&str>::new(), "{}", file.display());
        assert_eq!(acts(&html), Vec::<&str>::new(), "{}", file.display());
        assert!(!html.contains("http:") && !html.contains("https:"), "{}", file.display());
        for id in ["protected", "learnt", "noise", "error", "unchecked"] {
            assert!(html.contains(&format!("<h2 id=\"{id}\">")), "{}: {id}", file.display());
        }
        // The golden files are made with noise that anybody can make again, and some without any guarantee.
        assert!(html.contains(", BUT "), "{}", file.display());
        pages += 1;
    }
    assert!(pages >= 25, "{pages}");
}

/// From the page alone: what is protected, how strongly, whence the noise came, how large the error is, what
/// nobody checked.
#[test]
fn a_page_answers_the_five_questions() {
    let room = Room::new();
    let rows: String = (0..40).map(|i| format!("0.{},0.{}\n", i % 9, i % 7)).collect();
    room.write("rows.csv", format!("a,b\n{rows}"));
    room.json(
        "release sketch rows.csv --out rows.dps --k 2 --epsilon 1 --delta 1e-6 --adjacency attribute \
         --beta 1 --bound 1 --seed 7 --noise gaussian",
    );
    let html = page(&room, &room.path("rows.dps"), "rows.html");
    for words in [
        "Holds together",
        "one value of one row: nobody who knows all the rest",
        "what many values of a row say together",
        "the best guess is right in at most",
        "<polyline",
        "os-chacha12",
        "rounded-gaussian",
        "the squared distance of its first two rows is",
        "authorship: no signature was checked",
        "epsilon = 1",
    ] {
        assert!(html.contains(words), "{words}");
    }
    // Colours tell nothing: lines differ by their dashes and are named.
    assert!(
        html.contains("class=\"line dashed\"") && html.contains("dashed: a test that sees nothing")
    );
    // A page is never written over another file.
    room.refuses("inspect rows.dps --html rows.html", 3, &["rows.html", "choose another name"]);
    std::fs::create_dir(room.path("folder")).expect("made");
    room.refuses("inspect rows.dps --html folder", 3, &["folder", "name a file in it"]);
    room.refuses("inspect rows.dps --html rows.csv", 3, &["rows.csv"]);
    room.refuses("inspect rows.dps --html new.html --guarantee", 2, &["--guarantee"]);
}

#[test]
fn words_of_a_file_do_nothing_on_a_page() {
    let room = Room::new();
    let none = AnyCertificate::from(NoGuarantee::new(statement(HOSTILE, 3), HOSTILE));
    for (name, certificate) in [("a", declared(HOSTILE, 3).to_json()), ("b", none.to_json())] {
        let file = room.write(&format!("{name}.json"), certificate);
        let output = room.run(&format!("inspect {} --html {name}.html", file.display()));
        assert!(output.status.success(), "{}", text(&output));
        let html = String::from_utf8(room.read(&format!("{name}.html"))).expect("text");
        assert_eq!(open_tags(&html), Vec::<&str>::new(), "{name}");
        assert_eq!(acts(&html), Vec::<&str>::new(), "{name}");
        assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{name}");
        assert!(!html.contains('\u{1b}') && !html.contains('\u{202e}'), "{name}");
    }
}

#[test]
fn a_page_stays_small_whatever_the_file_says() {
    let room = Room::new();
    let name = "&\"'<>`\u{1}".repeat(40);
    let certificate = declared(&name, 300).to_json();
    assert!(certificate.len() > 250_000, "{}", certificate.len());
    let html = page(&room, &room.write("large.json", certificate), "large.html");
    assert_eq!(open_tags(&html), Vec::<&str>::new());
    assert!(html.contains("Too long for this page"));
}
