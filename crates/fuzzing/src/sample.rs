//! One input of a target.

/// Any error on the way to a sample.
pub type Failure = Box<dyn std::error::Error>;

/// One input.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The target it is for.
    pub target: &'static str,
    /// Name of its file.
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
}

impl Sample {
    pub(crate) fn new(
        target: &'static str,
        name: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> Self {
        Self { target, name: name.into(), bytes: bytes.into() }
    }
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}
