//! `cargo xtask python`: the wheel, built, installed and tested in a fresh environment.

use crate::environment::{Skipped, folders, fresh, python};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Say that it was skipped, and succeed, where there is no Python or its packages cannot be fetched.
    #[arg(long)]
    optional: bool,
    /// Handed to pytest, as in `-k ledger`.
    #[arg(last = true)]
    pytest: Vec<String>,
}

pub(crate) type Result<T> = core::result::Result<T, Box<dyn std::error::Error>>;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (root, target) = folders();
    let packages = root.join("python/requirements.txt");
    let environment = match fresh(&target.join("python"), &packages) {
        Ok(environment) => environment,
        Err(Skipped(why)) => {
            println!("SKIPPED: the Python package was NOT built and NOT tested: {why}");
            return Ok(if arguments.optional { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    };
    let wheel = install(&root, &target, &environment)?;
    check_stubs(&root, &target, &environment)?;
    let command = command(&root, &target)?;
    let tests = python(&environment, &target)?
        .args(["-m", "pytest", "-p", "no:cacheprovider"])
        .args(&arguments.pytest)
        // Where no folder hides the package that was installed.
        .current_dir(root.join("python/tests"))
        .env("DPS_BINARY", command)
        .env("DPS_WHEEL", &wheel)
        .status()?;
    Ok(if tests.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The command as its own tests build it: after these, nothing is compiled again for other features.
pub(crate) fn command(root: &Path, target: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = ["test", "--release", "--no-run", "--test", "ledger"];
    done(Command::new(cargo).args(built).current_dir(root))?;
    Ok(target.join("release").join(format!("dps{}", std::env::consts::EXE_SUFFIX)))
}

/// Builds the wheel and puts it into an environment.
pub(crate) fn install(root: &Path, target: &Path, interpreter: &Path) -> Result<PathBuf> {
    let wheel = build(root, target, interpreter)?;
    let pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall"];
    done(Command::new(interpreter).args(pip).arg(&wheel))?;
    Ok(wheel)
}

/// The wheel, in release mode, beside what was compiled before.
fn build(root: &Path, target: &Path, interpreter: &Path) -> Result<PathBuf> {
    let wheels = target.join("wheels");
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels)?;
    }
    done(maturin(root, target, interpreter, "build").args(["--release", "--out"]).arg(&wheels))?;
    let mut found = std::fs::read_dir(&wheels)?;
    Ok(found.next().ok_or("no wheel was built")??.path())
}

/// The types of the compiled part are those that are generated from it.
fn check_stubs(root: &Path, target: &Path, interpreter: &Path) -> Result<()> {
    let stubs = target.join("stubs");
    let generate = ["--profile", "release", "--out"];
    done(maturin(root, target, interpreter, "generate-stubs").args(generate).arg(&stubs))?;
    let [kept, made] = [root.join("python"), stubs].map(|folder| folder.join("dps/_dps.pyi"));
    if std::fs::read(&kept)? == std::fs::read(&made)? {
        return Ok(());
    }
    let [kept, made] = [kept, made].map(|path| path.display().to_string());
    Err(format!("{kept} is not what the code says: put {made} in its place").into())
}

/// What compiles beside what was compiled before.
fn maturin(root: &Path, target: &Path, interpreter: &Path, does: &str) -> Command {
    let mut command = Command::new(interpreter);
    command.args(["-m", "maturin", does, "--locked", "--quiet", "--manifest-path"]);
    command.arg(root.join("python/Cargo.toml")).arg("--interpreter").arg(interpreter);
    command.env("CARGO_TARGET_DIR", target);
    command
}

fn done(command: &mut Command) -> Result<()> {
    match command.status()?.success() {
        true => Ok(()),
        false => Err(format!("failed: {command:?}").into()),
    }
}
