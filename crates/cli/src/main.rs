//! `dps`: publish private sketches of a file, and use what others published.

fn main() -> std::process::ExitCode {
    dps_cli::main()
}
