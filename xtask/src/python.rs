//! `cargo xtask python`: the wheel, built, installed and tested in a fresh environment.

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

/// Why nothing was tested.
pub(crate) struct Skipped(pub(crate) String);

pub(crate) type Result<T> = core::result::Result<T, Box<dyn std::error::Error>>;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let (root, target) = folders();
    let packages = root.join("python/requirements.txt");
    let environment = match fresh_environment(&target.join("python"), &packages) {
        Ok(environment) => environment,
        Err(Skipped(why)) => {
            println!("SKIPPED: the Python package was NOT built and NOT tested: {why}");
            return Ok(if arguments.optional { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    };
    let wheel = install(&root, &target, &environment)?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    done(Command::new(cargo).args(["build", "--release", "--package", "dps"]).current_dir(&root))?;
    let tests = Command::new(&environment)
        .args(["-m", "pytest", "-p", "no:cacheprovider"])
        .args(&arguments.pytest)
        // Where no folder hides the package that was installed.
        .current_dir(root.join("python/tests"))
        .env(
            "DPS_BINARY",
            target.join("release").join(format!("dps{}", std::env::consts::EXE_SUFFIX)),
        )
        .env("DPS_WHEEL", &wheel)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .status()?;
    Ok(if tests.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The workspace, and where things are built.
pub(crate) fn folders() -> (PathBuf, PathBuf) {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    (root, target)
}

/// Its interpreter; the tools and the packages that tests need are in it, this one is not.
pub(crate) fn fresh_environment(
    folder: &Path,
    packages: &Path,
) -> core::result::Result<PathBuf, Skipped> {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let made = Command::new(&python).args(["-m", "venv", "--clear"]).arg(folder).status();
    match made {
        Ok(status) if status.success() => {}
        Ok(_) => return Err(Skipped(format!("{} makes no environment", python.display()))),
        Err(error) => return Err(Skipped(format!("{}: {error}", python.display()))),
    }
    let interpreter = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    let interpreter = folder.join(interpreter);
    let fetched = Command::new(&interpreter)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(packages)
        .status();
    match fetched {
        Ok(status) if status.success() => Ok(interpreter),
        _ => Err(Skipped(format!("the packages of {} cannot be fetched", packages.display()))),
    }
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
    done(
        Command::new(interpreter)
            .args(["-m", "maturin", "build", "--release", "--locked", "--quiet", "--manifest-path"])
            .arg(root.join("python/Cargo.toml"))
            .arg("--interpreter")
            .arg(interpreter)
            .arg("--out")
            .arg(&wheels)
            .env("CARGO_TARGET_DIR", target),
    )?;
    let mut found = std::fs::read_dir(&wheels)?;
    Ok(found.next().ok_or("no wheel was built")??.path())
}

fn done(command: &mut Command) -> Result<()> {
    match command.status()?.success() {
        true => Ok(()),
        false => Err(format!("failed: {command:?}").into()),
    }
}
