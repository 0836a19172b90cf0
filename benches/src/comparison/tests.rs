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
{"topic": "7", "lib": "faiss-cpu", "version": "1.15.1", "params": {"op": "IndexBinaryFlat.search use_heap=True", "nq": 10}, "throughput": 200.0, "unit": "queries/s", "contended": "kept busy repetitions"}
"#;

#[test]
fn their_measurement_is_found_by_library_operation_and_parameters() {
    let (rate, peer, remark) = their_rate(OUTPUT, &row()).unwrap();
    assert_eq!((rate, peer.as_str()), (200.0, "faiss-cpu 1.15.1"));
    assert_eq!(remark, "kept busy repetitions");
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
    assert!((our_rate(root.path(), &row()).unwrap() - 200.0).abs() < 1e-9);
    let stated = Row { work: Some(1.0), ..row() };
    assert!((our_rate(root.path(), &stated).unwrap() - 20.0).abs() < 1e-9);
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
        assert!((our_rate(root.path(), &row).unwrap() - 2.0).abs() < 1e-12, "{id}");
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
            assert!(!row.threads.is_empty() && row.id.contains('/'), "{}", row.what);
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

#[test]
fn table_and_json_line() {
    let measured = Measured {
        topic: "search".into(),
        what: "Hamming".into(),
        threads: 2,
        unit: "queries/s".into(),
        ours: 400.0,
        theirs: 200.0,
        peer: "faiss-cpu 1.15.1".into(),
        ratio: 2.0,
        remark: String::new(),
    };
    let text = table(std::slice::from_ref(&measured));
    assert!(
        text.contains(
            "Hamming  2        4.000e2  2.000e2  queries/s  2.00         faiss-cpu 1.15.1\n"
        ),
        "{text}"
    );
    let json = serde_json::to_string(&measured).unwrap();
    assert!(json.contains("\"ratio\":2.0") && !json.contains('\n'), "{json}");
}

#[test]
fn missing_environments_are_said() {
    let places = Places { root: "r".into(), target: "t".into(), environments: "nowhere".into() };
    let topic = Topic { topic: "search".into(), script: "s.py".into(), rows: vec![row()] };
    let error = run(&topic, &places, |_| ()).unwrap_err().to_string();
    assert!(error.contains("not set up"), "{error}");
}
