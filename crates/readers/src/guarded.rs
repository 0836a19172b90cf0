//! Decoders of others that panic on damaged files.

use crate::error::{DataError, Result};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder that trusts the lengths in its file: where it panics, the file is refused, and
/// nothing is printed. What the decoder held must not be used after an error.
pub(crate) fn guarded<T>(path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                before(panic);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    GUARDED.set(outer);
    decoded.unwrap_or_else(|_| {
        Err(DataError::of(path, "the file is damaged: what it says of itself cannot be").into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_refusal_that_names_the_file() {
        let found: Result<()> = guarded(Path::new("some.arrow"), || panic!("out of range"));
        let text = found.expect_err("panicked").to_string();
        assert!(text.contains("some.arrow") && text.contains("damaged"), "{text}");
        assert_eq!(guarded(Path::new("x"), || Ok(7)).expect("no panic"), 7);
        assert!(!GUARDED.get());
    }
}
