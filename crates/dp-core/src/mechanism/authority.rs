//! Who may state a theorem.

use core::marker::PhantomData;

/// The packages whose mechanisms rest on the theorems of this project, as they are named here and
/// where they are published.
const AUTHORS: [&str; 8] =
    ["dp-core", "sketch", "dp-sketch", "linalg-dp", "eval", "audit", "fuzzing", "benches"];

/// The right to state that a theorem's conditions hold; what it does is in [`super::author`].
///
/// A package that is not on the list cannot make one:
///
/// ```compile_fail,E0080
/// use dp_core::mechanism::author::Authority;
/// const AUTHORITY: Authority = Authority::of_package("my-analysis");
/// ```
///
/// ```
/// use dp_core::mechanism::author::Authority;
/// const AUTHORITY: Authority = Authority::of_package("linalg-dp");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Authority(());

impl Authority {
    /// Called by [`crate::authority`] with the name of the package that is compiled.
    ///
    /// # Panics
    /// For any other package: an error of the compiler in a constant.
    #[must_use]
    pub const fn of_package(name: &str) -> Self {
        let mut at = 0;
        while at < AUTHORS.len() {
            if same(AUTHORS[at].as_bytes(), name.as_bytes()) {
                return Self(());
            }
            at += 1;
        }
        panic!(
            "only this project's packages state theorems: declare what you know (Basis::declared, Guarantee::declared)"
        )
    }

    /// Lets a type of the author's implement what is [`Sealed`](super::author::Sealed).
    #[must_use]
    pub const fn seal<T>(self) -> Seal<T> {
        Seal(PhantomData)
    }
}

/// That an author made this very type a mechanism.
#[derive(Debug)]
pub struct Seal<T>(PhantomData<T>);

/// The authority of the package that is compiled; outside of this project an error of the compiler.
#[doc(hidden)]
#[macro_export]
macro_rules! authority {
    () => {{
        // An item, which the compiler evaluates wherever it stands.
        const AUTHORITY: $crate::mechanism::author::Authority =
            $crate::mechanism::author::Authority::of_package(env!("CARGO_PKG_NAME"));
        AUTHORITY
    }};
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}
