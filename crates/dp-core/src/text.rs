//! Words of files that were not written here: what of them may reach a person, and how.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character can move a cursor, colour a terminal, turn the direction of writing, break a line
/// or stand unseen between others.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A text that shows what it says and does nothing else: control characters (line ends among them), those
/// that turn the direction of writing and those that are invisible become `\u{...}`. Whatever stood in a
/// file goes through here before it is printed.
///
/// ```
/// let name = "total\u{1b}[2K\u{202e}\nspent: nothing";
/// assert_eq!(dp_core::text::printable(name), r"total\u{1b}[2K\u{202e}\u{a}spent: nothing");
/// assert_eq!(dp_core::text::printable("größe, 大小"), "größe, 大小");
/// ```
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c, out| out.extend(c.escape_unicode()))
}

/// The same for a text that is JSON and stays the same JSON: escapes of its own inside its strings, so that
/// whoever reads it gets the same values. Line ends and tabs between values stay.
#[must_use]
pub fn printable_json(json: &str) -> Cow<'_, str> {
    escaped(json, |c, out| {
        if matches!(c, '\n' | '\r' | '\t') {
            return out.push(c);
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

fn escaped(text: &str, escape: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) { escape(c, &mut out) } else { out.push(c) }
    }
    out.into()
}

/// Why a text is not the JSON that was expected, in words that hold nothing of the text: it may be a file
/// of data, named by mistake.
#[must_use]
pub fn json_fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // What serde says about a value of another type, or a name it does not know, repeats the value.
    let echoes =
        ["invalid type", "invalid value", "invalid length", "unknown variant", "unknown field"];
    let Some(what) = echoes.iter().find(|what| text.starts_with(**what)) else {
        return if text.starts_with("duplicate field") {
            "a field stands twice".into()
        } else {
            text
        };
    };
    let place = match (error.line(), error.column()) {
        (0, 0) => String::new(),
        (line, column) => format!(" at line {line} column {column}"),
    };
    format!("{what}{place}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[test]
    fn nothing_that_acts_is_left() {
        let every: String = (0..=0x10_ffff).filter_map(char::from_u32).collect();
        for text in [printable(&every), printable_json(&every)] {
            let left: Vec<char> = text.chars().filter(|c| acts(*c)).collect();
            assert!(left.iter().all(|c| "\n\r\t".contains(*c)), "{left:?}");
        }
        assert!(!printable(&every).contains('\n'));
        assert!(matches!(printable("plain"), Cow::Borrowed(_)));
    }

    #[test]
    fn escaped_json_is_the_same_json() {
        let value =
            serde_json::json!({"a\u{202e}b": "\u{9b}2J \u{e0041} \u{7f}\u{feff}", "n": 1.5});
        let text = serde_json::to_string_pretty(&value).expect("writes");
        let shown = printable_json(&text);
        assert_ne!(shown, text);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("reads"), value);
    }

    #[test]
    fn faults_repeat_nothing_of_the_text() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code)]
        struct Form {
            kind: Word,
            count: u8,
        }
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum Word {
            One,
        }
        for text in [
            "8675309",
            "8675309,1",
            "\"8675309\"",
            "{\"8675309\": 1}",
            "{\"kind\": \"8675309\"}",
            "{\"kind\": \"one\", \"count\": 8675309}",
            "{\"kind\": \"one\", \"count\": \"x, expected 8675309\"}",
            "{\"kind\": \"one\", \"count\": -8675309}",
            "[8675309, 8675309, 8675309]",
            "{\"count\": 1, \"count\": 2}",
            "8675309 8675309",
            "8675309abc",
        ] {
            let error = serde_json::from_str::<Form>(text).expect_err("no form");
            let said = json_fault(&error);
            assert!(!said.contains("8675309") && !said.is_empty(), "{text}: {said}");
        }
        let missing = serde_json::from_str::<Form>("{\"count\": 1}").expect_err("no form");
        assert!(json_fault(&missing).contains("missing field `kind`"), "our own names are said");
    }
}
