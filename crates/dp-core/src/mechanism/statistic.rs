//! What one change of the input can do to a vector of numbers.

use crate::adjacency::Adjacency;
use crate::error::{Error, Result};
use crate::noise::Grid;
use crate::quantity::{EntryBound, L1Sensitivity, L2Sensitivity, Scale};

/// A sensitivity in some norm: [`L1Sensitivity`] or [`L2Sensitivity`].
pub trait Sensitivity: Copy + super::sealed::Sealed {
    /// The sensitivity of outputs computed with an error of at most `error` and rounded to the
    /// grid, in the `coordinates` that can differ.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when `error` is negative or not finite.
    fn on_grid(self, grid: Grid, coordinates: usize, error: f64) -> Result<Self>;

    /// The largest sensitivity up to this one that whole numbers can have.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when it is below one.
    #[doc(hidden)]
    fn whole(self) -> Result<Self>;
}

/// The largest whole number up to this one; a root that was rounded down still counts.
fn floor(value: f64) -> f64 {
    (value * (1.0 + 1e-12)).floor()
}

fn some_step(sensitivity: f64) -> Result<()> {
    if sensitivity >= 1.0 {
        return Ok(());
    }
    let allowed = "[1, inf): whole numbers move by one at least";
    Err(Error::invalid("sensitivity of whole numbers", sensitivity, allowed))
}

impl Sensitivity for L1Sensitivity {
    fn on_grid(self, grid: Grid, coordinates: usize, error: f64) -> Result<Self> {
        grid.inflate_l1(self, coordinates, error)
    }

    fn whole(self) -> Result<Self> {
        some_step(floor(self.get()))?;
        Self::new(floor(self.get()))
    }
}

impl Sensitivity for L2Sensitivity {
    fn on_grid(self, grid: Grid, coordinates: usize, error: f64) -> Result<Self> {
        grid.inflate_l2(self, coordinates, error)
    }

    /// The root of a whole number.
    fn whole(self) -> Result<Self> {
        let square = floor(self.get() * self.get());
        some_step(square)?;
        Self::new(square.sqrt())
    }
}

/// What a change that the adjacency allows can do to a vector of numbers, as public facts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistic<S> {
    adjacency: Adjacency,
    sensitivity: S,
    length: usize,
    coordinates: usize,
    error: f64,
    magnitude: EntryBound,
}

impl<S: Sensitivity> Statistic<S> {
    /// `length` numbers, each at most `magnitude` in absolute value, that adjacent inputs move by
    /// `sensitivity` at most. All of them may move, and each is exact, until it is said otherwise.
    ///
    /// The sensitivity is that of the exact numbers: rounding is added where noise is calibrated.
    #[must_use]
    pub fn new(adjacency: Adjacency, sensitivity: S, length: usize, magnitude: EntryBound) -> Self {
        Self { adjacency, sensitivity, length, coordinates: length, error: 0.0, magnitude }
    }

    /// One change moves at most this many of the numbers, as they are computed: the others are the same bit for bit, whatever the order
    /// in which they were added up. (Numbers that may differ by their computation error alone count.)
    #[must_use]
    pub fn touching(self, coordinates: usize) -> Self {
        Self { coordinates, ..self }
    }

    /// The numbers are computed with an error of at most `error` each: where two inputs are
    /// adjacent, so are their roundings, only as far as that.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when it is negative or not finite.
    pub fn computed_within(self, error: f64) -> Result<Self> {
        if error.is_finite() && error >= 0.0 {
            Ok(Self { error, ..self })
        } else {
            Err(Error::invalid("computation error", error, "[0, inf)"))
        }
    }

    /// Which inputs are protected against each other.
    #[must_use]
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// The sensitivity of the exact numbers.
    #[must_use]
    pub fn sensitivity(&self) -> S {
        self.sensitivity
    }

    /// How many numbers there are.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// How many of them one change moves at most.
    #[must_use]
    pub fn coordinates(&self) -> usize {
        self.coordinates
    }

    /// The error of each number, at most.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The largest absolute value.
    #[must_use]
    pub fn magnitude(&self) -> EntryBound {
        self.magnitude
    }

    /// The sensitivity of whole numbers, for integer noise: nothing is rounded.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] for numbers that are not exact or may be beyond 2^51, a sensitivity below one, or no number that moves.
    pub(super) fn whole(&self) -> Result<S> {
        self.check_coordinates()?;
        if self.error > 0.0 {
            let allowed = "0 under integer noise, which takes whole numbers";
            return Err(Error::invalid("computation error", self.error, allowed));
        }
        let most = 2f64.powi(51);
        if self.magnitude.get() > most {
            let allowed = "at most 2^51 under integer noise";
            return Err(Error::invalid("bound", self.magnitude, allowed));
        }
        self.sensitivity.whole()
    }

    /// # Errors
    /// [`Error::InvalidParameter`] where none of the numbers moves, though a sensitivity is positive, or more than there are.
    fn check_coordinates(&self) -> Result<()> {
        if (1..=self.length.max(1)).contains(&self.coordinates) {
            return Ok(());
        }
        let allowed = format!("[1, {}], how many numbers there are", self.length);
        Err(Error::invalid("numbers that one change moves", self.coordinates, allowed))
    }

    /// The grid for noise of about this scale, and the sensitivity of numbers that are rounded to it.
    ///
    /// # Errors
    /// [`Error::InvalidParameter`] when no grid keeps the sums exact ([`Grid::choose`]), or where no number moves, or more than there are.
    pub fn on_grid(&self, rough: impl Scale) -> Result<(Grid, S)> {
        self.check_coordinates()?;
        let grid = Grid::choose(rough, self.magnitude)?;
        Ok((grid, self.sensitivity.on_grid(grid, self.coordinates, self.error)?))
    }
}
