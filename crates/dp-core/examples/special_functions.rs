//! Values of the special functions, for `tools/reference/special_search.py`: reads lines
//! `name argument...`, writes a value a line.

use dp_core::numeric as f;
use std::io::BufRead;

fn value(line: &str) -> Option<f64> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    let args: Vec<f64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    Some(match (name, args.as_slice()) {
        ("erfcx", &[x]) => f::erfcx(x),
        ("mills_ratio", &[t]) => f::mills_ratio(t),
        ("mills_slope", &[t]) => f::mills_slope(t),
        ("ln_normal_cdf", &[x]) => f::ln_normal_cdf(x),
        ("ln_chi_square_cdf", &[k, x]) => f::ln_chi_square_cdf(k, x),
        ("ln_chi_square_sf", &[k, x]) => f::ln_chi_square_sf(k, x),
        ("ln_binomial_pmf", &[n, p, j]) => f::ln_binomial_pmf(n as u64, p, j as u64),
        ("ln_binomial_cdf", &[n, p, j]) => f::ln_binomial_cdf(n as u64, p, j as u64),
        ("ln_binomial_sf", &[n, p, j]) => f::ln_binomial_sf(n as u64, p, j as u64),
        _ => return None,
    })
}

fn main() -> std::io::Result<()> {
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let value = value(&line).ok_or_else(|| std::io::Error::other(line))?;
        println!("{value:e}");
    }
    Ok(())
}
