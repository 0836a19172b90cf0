//! Certificates survive the trip through JSON, and no altered one is accepted.

use crate::certificates::{all, gaussian, laplace, row, statement};
use dp_core::authority;
use dp_core::certificate::canonical;
use dp_core::noise::NoiseLaw;
use dp_core::release_file::AnyCertificate;
use dp_core::*;
use serde_json::Value;
use sha2::{Digest, Sha256};

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
    let mut value = value.clone();
    value.as_object_mut().unwrap().remove("digest");
    let digest = Sha256::digest(canonical(&value));
    value["digest"] = digest.iter().map(|b| format!("{b:02x}")).collect::<String>().into();
    value
}

#[test]
fn certificates_survive_json_and_verify() {
    for certificate in all() {
        certificate.verify_consistency().unwrap();
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

/// Whether verification owns up to not having looked at a field: by its own name, or, for the size
/// of an adjacency, because it says that what one change moves does not follow.
fn owned_up(certificate: &Certificate, path: &str) -> bool {
    let plain = |path: &str| {
        let parts = path.split('/').filter(|p| !p.is_empty() && p.parse::<u8>().is_err());
        parts.collect::<Vec<_>>().join(".").replace("profile.profile", "profile")
    };
    let (path, fields) = (plain(path), certificate.unchecked());
    let moved = ["sensitivity", "bits", "responses", "probability", "entry_shift", "epsilon"];
    // The name of the writer's program.
    path == "library"
        || fields.iter().any(|u| path.starts_with(u.field))
        || path.starts_with("guarantee.adjacency")
            && fields.iter().any(|u| moved.iter().any(|word| u.field.ends_with(word)))
}

/// With a matching digest, an edit is refused, or states no more than the truth, or is of a field
/// that verification says it did not check.
#[test]
fn a_forger_who_recomputes_the_digest_is_caught_or_the_field_is_listed() {
    let mut refused = 0;
    for certificate in all() {
        if certificate.guarantee().claim() != Claim::Met {
            continue; // nothing tight to recompute: see the next test
        }
        let value: Value = serde_json::from_str(&certificate.to_json()).unwrap();
        let mut paths = Vec::new();
        leaves(&value, "", &mut paths);
        for path in paths.iter().filter(|p| *p != "/digest") {
            for new in alterations(value.pointer(path).unwrap()) {
                let mut forged = value.clone();
                *forged.pointer_mut(path).unwrap() = new.clone();
                let larger = new.as_f64() > value.pointer(path).unwrap().as_f64();
                // A statement that is weaker than the truth is still true.
                let weaker = match path.as_str() {
                    "/guarantee/budget/delta" => larger,
                    "/guarantee/budget/epsilon" => larger && value["ln_true_delta"] == "-inf",
                    "/guarantee/adjacency/bound" | "/guarantee/adjacency/l2" => !larger,
                    _ => false,
                };
                let text = redigest(&forged).to_string();
                let accepted = Certificate::from_json(&text).is_ok();
                let fine = !accepted || weaker || owned_up(&certificate, path);
                assert!(fine, "{path} = {new} was accepted");
                refused += usize::from(!accepted);
            }
        }
    }
    assert!(refused > 500, "{refused}");
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
    value["guarantee"]["provenance"] =
        serde_json::json!({"kind": "proven", "theorem": "gaussian-on-rows"});
    let forged = Certificate::from_json(&redigest(&value).to_string());
    assert!(forged.unwrap_err().to_string().contains("guarantee.provenance"));
}

#[test]
fn pure_certificates_keep_delta_zero() {
    let (profile, noise) = laplace(2.0);
    let budget = Budget::pure(Epsilon::new(0.5 + 1e-13).unwrap());
    let guarantee =
        authority!().proven(row(), budget, profile, Theorem::ProjectionLaplace).unwrap();
    let certificate = authority!().certificate(statement(noise), guarantee);
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
    let texts =
        [individual.clone().into(), none.clone().into()].map(|c: AnyCertificate| c.to_json());
    assert_eq!(texts[0].parse::<IndividualCertificate>().unwrap(), individual);
    assert_eq!(texts[1].parse::<NoGuarantee>().unwrap(), none);
    for text in texts {
        let value: Value = serde_json::from_str(&text).unwrap();
        let mut paths = Vec::new();
        leaves(&value, "", &mut paths);
        for path in &paths {
            for new in alterations(value.pointer(path).unwrap()) {
                let mut forged = value.clone();
                *forged.pointer_mut(path).unwrap() = new;
                let text = forged.to_string();
                assert!(text.parse::<IndividualCertificate>().is_err(), "{path}");
                assert!(text.parse::<NoGuarantee>().is_err(), "{path}");
            }
        }
    }
    let mut quiet = individual;
    quiet.warning = "fine".into();
    assert!(quiet.verify().unwrap_err().to_string().contains("warning"));
}

/// One content has one digest: what another reader may take otherwise is refused, with whatever digest it comes.
#[test]
fn what_is_written_otherwise_is_rejected() {
    for certificate in all() {
        let text = canonical(&certificate);
        Certificate::from_json(&text).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let refused = |text: &str, what: &str| {
            let error = Certificate::from_json(text).unwrap_err().to_string();
            assert!(error.contains(what), "{text}: {error}");
            assert!(AnyCertificate::from_json(text).is_err());
        };
        // A whole number for a real, under the digest of the real and under its own.
        let mut whole = value.clone();
        whole["guarantee"]["budget"]["epsilon"] = 1.into();
        if value["guarantee"]["budget"]["epsilon"] == 1.0 {
            refused(&whole.to_string(), "as the certificate would be written");
        }
        // A field that a reader passes over.
        if value["noise"]["kind"] == "none" {
            let mut more = value.clone();
            more["noise"]["sigma"] = 5.0.into();
            refused(&more.to_string(), "as the certificate would be written");
        }
        // A parameter that is named twice, with the value that counts last.
        let name = value["public"].as_object().unwrap().iter().next();
        if let Some((name, found)) = name {
            let once = format!("{}:{found}", Value::from(name.as_str()));
            let twice = format!("{}:7,{once}", Value::from(name.as_str()));
            refused(&value.to_string().replacen(&once, &twice, 1), "named twice");
        }
    }
}

#[test]
fn infinite_public_parameters_are_rejected() {
    let (profile, noise) = gaussian(4.0);
    let budget = Budget::new(1.0, 0.1).unwrap();
    let guarantee = authority!().proven(row(), budget, profile, Theorem::GaussianOnRows).unwrap();
    let mut statement = statement(noise);
    statement.public.insert("radius".into(), f64::INFINITY.into());
    assert!(authority!().certificate(statement, guarantee).verify().is_err());
}
