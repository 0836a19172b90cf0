//! Signs whose flips depend on how far from zero a value is, under larger changes.

use dp_core::explain::TradeOff;
use dp_core::{
    Adjacency, Budget, Epsilon, Guarantee, PrivacyProfile, Probability, Profile, Shift, Theorem,
    authority,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn attribute(beta: f64) -> Adjacency {
    Adjacency::Attribute { beta: Shift::new(beta).unwrap() }
}

fn bits(bits: u64) -> Profile {
    Profile::RandomizedResponse { bits, keep: Probability::new(0.7).unwrap() }
}

fn proven(profile: Profile) -> Guarantee {
    let epsilon = Epsilon::new(100.0).unwrap();
    let budget = Budget::new(100.0, profile.log_delta(epsilon).delta() * (1.0 + 1e-9)).unwrap();
    authority!().proven(attribute(1.0), budget, profile, Theorem::SignsTouched).unwrap()
}

/// Probability of a plus at a level, whose flips are those of the plain response, the published smooth rule or the optimal one;
/// r is the odds of keeping.
fn plus(rule: usize, r: f64, level: i32) -> f64 {
    let l = level.abs();
    let flip = match rule {
        0 => 1.0 / (1.0 + r),
        1 => 1.0 / (1.0 + r.powi(l)),
        _ => r.powi(1 - l) / (1.0 + r),
    };
    match level.signum() {
        0 => 0.5,
        1 => 1.0 - flip,
        _ => flip,
    }
}

/// ln delta of signs that stand at these levels on either side: the sum over all outcomes.
fn delta_of_levels(signs: &[(f64, f64)], epsilon: f64) -> f64 {
    let outcomes = 0..1_u32 << signs.len();
    let excess = outcomes.map(|outcome| {
        let (mut p, mut q) = (1.0, 1.0);
        for (i, &(here, there)) in signs.iter().enumerate() {
            let plus = outcome >> i & 1 == 1;
            p *= if plus { here } else { 1.0 - here };
            q *= if plus { there } else { 1.0 - there };
        }
        (p - epsilon.exp() * q).max(0.0)
    });
    excess.sum::<f64>().ln()
}

/// One attribute moves the same signs at every step, which smooth flips tell apart: by the sums over all outcomes no ledger, and no
/// account of several changes, is below what is lost. So many plain responses in place of one, which were once taken, are.
#[test]
fn levels_of_a_sign_add_up_on_it() -> Outcome {
    let (keep, epsilons) = (0.7_f64, [1e-9, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]);
    let r = keep / (1.0 - keep);
    let (mut below, mut near) = (0, 0);
    for (touched, steps) in [(1, 2), (1, 3), (2, 2), (2, 3), (3, 2), (1, 7)] {
        let once = bits(touched * steps);
        let proven = proven(bits(touched));
        let wide = proven.profile_under(attribute(steps as f64))?.unwrap();
        let user = attribute(steps as f64).of_user(2)?;
        let user = proven.profile_under(user)?.unwrap();
        for rule in 0..3 {
            for level in -6..=3 {
                // The levels 1 and -1 are neighbours.
                let end = level + steps as i32;
                let end = if level < 0 && end >= 0 { end + 1 } else { end };
                let pair = (plus(rule, r, level), plus(rule, r, end));
                for pair in [pair, (pair.1, pair.0)] {
                    let signs = vec![pair; touched as usize];
                    let of_user = [signs.clone(), signs.clone()].concat();
                    for epsilon in epsilons {
                        let at = Epsilon::new(epsilon)?;
                        let ln = delta_of_levels(&signs, epsilon);
                        let bound = wide.log_delta(at).get();
                        assert!(ln <= bound + 1e-9, "{touched} {steps} {rule} {level} {epsilon}");
                        assert!(
                            delta_of_levels(&of_user, epsilon) <= user.log_delta(at).get() + 1e-9
                        );
                        below += u32::from(ln > once.log_delta(at).get() + 1e-3);
                        near += u32::from(ln > bound - 0.7);
                    }
                }
            }
        }
    }
    assert!(
        below > 50 && near > 500,
        "{below} cases above what was once stated, {near} near the bound"
    );
    // Three changes of a row: three signs moved by two levels each, of two signs a change.
    let proven = proven(bits(2));
    let explained = TradeOff::of(&proven, 3)?;
    let pair = (plus(2, r, 1), plus(2, r, -2));
    let advantage = delta_of_levels(&[pair; 3], 0.0).exp();
    assert!(explained.advantage() > advantage, "{} {advantage}", explained.advantage());
    let all = |keep| Profile::RandomizedResponse { bits: 2, keep: Probability::new(keep).unwrap() };
    let surest = self::proven(all(1.0 - 1e-15));
    let pure = surest.profile_under(attribute(3.0))?.unwrap();
    assert!(matches!(pure, Profile::PureDp { epsilon } if epsilon.get() > 6.0 * 34.5), "{pure:?}");
    Ok(())
}
