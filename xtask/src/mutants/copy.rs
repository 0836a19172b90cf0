//! A copy of the workspace: mutants are written into files, and not into the user's.

use super::results::Outcome;
use serde_json::Value;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The tool that lists mutants.
const TOOL: (&str, &str) = ("cargo-mutants", "27.1.0");

/// The tests of a package that are asked.
const TESTS: [&str; 3] = ["--lib", "--test", "suite"];

/// Seconds of a processor that a compiler may take: it runs what is constant, which a mutant may keep from ending.
const LONGEST: u64 = 600;

/// The compiler took longer than it may.
#[derive(Debug)]
pub(super) struct Endless;

impl std::fmt::Display for Endless {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a compiler took more than {LONGEST} s")
    }
}

impl std::error::Error for Endless {}

/// An error of the compiler.
pub(super) struct Fault {
    pub(super) code: String,
    pub(super) file: String,
    /// Counted from one.
    pub(super) lines: Range<usize>,
    pub(super) text: String,
}

pub(super) struct Copy {
    tools: PathBuf,
    pub(super) folder: PathBuf,
    longest: u64,
}

impl Copy {
    /// What git has of the workspace, and the tool, fetched where it is not there.
    pub(super) fn new(root: &Path, target: &Path) -> Outcome<Self> {
        let (tools, folder) = (target.join("tools"), target.join("mutants"));
        std::fs::create_dir_all(&folder)?;
        let (name, version) = TOOL;
        let program = tools.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let copy = Self { tools: program, folder, longest: LONGEST };
        if !copy.tools.exists() {
            let wanted = format!("{name}@{version}");
            let mut command = Command::new("cargo");
            command.args(["install", "--locked", &wanted, "--root"]).arg(&tools);
            if !command.status()?.success() {
                return Err(format!("{wanted} cannot be installed").into());
            }
        }
        let tree = copy.tree();
        if tree.exists() {
            std::fs::remove_dir_all(&tree)?;
        }
        let place = tree.to_string_lossy();
        for arguments in [
            &["worktree", "prune"][..],
            &["worktree", "add", "--force", "--detach", &place, "HEAD"],
        ] {
            let mut command = Command::new("git");
            if !command.current_dir(root).args(arguments).stdout(Stdio::null()).status()?.success()
            {
                return Err(format!("git {} failed", arguments.join(" ")).into());
            }
        }
        Ok(copy)
    }

    fn tree(&self) -> PathBuf {
        self.folder.join("tree")
    }

    pub(super) fn read(&self, file: &str) -> Outcome<String> {
        Ok(std::fs::read_to_string(self.tree().join(file))?)
    }

    /// Writes a file, unless it is that already: what has not changed is not built again.
    pub(super) fn write(&self, file: &str, text: &str) -> Outcome<()> {
        if self.read(file)? != text {
            std::fs::write(self.tree().join(file), text)?;
        }
        Ok(())
    }

    /// The mutants of some files of a package.
    pub(super) fn listed(&self, package: &str, files: &[&str]) -> Outcome<Vec<Value>> {
        let mut command = Command::new(&self.tools);
        command.args(["mutants", "--no-config", "--list", "--json", "--package", package]);
        for file in files {
            command.args(["--file", file]);
        }
        Ok(serde_json::from_slice(&command.current_dir(self.tree()).output()?.stdout)?)
    }

    /// What cargo says of a package, a message a line: [`Endless`] where a compiler was stopped.
    fn cargo(&self, arguments: &[&str], package: &str) -> Outcome<(bool, Vec<Value>)> {
        let limited = format!("ulimit -S -t {}; exec cargo \"$@\"", self.longest);
        let mut command = Command::new("sh");
        command.args(["-c", &limited, "cargo"]).args(arguments);
        command.args(["--message-format", "json", "--package", package]);
        command.current_dir(self.tree()).env("CARGO_TARGET_DIR", self.folder.join("build"));
        let output = command.env("RUSTFLAGS", "--cap-lints allow").output()?;
        // SIGXCPU, which the soft limit sends: the hard one kills, as a lack of memory does.
        if String::from_utf8_lossy(&output.stderr).contains("signal: 24") {
            return Err(Endless.into());
        }
        let lines = String::from_utf8(output.stdout)?;
        let messages = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok((output.status.success(), messages))
    }

    /// Why the library of a package does not compile: nothing where it does.
    pub(super) fn faults(&self, package: &str) -> Outcome<Vec<Fault>> {
        let (compiles, messages) =
            self.cargo(&["check", "--profile", "mutants", "--lib"], package)?;
        if compiles {
            return Ok(Vec::new());
        }
        let mut faults = Vec::new();
        for message in messages.iter().map(|message| &message["message"]) {
            if message["level"] != "error" {
                continue;
            }
            for span in message["spans"].as_array().into_iter().flatten() {
                if span["is_primary"] != true {
                    continue;
                }
                // Of what a macro wrote, the place where it was called.
                let mut span = span;
                while span["expansion"].is_object() {
                    span = &span["expansion"]["span"];
                }
                let line = |key: &str| span[key].as_u64().unwrap_or(1) as usize;
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                faults.push(Fault {
                    code: text(&message["code"]["code"]),
                    file: text(&span["file_name"]),
                    lines: line("line_start")..line("line_end") + 1,
                    text: text(&message["rendered"]),
                });
            }
        }
        match faults.is_empty() {
            true => {
                Err(format!("{package} does not compile, and no line is said to be why").into())
            }
            false => Ok(faults),
        }
    }

    /// Builds the tests of a package: the programs, and where they run.
    pub(super) fn programs(&self, package: &str) -> Outcome<Vec<(PathBuf, PathBuf)>> {
        let arguments = [&["test", "--profile", "mutants", "--no-run"][..], &TESTS].concat();
        let (built, messages) = self.cargo(&arguments, package)?;
        if !built {
            return Err(format!("tests of {package} cannot be built").into());
        }
        let mut programs = Vec::new();
        for message in messages {
            let [program, manifest] =
                ["executable", "manifest_path"].map(|key| message[key].as_str());
            if let (Some(program), Some(manifest)) = (program, manifest) {
                let folder = Path::new(manifest).parent().ok_or("a manifest at the root")?;
                programs.push((program.into(), folder.to_owned()));
            }
        }
        Ok(programs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A constant whose value never comes is told from what does not compile, and that from what does.
    #[test]
    fn a_compiler_that_does_not_end_is_stopped() -> Outcome<()> {
        let folder = std::env::temp_dir().join(format!("endless{}", std::process::id()));
        let copy = Copy { tools: PathBuf::new(), folder: folder.clone(), longest: 3 };
        std::fs::create_dir_all(copy.tree().join("src"))?;
        let manifest =
            "[package]\nname = \"endless\"\n[profile.mutants]\ninherits = \"dev\"\n[workspace]\n";
        std::fs::write(copy.tree().join("Cargo.toml"), manifest)?;
        let of = |text: &str| {
            std::fs::write(copy.tree().join("src/lib.rs"), text)?;
            copy.faults("endless")
        };
        assert_eq!(of("pub const N: u64 = 1;")?.len(), 0);
        assert_eq!(of("pub const N: u64 = true;")?.len(), 1);
        let endless = of("pub const N: u64 = { let mut n = 1; while n > 0 { n = 2 - n; } n };");
        assert!(endless.is_err_and(|error| error.is::<Endless>()));
        Ok(std::fs::remove_dir_all(folder)?)
    }
}
