//! Certificates, guarantees, ledgers.

use dp_core::accounting::{FilterRule, Ledger, Method};
use dp_core::authority;
use dp_core::certificate::{Certificate, IndividualCertificate, NoGuarantee, Statement};
use dp_core::release_file::AnyCertificate;
use dp_core::{Budget, Claim, Delta, Epsilon, Guarantee, PrivacyProfile};

/// Certificates of all classes, as text: what verifies is written back to a text that reads the same.
pub(crate) fn certificate(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(certificate) = Certificate::from_json(text) {
        certificate.verify_consistency().expect("what was read is consistent");
        evaluated(&certificate);
        assert_eq!(Certificate::from_json(&certificate.to_json()).as_ref(), Ok(&certificate));
    }
    if let Ok(certificate) = text.parse::<IndividualCertificate>() {
        let again = AnyCertificate::from(certificate.clone()).to_json();
        assert_eq!(again.parse::<IndividualCertificate>().as_ref(), Ok(&certificate));
    }
    if let Ok(certificate) = text.parse::<NoGuarantee>() {
        let again = AnyCertificate::from(certificate.clone()).to_json();
        assert_eq!(again.parse::<NoGuarantee>().as_ref(), Ok(&certificate));
    }
}

/// A statement and a guarantee as a JSON pair, made into a certificate with its own digest: the path
/// behind the digest check. A profile that was read falls as epsilon grows, and a certificate
/// that passes the strict check passes every other.
pub(crate) fn guarantee(data: &[u8]) {
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
    let certificate = authority!().certificate(statement, guarantee);
    if certificate.verify_consistency().is_ok() {
        assert_eq!(Certificate::from_json(&certificate.to_json()).as_ref(), Ok(&certificate));
        evaluated(&certificate);
    } else {
        assert!(certificate.verify().is_err(), "the strict check is the stricter one");
    }
}

/// What is asked of a certificate that was read.
pub(crate) fn evaluated(certificate: &Certificate) {
    if certificate.verify().is_ok() {
        let guarantee = certificate.guarantee();
        certificate.require_secret_randomness().expect("part of the strict check");
        assert_eq!(guarantee.claim(), Claim::Met);
        let slack = |ln: f64| ln + 1e-9 * ln.abs().max(1.0);
        let (found, most) = (guarantee.true_delta().expect("met"), guarantee.budget().delta.ln());
        assert!(found <= most || found.get() <= slack(most.get()), "{found} over {most}");
        let mut ledger = Ledger::new(guarantee.adjacency());
        ledger.add(certificate, "once").expect("what verifies can be paid");
        assert!(ledger.record(certificate, "again").is_ok());
    }
    assert!(certificate.unchecked().iter().all(|u| !u.to_string().is_empty()));
}

/// A budget file: what is accepted answers. A ledger as JSON: what is accepted reads back the same, and answers by every method. Or expenses
/// as JSON, `[[guarantee, count], ..]`, entered in a new ledger: the path behind the digest check.
pub(crate) fn ledger(data: &[u8]) {
    for bytes in [Some(data.to_vec()), crate::ledgers::sealed(data)].into_iter().flatten() {
        if let Ok(file) = dp_core::ledger_file::BudgetFile::parse(&bytes) {
            answers(file.ledger());
        }
    }
    if let Ok(ledger) = serde_json::from_slice::<Ledger>(data) {
        answers(&ledger);
    }
    let Ok(expenses) = serde_json::from_slice::<Vec<(Guarantee, u64)>>(data) else { return };
    let Some((first, _)) = expenses.first() else { return };
    let limit = Budget::new(3.0, 1e-4).expect("a budget");
    let rules = [FilterRule::Basic, FilterRule::Zcdp, FilterRule::Gdp, FilterRule::Renyi];
    for rule in [None].into_iter().chain(rules.map(Some)) {
        let mut ledger = match rule {
            None => Ledger::new(first.adjacency()),
            Some(rule) => Ledger::with_limit(first.adjacency(), limit, rule),
        };
        for (guarantee, count) in expenses.iter().take(MOST_EXPENSES) {
            let before = ledger.entries().len();
            let entered = ledger.spend_accepting_claim(guarantee, *count, "x").is_ok();
            assert_eq!(ledger.entries().len(), before + usize::from(entered));
        }
        // The one without a limit holds all that the others do.
        if rule.is_none() {
            answers(&ledger);
        }
    }
}

/// Expenses that are entered.
const MOST_EXPENSES: usize = 4;

fn answers(ledger: &Ledger) {
    let text = serde_json::to_string(ledger).expect("ledgers have string keys only");
    assert_eq!(&serde_json::from_str::<Ledger>(&text).expect("reads back"), ledger);
    let _ = ledger.to_string();
    for method in Method::ALL {
        if let Ok(answer) = ledger.epsilon(Delta::new(1e-6).expect("a delta"), method) {
            assert!(answer.lower.is_none_or(|lower| lower <= answer.upper), "{method:?}");
        }
    }
}
