//! One program of all tests but `hostile`, which counts what its process takes.

mod accountants;
mod corpus;
mod faults;
mod forbidden;
mod forged;
mod golden;
mod users;
mod verifier;
