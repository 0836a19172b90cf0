//! Figures as CSV.

use crate::framework::Figure;

/// One line a point, with everything its curve states.
///
/// # Panics
/// Never: it writes to memory.
#[must_use]
pub(crate) fn figure_csv(figure: &Figure) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let heads = [
        "panel",
        "curve",
        "x",
        "y",
        "standard_error",
        "mechanism",
        "k",
        "epsilon",
        "delta",
        "sigma",
        "seeds",
        "data",
        "repetitions",
    ];
    writer.write_record(heads).expect("memory");
    let text = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
    for panel in &figure.panels {
        for curve in &panel.curves {
            let origin = &curve.origin;
            for (i, point) in curve.points.iter().enumerate() {
                let at = |setting: &crate::framework::Setting| text(setting.at(i, point));
                let record = [
                    panel.title.clone(),
                    curve.label.clone(),
                    point.x.to_string(),
                    point.y.to_string(),
                    text(point.error),
                    origin.mechanism.clone(),
                    at(&origin.k),
                    at(&origin.epsilon),
                    at(&origin.delta),
                    at(&origin.sigma),
                    origin.seeds.to_string(),
                    origin.data.clone(),
                    origin.repetitions.to_string(),
                ];
                writer.write_record(record).expect("memory");
            }
        }
    }
    writer.into_inner().expect("memory")
}
