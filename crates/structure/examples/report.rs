//! `cargo xtask structure` for the workspace in the current folder, without building the rest of it.

fn main() -> structure::Result<()> {
    let report = structure::Report::of(".".as_ref())?;
    print!("{}", report.counts());
    report.complaints()?.iter().for_each(|complaint| println!("{complaint}"));
    Ok(())
}
