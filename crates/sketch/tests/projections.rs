//! Every projection against its own matrix, its declared norms and its moments.

use dp_core::{EntryBound, NormBound, PublicSeed};
use sketch::projection::{Family, Projection, ProjectionSpec, Sampling, project};
use sketch::rows::{CsrView, RowsView};

const FAMILIES: [Family; 10] = [
    Family::Gaussian,
    Family::Rademacher,
    Family::Achlioptas,
    Family::VerySparse,
    Family::SparseJl { nonzeros: 3 },
    Family::HashedCopies { copies: 3 },
    Family::Srht { sampling: Sampling::WithoutReplacement },
    Family::Srht { sampling: Sampling::WithReplacement },
    Family::Oporp,
    Family::CountSketch,
];

fn matrix(p: &dyn Projection) -> Vec<Vec<f64>> {
    let spec = p.spec();
    (0..spec.d())
        .map(|i| {
            let mut row = vec![0.0; spec.k()];
            p.row(i, &mut row);
            row
        })
        .collect()
}

fn naive(x: &[f64], p: &[Vec<f64>], k: usize) -> Vec<f64> {
    let mut out = vec![0.0; k];
    for (x, row) in x.iter().zip(p) {
        out.iter_mut().zip(row).for_each(|(o, p)| *o += x * p);
    }
    out
}

fn bytes(n: usize, d: usize) -> Vec<u8> {
    (0..n * d).map(|i| if i % 3 == 0 { 0 } else { (i * 7919 % 251) as u8 }).collect()
}

#[test]
fn every_input_kind_agrees_with_the_matrix() {
    for (n, d, k) in [(1, 1, 1), (3, 70, 5), (300, 130, 32), (2, 257, 257)] {
        let raw = bytes(n, d);
        let wide: Vec<f64> = raw.iter().map(|&b| f64::from(b)).collect();
        let beside: Vec<f64> = (0..n * d).map(|at| wide[at % n * d + at / n]).collect();
        let narrow: Vec<f32> = raw.iter().map(|&b| f32::from(b)).collect();
        let bits: Vec<u64> = raw
            .chunks_exact(d)
            .flat_map(|row| {
                let mut words = vec![0u64; d.div_ceil(64)];
                row.iter()
                    .enumerate()
                    .for_each(|(i, &b)| words[i / 64] |= u64::from(b & 1) << (i % 64));
                words
            })
            .collect();
        let ones: Vec<f64> = raw.iter().map(|&b| f64::from(b & 1)).collect();
        let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in wide.chunks_exact(d) {
            for (c, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                columns.push(c as u32);
                values.push(v);
            }
            offsets.push(values.len());
        }
        let csr = CsrView { offsets: &offsets, columns: &columns, values: &values };
        for family in FAMILIES {
            let family = match family {
                Family::SparseJl { nonzeros } => {
                    Family::SparseJl { nonzeros: nonzeros.min(k as u32) }
                }
                Family::HashedCopies { copies } => {
                    Family::HashedCopies { copies: copies.min(k as u32) }
                }
                other => other,
            };
            let p = ProjectionSpec::new(family, d, k, PublicSeed::new(5)).unwrap().build();
            let m = matrix(&*p);
            let range = p.output_range(EntryBound::new(255.0).unwrap());
            let dense = project(&*p, RowsView::f64(n, d, &wide).unwrap()).unwrap();
            for (i, out) in dense.chunks_exact(k).enumerate() {
                for (a, b) in out.iter().zip(naive(&wide[i * d..(i + 1) * d], &m, k)) {
                    assert!((a - b).abs() <= 2.0 * range.error, "{family:?} {n} {d} {k}: {a} {b}");
                    assert!(a.abs() <= range.magnitude, "{family:?}");
                }
            }
            let close = |other: Vec<f64>| {
                for (a, b) in dense.iter().zip(&other) {
                    assert!((a - b).abs() <= 2.0 * range.error, "{family:?} {n} {d} {k}");
                }
            };
            let beside: Vec<&[f64]> = beside.chunks_exact(n).collect();
            let view = RowsView::columns(n, &beside).unwrap();
            assert_eq!(project(&*p, view).unwrap(), dense, "{family:?} {n} {d} {k}");
            let last = view.slice(n / 2..n);
            assert_eq!(project(&*p, last).unwrap(), dense[n / 2 * k..], "{family:?} {n} {d} {k}");
            close(project(&*p, RowsView::f32(n, d, &narrow).unwrap()).unwrap());
            close(project(&*p, RowsView::u8(n, d, &raw).unwrap()).unwrap());
            close(project(&*p, RowsView::csr(n, d, csr).unwrap()).unwrap());
            let a = project(&*p, RowsView::bits(n, d, &bits).unwrap()).unwrap();
            let b = project(&*p, RowsView::f64(n, d, &ones).unwrap()).unwrap();
            for (a, b) in a.iter().zip(&b) {
                assert!((a - b).abs() <= 2.0 * range.error, "{family:?} bits");
            }
        }
    }
}

#[test]
fn rows_in_groups_and_rows_alone_agree_bit_for_bit() {
    let srht = Family::Srht { sampling: Sampling::WithoutReplacement };
    let sparse = Family::SparseJl { nonzeros: 3 };
    // Around the group sizes, and rows too long for groups.
    let mut cases = vec![(srht, 3, 70_000)];
    for family in [srht, Family::Oporp, Family::CountSketch, Family::VerySparse, sparse] {
        cases.extend([(family, 1, 3), (family, 15, 70), (family, 141, 513), (family, 9, 16_400)]);
    }
    for (family, n, d) in cases {
        let k = 16.min(d);
        let p = ProjectionSpec::new(family, d, k, PublicSeed::new(6)).unwrap().build();
        // Full mantissas: another order of additions would show.
        let wide: Vec<f64> = (0..n * d).map(|i| ((i * 7919 % 10_007) as f64).sin()).collect();
        let raw = bytes(n, d);
        let (narrow, small): (Vec<f32>, Vec<f64>) =
            (raw.iter().map(|&b| f32::from(b)).collect(), raw.iter().map(|&b| b.into()).collect());
        let whole = |rows| project(&*p, rows).unwrap();
        let together = whole(RowsView::f64(n, d, &wide).unwrap());
        let alone: Vec<f64> =
            wide.chunks(d).flat_map(|row| whole(RowsView::f64(1, d, row).unwrap())).collect();
        assert!(together == alone, "{family:?} {n} {d}");
        let beside: Vec<f64> = (0..n * d).map(|at| wide[at % n * d + at / n]).collect();
        let beside: Vec<&[f64]> = beside.chunks_exact(n).collect();
        assert!(together == whole(RowsView::columns(n, &beside).unwrap()), "{family:?} {n} {d}");
        let m = matrix(&*p);
        let range = p.output_range(EntryBound::new(1.0).unwrap());
        for (a, b) in together.iter().zip(wide.chunks(d).flat_map(|row| naive(row, &m, k))) {
            assert!((a - b).abs() <= 2.0 * range.error, "{family:?} {n} {d}: {a} {b}");
        }
        let small = whole(RowsView::f64(n, d, &small).unwrap());
        assert!(small == whole(RowsView::f32(n, d, &narrow).unwrap()), "{family:?} {n} {d}");
        assert!(small == whole(RowsView::u8(n, d, &raw).unwrap()), "{family:?} {n} {d}");
    }
}

#[test]
fn declared_row_norms_are_the_largest_and_spectral_norms_bound() {
    for (d, k) in [(1, 1), (70, 16), (128, 128)] {
        for family in FAMILIES {
            if matches!(family, Family::SparseJl { .. } | Family::HashedCopies { .. }) && k < 3 {
                continue;
            }
            let p = ProjectionSpec::new(family, d, k, PublicSeed::new(11)).unwrap().build();
            let m = matrix(&*p);
            let l2 =
                m.iter().map(|r| r.iter().map(|v| v * v).sum::<f64>().sqrt()).fold(0.0, f64::max);
            let l1 = m.iter().map(|r| r.iter().map(|v| v.abs()).sum::<f64>()).fold(0.0, f64::max);
            assert!(
                (p.max_row_l2() - l2).abs() <= 1e-12 * l2,
                "{family:?} {} {l2}",
                p.max_row_l2()
            );
            assert!(
                (p.max_row_l1() - l1).abs() <= 1e-12 * l1,
                "{family:?} {} {l1}",
                p.max_row_l1()
            );
            let touched = m.iter().map(|r| r.iter().filter(|v| **v != 0.0).count()).max().unwrap();
            assert!(p.touched_by_one_attribute() >= touched);
            // The power method approaches the norm from below.
            let mut v = vec![1.0; d];
            let mut norm = 0.0;
            for _ in 0..3000 {
                let y = naive(&v, &m, k);
                for (v, row) in v.iter_mut().zip(&m) {
                    *v = row.iter().zip(&y).map(|(a, b)| a * b).sum();
                }
                let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
                if length == 0.0 {
                    break;
                }
                norm = length.sqrt();
                v.iter_mut().for_each(|x| *x /= length);
            }
            let bound =
                p.spectral_norm_bound().unwrap_or_else(|e| panic!("{family:?} {d} {k}: {e}"));
            assert!(bound >= norm * (1.0 - 1e-12), "{family:?} {bound} {norm}");
            let structural =
                matches!(family, Family::Srht { .. } | Family::Oporp | Family::CountSketch);
            assert!(structural || bound <= norm * (1.0 + 1e-3), "{family:?} {bound} {norm}");
        }
    }
}

/// Simulates `k Var <uP, vP>` over fresh seeds; each family's stated moments must agree, and
/// the same test must reject moments wrong by a factor 0.7 or 1.3.
#[test]
fn inner_products_are_unbiased_with_the_stated_variance() {
    const SEEDS: u64 = 10_000;
    let (d, k) = (24, 6);
    let u: Vec<f64> =
        (0..d).map(|i| if i < 3 { 2.0 } else { 0.3 * (i % 5) as f64 - 0.5 }).collect();
    let v: Vec<f64> =
        (0..d).map(|i| if i == 0 { 1.5 } else { 0.2 * (i % 7) as f64 - 0.4 }).collect();
    let both: Vec<f64> = u.iter().chain(&v).copied().collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for family in FAMILIES {
        for (a, b) in [(&u, &v), (&u, &u)] {
            let exact = dot(a, b);
            let same = core::ptr::eq(a, b);
            let samples: Vec<f64> = (0..SEEDS)
                .map(|seed| {
                    let p =
                        ProjectionSpec::new(family, d, k, PublicSeed::new(seed)).unwrap().build();
                    let y = project(&*p, RowsView::f64(2, d, &both).unwrap()).unwrap();
                    if same { dot(&y[..k], &y[..k]) } else { dot(&y[..k], &y[k..]) }
                })
                .collect();
            let n = SEEDS as f64;
            let mean = samples.iter().sum::<f64>() / n;
            let second = samples.iter().map(|x| (x - exact).powi(2)).sum::<f64>() / n;
            let fourth = samples.iter().map(|x| (x - exact).powi(4)).sum::<f64>() / n;
            let moments = ProjectionSpec::new(family, d, k, PublicSeed::new(0)).unwrap().moments();
            let quartic: f64 = a.iter().zip(b.iter()).map(|(a, b)| a * a * b * b).sum();
            let stated = (moments.pair * (dot(a, a) * dot(b, b) + exact * exact)
                + moments.quartic * quartic)
                / k as f64;
            // 6 standard errors: false alarms below 1e-8 each (normal law of the two means).
            assert!(
                (mean - exact).abs() < 6.0 * (stated / n).sqrt(),
                "{family:?} mean {mean} {exact}"
            );
            let tolerance = 6.0 * ((fourth - second * second) / n).sqrt();
            assert!((second - stated).abs() < tolerance, "{family:?} variance {second} {stated}");
            assert!((second - 0.7 * stated).abs() > tolerance, "{family:?}: no power");
            assert!((second - 1.3 * stated).abs() > tolerance, "{family:?}: no power");
        }
    }
}

#[test]
fn shapes_are_refused_by_name() {
    let spec = |f, d, k| ProjectionSpec::new(f, d, k, PublicSeed::new(1));
    assert!(spec(Family::Rademacher, 0, 1).unwrap_err().to_string().starts_with("d = 0"));
    assert!(spec(Family::Rademacher, 4, 0).unwrap_err().to_string().starts_with("k = 0"));
    assert!(spec(Family::Oporp, 4, 5).unwrap_err().to_string().starts_with("k = 5"));
    assert!(spec(Family::SparseJl { nonzeros: 4 }, 9, 3).is_err());
    let p = spec(Family::Oporp, 4, 2).unwrap().build();
    let x = [1.0; 9];
    let error = p.apply(RowsView::f64(3, 3, &x).unwrap(), &mut [0.0; 6]).unwrap_err();
    assert_eq!(error.to_string(), "d of the rows is 3, but 4 is needed");
    let error =
        RowsView::f64(3, 3, &[0.0, 0.0, 0.0, 0.0, 0.0, f64::NAN, 0.0, 0.0, 0.0]).unwrap_err();
    assert_eq!(error.to_string(), "the value at row 1, column 2 is not finite");
    assert!(RowsView::f64(3, 3, &x[..8]).unwrap_err().to_string().contains("length 8"));
    let columns: [&[f64]; 3] = [&[0.0, 0.0, f64::NAN], &[0.0, f64::INFINITY, 0.0], &[0.0; 3]];
    let error = RowsView::columns(3, &columns).unwrap_err();
    assert_eq!(error.to_string(), "the value at row 1, column 1 is not finite");
    assert!(
        RowsView::columns(3, &[&x[..3], &x[..2]]).unwrap_err().to_string().contains("length 2")
    );
    assert!(RowsView::columns(3, &[]).unwrap_err().to_string().starts_with("d = 0"));
    let columns: [&[f64]; 2] = [&[9.0, 1.0, 1.0, 3.0], &[9.0, 1.0, -2.0, 3.0]];
    let rows = RowsView::columns(4, &columns).unwrap().slice(1..3);
    let error = rows.check_bound(EntryBound::new(1.5).unwrap()).unwrap_err().to_string();
    assert!(error.contains("row 1, column 1"), "{error}");
    assert!(rows.check_bound(EntryBound::new(2.0).unwrap()).is_ok());
    assert!(rows.check_norms(NormBound::new(5f64.sqrt()).unwrap()).is_ok());
    assert!(rows.check_norms(NormBound::new(2.2).unwrap()).is_err());
    let mut block = [0.0; 3];
    rows.copy_block(0, 1, 1, &mut block[..2]);
    assert_eq!(block, [1.0, -2.0, 0.0]);
}

#[test]
fn shapes_beyond_the_tables_are_refused() {
    let spec = |family, d, k| ProjectionSpec::new(family, d, k, PublicSeed::new(1));
    let sparse = [
        Family::Oporp,
        Family::CountSketch,
        Family::VerySparse,
        Family::SparseJl { nonzeros: 2 },
        Family::HashedCopies { copies: 2 },
    ];
    for family in sparse {
        // A coordinate shares its word with a sign: above 2^31 two coordinates would be one.
        let error = spec(family, (1 << 31) + 1, 64).unwrap_err().to_string();
        assert!(error.contains("2^31"), "{family:?}: {error}");
        assert!(spec(family, 1 << 31, 64).is_ok());
    }
    // ceil(d/k) k does not fit 32 bits.
    assert!(spec(Family::Oporp, u32::MAX as usize, 1 << 24).is_err());
    assert!(spec(Family::Gaussian, u32::MAX as usize, 64).is_ok());
    let failure = dp_core::Probability::new(0.05).unwrap();
    let least = |d| sketch::projection::min_dimension(Family::CountSketch, d, 0.2, failure);
    assert_eq!(least(1 << 25).unwrap(), least(10_000).unwrap());
    for family in [Family::Identity, Family::Gaussian, Family::Oporp] {
        assert!(sketch::projection::min_dimension(family, 0, 0.2, failure).is_err());
    }
}

/// Dense rows beyond those of one pass, and sparse rows that reach over several panels of P, at their ends too.
#[test]
fn rows_of_every_pass_and_panel_agree_with_the_matrix() {
    let spec = |d, k| ProjectionSpec::new(Family::Gaussian, d, k, PublicSeed::new(5)).unwrap();
    let (n, d, k) = (4_100, 3, 2);
    let rows: Vec<f64> = bytes(n, d).into_iter().map(f64::from).collect();
    let p = spec(d, k).build();
    let (m, found) = (matrix(&*p), project(&*p, RowsView::f64(n, d, &rows).unwrap()).unwrap());
    for (row, out) in rows.chunks_exact(d).zip(found.chunks_exact(k)) {
        for (a, b) in out.iter().zip(naive(row, &m, k)) {
            assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
    }
    // A panel has 2^14 rows of 64 numbers.
    let (n, d, k) = (40, 40_000, 64);
    let p = spec(d, k).build();
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        let ends = [16_383, 16_384, 32_767, 32_768];
        let mut of_row: Vec<usize> = (i..d).step_by(37).chain(ends).collect();
        of_row.sort_unstable();
        of_row.dedup();
        columns.extend(of_row.iter().map(|c| *c as u32));
        values.extend(of_row.iter().map(|c| ((c * 7919 + i) % 101) as f64 / 50.0 - 1.0));
        offsets.push(values.len());
    }
    let of = |n: usize| {
        let end = offsets[n];
        let csr =
            CsrView { offsets: &offsets[..=n], columns: &columns[..end], values: &values[..end] };
        project(&*p, RowsView::csr(n, d, csr).unwrap()).unwrap()
    };
    let all = of(n);
    let mut of_column = vec![0.0; k];
    for (i, out) in all.chunks_exact(k).enumerate().step_by(13) {
        let mut expected = vec![0.0; k];
        for at in offsets[i]..offsets[i + 1] {
            p.row(columns[at] as usize, &mut of_column);
            expected.iter_mut().zip(&of_column).for_each(|(e, w)| *e += values[at] * w);
        }
        for (a, b) in out.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-10, "{i}: {a} {b}");
        }
    }
    // Few entries are multiplied without panels, to the same bits.
    assert_eq!(of(5), all[..5 * k]);
}
