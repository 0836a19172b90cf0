//! The verifier in `tools/verify`, which shares no code with the library and is written from
//! `docs/FORMAT.md` alone: it accepts a release of every kind, and refuses every edited one.
//!
//! Needs Python 3 with mpmath (`tools/verify/requirements.txt`), in `tools/verify/.venv` or on the path.

use dp_core::certificate::{Exception, Trust, canonical};
use dp_core::release_file::{Kind, encode, fingerprint, open};
use dp_core::{Adjacency, Budget, EntryBound, Guarantee, NoiseRng, PublicSeed, Shift};
use fuzzing::{Sample, releases};
use linalg_dp::any::AnyRelease;
use serde_json::{Value, json};
use sketch::RowsView;
use sketch::bounded::{BoundedConfig, BoundedLaw, PrivateBounded};
use sketch::distances::ValueRange;
use sketch::projection::Family;
use sketch::signs::{FlipRule, PrivateSigns, SignSketch};
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/verify")
}

/// A Python with mpmath; without one it says loudly that nothing is tested.
fn python() -> Option<PathBuf> {
    let places = [tools().join(".venv/bin/python"), PathBuf::from("python3")];
    let works = |python: &PathBuf| {
        let run = Command::new(python).args(["-c", "import mpmath"]).output();
        run.is_ok_and(|output| output.status.success())
    };
    let found = places.into_iter().find(works);
    if found.is_none() {
        // Not a macro: the test harness would hold it back.
        let line = "SKIPPED: the independent verifier: no python3 with mpmath \
                    (python3 -m venv tools/verify/.venv && tools/verify/.venv/bin/pip install -r \
                    tools/verify/requirements.txt)\n";
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    found
}

/// Honest files are accepted, and edited ones refused.
pub(crate) fn judged(honest: &[(String, Vec<u8>)], edited: &[(String, Vec<u8>)]) {
    let Some(python) = python() else { return };
    for (files, expected) in [(honest, ": accepted: "), (edited, ": REFUSED: ")] {
        for ((name, _), verdict) in files.iter().zip(verdicts(&python, files)) {
            assert!(verdict.contains(expected), "{name}: {verdict}");
        }
    }
}

/// What the verifier says of each file, in their order: the line of the verdict.
fn verdicts(python: &Path, files: &[(String, Vec<u8>)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(python);
    command.arg(tools().join("verify.py"));
    for (i, (_, bytes)) in files.iter().enumerate() {
        let path = folder.path().join(i.to_string());
        std::fs::write(&path, bytes).unwrap();
        command.arg(path);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<String> =
        text.lines().filter(|line| !line.starts_with(' ')).map(str::to_owned).collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(lines.len(), files.len(), "{text}{errors}");
    lines
}

#[test]
fn a_release_of_every_kind_is_accepted() {
    let Some(python) = python() else { return };
    let (mut files, mut kinds) = (Vec::new(), HashSet::new());
    for Sample { name, bytes, .. } in releases().unwrap() {
        let summary = open(&bytes).unwrap().summary;
        kinds.insert(summary.kind);
        let alone = summary.certificate;
        files.push((format!("{name}, its certificate"), alone.to_json().into_bytes()));
        files.push((format!("{name}, canonical"), canonical(&alone).into_bytes()));
        files.push((name, bytes));
    }
    assert_eq!(kinds, HashSet::from(Kind::ALL));
    for ((name, _), verdict) in files.iter().zip(verdicts(&python, &files)) {
        assert!(verdict.contains(": accepted: "), "{name}: {verdict}");
    }
}

/// Certificates of integer noise: the deltas that they state are those of sums in another language.
#[test]
fn integer_noise_is_summed_up_again() {
    use dp_core::mechanism::{Basis, Mechanism, PrivateVector, Statistic};
    use dp_core::noise::{DiscreteGaussian, DiscreteLaplace};
    use dp_core::{L1Sensitivity, L2Sensitivity, NormBound};
    let Some(python) = python() else { return };
    let person = Adjacency::AddRemoveRow { bound: NormBound::new(1.0).unwrap() };
    let (most, budget) = (EntryBound::new(1e6).unwrap(), Budget::new(0.7, 1e-6).unwrap());
    let basis = || Basis::declared("the tests", "a person is in one category");
    let rng = &mut NoiseRng::deterministic_not_private(4);
    let mut files = Vec::new();
    for moves in [1.0, 3.0] {
        let statistic = Statistic::new(person, L1Sensitivity::new(moves).unwrap(), 3, most);
        let made = PrivateVector::<DiscreteLaplace>::calibrate((statistic, basis()), budget);
        let release = made.unwrap().release(&[5.0, 0.0, 2.0], rng).unwrap();
        files.push((format!("Laplace, {moves}"), release.certificate().to_json().into_bytes()));
        for touched in [1, 3] {
            let statistic = Statistic::new(person, L2Sensitivity::new(moves).unwrap(), 3, most);
            let config = (statistic.touching(touched), basis());
            let made = PrivateVector::<DiscreteGaussian>::calibrate(config, budget).unwrap();
            let release = made.release(&[5.0, 0.0, 2.0], rng).unwrap();
            let name = format!("Gaussian, {moves}, {touched} numbers");
            files.push((name, release.certificate().to_json().into_bytes()));
        }
    }
    for ((name, _), verdict) in files.iter().zip(verdicts(&python, &files)) {
        assert!(verdict.contains(": accepted: "), "{name}: {verdict}");
    }
}

/// Epsilons just below the largest loss, where delta is the difference of both: what is stated is above the delta that is given, and
/// taken; what is below it, or far above, is not.
#[test]
fn small_deltas_of_responses_are_taken_as_they_are_stated() {
    let (x, attribute) = ([0.25; 9], Adjacency::Attribute { beta: Shift::new(1.0).unwrap() });
    let rows = RowsView::f64(1, 9, &x).unwrap();
    let bound = EntryBound::new(1.0).unwrap();
    let (mut honest, mut edited) = (Vec::new(), Vec::new());
    for (epsilon, delta) in [0.01, 0.1, 0.3, 1.0, 3.0]
        .into_iter()
        .flat_map(|epsilon| [1e-8, 1e-12, 1e-15].map(|delta| (epsilon, delta)))
    {
        let sketch = SignSketch::repeated(Family::Oporp, 9, 4, 4, PublicSeed::new(3)).unwrap();
        let budget = Budget::new(epsilon, delta).unwrap();
        let rule = FlipRule::RandomizedResponse;
        let signs = PrivateSigns::new(sketch, rule, attribute, bound, budget).unwrap();
        let release = signs.release(rows, &mut NoiseRng::deterministic_not_private(4)).unwrap();
        let bytes = encode(&release).unwrap();
        let stated = release.certificate().guarantee().true_delta().unwrap().get();
        for (what, moved) in [("less", -0.5), ("more", 0.5)] {
            let forged = fuzzing::forged(&bytes, |_, fields| {
                fields["certificate"]["ln_true_delta"] = json!(stated + moved * stated.abs());
            });
            edited.push((format!("{epsilon}, {delta}, {what}"), forged.unwrap()));
        }
        honest.push((format!("{epsilon}, {delta}"), bytes));
    }
    for (name, bytes) in &honest {
        assert!(library_accepts(bytes), "{name}");
    }
    for (name, bytes) in &edited {
        assert!(!library_accepts(bytes), "{name}");
    }
    judged(&honest, &edited);
}

/// Edits of the trailer's fields by somebody who sets every digest and checksum right again.
fn inconsistent(trailer: &Value) -> Vec<(&'static str, Value)> {
    let certificate = "/certificate";
    let (guarantee, noise) = ("/certificate/guarantee", "/certificate/noise");
    let mut edits = Vec::new();
    let mut edit = |path: &str, what: &'static str, new: &dyn Fn(&Value) -> Option<Value>| {
        let mut edited = trailer.clone();
        let Some(place) = edited.pointer_mut(path) else { return };
        if let Some(new) = new(place).filter(|new| new != place) {
            *place = new;
            edits.push((what, edited));
        }
    };
    let times =
        |factor: f64| move |v: &Value| v.as_f64().filter(|_| v.is_f64()).map(|x| json!(x * factor));
    let plus = |by: u64| move |v: &Value| v.as_u64().map(|x| json!(x + by));
    let to = |new: Value| move |_: &Value| Some(new.clone());
    for name in ["sigma", "scale", "lift"] {
        edit(&format!("{noise}/{name}"), "scale of the noise law", &times(0.9));
        edit(&format!("{noise}/laws/0/{name}"), "scale of the first noise law", &times(0.9));
        edit(&format!("{guarantee}/profile/{name}"), "scale of the profile", &times(1.01));
    }
    // No number of a window of sketches lies on the grid of a sketch.
    if !trailer.to_string().contains("johnson-lindenstrauss") {
        let coarser = |v: &Value| v.as_i64().map(|g| json!(g + 60));
        edit(&format!("{noise}/grid"), "grid of the noise law", &coarser);
    }
    edit(&format!("{noise}/laws/0/grid"), "grid of the first noise law", &|_| Some(json!(900)));
    edit(&format!("{guarantee}/profile/dim"), "dimension of the profile", &|_| Some(json!(1)));
    edit(&format!("{noise}/keep"), "keep probability of the noise law", &times(0.9));
    edit(&format!("{guarantee}/profile/keep"), "keep probability of the profile", &times(0.9));
    for name in ["sensitivity", "entry_shift", "bound", "probability"] {
        edit(&format!("{guarantee}/profile/{name}"), "what moves", &times(0.5));
    }
    edit(&format!("{guarantee}/ln_true_delta"), "stated delta", &times(1.001));
    edit(&format!("{certificate}/ln_true_delta"), "stated delta", &times(1.001));
    edit(&format!("{guarantee}/budget/epsilon"), "epsilon", &times(0.9));
    if trailer.pointer("/certificate/guarantee/claim") == Some(&json!("met")) {
        edit(&format!("{guarantee}/budget/delta"), "delta", &times(0.5));
        edit(&format!("{guarantee}/claim"), "claim", &to(json!("missed-accepted-by-name")));
    } else {
        edit(&format!("{guarantee}/claim"), "claim", &to(json!("met")));
    }
    edit(&format!("{guarantee}/provenance/theorem"), "theorem", &to(json!("public-basis")));
    edit(&format!("{certificate}/public/chosen bound"), "chosen bound", &times(1.01));
    edit(&format!("{certificate}/public/rows"), "number of rows", &plus(10_000));
    edit(&format!("{certificate}/public/columns"), "names of columns", &to(json!("[\"one\"]")));
    // The sensitivity of a factorised stream follows from its matrices, which the verifier leaves alone; that of a chosen
    // bound from the bound that was chosen.
    let text = trailer.to_string();
    if !text.contains("factorised") && !text.contains("chosen bound") {
        edit(&format!("{guarantee}/adjacency/bound"), "bound of the adjacency", &times(1.01));
    }
    edit(&format!("{guarantee}/adjacency/l2"), "shift of the adjacency", &times(1.01));
    // Signs hide any change of an attribute; a sketch hides one of a size.
    let projected = ["/parameters/family", "/parameters/grid"];
    if projected.iter().any(|path| trailer.pointer(path).is_some()) {
        edit(&format!("{guarantee}/adjacency/beta"), "change of the adjacency", &times(1.01));
    }
    if trailer.pointer("/certificate/guarantee/provenance/theorem").is_some() {
        edit(&format!("{guarantee}/adjacency/alpha"), "items of the adjacency", &plus(1));
    }
    edit(&format!("{certificate}/generator"), "generator", &to(json!("dice")));
    edit(&format!("{certificate}/class"), "class", &to(json!("nothing")));
    edit(&format!("{certificate}/format"), "format", &to(json!(2)));
    edit(&format!("{certificate}/warning"), "warning", &to(json!("all is well")));
    edit("/fingerprint", "fingerprint", &to(json!("0123456789abcdef")));
    edit("/rows", "rows", &plus(1));
    edit("/columns", "columns", &plus(1));
    edit("/parameters/k", "columns of the parameters", &plus(1));
    edit("/parameters/projection/k", "columns of the projection", &plus(1));
    for by in [-1, 1] {
        let moved = |v: &Value| v.as_i64().map(|g| json!(g + by));
        edit("/parameters/grid", "coarse grid", &moved);
    }
    edits
}

/// The same, left as they are by somebody who only sets the checksum right.
fn careless(trailer: &Value) -> Vec<(&'static str, Value)> {
    let mut edits = Vec::new();
    for (path, what, new) in [
        ("/certificate/generator", "generator without its digest", json!("os-chacha12")),
        ("/certificate/mechanism", "mechanism without its digest", json!("another")),
        ("/certificate/payload", "hash of another payload", json!("00".repeat(32))),
        ("/certificate/digest", "digest", json!("00".repeat(32))),
        ("/certificate/public", "public parameters without their digest", json!({})),
    ] {
        let mut edited = trailer.clone();
        *edited.pointer_mut(path).unwrap() = new;
        edits.push((what, edited));
    }
    edits
}

#[test]
fn every_edited_release_is_refused() {
    let Some(python) = python() else { return };
    let mut files = Vec::new();
    for Sample { name, bytes, .. } in releases().unwrap() {
        let mut add = |what: &str, bytes| files.push((format!("{name}: {what}"), bytes));
        let opened = open(&bytes).unwrap();
        assert!(!opened.payload.is_empty());
        let mut flipped = bytes.clone();
        flipped[16] ^= 1;
        add("a byte of the payload", flipped.clone());
        add("a byte of the payload, with a new checksum", fuzzing::sealed(&flipped));
        add("a byte less", bytes[..bytes.len() - 1].to_vec());
        let mut old = bytes.clone();
        old[8] = 1;
        add("the version before", old);
        let trailer = fuzzing::trailer(&bytes).unwrap();
        for (what, edited) in inconsistent(&trailer) {
            add(what, fuzzing::forged(&bytes, |_, fields| *fields = edited).unwrap());
        }
        for (what, edited) in careless(&trailer) {
            add(what, fuzzing::repacked(&bytes, &edited).unwrap());
        }
        // A payload of another length under its own hash.
        let longer = fuzzing::forged(&bytes, |payload, _| payload.extend([0; 8])).unwrap();
        add("eight bytes more of payload", longer);
    }
    assert!(files.len() > 200, "{}", files.len());
    let said = verdicts(&python, &files);
    let passed: Vec<&String> = files
        .iter()
        .zip(&said)
        .filter(|(_, v)| !v.contains(": REFUSED: "))
        .map(|(f, _)| &f.0)
        .collect();
    assert!(passed.is_empty(), "accepted: {passed:#?}");
    // A crash on the way is no verdict: reasons are given in the page's words nearly always.
    let malformed = said.iter().filter(|v| v.contains("malformed")).count();
    assert!(malformed * 10 < said.len(), "{malformed} of {}", said.len());
}

/// Both verifiers read ids of rows, of every kind that has rows and of no other, and refuse those that are none.
#[test]
fn ids_of_rows_are_read_and_edited_ones_are_refused() {
    let (mut honest, mut edited) = (Vec::new(), Vec::new());
    let mut kinds = HashSet::new();
    let presence = |sigma: f64| {
        let profile = json!({"kind": "gaussian", "sensitivity": 1.0, "sigma": sigma});
        let guarantee = Guarantee::declared(
            serde_json::from_value(json!({"kind": "add-remove-row", "bound": 1.0})).unwrap(),
            Budget::new(20.0, 1e-5).unwrap(),
            serde_json::from_value(profile).unwrap(),
            "nobody",
            "a test",
        );
        guarantee.unwrap()
    };
    let mut absent = 0;
    for Sample { name, bytes, .. } in releases().unwrap() {
        let summary = open(&bytes).unwrap().summary;
        let ids: String = (0..summary.rows).map(|i| format!("Zoë {i}\n")).collect();
        let with = |ids: &[u8], length: u64| {
            let named = fuzzing::forged(&bytes, |payload, fields| {
                payload.extend(ids);
                fields["ids"] = json!(length);
            });
            named.unwrap()
        };
        let named = with(ids.as_bytes(), ids.len() as u64);
        if !summary.kind.has_rows() {
            edited.push((format!("{name}: ids where there are no rows"), named));
            continue;
        }
        kinds.insert(summary.kind);
        // Who is there is what these would tell: where a declared guarantee hides that, ids are refused and the rest is not.
        let noise = fuzzing::trailer(&named).unwrap()["certificate"]["noise"].clone();
        if noise["kind"] == "rounded-gaussian" {
            absent += 1;
            let presence = presence(noise["sigma"].as_f64().unwrap());
            let [with_ids, without] = [&named, &bytes].map(|file| {
                let forged = fuzzing::forged(file, |_, fields| {
                    let certificate = &mut fields["certificate"];
                    certificate["ln_true_delta"] = json!(presence.true_delta().unwrap().get());
                    certificate["guarantee"] = serde_json::to_value(&presence).unwrap();
                });
                forged.unwrap()
            });
            open(&without).unwrap();
            let refused = open(&with_ids).unwrap_err().to_string();
            assert!(refused.contains("tell who is in"), "{name}: {refused}");
            edited.push((format!("{name}: rows whose presence is protected"), with_ids));
        }
        assert_eq!(open(&named).unwrap().ids.unwrap().get(0), Some("Zoë 0"), "{name}");
        let mut bad = |what: &str, bytes: Vec<u8>| edited.push((format!("{name}: {what}"), bytes));
        // The checksum set right, and nothing else: the certificate was written for other ids.
        let mut renamed = named.clone();
        let at = renamed.windows(6).position(|part| part == "Zoë 0".as_bytes()).unwrap();
        renamed[at] = b'X';
        bad("another id", renamed.clone());
        bad("another id with a new checksum", fuzzing::sealed(&renamed));
        let mut trailer = fuzzing::trailer(&named).unwrap();
        trailer.as_object_mut().unwrap().remove("ids");
        bad("ids taken for numbers", fuzzing::repacked(&named, &trailer).unwrap());
        // Every hash set right: what stands there must still be ids of these rows.
        let mut of = |what: &str, text: Vec<u8>| bad(what, with(&text, text.len() as u64));
        let text = |of: &str| of.as_bytes().to_vec();
        of("one more", text(&format!("{ids}more\n")));
        of("one less", text(ids.split_inclusive('\n').skip(1).collect::<String>().as_str()));
        of("an end that is missing", text(ids.trim_end()));
        of("a control character", text(&ids.replacen('Z', "\t", 1)));
        of("a next line", text(&ids.replacen('Z', "\u{85}", 1)));
        of("no name", text(&ids.replacen("Zoë 0", "", 1)));
        of("a long name", text(&ids.replacen('Z', &"Z".repeat(260), 1)));
        of("no text", ids.bytes().map(|byte| if byte == b'Z' { 0xff } else { byte }).collect());
        if summary.rows > 1 {
            of("two of one name", text(&ids.replacen("Zoë 1\n", "Zoë 0\n", 1)));
        }
        for length in [0, ids.len() as u64 - 1, ids.len() as u64 + 8, 1 << 60] {
            bad("another length of the ids", with(ids.as_bytes(), length));
        }
        honest.push((name, named));
    }
    let rows = Kind::ALL.into_iter().filter(|kind| kind.has_rows()).collect();
    assert_eq!(kinds, rows, "kinds with rows");
    assert!(absent > 0);
    for (name, bytes) in &edited {
        assert!(AnyRelease::decode(bytes).is_err(), "{name}");
    }
    judged(&honest, &edited);
}

/// A range that is wider than what may change, a response that keeps more, another adjacency, other categories than there are: each under
/// a right checksum.
#[test]
fn bounded_values_are_held_to_their_range_and_response() {
    let range = ValueRange::new(0.0, 1.0).unwrap();
    let (mut honest, mut edited) = (Vec::new(), Vec::new());
    for (name, beta, law, steps) in [
        ("one bit", 1.0, BoundedLaw::OneBit, 6),
        ("wider beta", 3.0, BoundedLaw::LeastError, 6),
        ("categories", 1.0, BoundedLaw::Categories(2), 1),
    ] {
        let rows: Vec<f64> =
            (0..36).map(|i| f64::from(i % (steps + 1)) / f64::from(steps)).collect();
        let view = RowsView::f64(4, 9, &rows).unwrap();
        let beta = Shift::new(beta).unwrap();
        let config = BoundedConfig { d: 9, range, beta, law, clip: false };
        let mechanism = PrivateBounded::new(config, Budget::new(3.0, 0.0).unwrap()).unwrap();
        let rng = &mut NoiseRng::deterministic_not_private(2);
        let bytes = encode(&mechanism.release(view, rng).unwrap()).unwrap();
        assert!(library_accepts(&bytes), "{name}");
        let (guarantee, noise) = ("/certificate/guarantee", "/certificate/noise");
        let (public, stated) = ("/certificate/public", "/parameters");
        let all: [(&str, Vec<(String, serde_json::Value)>); 10] = [
            ("narrow beta", vec![(format!("{guarantee}/adjacency/beta"), json!(0.5))]),
            (
                "another adjacency",
                vec![(format!("{guarantee}/adjacency"), json!({"kind": "any-input"}))],
            ),
            (
                "a range of 4",
                vec![
                    (format!("{stated}/high"), json!(4.0)),
                    (format!("{public}/highest entry"), json!(4.0)),
                ],
            ),
            (
                "no range",
                vec![
                    (format!("{stated}/high"), json!(0.0)),
                    (format!("{public}/highest entry"), json!(0.0)),
                ],
            ),
            (
                "no offsets",
                vec![
                    (format!("{stated}/offsets"), json!(0)),
                    (format!("{public}/offsets"), json!(0)),
                ],
            ),
            (
                "many offsets",
                vec![
                    (format!("{stated}/offsets"), json!(200)),
                    (format!("{public}/offsets"), json!(200)),
                ],
            ),
            (
                "a response that keeps more",
                vec![
                    (format!("{noise}/keep"), json!(0.99)),
                    (format!("{guarantee}/profile/keep"), json!(0.99)),
                ],
            ),
            ("more categories", vec![(format!("{public}/categories"), json!(3))]),
            ("categories in words", vec![(format!("{public}/categories"), json!("2"))]),
            (
                "another response",
                vec![
                    (format!("{noise}/alphabet"), json!(60)),
                    (format!("{guarantee}/profile/alphabet"), json!(60)),
                ],
            ),
        ];
        for (what, places) in all {
            let forged = fuzzing::forged(&bytes, |_, fields| {
                for (place, value) in &places {
                    let (of, field) = place.rsplit_once('/').unwrap();
                    let of = fields.pointer_mut(of).unwrap_or_else(|| panic!("{place}"));
                    of[field] = value.clone();
                }
                let digest = fingerprint(&fields["parameters"]);
                fields["fingerprint"] = json!(digest);
            });
            let forged = forged.unwrap();
            assert!(!library_accepts(&forged), "{name}: {what}");
            edited.push((format!("{name}: {what}"), forged));
        }
        honest.push((name.to_owned(), bytes));
    }
    judged(&honest, &edited);
}

/// Whether the library reads a release and finds that it holds together.
pub(crate) fn library_accepts(bytes: &[u8]) -> bool {
    let trust = Trust::none().and(Exception::TestNoise);
    AnyRelease::decode(bytes).is_ok_and(|(_, release)| release.verify(&trust).is_ok())
}
