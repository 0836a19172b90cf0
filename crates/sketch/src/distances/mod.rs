//! The other ways to release distances (paper 1, section 4): noise on the distances
//! themselves, and flipped bits.

mod noise_addition;
mod randomized_response;

pub use noise_addition::{
    DistanceTable, NoiseAddition, ValueRange, noisy_distance, noisy_distance_interval,
};
pub use randomized_response::{
    FlippedBits, RandomizedResponse, noisy_bit_count, noisy_bit_count_interval, noisy_bit_distance,
    noisy_bit_distance_interval,
};
