//! The canonical forms of bodies, and the fingerprints made of them: properties over random bodies,
//! agreement with a plain second implementation, and vectors that other implementations can use.

mod fields;
mod fingerprint;
mod json;
mod multipart;
mod vectors;
