//! `dps completions` and `dps man`: both come from the parser.

use crate::error::{Error, Result};
use crate::output::{self, Record};
use clap::Args;

/// Options of `dps completions`.
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell.
    shell: clap_complete::Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<Record> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut crate::parser(), "dps", &mut text);
        output::print(&String::from_utf8_lossy(&text));
        Ok(Record::silent())
    }
}

/// Options of `dps man`.
#[derive(Args)]
pub(crate) struct Man {
    /// Write one page a command into this folder instead.
    #[arg(long, value_name = "FOLDER")]
    out: Option<std::path::PathBuf>,
}

impl Man {
    pub(crate) fn run(&self) -> Result<Record> {
        let failed = |e| Error::io("man page", e);
        if let Some(folder) = &self.out {
            clap_mangen::generate_to(crate::parser(), folder).map_err(|e| Error::io(folder, e))?;
            return Ok(Record::new().text("pages", folder.display().to_string()));
        }
        let mut text = Vec::new();
        clap_mangen::Man::new(crate::parser()).render(&mut text).map_err(failed)?;
        output::print(&String::from_utf8_lossy(&text));
        Ok(Record::silent())
    }
}
