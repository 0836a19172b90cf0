//! Quotes of tables, held against the end of the text and of their cells: the parser of tables takes a quote that is
//! never closed for a cell of all that follows. And tables of one column, where an empty line is a value that is missing.

use memchr::{memchr, memchr_iter, memchr3, memmem};
use std::io::{Error, Read, Result};

/// What is said of a text that ends within quotes.
const NEVER_CLOSED: &str = "a quote is opened and never closed: a cell that begins with a quote ends with one, and a quote \
                            within it is written twice";
/// What is said of a cell that goes on behind its quotes.
const TEXT_BEHIND: &str = "text follows the quote that closes a cell: a cell that begins with a quote ends with one, and a \
                           quote within it is written twice";

/// The mark of byte order, which the parser passes over at the start.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Whether lines without quotes are handed on as they are, because none is empty.
pub(crate) fn all_filled(lines: &[u8]) -> bool {
    let start = lines.strip_prefix(&MARK).unwrap_or(lines);
    let ends = [&b"\n\n"[..], b"\n\r", b"\r\r"];
    !start.starts_with(b"\n")
        && !start.starts_with(b"\r")
        && ends.iter().all(|ends| memmem::find(lines, ends).is_none())
}

/// Where in a record the next byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of the text, behind so many bytes of [`MARK`].
    Mark(u8),
    Start,
    AfterReturn,
    /// At the start of a cell that is not the first one.
    Cell,
    Field,
    Quoted,
    /// After a quote that ends the cell, if no other follows.
    Closed,
}

/// Follows the quotes of a text as the parser does.
pub(crate) struct Quotes {
    delimiter: u8,
    state: State,
}

impl Quotes {
    /// From the start of a line.
    pub(crate) fn new(delimiter: u8) -> Self {
        Self { delimiter, state: State::Mark(0) }
    }

    /// What comes behind a byte outside of quotes.
    fn outside(&self, byte: u8) -> State {
        match byte {
            b'\n' => State::Start,
            b'\r' => State::AfterReturn,
            byte if byte == self.delimiter => State::Cell,
            _ => State::Field,
        }
    }

    /// Goes behind a byte, unless it must not stand there.
    fn step(&mut self, byte: u8) -> bool {
        let outside = self.outside(byte);
        self.state = match (self.state, byte) {
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) => State::Quoted,
            (State::Field | State::Mark(1..), b'"') => State::Field,
            (_, b'"') => State::Quoted,
            (State::Closed, _) if outside == State::Field => return false,
            (State::Mark(2), byte) if byte == MARK[2] => State::Start,
            (State::Mark(at), byte) if byte == MARK[usize::from(at)] => State::Mark(at + 1),
            _ => outside,
        };
        true
    }

    /// The same for bytes without a quote, of which the first may be wrong; behind how many.
    fn plain(&mut self, bytes: &[u8]) -> usize {
        let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else { return 0 };
        match self.state {
            State::Quoted => {}
            State::Closed if self.outside(first) == State::Field => return 0,
            State::Mark(_) => {
                let (start, rest) = bytes.split_at(bytes.len().min(MARK.len()));
                start.iter().for_each(|&byte| {
                    self.step(byte);
                });
                return start.len() + self.plain(rest);
            }
            // Outside of quotes the byte before one says whether it opens a cell.
            _ => self.state = self.outside(last),
        }
        bytes.len()
    }

    /// Goes behind all bytes, or up to the first one that must not stand there; behind how many.
    pub(crate) fn follow(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        for quote in memchr_iter(b'"', bytes) {
            at += self.plain(&bytes[at..quote]);
            if at < quote {
                return at;
            }
            self.step(b'"');
            at += 1;
        }
        at + self.plain(&bytes[at..])
    }

    /// Whether the text must not end here.
    pub(crate) fn are_open(&self) -> bool {
        self.state == State::Quoted
    }

    /// What is wrong with a text that ends here.
    fn at_the_end(&self) -> Option<&'static str> {
        self.are_open().then_some(NEVER_CLOSED)
    }

    /// What is wrong with the quotes of a whole text.
    pub(crate) fn wrong(delimiter: u8, text: &[u8]) -> Option<&'static str> {
        let mut quotes = Self::new(delimiter);
        if quotes.follow(text) < text.len() { Some(TEXT_BEHIND) } else { quotes.at_the_end() }
    }
}

/// Hands a text on as far as its quotes are right; what is wrong with them is an error behind that. Of one column it
/// writes an empty line as an empty cell: the parser of tables passes over empty lines.
pub(crate) struct Gaps<R> {
    source: R,
    quotes: Quotes,
    /// Whether the table has one column.
    one: bool,
    ready: Vec<u8>,
    /// How much of it was handed on.
    at: usize,
    /// What is said behind it.
    wrong: Option<&'static str>,
}

impl<R: Read> Gaps<R> {
    /// From the start of a line.
    pub(crate) fn new(source: R, delimiter: u8, one: bool) -> Self {
        let quotes = Quotes::new(delimiter);
        Self { source, quotes, one, ready: Vec::new(), at: 0, wrong: None }
    }

    /// From behind these bytes, which end a line.
    pub(crate) fn behind(before: &[u8], source: R, delimiter: u8, one: bool) -> Self {
        let mut gaps = Self::new(source, delimiter, one);
        if before.ends_with(b"\r") {
            gaps.quotes.state = State::AfterReturn;
        }
        gaps
    }

    /// Writes a byte, unless it must not stand there.
    fn pass(&mut self, byte: u8) -> bool {
        let empty = match self.quotes.state {
            State::Start | State::Mark(0) => matches!(byte, b'\n' | b'\r'),
            State::AfterReturn => byte == b'\r',
            _ => false,
        };
        if empty {
            self.ready.extend(b"\"\"");
        }
        let right = self.quotes.step(byte);
        if right {
            self.ready.push(byte);
        }
        right
    }

    /// Writes all bytes, or those before the first one that must not stand there; how many.
    fn pass_all(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let rest = &bytes[at..];
            // Within a cell nothing changes up to its end.
            let run = match self.quotes.state {
                State::Field => memchr3(b'\n', b'\r', self.quotes.delimiter, rest),
                State::Quoted => memchr(b'"', rest),
                _ => Some(0),
            };
            let run = run.unwrap_or(rest.len());
            self.ready.extend_from_slice(&rest[..run]);
            at += run;
            if run == 0 {
                if !self.pass(byte) {
                    return at;
                }
                at += 1;
            }
        }
        at
    }

    /// What is wrong, where so many bytes of those that were read are right.
    fn found(&self, right: usize, read: usize) -> Option<&'static str> {
        match read {
            0 => self.quotes.at_the_end(),
            _ => (right < read).then_some(TEXT_BEHIND),
        }
    }
}

impl<R: Read> Read for Gaps<R> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        if self.at == self.ready.len() && self.wrong.is_none() {
            if self.one {
                let mut bytes = [0; 1 << 13];
                let read = self.source.read(&mut bytes)?;
                self.ready.clear();
                self.at = 0;
                let right = self.pass_all(&bytes[..read]);
                self.wrong = self.found(right, read);
            } else {
                let read = self.source.read(out)?;
                let right = self.quotes.follow(&out[..read]);
                self.wrong = self.found(right, read);
                if right > 0 {
                    return Ok(right);
                }
            }
        }
        let most = out.len().min(self.ready.len() - self.at);
        out[..most].copy_from_slice(&self.ready[self.at..self.at + most]);
        self.at += most;
        match self.wrong {
            Some(rule) if most == 0 => Err(Error::other(rule)),
            _ => Ok(most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::parser;
    use proptest::prelude::*;

    /// What is handed on, and what is said behind it: read one byte after the other, and all at once.
    fn read(before: &str, text: &[u8], one: bool) -> (Vec<u8>, Option<String>) {
        let mut all = Vec::new();
        let mut gaps = Gaps::behind(before.as_bytes(), text, b',', one);
        let said = gaps.read_to_end(&mut all).err().map(|e| e.to_string());
        let mut gaps = Gaps::behind(before.as_bytes(), text, b',', one);
        let (mut slowly, mut byte) = (Vec::new(), [0]);
        let end = loop {
            match gaps.read(&mut byte) {
                Ok(0) => break None,
                Ok(_) => slowly.push(byte[0]),
                Err(e) => break Some(e.to_string()),
            }
        };
        assert_eq!((&slowly, &end), (&all, &said));
        (all, said)
    }

    fn written(before: &str, text: &str) -> String {
        let (all, said) = read(before, text.as_bytes(), true);
        assert_eq!(said, None, "{text:?}");
        String::from_utf8(all).expect("text")
    }

    #[test]
    fn empty_lines_become_empty_cells_outside_of_quotes() {
        for (text, expected) in [
            ("1\n2\n", "1\n2\n"),
            ("1\n\n3", "1\n\"\"\n3"),
            ("\r\n1\r\n\r\n\n3\r\n", "\"\"\r\n1\r\n\"\"\r\n\"\"\n3\r\n"),
            ("1\r\r3\r", "1\r\"\"\r3\r"),
            ("\"a\n\nb\"\n\n\"\"\"\n\n\"\n5\"\n\n", "\"a\n\nb\"\n\"\"\n\"\"\"\n\n\"\n5\"\n\"\"\n"),
            ("\u{feff}\"a\n\nb\"\n\n", "\u{feff}\"a\n\nb\"\n\"\"\n"),
            ("", ""),
        ] {
            assert_eq!(written("x\n", text), expected, "{text:?}");
        }
        assert_eq!(written("x\r", "\n1\n\n"), "\n1\n\"\"\n");
    }

    #[test]
    fn lines_that_are_all_filled_are_handed_on_as_they_are() {
        let ends = ["1", "\n", "\r", "\r\n", "\u{feff}"];
        for i in 0..5usize.pow(5) {
            let text: String = (0..5).map(|place| ends[i / 5usize.pow(place) % 5]).collect();
            assert_eq!(all_filled(text.as_bytes()), written("x\n", &text) == text, "{text:?}");
        }
    }

    #[test]
    fn quotes_end_with_their_cells() {
        for (text, right, rule) in [
            ("1,\"a\n2,b\n", "1,\"a\n2,b\n", Some(NEVER_CLOSED)),
            ("\"", "\"", Some(NEVER_CLOSED)),
            ("\"\"\"", "\"\"\"", Some(NEVER_CLOSED)),
            ("\"1\"5\n", "\"1\"", Some(TEXT_BEHIND)),
            ("1,\"a\" ,2\n", "1,\"a\"", Some(TEXT_BEHIND)),
            ("\"a\"\"b\",\"c\"\r\n\"\",\"d\ne\"", "\"a\"\"b\",\"c\"\r\n\"\",\"d\ne\"", None),
            ("a\"b,\"c\"\r\"d\"", "a\"b,\"c\"\r\"d\"", None),
            ("\u{feff}\"a\",b", "\u{feff}\"a\",b", None),
        ] {
            let expected = (right.as_bytes().to_vec(), rule.map(str::to_owned));
            for one in [false, true] {
                assert_eq!(read("x\n", text.as_bytes(), one), expected, "{text:?}");
            }
            assert_eq!(Quotes::wrong(b',', text.as_bytes()), rule, "{text:?}");
        }
    }

    /// Whether the parser stands within quotes behind a text: another line is part of its last record then.
    fn open(text: &[u8]) -> bool {
        let text = [text, b"\nZ"].concat();
        let last = parser(b',', &text[..]).into_byte_records().last();
        !last.expect("a record").expect("no error").iter().eq([&b"Z"[..]])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        #[test]
        fn quotes_are_those_of_the_parser(
            mark in any::<bool>(),
            text in prop::collection::vec(prop::sample::select(b"\"\"\"\",,\n\r a".to_vec()), 0..16),
        ) {
            let text = [if mark { &MARK[..] } else { &[] }, &text[..]].concat();
            let goes_on = |at: &usize| {
                let closes = *at > 0 && open(&text[..at - 1]) && !open(&text[..*at]);
                closes && !b"\",\r\n".contains(&text[*at])
            };
            let expected = match (0..text.len()).find(goes_on) {
                Some(at) => (text[..at].to_vec(), Some(TEXT_BEHIND.to_owned())),
                None => (text.clone(), open(&text).then(|| NEVER_CLOSED.to_owned())),
            };
            prop_assert_eq!(read("", &text, false), expected);
        }
    }
}
