//! Textbook parameters, which are an ulp short, and what the refusal tells.

use dp_core::{
    Adjacency, Budget, Epsilon, Error, Guarantee, L1Sensitivity, LaplaceScale, Probability, Profile,
};

fn declared(profile: Profile, budget: Budget) -> Result<Guarantee, Error> {
    Guarantee::declared(Adjacency::AnyInput, budget, profile, "this test", "textbook")
}

/// The number that a refusal says is allowed.
fn offered(error: &Error, before: &str, after: &str) -> f64 {
    let Error::InvalidParameter { allowed, .. } = error else { panic!("{error}") };
    let tail = &allowed[allowed.find(before).unwrap() + before.len()..];
    tail[..tail.find(after).unwrap()].parse().unwrap()
}

#[test]
fn laplace_at_one_over_epsilon_is_told_the_least_scale() {
    for epsilon in [0.1, 0.3, 0.7, 1.0, 3.0, 9.0] {
        let budget = Budget::pure(Epsilon::new(epsilon).unwrap());
        let sensitivity = L1Sensitivity::new(1.0).unwrap();
        let of =
            |scale: f64| Profile::Laplace { sensitivity, scale: LaplaceScale::new(scale).unwrap() };
        let error = declared(of(1.0 / epsilon), budget).unwrap_err();
        let least = offered(&error, "[", ",");
        assert!(least > 1.0 / epsilon && least * epsilon < 1.0 + 1e-11, "{error}");
        declared(of(least), budget).unwrap();
    }
}

#[test]
fn responses_of_the_textbook_are_told_the_largest_keep() {
    for epsilon in [0.1, 0.3, 0.7, 1.0, 3.0, 9.0] {
        let budget = Budget::pure(Epsilon::new(epsilon).unwrap());
        let keep = |p: f64| Probability::new(p).unwrap();
        let bit = |p: f64| Profile::RandomizedResponse { bits: 1, keep: keep(p) };
        let letter = |p: f64| Profile::KaryResponse { responses: 1, alphabet: 5, keep: keep(p) };
        let odds = epsilon.exp();
        let both: [(f64, &dyn Fn(f64) -> Profile); 2] =
            [(odds / (1.0 + odds), &bit), (odds / (4.0 + odds), &letter)];
        for (textbook, of) in both {
            // Half an ulp of the textbook's value may lie on either side.
            let error = declared(of(textbook.next_up().next_up()), budget).unwrap_err();
            let most = offered(&error, ", ", "]");
            assert!((most / textbook - 1.0).abs() < 1e-12, "{error}");
            declared(of(most), budget).unwrap();
        }
    }
}

#[test]
fn minus_zero_is_zero() {
    let zero = Probability::new(-0.0).unwrap();
    assert_eq!(zero.get().to_bits(), 0);
    assert_eq!(serde_json::to_string(&zero).unwrap(), "0.0");
}
