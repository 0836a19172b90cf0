//! Real-valued private sketches (papers 1 and 2): mechanisms, releases, their files, estimators.

mod averaged;
mod codec;
mod compact;
mod element;
mod interval;
mod mechanism;
mod multi_scale;
mod noise;
mod open;
mod pairs;
mod posterior;
mod projector;
mod rules;
mod sketch;
mod systems;
mod writer;

pub use averaged::AveragedProjection;
pub use element::Element;
pub use mechanism::{PrivateProjection, ProjectionConfig};
pub use multi_scale::{
    MultiScale, multi_scale_squared_distance, multi_scale_squared_distance_interval,
};
pub use noise::{NoiseKind, SketchNoise};
pub use open::OpenSketch;
pub use pairs::Pairs;
pub use posterior::Posterior;
pub use sketch::PrivateSketch;
pub use systems::System;
pub use writer::ReleaseWriter;
