//! Certificates survive the trip through JSON, and no altered one is accepted.

use dp_core::certificate::{PublicParameters, Statement};
use dp_core::noise::{GeneratorKind, Grid, NoiseLaw};
use dp_core::*;
use serde_json::Value;
use sha2::{Digest, Sha256};

fn scale(x: f64) -> NoiseScale {
    NoiseScale::new(x).unwrap()
}

fn statement(noise: NoiseLaw) -> Statement {
    let mut public = PublicParameters::new();
    public.insert("k".into(), 64usize.into());
    public.insert("bound".into(), 3.0.into());
    public.insert("projection".into(), "rademacher".into());
    Statement { mechanism: "test".into(), noise, generator: GeneratorKind::OsChacha12, public }
}

fn proven(adjacency: Adjacency, epsilon: f64, profile: Profile, noise: NoiseLaw) -> Certificate {
    // A delta just above what the profile gives, as calibration leaves it.
    let ln = profile.log_delta(Epsilon::new(epsilon).unwrap());
    let delta = (ln.delta() * (1.0 + 1e-12)).min(0.999);
    let budget = Budget::new(epsilon, delta).unwrap();
    let guarantee = Guarantee::proven(adjacency, budget, profile, "theorem 1").unwrap();
    Certificate::new(statement(noise), guarantee)
}

fn row() -> Adjacency {
    Adjacency::RowShift { l2: Bound::new(1.0).unwrap() }
}

fn gaussian(sigma: f64) -> (Profile, NoiseLaw) {
    let profile =
        Profile::Gaussian { sensitivity: L2Sensitivity::new(1.0).unwrap(), sigma: scale(sigma) };
    let grid = Grid::new(-30).unwrap();
    (profile, NoiseLaw::RoundedGaussian { sigma: scale(sigma), grid })
}

fn laplace(b: f64) -> (Profile, NoiseLaw) {
    let profile =
        Profile::Laplace { sensitivity: L1Sensitivity::new(1.0).unwrap(), scale: scale(b) };
    let grid = Grid::new(-30).unwrap();
    (profile, NoiseLaw::RoundedLaplace { scale: scale(b), grid })
}

/// One certificate of every kind the rule book knows.
fn all() -> Vec<Certificate> {
    let (g, gn) = gaussian(4.0);
    let (l, ln) = laplace(2.0);
    let missing = Guarantee::published_accepting_true_delta(
        row(),
        Budget::new(0.5, 1e-9).unwrap(),
        g.clone(),
        "paper",
        "lacks a factor",
    );
    let unknown = Guarantee::published(
        row(),
        Budget::new(0.5, 1e-9).unwrap(),
        None,
        "rule",
        "paper",
        "proof covers one release",
    )
    .unwrap();
    let mut list = known_pairs();
    list.extend([
        proven(row(), 1.0, g, gn.clone()),
        proven(row(), 0.3, l.clone(), ln.clone()),
        proven(row(), 0.5 + 1e-13, l, ln),
        Certificate::new(statement(gn.clone()), missing),
        Certificate::new(statement(gn), unknown),
    ]);
    list
}

fn probability(x: f64) -> Probability {
    Probability::new(x).unwrap()
}

/// A certificate for each rule whose profile is not a plain Gaussian or Laplace.
fn known_pairs() -> Vec<Certificate> {
    use dp_core::profile::{CoordinateProfile as C, GaussianStep, RowChange};
    let grid = Grid::new(-30).unwrap();
    let bound = Bound::new(1.0).unwrap();
    let l2 = |x: f64| L2Sensitivity::new(x).unwrap();
    let rounded = |sigma: f64| NoiseLaw::RoundedGaussian { sigma: scale(sigma), grid };
    let add = Adjacency::AddRemoveRow { bound };
    let any = Adjacency::AnyInput;
    let keep = probability(0.6);
    let mixture = |coordinate| Profile::BinomialMixture {
        trials: 20,
        probability: probability(0.2),
        coordinate,
    };
    let chi = |later_mu| Profile::ChiMixtureGaussian {
        k: 6,
        entry_shift: l2(1.3),
        sigma: scale(9.0),
        later_mu,
    };
    let change = RowChange::AddRemove;
    let jl = Profile::JlMechanism { rows: 12, bound, lift: scale(9.0), change };
    let wishart = Profile::Wishart { dim: 4, dof: 40, bound, scale: scale(1.0), change };
    let sketch = NoiseLaw::JlSketch { rows: 4, lift: scale(9.0) };
    let repeated = Profile::Repeated { profile: Box::new(wishart.clone()), times: 3 };
    let draw = NoiseLaw::Wishart { dof: 40, scale: scale(1.0) };
    let symmetric = Profile::SymmetricGaussian { bound, sigma: scale(5.0), change };
    let step = GaussianStep { sensitivity: l2(1.1), sigma: scale(6.0), times: 3 };
    vec![
        proven(row(), 0.7, chi(0.0), rounded(9.0)),
        proven(row(), 0.7, chi(0.1), NoiseLaw::Several { laws: vec![rounded(9.0), rounded(7.0)] }),
        proven(row(), 0.9, Profile::GaussianComposition { steps: vec![step] }, rounded(6.0)),
        proven(add, 0.5, symmetric, NoiseLaw::SymmetricGaussian { sigma: scale(5.0), grid }),
        proven(add, 0.2, jl.clone(), NoiseLaw::JlSketch { rows: 12, lift: scale(9.0) }),
        proven(add, 0.2, jl, NoiseLaw::Several { laws: vec![sketch; 3] }),
        proven(add, 0.6, wishart, draw.clone()),
        proven(add, 1.2, repeated, NoiseLaw::Several { laws: vec![draw; 3] }),
        proven(any, 1.0, Profile::RandomizedResponse { bits: 9, keep }, NoiseLaw::BitFlip { keep }),
        proven(
            any,
            0.5,
            Profile::KaryResponse { responses: 3, alphabet: 4, keep },
            NoiseLaw::KaryResponse { alphabet: 4, keep },
        ),
        proven(any, 0.5, mixture(C::RandomizedResponse { keep }), NoiseLaw::BitFlip { keep }),
        proven(
            any,
            0.5,
            mixture(C::KaryResponse { alphabet: 4, keep }),
            NoiseLaw::KaryResponse { alphabet: 4, keep },
        ),
        proven(
            any,
            0.5,
            mixture(C::Laplace { shift: L1Sensitivity::new(1.0).unwrap(), scale: scale(8.0) }),
            NoiseLaw::RoundedLaplace { scale: scale(8.0), grid },
        ),
    ]
}

#[test]
fn pairs_that_no_rule_knows_are_rejected() {
    let (g, gn) = gaussian(4.0);
    let (l, ln) = laplace(2.0);
    let discrete = NoiseLaw::DiscreteGaussian { sigma: scale(4.0) };
    for (profile, noise) in [(g.clone(), ln), (l, gn), (g.clone(), discrete), (g, NoiseLaw::None)] {
        let error = proven(row(), 0.3, profile, noise).verify().unwrap_err().to_string();
        assert!(error.contains("is not known to give"), "{error}");
    }
}

#[test]
fn a_row_profile_must_cover_its_adjacency() {
    use dp_core::profile::RowChange::AddRemove;
    let bound = Bound::new(1.0).unwrap();
    let lift = scale(9.0);
    let profile = Profile::JlMechanism { rows: 12, bound, lift, change: AddRemove };
    let noise = NoiseLaw::JlSketch { rows: 12, lift };
    let larger = Adjacency::AddRemoveRow { bound: Bound::new(1.5).unwrap() };
    for (adjacency, field) in [
        (larger, "profile.bound"),
        (Adjacency::ZeroRow { bound: Bound::new(1.5).unwrap() }, "profile.bound"),
        (Adjacency::ReplaceRow { bound }, "profile.change"),
        (row(), "guarantee.adjacency"),
    ] {
        let certificate = proven(adjacency, 0.2, profile.clone(), noise.clone());
        let error = certificate.verify().unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
}

#[test]
fn a_zeroed_row_is_held_to_the_rules_of_a_removed_one() {
    let zero = Adjacency::ZeroRow { bound: Bound::new(1.0).unwrap() };
    let larger = Adjacency::ZeroRow { bound: Bound::new(1.5).unwrap() };
    let mut seen = 0;
    for certificate in known_pairs() {
        let guarantee = certificate.guarantee();
        if !matches!(guarantee.adjacency(), Adjacency::AddRemoveRow { .. }) {
            continue;
        }
        let (epsilon, profile) =
            (guarantee.budget().epsilon.get(), guarantee.profile().unwrap().clone());
        let noise = certificate.statement().noise.clone();
        proven(zero, epsilon, profile.clone(), noise.clone()).verify().unwrap();
        let error = proven(larger, epsilon, profile, noise).verify().unwrap_err().to_string();
        assert!(error.contains("profile.bound"), "{error}");
        seen += 1;
    }
    assert_eq!(seen, 5, "symmetric Gaussian, JL once and in parts, Wishart once and repeated");
}

/// Every leaf of a JSON value, as a path of keys.
fn leaves(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(k, v)| leaves(v, &format!("{path}/{k}"), out));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, v)| leaves(v, &format!("{path}/{i}"), out));
        }
        _ => out.push(path.to_owned()),
    }
}

/// The ways a forger might change a leaf.
fn alterations(leaf: &Value) -> Vec<Value> {
    match leaf {
        Value::Number(n) => {
            let x = n.as_f64().unwrap();
            let mut out: Vec<Value> =
                [x * (1.0 - 1e-9), x * (1.0 + 1e-9), x * 0.5, x * 2.0, x - 1.0, 0.0]
                    .into_iter()
                    .filter(|y| *y != x)
                    .map(Value::from)
                    .collect();
            if let Some(i) = n.as_u64() {
                out =
                    vec![Value::from(i + 1), Value::from(i.saturating_sub(1)), Value::from(2 * i)];
                out.retain(|y| y != leaf);
            }
            out
        }
        Value::String(s) => vec![Value::from(format!("{s}x")), Value::from(1.0), Value::Null],
        _ => vec![Value::from(-1.0), Value::from(1e-6)],
    }
}

/// What a forger who knows the format does: writes a matching digest.
fn redigest(value: &Value) -> Value {
    // The digest covers the text with the fields in the order they are declared, which
    // `Value` does not keep: rebuild it from the original's layout.
    let mut value = value.clone();
    value["digest"] = Value::from("");
    let order = ["format", "library", "mechanism", "noise", "generator", "public", "guarantee"];
    let object = value.as_object().unwrap();
    let mut text = String::from("{");
    for key in order.iter().chain(&["ln_true_delta", "digest"]) {
        text += &format!("{}:{},", Value::from(*key), ordered(key, &object[*key]));
    }
    text.pop();
    text += "}";
    let hex: String = Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect();
    value["digest"] = Value::from(hex);
    value
}

/// A field's text in the order its type declares.
fn ordered(key: &str, value: &Value) -> String {
    let read = |v: &Value| v.clone();
    match key {
        "noise" => serde_json::from_value::<NoiseLaw>(read(value))
            .map_or_else(|_| value.to_string(), |v| serde_json::to_string(&v).unwrap()),
        "guarantee" => {
            let part = |k: &str| value[k].clone();
            let profile = serde_json::from_value::<Option<Profile>>(part("profile")).map_or_else(
                |_| part("profile").to_string(),
                |v| serde_json::to_string(&v).unwrap(),
            );
            let adjacency = serde_json::from_value::<Adjacency>(part("adjacency")).map_or_else(
                |_| part("adjacency").to_string(),
                |v| serde_json::to_string(&v).unwrap(),
            );
            let budget = serde_json::from_value::<Budget>(part("budget")).map_or_else(
                |_| part("budget").to_string(),
                |v| serde_json::to_string(&v).unwrap(),
            );
            let provenance = serde_json::from_value::<Provenance>(part("provenance")).map_or_else(
                |_| part("provenance").to_string(),
                |v| serde_json::to_string(&v).unwrap(),
            );
            format!(
                "{{\"adjacency\":{adjacency},\"budget\":{budget},\"profile\":{profile},\"claim\":{},\"provenance\":{provenance}}}",
                part("claim")
            )
        }
        _ => value.to_string(),
    }
}

#[test]
fn certificates_survive_json_and_verify() {
    for certificate in all() {
        certificate.verify().unwrap();
        let back = Certificate::from_json(&certificate.to_json()).unwrap();
        assert_eq!(back, certificate);
        // The forger's tool must reproduce the genuine digest, or the test below is void.
        let value: Value = serde_json::from_str(&certificate.to_json()).unwrap();
        assert_eq!(redigest(&value)["digest"], value["digest"]);
    }
}

#[test]
fn every_altered_field_is_rejected() {
    for certificate in all() {
        let value: Value = serde_json::from_str(&certificate.to_json()).unwrap();
        let mut paths = Vec::new();
        leaves(&value, "", &mut paths);
        assert!(paths.len() > 12, "{paths:?}");
        for path in &paths {
            for new in alterations(value.pointer(path).unwrap()) {
                let mut forged = value.clone();
                *forged.pointer_mut(path).unwrap() = new.clone();
                let text = forged.to_string();
                assert!(Certificate::from_json(&text).is_err(), "{path} = {new} was accepted");
            }
        }
        let mut extra = value.clone();
        extra["more"] = Value::from(1);
        assert!(Certificate::from_json(&extra.to_string()).is_err());
    }
}

/// Fields no recomputation can check: names, prose, and what the profile does not use.
fn free(path: &str) -> bool {
    ["/library", "/mechanism", "/generator", "/public/", "/guarantee/provenance/"]
        .iter()
        .any(|p| path.starts_with(p))
        || path.ends_with("/grid")
        || path.ends_with("/rule")
}

#[test]
fn a_forger_who_recomputes_the_digest_is_caught_by_recomputation() {
    for certificate in all() {
        if certificate.guarantee().claim() != Claim::Met {
            continue; // nothing tight to recompute: see the next test
        }
        let tied = matches!(certificate.guarantee().adjacency(), Adjacency::AddRemoveRow { .. });
        let value: Value = serde_json::from_str(&certificate.to_json()).unwrap();
        let mut paths = Vec::new();
        leaves(&value, "", &mut paths);
        for path in paths.iter().filter(|p| !free(p) && *p != "/digest") {
            for new in alterations(value.pointer(path).unwrap()) {
                let mut forged = value.clone();
                *forged.pointer_mut(path).unwrap() = new.clone();
                let larger = new.as_f64() > value.pointer(path).unwrap().as_f64();
                let looks_worse = larger
                    && (path == "/guarantee/budget/delta"
                        || path == "/guarantee/budget/epsilon" && value["ln_true_delta"] == "-inf");
                // A statement that is weaker than the truth is still true; so is a
                // larger adjacency nobody tied to a sensitivity.
                let untied = path.starts_with("/guarantee/adjacency") && new.is_number() && !tied
                    || tied && path == "/guarantee/adjacency/bound" && !larger
                    || path.starts_with("/noise/laws/1");
                // Delta zero leaves nothing to recompute from a smaller sensitivity: tying it
                // to the release is the job of the mechanism's own file format.
                let unseen = value["ln_true_delta"] == "-inf" && path.ends_with("/sensitivity");
                if looks_worse || untied || (unseen && !larger) {
                    continue;
                }
                let text = redigest(&forged).to_string();
                assert!(Certificate::from_json(&text).is_err(), "{path} = {new} was accepted");
            }
        }
    }
}

#[test]
fn a_missed_claim_stays_a_missed_claim() {
    let missed = |c: &Certificate| c.guarantee().claim() == Claim::MissedAcceptedByName;
    let certificate = all().into_iter().find(missed).unwrap();
    let mut value: Value = serde_json::from_str(&certificate.to_json()).unwrap();
    value["guarantee"]["claim"] = Value::from("met");
    let forged = Certificate::from_json(&redigest(&value).to_string());
    assert!(forged.unwrap_err().to_string().contains("guarantee.claim"));
    value["guarantee"]["claim"] = Value::from("missed-accepted-by-name");
    value["guarantee"]["provenance"] = serde_json::json!({"kind": "proven", "theorem": "trust me"});
    let forged = Certificate::from_json(&redigest(&value).to_string());
    assert!(forged.unwrap_err().to_string().contains("guarantee.provenance"));
}

#[test]
fn noise_that_does_not_fit_the_profile_is_rejected_at_once() {
    let (profile, _) = gaussian(4.0);
    let (_, less) = gaussian(3.999);
    let certificate = proven(row(), 1.0, profile, less);
    let error = certificate.verify().unwrap_err().to_string();
    assert!(error.contains("noise.sigma"), "{error}");
}

#[test]
fn pure_certificates_keep_delta_zero() {
    let (profile, noise) = laplace(2.0);
    let guarantee = Guarantee::proven(
        row(),
        Budget::pure(Epsilon::new(0.5 + 1e-13).unwrap()),
        profile,
        "Laplace mechanism",
    )
    .unwrap();
    let certificate = Certificate::new(statement(noise), guarantee);
    let back = Certificate::from_json(&certificate.to_json()).unwrap();
    assert_eq!(back.ln_true_delta(), Some(f64::NEG_INFINITY));
}

#[test]
fn weak_certificates_keep_their_warning() {
    let (_, noise) = gaussian(4.0);
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let individual = IndividualCertificate::new(statement(noise), row(), budget, "paper 2");
    individual.verify().unwrap();
    let none = NoGuarantee::new(statement(NoiseLaw::None), "the support depends on the input");
    none.verify().unwrap();
    assert_eq!(IndividualCertificate::from_json(&individual.to_json()).unwrap(), individual);
    assert_eq!(NoGuarantee::from_json(&none.to_json()).unwrap(), none);
    for text in [individual.to_json(), none.to_json()] {
        let value: Value = serde_json::from_str(&text).unwrap();
        let mut paths = Vec::new();
        leaves(&value, "", &mut paths);
        for path in &paths {
            for new in alterations(value.pointer(path).unwrap()) {
                let mut forged = value.clone();
                *forged.pointer_mut(path).unwrap() = new;
                let text = forged.to_string();
                assert!(IndividualCertificate::from_json(&text).is_err(), "{path}");
                assert!(NoGuarantee::from_json(&text).is_err(), "{path}");
            }
        }
    }
    let mut quiet = individual;
    quiet.warning = "fine".into();
    assert!(quiet.verify().unwrap_err().to_string().contains("warning"));
}

#[test]
fn infinite_public_parameters_are_rejected() {
    let (profile, noise) = gaussian(4.0);
    let budget = Budget::new(1.0, 0.1).unwrap();
    let guarantee = Guarantee::proven(row(), budget, profile, "t").unwrap();
    let mut statement = statement(noise);
    statement.public.insert("radius".into(), f64::INFINITY.into());
    assert!(Certificate::new(statement, guarantee).verify().is_err());
}

/// Certificates of nothing at all: delta zero for every adjacency, and noise that "agrees".
#[test]
fn certificates_of_nothing_are_rejected() {
    use dp_core::profile::{CoordinateProfile as C, GaussianStep, RowChange::AddRemove};
    let bound = Bound::new(1.0).unwrap();
    let l2 = |x: f64| L2Sensitivity::new(x).unwrap();
    let keep = probability(0.6);
    let (g, gn) = gaussian(4.0);
    let several = |laws| NoiseLaw::Several { laws };
    let repeated = |p: &Profile, times| Profile::Repeated { profile: Box::new(p.clone()), times };
    let steps = |steps| Profile::GaussianComposition { steps };
    let idle = GaussianStep { sensitivity: l2(1.0), sigma: scale(4.0), times: 0 };
    let jl = |rows| Profile::JlMechanism { rows, bound, lift: scale(9.0), change: AddRemove };
    let sketch = |rows| NoiseLaw::JlSketch { rows, lift: scale(9.0) };
    let response = |bits| Profile::RandomizedResponse { bits, keep };
    let kary = |responses| Profile::KaryResponse { responses, alphabet: 4, keep };
    let letters = NoiseLaw::KaryResponse { alphabet: 4, keep };
    let mixture = |trials| Profile::BinomialMixture {
        trials,
        probability: probability(0.2),
        coordinate: C::RandomizedResponse { keep },
    };
    let forged = [
        (repeated(&g, 0), several(vec![])),
        (repeated(&repeated(&g, 0), 1), several(vec![several(vec![])])),
        (repeated(&jl(0), 1), several(vec![several(vec![])])),
        (steps(vec![]), gn.clone()),
        (steps(vec![]), several(vec![])),
        (steps(vec![idle]), gn.clone()),
        (steps(vec![idle]), several(vec![gn])),
        (jl(0), several(vec![])),
        (jl(0), several(vec![sketch(0)])),
        (jl(0), sketch(0)),
        (response(0), NoiseLaw::BitFlip { keep }),
        (kary(0), letters),
        (mixture(0), NoiseLaw::BitFlip { keep }),
        // A profile that is something, and noise that is nothing.
        (g, several(vec![])),
        (jl(5), several(vec![])),
    ];
    for (profile, noise) in forged {
        for adjacency in [Adjacency::AddRemoveRow { bound }, Adjacency::AnyInput] {
            // Delta zero where the profile says so; no runs at all have none to prove.
            let guarantee = Guarantee::published_accepting_true_delta(
                adjacency,
                Budget::new(0.5, 0.0).unwrap(),
                profile.clone(),
                "forger",
                "none",
            );
            let certificate = Certificate::new(statement(noise.clone()), guarantee);
            let error = certificate.verify().unwrap_err();
            assert!(matches!(error, Error::CertificateRejected { .. }), "{profile:?}: {error}");
            let text = certificate.to_json();
            assert!(Certificate::from_json(&text).is_err(), "{profile:?} with {noise:?}");
            let mut ledger = dp_core::accounting::Ledger::new(adjacency);
            assert!(ledger.add(&certificate).is_err(), "{profile:?} with {noise:?}");
            assert!(ledger.entries().is_empty());
        }
    }
    // No runs at all evaluate to the safe answer.
    let never = repeated(&gaussian(4.0).0, 0).log_delta(Epsilon::new(0.5).unwrap());
    assert_eq!(never.get(), 0.0);
}
