//! A public map of every value before anything else is done with it.
//!
//! `f(x) = scale (min(max(x', low), high) - shift)`, where x' is `missing` for a missing value and x for any other. It is
//! chosen without the rows, and acts on one value at a time, so that it changes neither which rows are neighbours nor which
//! values differ; bounds, shifts and budgets are about mapped values (`docs/proofs/adjacency.md`, section 4).

use super::canonical::canonical;
use crate::adjacency::Adjacency;
use crate::error::{Error, Result};
use crate::public::{PublicParameters, PublicValue};
use crate::quantity::Shift;
use serde::{Deserialize, Serialize};

/// What becomes of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnMap {
    /// Smaller values become this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Larger values become this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// What is taken from a value; 0 where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shift: Option<f64>,
    /// What a value is multiplied by, last; 1 where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// What a missing value counts as, before everything else; where it is absent, none may be missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<f64>,
}

impl ColumnMap {
    /// The mapped value; none for a missing value without a constant, and for what is not finite.
    #[must_use]
    pub fn apply(&self, x: f64) -> Option<f64> {
        let x = if x.is_nan() { self.missing? } else { x };
        if x.is_infinite() {
            return None;
        }
        let x = self.low.map_or(x, |low| x.max(low));
        let x = self.high.map_or(x, |high| x.min(high));
        let y = (x - self.shift.unwrap_or(0.0)) * self.scale.unwrap_or(1.0);
        // Minus zero becomes zero.
        y.is_finite().then_some(y + 0.0)
    }

    /// Refuses constants that do not go together.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] naming the key.
    pub fn check(&self) -> Result<()> {
        let keys = [("low", self.low), ("high", self.high), ("shift", self.shift)];
        let keys = keys.into_iter().chain([("missing", self.missing)]);
        for (key, value) in keys.filter_map(|(key, value)| Some((key, value?))) {
            if !value.is_finite() {
                return Err(Error::invalid(key, value, "a finite number"));
            }
        }
        if let Some(scale) = self.scale.filter(|scale| !scale.is_normal()) {
            return Err(Error::invalid(
                "scale",
                scale,
                "a number that is neither zero nor tiny nor infinite",
            ));
        }
        if let (Some(low), Some(high)) = (self.low, self.high)
            && low >= high
        {
            return Err(Error::invalid(
                "low",
                low,
                format!("a number below `high`, which is {high:?}"),
            ));
        }
        if let Some(missing) = self.missing
            && (self.low.is_some_and(|low| missing < low)
                || self.high.is_some_and(|high| missing > high))
        {
            return Err(Error::invalid("missing", missing, "a number from `low` to `high`"));
        }
        let image = [("low", self.low), ("high", self.high), ("missing", self.missing)];
        match image.into_iter().find(|(_, x)| x.is_some_and(|x| self.apply(x).is_none())) {
            Some((key, x)) => {
                let allowed =
                    "a number that stays finite when `shift` is taken and `scale` multiplied";
                Err(Error::invalid(key, x.unwrap_or_default(), allowed))
            }
            None => Ok(()),
        }
    }
}

impl core::fmt::Display for ColumnMap {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut words = Vec::new();
        words.extend(self.missing.map(|x| format!("missing is {x:?}")));
        if self.low.is_some() || self.high.is_some() {
            let [low, high] =
                [self.low, self.high].map(|x| x.map_or("any".into(), |x| format!("{x:?}")));
            words.push(format!("moved to [{low}, {high}]"));
        }
        words.extend(self.shift.map(|x| format!("less {x:?}")));
        words.extend(self.scale.map(|x| format!("times {x:?}")));
        if let [Some(low), Some(high)] = [self.low, self.high].map(|x| self.apply(x?)) {
            let (low, high) = (low.min(high), low.max(high));
            words.push(format!(
                "so within [{low:?}, {high:?}], and a change is at most {:?}",
                high - low
            ));
        }
        if words.is_empty() { f.write_str("as it stands") } else { f.write_str(&words.join(", ")) }
    }
}

/// What becomes of one column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MappedColumn {
    /// Its place among the columns that enter, from one.
    pub at: u64,
    /// What becomes of its values.
    pub map: ColumnMap,
    /// What it is called; where the file has no names, its place there.
    pub name: String,
}

/// What becomes of the values of rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preprocessing {
    /// Columns with a map of their own, in order.
    pub columns: Vec<MappedColumn>,
    /// Number of columns that enter.
    pub d: u64,
    /// Of all other columns.
    pub default: ColumnMap,
}

impl Preprocessing {
    /// The public parameter of certificates that states it, as [`text`](Preprocessing::text).
    pub const KEY: &'static str = "preprocessing";
    /// What the numbers of a release are about whose certificate states it.
    pub const UNITS: &'static str =
        "of values after the preprocessing: bounds, beta, shifts, estimates and errors";
    /// Longest text.
    const LONGEST: usize = 1 << 19;

    /// Refuses places out of order, and constants that do not go together.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`].
    pub fn check(&self) -> Result<()> {
        self.default.check()?;
        let mut last = 0;
        for MappedColumn { at, map, name } in &self.columns {
            if *at <= last || *at > self.d {
                return Err(Error::invalid("at", at, "places of columns, each once, in order"));
            }
            if name.is_empty() || name.len() > 256 || name.chars().any(char::is_control) {
                return Err(Error::invalid(
                    "name",
                    at,
                    "1 to 256 bytes without control characters",
                ));
            }
            last = *at;
            map.check()?;
        }
        let bytes = self.text().len();
        if bytes > Self::LONGEST {
            let allowed = "at most half a MiB of text: give most columns one map, `[default]`";
            return Err(Error::invalid("preprocessing", bytes, allowed));
        }
        Ok(())
    }

    /// The map of a column, by its place from zero.
    #[must_use]
    pub fn map(&self, place: usize) -> &ColumnMap {
        let found = self.columns.binary_search_by_key(&(place as u64 + 1), |column| column.at);
        found.map_or(&self.default, |at| &self.columns[at].map)
    }

    /// What a change of raw values becomes after the map, at most: changes of a value, or of a row by an l2 norm, grow by the largest
    /// scale, and no further than from one end of a range to the other. Never less than the change itself, so that a ledger whose unit
    /// is about mapped values counts no less. A row that becomes zero is replaced by another where zero is moved. All other changes stay
    /// what they are (`docs/proofs/adjacency.md`, section 4).
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a change that becomes infinite.
    pub fn of_unit(&self, unit: Adjacency) -> Result<Adjacency> {
        // Up, and exact where the product is a number: a step more would be counted for nothing. Where products are so small that
        // what they lack underflows, up in any case.
        let times = |a: f64, b: f64| {
            let product = a * b;
            let short = a.mul_add(b, -product) > 0.0 || product < f64::MIN_POSITIVE / f64::EPSILON;
            if short { product.next_up() } else { product }
        };
        let between = |low: f64, high: f64| {
            let width = high - low;
            let of_high = width + low;
            let short = (high - of_high) - (low - (of_high - width)) > 0.0;
            if short { width.next_up() } else { width }
        };
        let own = self.columns.len() as u64;
        let others = (own < self.d).then_some((&self.default, (self.d - own) as f64));
        let maps = || self.columns.iter().map(|column| (&column.map, 1.0)).chain(others);
        let steep = |map: &ColumnMap| map.scale.unwrap_or(1.0).abs();
        let wide = |map: &ColumnMap| match (map.low, map.high) {
            (Some(low), Some(high)) => times(between(low, high), steep(map)),
            _ => f64::INFINITY,
        };
        let each = match unit.each() {
            Adjacency::Attribute { beta } => {
                let moved = maps().map(|(map, _)| times(beta.get(), steep(map)).min(wide(map)));
                Adjacency::Attribute { beta: Shift::new(moved.fold(beta.get(), f64::max))? }
            }
            Adjacency::RowShift { l2 } => {
                let steepest = maps().map(|(map, _)| steep(map)).fold(0.0, f64::max);
                // In units of the widest range: squares of numbers that are very small are none.
                let widest = maps().map(|(map, _)| wide(map)).fold(0.0, f64::max);
                let share = |(map, columns)| columns * (wide(map) / widest).powi(2);
                let shares: f64 = if widest.is_finite() { maps().map(share).sum() } else { 1.0 };
                // As many terms as there are maps, each rounded a few times; what a share lacks that is no number is less.
                let up = 1.0 + 4.0 * f64::EPSILON * (self.columns.len() + 4) as f64;
                let across = times(widest, (shares * up).sqrt().next_up());
                let moved = times(l2.get(), steepest).min(across);
                Adjacency::RowShift { l2: Shift::new(moved.max(l2.get()))? }
            }
            Adjacency::ZeroRow { bound } if maps().any(|(map, _)| map.apply(0.0) != Some(0.0)) => {
                Adjacency::ReplaceRow { bound }
            }
            other => other,
        };
        if each == unit.each() { Ok(unit) } else { each.of_user(unit.rows()) }
    }

    /// Its canonical text.
    #[must_use]
    pub fn text(&self) -> String {
        canonical(self)
    }

    /// Refuses rows that were mapped in different ways: distances between them, or a search of one by the other, say nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`].
    pub fn alike(left: &PublicParameters, right: &PublicParameters) -> Result<()> {
        let [left, right] = [left, right].map(|public| public.get(Self::KEY));
        if left == right {
            return Ok(());
        }
        let shown = |stated: Option<&PublicValue>| match stated {
            Some(_) => "mapped in another way (dps inspect shows its preprocessing)".to_owned(),
            None => "as they stand".to_owned(),
        };
        let what = "values of two releases before everything else";
        Err(Error::Mismatch { what, left: shown(left), right: shown(right) })
    }

    /// What public parameters state of it.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for a text that states none, or none of as many columns as the rest.
    pub fn stated(public: &PublicParameters) -> Result<Option<Self>> {
        let Some(value) = public.get(Self::KEY) else { return Ok(None) };
        let wrong = || {
            Error::invalid(
                "preprocessing",
                "its text",
                "the canonical text of one (docs/FORMAT.md)",
            )
        };
        let PublicValue::Text(text) = value else { return Err(wrong()) };
        let this: Self = serde_json::from_str(text).map_err(|_| wrong())?;
        this.check()?;
        let counted = if public.contains_key("m") { "n" } else { "d" };
        let target = u64::from(public.contains_key("label_bound"));
        let agrees = match public.get(counted) {
            Some(PublicValue::Integer(d)) => d.checked_add(target) == Some(this.d),
            _ => true,
        };
        if this.text() == *text && agrees { Ok(Some(this)) } else { Err(wrong()) }
    }
}

/// What becomes of the columns, in words, one after the other.
impl From<&Preprocessing> for Vec<String> {
    fn from(stated: &Preprocessing) -> Self {
        let own = stated.columns.iter().map(|c| format!("{} (column {}): {}", c.name, c.at, c.map));
        let rest = stated.d - stated.columns.len() as u64;
        own.chain((rest > 0).then(|| format!("{rest} others: {}", stated.default))).collect()
    }
}
