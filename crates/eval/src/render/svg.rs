//! Figures as SVG, all in one style.

use super::ticks::Fitted;
use crate::error::{Error, Result};
use crate::framework::{Curve, Figure, Panel};
use plotters::prelude::*;

/// Drawn this many times larger and shown smaller: the backend's coordinates are whole numbers.
const FINE: i32 = 8;
const PANEL: (i32, i32) = (460 * FINE, 330 * FINE);
const LEGEND_LINE: i32 = 22 * FINE;
const TEXT: &str = "sans-serif";
const INK: RGBColor = RGBColor(40, 40, 40);
const FAINT: RGBColor = RGBColor(225, 225, 225);
/// Okabe and Ito's palette, told apart by colour-blind readers; yellow left out on white.
const PALETTE: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(30, 30, 30),
    RGBColor(140, 140, 140),
];
/// Curves with more points than this are lines without markers.
const MARKED: usize = 40;

/// Draws a figure.
///
/// # Errors
/// [`Error::Figure`] when a panel has no point that can be drawn.
pub(crate) fn figure_svg(figure: &Figure) -> Result<String> {
    let fail = |reason: String| Error::Figure { figure: figure.name.clone(), reason };
    if figure.panels.is_empty() || figure.columns == 0 {
        return Err(fail("no panels".into()));
    }
    let columns = figure.columns.min(figure.panels.len());
    let rows = figure.panels.len().div_ceil(columns);
    let labels = labels(figure);
    let width = PANEL.0 * columns as i32;
    let legend = legend_layout(&labels, width);
    let lines = legend.last().map_or(0, |l| l.1 + 1);
    let height = PANEL.1 * rows as i32 + LEGEND_LINE * lines + 8 * FINE;
    let mut text = String::new();
    {
        let root =
            SVGBackend::with_string(&mut text, (width as u32, height as u32)).into_drawing_area();
        root.fill(&WHITE).map_err(|e| fail(e.to_string()))?;
        let (panels, strip) = root.split_vertically(PANEL.1 * rows as i32);
        for (panel, area) in figure.panels.iter().zip(panels.split_evenly((rows, columns))) {
            draw_panel(panel, &labels, &area)
                .map_err(|reason| fail(format!("panel {:?}: {reason}", panel.title)))?;
        }
        for (index, (&(x, line), label)) in legend.iter().zip(&labels).enumerate() {
            let y = line * LEGEND_LINE + LEGEND_LINE / 2;
            draw_key(&strip, index, label, (x, y)).map_err(|e| fail(e.to_string()))?;
            if marked(figure, label) {
                let middle = (x + 14 * FINE, y);
                draw_marker(&strip, index, middle).map_err(|e| fail(e.to_string()))?;
            }
        }
        root.present().map_err(|e| fail(e.to_string()))?;
    }
    let shown = |length: i32| length / FINE;
    Ok(text.replacen(
        &format!("width=\"{width}\" height=\"{height}\""),
        &format!("width=\"{}\" height=\"{}\"", shown(width), shown(height)),
        1,
    ))
}

/// Text of this size.
fn font(size: i32) -> TextStyle<'static> {
    (TEXT, size * FINE).into_font().color(&INK)
}

/// Labels in order of first appearance: their index gives colour and marker.
fn labels(figure: &Figure) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for curve in figure.panels.iter().flat_map(|p| &p.curves) {
        if !labels.contains(&curve.label) {
            labels.push(curve.label.clone());
        }
    }
    labels
}

/// Whether some curve of this label has markers.
fn marked(figure: &Figure, label: &str) -> bool {
    let mut curves = figure.panels.iter().flat_map(|p| &p.curves);
    curves.any(|c| c.label == label && c.points.len() <= MARKED)
}

/// Left edge and line of every entry of the legend.
fn legend_layout(labels: &[String], width: i32) -> Vec<(i32, i32)> {
    let left = 14 * FINE;
    let (mut x, mut line) = (left, 0);
    labels
        .iter()
        .map(|label| {
            let size = FINE * (50 + 7 * label.chars().count() as i32);
            if x > left && x + size > width {
                (x, line) = (left, line + 1);
            }
            let at = (x, line);
            x += size;
            at
        })
        .collect()
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
/// Draws or says what failed.
type Drawn = core::result::Result<(), Box<dyn std::error::Error>>;

fn draw_key(strip: &Area<'_>, index: usize, label: &str, (x, y): (i32, i32)) -> Drawn {
    strip.draw(&PathElement::new(vec![(x, y), (x + 28 * FINE, y)], line_style(index)))?;
    strip.draw(&Text::new(label.to_owned(), (x + 34 * FINE, y - 6 * FINE), font(13)))?;
    Ok(())
}

fn line_style(index: usize) -> ShapeStyle {
    PALETTE[index % PALETTE.len()].stroke_width(2 * FINE as u32)
}

fn draw_marker(area: &Area<'_>, index: usize, (x, y): (i32, i32)) -> Drawn {
    let colour = PALETTE[index % PALETTE.len()];
    let hollow = index >= PALETTE.len();
    let style = if hollow { colour.stroke_width(2 * FINE as u32) } else { colour.filled() };
    let polygon = |corners: &[(i32, i32)]| -> Vec<(i32, i32)> {
        let corners = corners.iter().map(|c| (x + c.0 * FINE, y + c.1 * FINE));
        corners.clone().chain(corners.take(1)).collect()
    };
    let shape = match index % 4 {
        0 => return Ok(area.draw(&Circle::new((x, y), 4 * FINE, style))?),
        1 => polygon(&[(-4, -4), (4, -4), (4, 4), (-4, 4)]),
        2 => polygon(&[(0, -5), (5, 4), (-5, 4)]),
        _ => polygon(&[(0, -5), (5, 0), (0, 5), (-5, 0)]),
    };
    if hollow {
        area.draw(&PathElement::new(shape, style))?;
    } else {
        area.draw(&Polygon::new(shape, style))?;
    }
    Ok(())
}

fn draw_panel(panel: &Panel, labels: &[String], area: &Area<'_>) -> Drawn {
    let points = || panel.curves.iter().flat_map(|c| &c.points);
    let x = Fitted::new(&panel.x, points().map(|p| p.x)).ok_or("no drawable x")?;
    let reach = points().flat_map(|p| {
        let e = p.error.unwrap_or(0.0);
        [p.y - e, p.y, p.y + e]
    });
    let y = Fitted::new(&panel.y, reach).ok_or("no drawable y")?;
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, font(15))
        .margin(8 * FINE)
        .margin_right(16 * FINE)
        .x_label_area_size(40 * FINE)
        .y_label_area_size(56 * FINE)
        .build_cartesian_2d(x.clone(), y.clone())?;
    chart
        .configure_mesh()
        .x_desc(panel.x.label.as_str())
        .y_desc(panel.y.label.as_str())
        .x_label_formatter(&|p| x.label(*p))
        .y_label_formatter(&|p| y.label(*p))
        .axis_desc_style(font(13))
        .label_style(font(12))
        .light_line_style(TRANSPARENT)
        .bold_line_style(FAINT.stroke_width(FINE as u32))
        .axis_style(INK.stroke_width(FINE as u32))
        .set_all_tick_mark_size(5 * FINE)
        .draw()?;
    let place = |px: f64, py: f64| -> Option<(f64, f64)> {
        let (px, py) = (x.position(px)?, y.position(py)?);
        let inside = (x.low..=x.high).contains(&px) && (y.low..=y.high).contains(&py);
        inside.then_some((px, py))
    };
    let spec = chart.as_coord_spec().clone();
    let pixel = |at: (f64, f64)| plotters::coord::CoordTranslate::translate(&spec, &at);
    let origin = area.get_base_pixel();
    for curve in &panel.curves {
        let index = labels.iter().position(|l| *l == curve.label).unwrap_or(0);
        draw_curve(area, curve, index, &|px, py| {
            place(px, py).map(pixel).map(|(a, b)| (a - origin.0, b - origin.1))
        })?;
    }
    Ok(())
}

type Place<'a> = dyn Fn(f64, f64) -> Option<(i32, i32)> + 'a;

fn draw_curve(area: &Area<'_>, curve: &Curve, index: usize, place: &Place<'_>) -> Drawn {
    let colour = PALETTE[index % PALETTE.len()];
    let placed: Vec<_> = curve.points.iter().map(|p| place(p.x, p.y)).collect();
    // A point that cannot be drawn interrupts the line.
    for stretch in placed.split(Option::is_none).filter(|s| s.len() > 1) {
        let path: Vec<(i32, i32)> = stretch.iter().flatten().copied().collect();
        area.draw(&PathElement::new(path, line_style(index)))?;
    }
    for (point, at) in curve.points.iter().zip(&placed) {
        let Some(at) = *at else { continue };
        if let Some(error) = point.error.filter(|&e| e > 0.0) {
            let thin = colour.stroke_width(FINE as u32);
            let ends = [point.y - error, point.y + error].map(|y| place(point.x, y));
            for end in ends.into_iter().flatten() {
                area.draw(&PathElement::new(vec![at, end], thin))?;
                let cap = vec![(end.0 - 3 * FINE, end.1), (end.0 + 3 * FINE, end.1)];
                area.draw(&PathElement::new(cap, thin))?;
            }
        }
        if curve.points.len() <= MARKED {
            draw_marker(area, index, at)?;
        }
    }
    Ok(())
}
