//! What whoever runs a command takes at the writer's word.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dp_core::certificate::{Exception, Trust};

/// What is taken although it was not computed again, or is not proven.
#[derive(Args, Debug)]
#[command(next_help_heading = "Trust")]
pub(crate) struct TrustOptions {
    /// Let a release pass although something about it is not proven or could not be computed again.
    #[arg(long, value_parser = exceptions(), value_delimiter = ',')]
    accept: Vec<Exception>,
    /// Compute again what takes long, whatever time and memory that needs.
    #[arg(long)]
    long: bool,
}

fn exceptions() -> impl TypedValueParser<Value = Exception> {
    let named = |e: Exception| PossibleValue::new(e.name()).help(format!("Although {}", e.fault()));
    PossibleValuesParser::new(Exception::ALL.map(named)).map(|name| {
        let named = |e: &Exception| e.name() == name;
        Exception::ALL.into_iter().find(named).expect("one of the possible values")
    })
}

impl TrustOptions {
    pub(crate) fn get(&self) -> Trust {
        let trust = self.accept.iter().fold(Trust::none(), |t, &a| t.and(a));
        if self.long { trust.however_long() } else { trust }
    }
}
