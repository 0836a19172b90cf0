//! What other programs use of the machine while something is measured.

use std::time::Instant;

/// Ticks of `/proc` in a second: what Linux reports in, whatever its own clock is.
const TICKS: f64 = 100.0;

/// The start of a measurement.
pub(super) struct Load {
    begin: Instant,
    used: Option<f64>,
}

impl Load {
    pub(super) fn begin() -> Self {
        Self { begin: Instant::now(), used: by_others() }
    }

    /// Cores that other programs used since then, stolen time included; infinite where the system does not tell.
    pub(super) fn others(&self) -> f64 {
        match (self.used, by_others()) {
            (Some(before), Some(now)) => {
                (now - before).max(0.0) / self.begin.elapsed().as_secs_f64()
            }
            _ => f64::INFINITY,
        }
    }
}

/// What a measurement found, and the cores that other programs used during it, stolen time included; infinite where the system
/// does not tell.
pub fn beside_others<T>(measure: impl FnOnce() -> T) -> (T, f64) {
    let load = Load::begin();
    let found = measure();
    (found, load.others())
}

/// Seconds of all processors that neither this process nor one that it waited for has used.
fn by_others() -> Option<f64> {
    let all = std::fs::read_to_string("/proc/stat").ok()?;
    let own = std::fs::read_to_string("/proc/self/stat").ok()?;
    Some((all_used(&all)? - own_used(&own)?) / TICKS)
}

/// User, nice, system, both kinds of interrupts, stolen.
fn all_used(stat: &str) -> Option<f64> {
    let fields: Vec<f64> =
        stat.lines().next()?.split_whitespace().skip(1).map_while(|f| f.parse().ok()).collect();
    [0, 1, 2, 5, 6, 7].iter().map(|&at| fields.get(at)).sum()
}

/// User and system time, its own and that of the children it waited for.
fn own_used(stat: &str) -> Option<f64> {
    // The name stands in parentheses and may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    fields.get(11..15)?.iter().map(|f| f.parse::<f64>().ok()).sum()
}

/// The name of the processor, its generation and its widest instructions: a name is that of several.
pub(super) fn processor() -> String {
    processor_of(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
}

fn processor_of(text: &str) -> String {
    let lines = || text.lines().filter_map(|l| l.split_once(':'));
    let field =
        |name| lines().find(|(field, _)| field.trim() == name).map(|(_, value)| value.trim());
    let mut name = field("model name").unwrap_or(std::env::consts::ARCH).to_owned();
    if let (Some(family), Some(model)) = (field("cpu family"), field("model")) {
        name += &format!(" (family {family}, model {model})");
    }
    let has = |flag| field("flags").is_some_and(|all| all.split_whitespace().any(|f| f == flag));
    match [("avx512f", "AVX-512"), ("avx2", "AVX2")].into_iter().find(|(flag, _)| has(*flag)) {
        Some((_, widest)) => format!("{name} with {widest}"),
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_of_the_manual() {
        assert_eq!(all_used("cpu  1 2 4 1000 1000 8 16 32 64 64\ncpu0 1"), Some(63.0));
        assert_eq!(all_used("cpu 1 2"), None);
        let stat = "7 (a) b) c) R 1 1 1 0 -1 4 0 0 0 0 3 5 7 11 20 0 1";
        assert_eq!(own_used(stat), Some(26.0));
        assert_eq!(own_used("7 (a"), None);
    }

    /// Two generations of one name differ.
    #[test]
    fn a_processor_is_named_with_its_generation() {
        let text = "cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: Some EPYC\nflags\t\t: fpu avx2 avx512f\n";
        assert_eq!(processor_of(text), "Some EPYC (family 25, model 17) with AVX-512");
        assert_eq!(processor_of("model name : B\nflags : fpu avx2"), "B with AVX2");
        assert_eq!(processor_of(""), std::env::consts::ARCH);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn another_program_is_noticed() {
        let mut other = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .expect("a shell");
        let load = Load::begin();
        std::thread::sleep(std::time::Duration::from_millis(600));
        let busy = load.others();
        other.kill().expect("it runs");
        other.wait().expect("it ends");
        assert!(busy > 0.2, "{busy}");
        assert!(Load { begin: Instant::now(), used: None }.others().is_infinite());
    }
}
