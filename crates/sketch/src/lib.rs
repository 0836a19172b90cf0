//! Random projections, sign and set sketches, and their private releases.
//!
//! | to | see |
//! | --- | --- |
//! | hand in rows: dense, sparse, bytes or bits | [`RowsView`] |
//! | project without privacy | [`projection`] |
//! | release real-valued sketches, estimate distances | [`private`] |
//! | release signs, estimate angles | [`sign`] |
//! | release signatures of item sets, estimate Jaccard similarity | [`minhash`] |
//! | find the best rows of a release | [`search`] |
//! | release all pairwise distances, or bits | [`pairwise`] |
//! | write releases to files as rows come | [`release_file`] |
//!
//! ```
//! use dp_core::{Adjacency, Bound, Budget, NoiseRng, PublicSeed};
//! use sketch::RowsView;
//! use sketch::private::{Pairs, PrivateProjection};
//! use sketch::projection::{Family, ProjectionSpec};
//!
//! // Two rows of four values in [-1, 1]. What is protected is one value of one row: it may become
//! // any other in [-1, 1], a change of at most 2. Not protected: the row as a whole.
//! let rows = RowsView::f64(2, 4, &[0.9, 0.1, 0.0, 0.8, 0.2, 0.1, 0.0, 0.7])?;
//! let (one, any_value) = (Bound::new(1.0)?, Adjacency::Attribute { beta: Bound::new(2.0)? });
//! let projection = ProjectionSpec::new(Family::Oporp, 4, 2, PublicSeed::new(7))?.build();
//! let budget = Budget::new(1.0, 1e-6)?;
//! let mechanism = PrivateProjection::gaussian(projection, any_value, one, budget)?;
//! let release = mechanism.release(rows, &mut NoiseRng::from_os()?)?;
//! let distance = Pairs::within(&release).squared_distance(0, 1)?;
//! assert!(distance.standard_error > 0.0);
//! # Ok::<(), sketch::Error>(())
//! ```

pub mod error;
pub mod minhash;
pub mod pairwise;
pub mod private;
pub mod projection;
pub mod release_file;
pub mod rows;
pub mod search;
pub mod sign;

pub use error::{Error, Result};
pub use rows::RowsView;
