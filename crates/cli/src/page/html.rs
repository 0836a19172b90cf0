//! HTML in which nothing of a file can act.

use dp_core::text::printable;
use std::fmt::Write as _;

/// Most characters of one text of a file.
const LONGEST: usize = 2000;

/// Text of a file as HTML: what acts in a terminal is named, what acts in a page is escaped, what is too long is cut.
pub(super) fn escape(text: &str) -> String {
    let cut: String = text.chars().take(LONGEST).collect();
    let more = if cut.len() < text.len() { " ..." } else { "" };
    whole(&cut) + more
}

/// As [`escape`], of any length.
pub(super) fn whole(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '`' => out.push_str("&#96;"),
            c => out.push(c),
        }
    }
    out
}

/// Sections under their headings, as long as there is room.
pub(super) struct Body {
    text: String,
    room: usize,
}

impl Body {
    pub(super) fn new(room: usize) -> Self {
        Self { text: String::new(), room }
    }

    /// Adds a piece of HTML where it fits.
    pub(super) fn put(&mut self, html: &str) {
        match self.text.len() + html.len() <= self.room {
            true => self.text.push_str(html),
            false => self.text.push_str("<p>Too long for this page; dps inspect shows it.</p>\n"),
        }
    }

    pub(super) fn heading(&mut self, id: &str, text: &str) {
        self.put(&format!("<h2 id=\"{id}\">{}</h2>\n", escape(text)));
    }

    pub(super) fn paragraph(&mut self, text: &str) {
        self.put(&format!("<p>{}</p>\n", escape(text)));
    }

    pub(super) fn list<T: AsRef<str>>(&mut self, points: impl IntoIterator<Item = T>) {
        let mut html = "<ul>\n".to_owned();
        for point in points {
            let _ = writeln!(html, "<li>{}</li>", escape(point.as_ref()));
        }
        self.put(&(html + "</ul>\n"));
    }

    /// Names beside what they stand for.
    pub(super) fn facts<'a>(&mut self, facts: impl IntoIterator<Item = (&'a str, String)>) {
        let mut html = "<dl>\n".to_owned();
        for (name, value) in facts {
            let _ = writeln!(html, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(&value));
        }
        self.put(&(html + "</dl>\n"));
    }

    /// Columns of numbers under their names.
    pub(super) fn table<const N: usize>(
        &mut self,
        caption: &str,
        heads: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) {
        let cells = |cells: &[String], tag: &str| {
            let cells: Vec<String> =
                cells.iter().map(|c| format!("<{tag}>{}</{tag}>", escape(c))).collect();
            format!("<tr>{}</tr>\n", cells.concat())
        };
        let mut html =
            format!("<div class=\"wide\"><table>\n<caption>{}</caption>\n", escape(caption));
        html += &cells(&heads.map(str::to_owned), "th");
        rows.into_iter().for_each(|row| html += &cells(&row, "td"));
        self.put(&(html + "</table></div>\n"));
    }

    pub(super) fn end(self) -> String {
        self.text
    }
}
