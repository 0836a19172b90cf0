//! Which modules are changed, and which tests are asked.

/// Modules whose results are counted together.
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    pub(super) files: &'static [&'static str],
    /// Tests in the order in which they are asked; the next ones see what the last did not notice.
    pub(super) tests: &'static [&'static [&'static str]],
}

const CORE: &[&[&str]] = &[&["--lib"], &["--test", "suite"]];

pub(super) const GROUPS: [Group; 7] = [
    Group {
        name: "calibrate",
        package: "dp-core",
        files: &["crates/dp-core/src/calibrate/*.rs"],
        tests: CORE,
    },
    Group {
        name: "profile",
        package: "dp-core",
        files: &["crates/dp-core/src/profile/**/*.rs"],
        tests: CORE,
    },
    Group {
        name: "noise",
        package: "dp-core",
        files: &["crates/dp-core/src/noise/**/*.rs"],
        tests: CORE,
    },
    Group {
        name: "mechanism",
        package: "dp-core",
        files: &["crates/dp-core/src/mechanism/*.rs"],
        tests: CORE,
    },
    Group {
        name: "accounting",
        package: "dp-core",
        files: &["crates/dp-core/src/accounting/*.rs"],
        tests: CORE,
    },
    Group {
        name: "flips",
        package: "sketch",
        files: &["crates/sketch/src/signs/*.rs"],
        tests: CORE,
    },
    Group {
        name: "sensitivities",
        package: "sketch",
        files: &["crates/sketch/src/projection/**/*.rs"],
        tests: CORE,
    },
];
