//! Encodings that no crate does as they are needed here.

pub(crate) mod base64;
pub(crate) mod hex;
pub(crate) mod http_date;
pub mod percent;
