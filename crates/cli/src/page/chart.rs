//! Two small charts as SVG inside the page: its colours, its letters, nothing from elsewhere.

use super::html::escape;
use std::fmt::Write as _;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 300.0;
/// Left, right, top, bottom of what is drawn in.
const AREA: [f64; 4] = [62.0, 408.0, 14.0, 250.0];

/// A chart: axes with their marks, lines, marked points.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    /// What it shows, for whoever does not see it.
    pub(super) says: &'a str,
    pub(super) x: Axis<'a>,
    pub(super) y: Axis<'a>,
    pub(super) lines: Vec<Line<'a>>,
    pub(super) points: Vec<(f64, f64)>,
}

/// From one end to the other, with marks and their words.
pub(super) struct Axis<'a> {
    pub(super) label: &'a str,
    pub(super) ends: (f64, f64),
    pub(super) marks: Vec<(f64, String)>,
}

/// A line; told from others by its dashes.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) dashed: bool,
    pub(super) through: Vec<(f64, f64)>,
}

impl Axis<'_> {
    fn place(&self, value: f64, [from, to]: [f64; 2]) -> f64 {
        let (low, high) = self.ends;
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        from + share * (to - from)
    }
}

impl Chart<'_> {
    pub(super) fn svg(&self) -> String {
        let [left, right, top, bottom] = AREA;
        let x = |value: f64| self.x.place(value, [left, right]);
        let y = |value: f64| self.y.place(value, [bottom, top]);
        let mut out = format!(
            "<figure><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\"><title>{1}</title>\
             <desc>{0}</desc>\n<path class=\"axis\" d=\"M{left} {top}V{bottom}H{right}\"/>\n",
            escape(self.says),
            escape(self.title)
        );
        for (value, words) in &self.x.marks {
            let at = x(*value);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{at:.1} {top}V{bottom}\"/><text x=\"{at:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{}</text>",
                bottom + 17.0,
                escape(words)
            );
        }
        for (value, words) in &self.y.marks {
            let at = y(*value);
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{left} {at:.1}H{right}\"/><text x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                left - 6.0,
                at + 4.0,
                escape(words)
            );
        }
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(14 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            0.5 * (left + right),
            bottom + 38.0,
            escape(self.x.label),
            0.5 * (top + bottom),
            escape(self.y.label)
        );
        for line in &self.lines {
            let points: Vec<String> =
                line.through.iter().map(|&(a, b)| format!("{:.2},{:.2}", x(a), y(b))).collect();
            let class = if line.dashed { "line dashed" } else { "line" };
            let _ = writeln!(out, "<polyline class=\"{class}\" points=\"{}\"/>", points.join(" "));
        }
        for &(a, b) in &self.points {
            let _ = writeln!(
                out,
                "<circle class=\"point\" cx=\"{:.2}\" cy=\"{:.2}\" r=\"4.5\"/>",
                x(a),
                y(b)
            );
        }
        let key = |line: &Line<'_>| {
            let drawn = if line.dashed { "dashed" } else { "solid" };
            format!("{drawn}: {}", line.name)
        };
        let keys: Vec<String> = self.lines.iter().map(key).collect();
        let caption = format!("{} ({})", self.title, keys.join("; "));
        out + &format!("</svg>\n<figcaption>{}</figcaption></figure>\n", escape(&caption))
    }
}
