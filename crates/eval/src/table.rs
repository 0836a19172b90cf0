//! Tables of texts, as CSV and in Markdown.

use serde::Serialize;

/// A table of texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    /// File name without extension, unique in the report.
    pub name: String,
    /// A sentence: what is listed.
    pub caption: String,
    /// Column heads.
    pub columns: Vec<String>,
    /// Rows, as long as `columns`.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(name: &str, caption: &str, columns: &[&str]) -> Self {
        Self {
            name: name.into(),
            caption: caption.into(),
            columns: columns.iter().map(|&c| c.into()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When it is not as long as the heads.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl ToString>) {
        let cells: Vec<String> = cells.into_iter().map(|c| c.to_string()).collect();
        assert_eq!(cells.len(), self.columns.len(), "table {}: row {cells:?}", self.name);
        self.rows.push(cells);
    }
    /// The table as CSV, heads first.
    ///
    /// # Panics
    /// Never: it writes to memory.
    #[must_use]
    pub fn csv(&self) -> Vec<u8> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        for record in std::iter::once(&self.columns).chain(&self.rows) {
            writer.write_record(record).expect("memory");
        }
        writer.into_inner().expect("memory")
    }
}

/// Appends a table in Markdown.
pub fn markdown_table(out: &mut String, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    *out += &format!("| {} |\n|{}\n", heads.join(" | "), " --- |".repeat(heads.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|c| c.replace('|', "\\|")).collect();
        *out += &format!("| {} |\n", cells.join(" | "));
    }
    *out += "\n";
}
