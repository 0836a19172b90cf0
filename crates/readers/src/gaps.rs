//! Tables of one column, where an empty line is a value that is missing.

use std::io::{Read, Result};

/// Where in a record the next byte stands.
#[derive(Clone, Copy)]
enum State {
    Start,
    AfterReturn,
    Field,
    Quoted,
    /// After a quote that ends the cell, if no other follows.
    Closed,
}

/// Writes an empty line as an empty cell: the parser of tables passes over empty lines.
pub(crate) struct Gaps<R> {
    source: R,
    state: State,
    ready: Vec<u8>,
    /// How much of it was handed on.
    at: usize,
}

impl<R: Read> Gaps<R> {
    /// From the start of a line.
    pub(crate) fn new(source: R) -> Self {
        Self { source, state: State::Start, ready: Vec::new(), at: 0 }
    }

    /// From behind these bytes, which end a line.
    pub(crate) fn behind(before: &[u8], source: R) -> Self {
        let state = if before.ends_with(b"\r") { State::AfterReturn } else { State::Start };
        Self { state, ..Self::new(source) }
    }

    fn pass(&mut self, byte: u8) {
        let empty = match self.state {
            State::Start => matches!(byte, b'\n' | b'\r'),
            State::AfterReturn => byte == b'\r',
            _ => false,
        };
        if empty {
            self.ready.extend(b"\"\"");
        }
        self.ready.push(byte);
        self.state = match (self.state, byte) {
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) => State::Quoted,
            (_, b'\r') => State::AfterReturn,
            (_, b'\n') => State::Start,
            (State::Start | State::AfterReturn | State::Closed, b'"') => State::Quoted,
            _ => State::Field,
        };
    }
}

impl<R: Read> Read for Gaps<R> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        if self.at == self.ready.len() {
            let mut bytes = [0; 1 << 13];
            let read = self.source.read(&mut bytes)?;
            self.ready.clear();
            self.at = 0;
            bytes[..read].iter().for_each(|byte| self.pass(*byte));
        }
        let most = out.len().min(self.ready.len() - self.at);
        out[..most].copy_from_slice(&self.ready[self.at..self.at + most]);
        self.at += most;
        Ok(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads one byte after the other, and all at once.
    fn written(before: &str, text: &str) -> String {
        let mut all = String::new();
        Gaps::behind(before.as_bytes(), text.as_bytes()).read_to_string(&mut all).expect("text");
        let mut gaps = Gaps::behind(before.as_bytes(), text.as_bytes());
        let (mut slowly, mut byte) = (Vec::new(), [0]);
        while gaps.read(&mut byte).expect("read") == 1 {
            slowly.push(byte[0]);
        }
        assert_eq!(slowly, all.as_bytes());
        all
    }

    #[test]
    fn empty_lines_become_empty_cells_outside_of_quotes() {
        for (text, expected) in [
            ("1\n2\n", "1\n2\n"),
            ("1\n\n3", "1\n\"\"\n3"),
            ("\r\n1\r\n\r\n\n3\r\n", "\"\"\r\n1\r\n\"\"\r\n\"\"\n3\r\n"),
            ("1\r\r3\r", "1\r\"\"\r3\r"),
            ("\"a\n\nb\"\n\n\"\"\"\n\n\"\n5\"\n\n", "\"a\n\nb\"\n\"\"\n\"\"\"\n\n\"\n5\"\n\"\"\n"),
            ("", ""),
        ] {
            assert_eq!(written("x\n", text), expected, "{text:?}");
        }
        assert_eq!(written("x\r", "\n1\n\n"), "\n1\n\"\"\n");
    }
}
