//! The canonical forms of bodies and their fingerprints: properties over random bodies,
//! comparison with a plain second implementation, and vectors that other implementations can use.

mod fields;
mod fingerprint;
mod json;
mod multipart;
mod pairs;
mod vectors;
