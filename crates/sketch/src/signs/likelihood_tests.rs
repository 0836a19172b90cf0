use super::*;

/// `v(1) = 1 - 2 phi(1)/(1 - 2 Q(1))`, `v(2)` alike, computed in Python from its error function.
#[test]
fn a_cut_entry_spreads_less() {
    let (one, two) = (0.291_125_094_772_8, 0.773_741_303_549_9);
    for (m, d, cut) in [(1.0, 4, one), (2.0, 16, two), (2.0, 3, two)] {
        let d_f = d as f64;
        let expected = ((m * m + (d_f - 1.0) * cut) / d_f).sqrt();
        assert!((spread(m, d) - expected).abs() < 1e-8, "{m} {d}: {}", spread(m, d));
    }
}

#[test]
fn golden_sections_find_the_peak() {
    for peak in [0.1, 0.5, 0.83] {
        let found = golden(0.0, 1.0, |x| -(x - peak) * (x - peak));
        assert!((found - peak).abs() < 1e-5, "{found}");
    }
}

/// Of one bit the information is `p_a p_b/(p (1 - p))`; derivatives here by Richardson's rule from wider steps.
#[test]
fn information_is_that_of_the_probability() {
    let bits =
        [(0.7, 0.3, 0.5), (-1.2, 0.5, 0.6)].map(|(vote, step, spread)| Bit { vote, step, spread });
    let likelihood = Likelihood::new(bits.into(), vec![0.1, 0.2, 0.05]);
    let (theta, norm) = (0.9, 1.3);
    let slope = |f: &dyn Fn(f64) -> f64| {
        let of = |h: f64| (f(h) - f(-h)) / (2.0 * h);
        (4.0 * of(1e-3) - of(2e-3)) / 3.0
    };
    let mut expected = [0.0; 3];
    for bit in &likelihood.bits {
        let of = |t: f64, n: f64| likelihood.probability(bit, bit.vote, t, n);
        let p = of(theta, norm);
        let angle = slope(&|h| of(theta + h, norm));
        let scale = slope(&|h| of(theta, norm * h.exp()));
        for (sum, x) in expected.iter_mut().zip([angle * angle, angle * scale, scale * scale]) {
            *sum += x / (p * (1.0 - p));
        }
    }
    let found = likelihood.information(theta, norm);
    for (found, expected) in found.iter().zip(expected) {
        assert!(expected.abs() > 1e-3, "{expected}");
        assert!((found / expected - 1.0).abs() < 1e-5, "{found} {expected}");
    }
}

/// Bits of a row at an angle and a norm, as the model has them: queries and uniform numbers from one simple sequence.
fn drawn(count: usize, jumps: &[f64], theta: f64, norm: f64) -> Likelihood {
    let mut state = 1u64;
    let mut uniform = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    let mut likelihood = Likelihood::new(Vec::new(), jumps.to_vec());
    for i in 0..count {
        let vote = (-2.0 * uniform().ln()).sqrt() * (2.0 * PI * uniform()).cos().abs();
        let bit = Bit { vote, step: 0.2 + 0.1 * (i % 5) as f64, spread: 1.0 };
        let agrees = uniform() < likelihood.probability(&bit, vote, theta, norm);
        likelihood.bits.push(Bit { vote: if agrees { vote } else { -vote }, ..bit });
    }
    likelihood
}

const JUMPS: [f64; 4] = [0.1, 0.25, 0.3, 0.25];

#[test]
fn every_angle_of_a_half_turn_is_tried() {
    for (sign, nearest) in [(1.0, 0.5 / 64.0), (-1.0, 63.5 / 64.0)] {
        let bits =
            (1..40).map(|i| Bit { vote: sign * 0.05 * f64::from(i), step: 0.3, spread: 1.0 });
        let found = Likelihood::new(bits.collect(), JUMPS.to_vec()).coarse(1.0).0;
        assert!((found - nearest * PI).abs() < 1e-12, "{found}");
    }
}

/// Estimates at the peak of the likelihood, errors from the inverse of the information there: of both where the norm is sought, of
/// the angle alone where it is given or where no level tells it.
#[test]
fn a_cosine_and_a_norm_are_the_peak_with_the_inverse_of_its_information() {
    let (range, given) = ((0.4, 6.0), (1.5, 1.5));
    for (count, jumps, norms, both) in [
        (4000, &JUMPS[..], range, true),
        (4000, &JUMPS[..], given, false),
        (4000, &[0.8][..], range, false),
    ] {
        let likelihood = drawn(count, jumps, 1.0, 1.5);
        let found = likelihood.smooth(norms, (1e-3f64).ln());
        let (theta, norm) = (found.cosine.value.acos(), found.norm.value);
        let peak = likelihood.log(theta, norm);
        for (turn, ratio) in [(0.01, 1.0), (-0.01, 1.0), (0.0, 1.02), (0.0, 1.0 / 1.02)] {
            let near = likelihood.log(theta + turn, if both { norm * ratio } else { norm });
            assert!(peak >= near - 1e-9, "{turn} {ratio}: {peak} {near}");
        }
        let [a, b, c] = likelihood.information(theta, norm);
        let expected = if both { c / (a * c - b * b) } else { 1.0 / a };
        let error = found.cosine.standard_error / (theta.sin() * expected.sqrt());
        assert!((error - 1.0).abs() < 1e-6, "{norms:?}: {error}");
        assert!((found.cosine.value - 1f64.cos()).abs() < 5.0 * found.cosine.standard_error);
        if both {
            let error = found.norm.standard_error / (norm * (a / (a * c - b * b)).sqrt());
            assert!((error - 1.0).abs() < 1e-6, "{error}");
            assert!((norm - 1.5).abs() < 5.0 * found.norm.standard_error, "{norm}");
        }
    }
}

/// Few bits, which say little of either: errors are of both still.
#[test]
fn a_norm_that_is_hardly_known_counts() {
    let bits =
        [(0.03, 0.02), (0.1, 0.15), (0.3, 0.4)].map(|(vote, step)| Bit { vote, step, spread: 1.0 });
    let likelihood = Likelihood::new(bits.into(), vec![0.06, 0.06, 0.06]);
    let found = likelihood.smooth((0.4, 6.0), (1e-3f64).ln());
    let [a, b, c] = likelihood.information(0.1, found.norm.value);
    assert!(found.cosine.value > 0.1f64.cos() && a < 1.0, "{found:?} {a}");
    let expected = 0.1f64.sin() * (c / (a * c - b * b)).sqrt();
    assert!(expected > 1.1 * 0.1f64.sin() / a.sqrt(), "{expected} {a} {b} {c}");
    assert!((found.cosine.standard_error / expected - 1.0).abs() < 1e-6, "{found:?} {expected}");
}

/// The interval ends where a test begins to reject: just outside of it one does, just inside none does.
#[test]
fn intervals_end_where_a_test_rejects() {
    let likelihood = drawn(300, &JUMPS, 1.0, 1.5);
    let ln_tail = (1e-3f64).ln();
    let holds = |theta: f64, norm: f64| {
        let (low, high) = likelihood.tails(theta, norm);
        low.min(high) > ln_tail.exp()
    };
    let (low, high) = joined(&[likelihood.accepted(1.5, 1.0, ln_tail)]).expect("some angle");
    // The steps of the search are below 3e-5.
    for (edge, out) in [(low, -1e-4), (high, 1e-4)] {
        assert!(holds(edge - out, 1.5) && !holds(edge + out, 1.5), "{edge}");
    }
    assert!(low < 1.0 && 1.0 < high, "{low} {high}");
    // Of one jump every bit agrees less often the larger the angle.
    let likelihood = drawn(300, &[0.8], 1.0, 1.0);
    let holds = |theta: f64| {
        let (low, high) = likelihood.tails(theta, 1.0);
        low.min(high) > ln_tail.exp()
    };
    let (low, high) = likelihood.not_rejected(ln_tail);
    for (edge, out) in [(low, -1e-8), (high, 1e-8)] {
        assert!(holds(edge - out) && !holds(edge + out), "{edge}");
    }
}

/// Of many bits the tests accept fewer angles than lie between two of the grid; here none of the grid is among them.
#[test]
fn an_interval_between_two_angles_of_the_grid_is_no_point() {
    let ln_tail = (0.025f64).ln();
    for after in [5.0, 10.0, 20.0, 26.0] {
        let theta = (after + 0.5) * PI / 32.0;
        let likelihood = drawn(8192, &[0.95], theta, 1.0);
        let found = likelihood.smooth((1.0, 1.0), ln_tail);
        let (low, high) = (found.interval.high.acos(), found.interval.low.acos());
        assert!(after * PI / 32.0 < low && high < (after + 1.0) * PI / 32.0, "{low} {high}");
        assert!(low < theta && theta < high, "{low} {theta} {high}");
        for angle in [low - 1e-4, high + 1e-4] {
            assert_ne!(likelihood.verdict(angle, 1.0, ln_tail), Verdict::Accepted, "{angle}");
        }
        // The error is that of the information, which says less than half of what is accepted.
        let [information, ..] = likelihood.information(found.cosine.value.acos(), 1.0);
        let expected = found.cosine.value.acos().sin() / information.sqrt();
        assert!((found.cosine.standard_error / expected - 1.0).abs() < 1e-6, "{found:?}");
    }
}

/// More bits agree, or fewer, than any angle lets expect.
#[test]
fn where_all_is_rejected_nothing_is_excluded() {
    for sign in [1.0, -1.0] {
        let bits =
            (1..200).map(|i| Bit { vote: sign * 0.02 * f64::from(i), step: 0.3, spread: 1.0 });
        let likelihood = Likelihood::new(bits.collect(), vec![0.2]);
        let found = likelihood.smooth((0.5, 2.0), (0.025f64).ln());
        assert_eq!((found.interval.low, found.interval.high), (-1.0, 1.0));
        assert_eq!((found.cosine.standard_error, found.norm.standard_error), (1.0, 0.75));
        assert!(found.cosine.value * sign > 0.9, "{found:?}");
    }
}

/// Verdicts are those of the exact law, also where it is not computed.
#[test]
fn a_bound_on_a_tail_rejects_nothing_that_the_law_accepts() {
    let likelihood = drawn(300, &JUMPS, 1.0, 1.5);
    for ln_tail in [0.45f64, 0.025, 1e-3].map(f64::ln) {
        let mut seen = [0; 3];
        for i in 1..200 {
            let theta = f64::from(i) * PI / 200.0;
            let exact = Verdict::of(likelihood.tails(theta, 1.5), ln_tail.exp());
            assert_eq!(likelihood.verdict(theta, 1.5, ln_tail), exact, "{theta}");
            seen[exact as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
    }
}
