//! Tables in Markdown.

/// Appends a table.
pub fn markdown_table(out: &mut String, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    *out += &format!("| {} |\n|{}\n", heads.join(" | "), " --- |".repeat(heads.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|c| c.replace('|', "\\|")).collect();
        *out += &format!("| {} |\n", cells.join(" | "));
    }
    *out += "\n";
}
