//! The table of attacks as a picture: one line an attack, from nothing to all.

use eval::attacks::Attack;
use std::fmt::Write as _;

/// Height of a line, and width of all.
const LINE: f64 = 46.0;
const WIDTH: f64 = 760.0;
/// Where zero and one stand.
const ENDS: [f64; 2] = [20.0, 740.0];

/// A circle for the release with its interval, a square for no release, a diamond for clean data, a bar for the bound.
/// No text but the names of the attacks, which are the library's own.
pub(super) fn draw(attacks: &[Attack]) -> String {
    let x = |share: f64| ENDS[0] + share.clamp(0.0, 1.0) * (ENDS[1] - ENDS[0]);
    let height = LINE * (attacks.len() as f64 + 2.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>What attackers get out of a release</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"20\" y=\"18\" font-weight=\"bold\">Made from the true data: NOT private, not to be published</text>\n\
         <text x=\"20\" y=\"36\">circle: the release, with an interval of 95 %; square: no release; diamond: clean data; bar: \
         the exact bound</text>\n"
    );
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let (at, bottom) = (x(share), height - 24.0);
        let _ = writeln!(
            out,
            "<path d=\"M{at:.1} 46V{bottom:.1}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{:.1}\" \
             text-anchor=\"middle\">{share}</text>",
            bottom + 16.0
        );
    }
    for (i, attack) in attacks.iter().enumerate() {
        let y = 46.0 + LINE * (i as f64 + 0.5);
        let found = attack.release;
        let _ = writeln!(
            out,
            "<text x=\"20\" y=\"{:.1}\">{} ({})</text>\n<path d=\"M{:.1} {y:.1}H{:.1}\" stroke=\"black\" stroke-width=\"2\"/>\
             <circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\"/>",
            y - 10.0,
            attack.name,
            attack.measure,
            x(found.low),
            x(found.high),
            x(found.value)
        );
        let (without, clean) = (x(attack.without), x(attack.clean));
        let _ = writeln!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\" fill=\"none\" stroke=\"black\"/>\
             <path d=\"M{clean:.1} {:.1}l6 6l-6 6l-6 -6z\" fill=\"none\" stroke=\"black\"/>",
            without - 4.0,
            y - 4.0,
            y - 6.0
        );
        if let Some(bound) = attack.bound {
            let _ = writeln!(
                out,
                "<path d=\"M{:.1} {:.1}v18\" stroke=\"black\" stroke-width=\"4\"/>",
                x(bound),
                y - 9.0
            );
        }
    }
    out + "</svg>\n"
}
