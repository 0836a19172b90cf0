use super::*;

fn row() -> Row {
    serde_json::from_str(
        r#"{"what": "Hamming top 50", "unit": "queries/s", "threads": [1], "bench": "search",
            "id": "hamming_top50/10x20/256", "case": "faiss_binary", "lib": "faiss-cpu",
            "op": "IndexBinaryFlat.search", "params": {"nq": 10}}"#,
    )
    .unwrap()
}

const OUTPUT: &str = r#"warming up
{"topic": "7", "note": {"x": 1}}
{"topic": "7", "lib": "faiss-cpu", "version": "1.15.1", "params": {"op": "IndexBinaryFlat.search one", "nq": 1}, "throughput": 5.0, "unit": "queries/s", "contended": false}
{"topic": "7", "lib": "faiss-cpu", "version": "1.15.1", "params": {"op": "IndexBinaryFlat.search use_heap=True", "nq": 10}, "throughput": 200.0, "unit": "queries/s", "contended": false}
"#;

#[test]
fn their_measurement_is_found_by_library_operation_and_parameters() {
    let (rate, peer) = their_rate(OUTPUT, &row()).unwrap();
    assert_eq!((rate, peer.as_str()), (200.0, "faiss-cpu 1.15.1"));
    let busy = OUTPUT.replace("false", "\"kept busy repetitions\"");
    let one = Row { op: "IndexBinaryFlat.search one".into(), params: Default::default(), ..row() };
    let error = their_rate(&busy, &one).unwrap_err().to_string();
    assert!(error.contains("quiet machine: kept busy"), "{error}");
    let other = Row { lib: "simsimd".into(), ..row() };
    let error = their_rate(OUTPUT, &other).unwrap_err().to_string();
    assert!(error.contains("no measurement of simsimd"), "{error}");
    let unit = Row { unit: "rows/s".into(), ..row() };
    let error = their_rate(OUTPUT, &unit).unwrap_err().to_string();
    assert!(error.contains("their unit is \"queries/s\""), "{error}");
}

#[test]
fn our_rate_is_work_over_the_median() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("hamming_top50/10x20_256/new");
    std::fs::create_dir_all(&folder).unwrap();
    let error = our_rate(root.path(), &row()).unwrap_err().to_string();
    assert!(error.contains("estimates.json"), "{error}");
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("estimates.json", r#"{"median": {"point_estimate": 5e7}}"#);
    write("benchmark.json", r#"{"throughput": {"Elements": 10}}"#);
    let (rate, over) = our_rate(root.path(), &row()).unwrap();
    assert!((rate - 200.0).abs() < 1e-9 && over.is_none());
    // Twice itself is a limit of twice its time.
    let stated = Row { work: Some(1.0), limit: vec![row().id, row().id], ..row() };
    let (rate, over) = our_rate(root.path(), &stated).unwrap();
    assert!((rate - 20.0).abs() < 1e-9 && (over.unwrap() - 0.5).abs() < 1e-12);
    let none = Row { limit: vec!["a/b".into()], ..row() };
    assert!(our_rate(root.path(), &none).is_err());
}

#[test]
fn benches_with_a_parameter_or_without_a_group_are_found() {
    let root = tempfile::tempdir().unwrap();
    for (id, folder) in [
        ("dense/oporp-project/60/7/2", "dense/oporp-project/60_7_2"),
        ("calibrate/gaussian/1/1e-6", "calibrate_gaussian_1_1e-6"),
        ("sketch/minhash/20/18", "sketch_minhash/20_18"),
    ] {
        let folder = root.path().join(folder).join("new");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("estimates.json"), r#"{"median": {"point_estimate": 5e8}}"#)
            .unwrap();
        std::fs::write(folder.join("benchmark.json"), r#"{"throughput": null}"#).unwrap();
        let row = Row { id: id.into(), work: Some(1.0), ..row() };
        assert!((our_rate(root.path(), &row).unwrap().0 - 2.0).abs() < 1e-12, "{id}");
    }
}

#[test]
fn every_comparison_of_the_repository_names_a_script_that_has_its_case() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let topics = topics(&here.join("comparisons")).unwrap();
    assert!(!topics.is_empty());
    for topic in &topics {
        let script = std::fs::read_to_string(here.join("peers").join(&topic.script)).unwrap();
        for row in &topic.rows {
            assert!(script.contains(&format!("def {}()", row.case)), "{}", row.what);
            assert!(here.join(format!("benches/{}.rs", row.bench)).exists(), "{}", row.bench);
            let mut ids = row.limit.iter().chain([&row.id]);
            assert!(!row.threads.is_empty() && ids.all(|id| id.contains('/')), "{}", row.what);
        }
    }
}

#[test]
fn filters_and_bad_files() {
    let topic = Topic { topic: "search".into(), script: "s.py".into(), rows: vec![row()] };
    let kept = |f: &str| matching(vec![topic.clone()], &[f.into()]).len();
    assert_eq!([kept("sear"), kept("Hamming"), kept("top50/10"), kept("noise")], [1, 1, 1, 0]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.json"), "{\"topic\": 1}").unwrap();
    let error = topics(folder.path()).unwrap_err().to_string();
    assert!(error.contains("a.json"), "{error}");
}

fn measured(rates: &[(f64, f64, f64)]) -> Option<Measured> {
    let topic = Topic { topic: "search".into(), script: "s.py".into(), rows: vec![] };
    let turns = rates.iter().map(|&(ours, theirs, over)| Alternation {
        ours,
        theirs,
        over_limit: (over > 0.0).then_some(over),
        busy: 0.0,
    });
    Measured::new((&topic, &row(), 2), "faiss-cpu 1.15.1".into(), "here", turns.collect())
}

#[test]
fn medians_are_over_the_turns() {
    // The ratio is the median of ratios, not the ratio of medians.
    let odd = measured(&[(1.0, 1.0, 3.0), (8.0, 2.0, 1.0), (4.0, 8.0, 2.0)]).unwrap();
    assert_eq!((odd.ours, odd.theirs, odd.ratio, odd.over_limit), (4.0, 2.0, 1.0, Some(2.0)));
    let even = measured(&[(1.0, 1.0, 0.0), (4.0, 2.0, 0.0)]).unwrap();
    assert_eq!((even.ours, even.ratio, even.over_limit), (2.5, 1.5, None));
    assert!(measured(&[]).is_none());
}

#[test]
fn table_and_json_line() {
    let measured = measured(&[(400.0, 200.0, 1.5)]).unwrap();
    let text = table(std::slice::from_ref(&measured));
    let line = "Hamming top 50  2        4.000e2  2.000e2  queries/s  2.00         1.50        faiss-cpu 1.15.1\n";
    assert!(text.contains(line), "{text}");
    let json = serde_json::to_string(&measured).unwrap();
    assert!(
        json.contains("\"ratio\":2.0") && json.contains("alternations") && !json.contains('\n')
    );
    let back: Measured = serde_json::from_str(&json).unwrap();
    let topic = Topic { topic: "search".into(), script: "s.py".into(), rows: vec![] };
    assert!(back == measured && back.is_of((&topic, &row(), 2), "here"));
    assert!(!back.is_of((&topic, &row(), 1), "here") && !back.is_of((&topic, &row(), 2), "there"));
}

#[test]
fn missing_environments_are_said() {
    let places = Places { root: "r".into(), target: "t".into(), environments: "nowhere".into() };
    let topic = Topic { topic: "search".into(), script: "s.py".into(), rows: vec![row()] };
    let plan = Plan { places: &places, of: "here", rounds: 1, known: &[] };
    let error = run(&topic, &plan, |_| Ok(()), |_| ()).unwrap_err().to_string();
    assert!(error.contains("not set up"), "{error}");
}
