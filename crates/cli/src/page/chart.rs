//! Two small charts as SVG inside the page: its colours, its letters, nothing from elsewhere.

use super::html::escape;
use std::fmt::Write as _;

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 300.0;
/// Left, right, top, bottom of what is drawn in.
const AREA: [f64; 4] = [62.0, 408.0, 14.0, 250.0];

/// A chart: axes with their marks, lines, marked points.
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    /// What it shows, for whoever does not see it.
    pub(crate) says: &'a str,
    pub(crate) x: Axis<'a>,
    pub(crate) y: Axis<'a>,
    pub(crate) lines: Vec<Line<'a>>,
    pub(crate) points: Vec<(f64, f64)>,
}

/// From one end to the other, with marks and their words.
pub(crate) struct Axis<'a> {
    pub(crate) label: &'a str,
    pub(crate) ends: (f64, f64),
    pub(crate) marks: Vec<(f64, String)>,
}

/// A line; told from others by its dashes.
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    pub(crate) dashed: bool,
    pub(crate) through: Vec<(f64, f64)>,
}

impl Axis<'_> {
    fn place(&self, value: f64, [from, to]: [f64; 2]) -> f64 {
        let (low, high) = self.ends;
        let share = ((value - low) / (high - low)).clamp(0.0, 1.0);
        from + share * (to - from)
    }
}

impl Chart<'_> {
    /// The chart as a file of its own, every line with its name.
    pub(crate) fn alone(&self) -> String {
        const STYLE: &str = "<style>text{font:11px sans-serif}.axis,.line{fill:none;stroke:black}.line{stroke-width:2}\
             .dashed{stroke-dasharray:6 5}.grid{stroke:#ddd}.point{fill:black}</style>\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/><title>";
        let chart = self.svg();
        let chart = chart.split("</svg>").next().unwrap_or_default();
        let named = "<svg xmlns=\"http://www.w3.org/2000/svg\" ";
        let mut out = chart.replacen("<figure><svg ", named, 1).replacen("<title>", STYLE, 1);
        let [left, right, top, bottom] = AREA;
        for line in &self.lines {
            let Some(&(a, b)) = line.through.first() else { continue };
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                self.x.place(a, [left, right]) + 4.0,
                self.y.place(b, [bottom, top]) - 5.0,
                escape(line.name)
            );
        }
        out + "</svg>\n"
    }

    pub(crate) fn svg(&self) -> String {
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
