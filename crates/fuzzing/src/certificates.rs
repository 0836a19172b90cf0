//! Certificates, guarantees, ledgers.

use dp_core::accounting::Ledger;
use dp_core::certificate::{Certificate, IndividualCertificate, NoGuarantee, Statement};
use dp_core::{Epsilon, Guarantee, PrivacyProfile};

/// Certificates of all classes, as text: what verifies is written back to a text that reads the same.
pub fn certificate(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(certificate) = Certificate::from_json(text) {
        certificate.verify_consistency().expect("what was read verifies");
        assert_eq!(Certificate::from_json(&certificate.to_json()).as_ref(), Ok(&certificate));
    }
    if let Ok(certificate) = IndividualCertificate::from_json(text) {
        let again = IndividualCertificate::from_json(&certificate.to_json());
        assert_eq!(again.as_ref(), Ok(&certificate));
    }
    if let Ok(certificate) = NoGuarantee::from_json(text) {
        assert_eq!(NoGuarantee::from_json(&certificate.to_json()).as_ref(), Ok(&certificate));
    }
}

/// A statement and a guarantee as a JSON pair, made into a certificate with its own digest: the path
/// behind the digest check. A proven guarantee that was read never gives more than its budget.
pub fn guarantee(data: &[u8]) {
    let Ok((statement, guarantee)) = serde_json::from_slice::<(Statement, Guarantee)>(data) else {
        return;
    };
    if let Some(profile) = guarantee.profile() {
        let at = |epsilon: f64| profile.log_delta(Epsilon::new(epsilon).expect("in range")).get();
        let (near, far) = (at(0.1), at(1.0));
        assert!(!near.is_nan() && !far.is_nan() && near <= 0.0, "delta is a probability");
        // Equal when both are ln 0.
        let falls = far <= near || far <= near + 1e-9 * near.abs().max(1.0);
        assert!(falls, "a profile falls: {near} then {far}");
    }
    let certificate = Certificate::new(statement, guarantee);
    if certificate.verify_consistency().is_ok() {
        assert_eq!(Certificate::from_json(&certificate.to_json()).as_ref(), Ok(&certificate));
    }
}

/// A ledger as JSON: what is accepted reads back the same.
pub fn ledger(data: &[u8]) {
    let Ok(ledger) = serde_json::from_slice::<Ledger>(data) else { return };
    let text = serde_json::to_string(&ledger).expect("ledgers have string keys only");
    assert_eq!(serde_json::from_str::<Ledger>(&text).expect("reads back"), ledger);
    let _ = ledger.to_string();
}
