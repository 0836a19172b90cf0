//! Which modules are changed, and of which packages.

/// Modules whose results are counted together.
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
    pub(super) files: &'static [&'static str],
}

pub(super) const GROUPS: [Group; 7] = [
    Group { name: "calibrate", package: "dp-core", files: &["crates/dp-core/src/calibrate/*.rs"] },
    Group { name: "noise", package: "dp-core", files: &["crates/dp-core/src/noise/**/*.rs"] },
    Group { name: "mechanism", package: "dp-core", files: &["crates/dp-core/src/mechanism/*.rs"] },
    Group {
        name: "accounting",
        package: "dp-core",
        files: &["crates/dp-core/src/accounting/**/*.rs"],
    },
    Group { name: "profile", package: "dp-core", files: &["crates/dp-core/src/profile/**/*.rs"] },
    Group { name: "flips", package: "sketch", files: &["crates/sketch/src/signs/*.rs"] },
    Group {
        name: "sensitivities",
        package: "sketch",
        files: &["crates/sketch/src/projection/**/*.rs"],
    },
];
