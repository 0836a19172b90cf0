//! What whoever runs a command takes at the writer's word.

use clap::{Args, ValueEnum};
use dp_core::certificate::{Exception, Trust};

/// What is taken although it was not computed again, or is not proven.
#[derive(Args, Debug)]
#[command(next_help_heading = "Trust")]
pub(crate) struct TrustOptions {
    /// Let a release pass although something about it is not proven or could not be computed again.
    #[arg(long, value_enum, value_delimiter = ',')]
    accept: Vec<Accepted>,
    /// Compute again what takes long, whatever time and memory that needs.
    #[arg(long)]
    long: bool,
}

/// Exceptions by the names of `--accept`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Accepted {
    /// Noise or a projection from a generator that anyone can run again.
    TestNoise,
    /// Individual differential privacy, which is not differential privacy.
    Individual,
    /// A claim of a paper that is not proven here.
    Published,
    /// The word of whoever wrote the certificate.
    Declared,
    /// No guarantee of any kind.
    NoGuarantee,
    /// A sensitivity that could not be computed again.
    Sensitivity,
}

impl From<Accepted> for Exception {
    fn from(accepted: Accepted) -> Self {
        match accepted {
            Accepted::TestNoise => Self::TestNoise,
            Accepted::Individual => Self::Individual,
            Accepted::Published => Self::Published,
            Accepted::Declared => Self::Declared,
            Accepted::NoGuarantee => Self::NoGuarantee,
            Accepted::Sensitivity => Self::Sensitivity,
        }
    }
}

impl TrustOptions {
    pub(crate) fn get(&self) -> Trust {
        let trust = self.accept.iter().fold(Trust::none(), |t, &a| t.and(a.into()));
        if self.long { trust.however_long() } else { trust }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exception_has_its_name() {
        let named = |a: &Accepted| a.to_possible_value().map(|v| v.get_name().to_owned());
        let names: Vec<_> = Accepted::value_variants().iter().filter_map(named).collect();
        assert_eq!(names, Exception::ALL.map(Exception::name));
        let same = |a: &Accepted| Exception::from(*a).name() == named(a).unwrap_or_default();
        assert!(Accepted::value_variants().iter().all(same));
    }
}
