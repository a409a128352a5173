//! The encodings of headers, settings, keys and messages. This module is public for the Worker and the npm
//! package only.

pub(crate) mod base64;
pub(crate) mod cbor;
pub mod hex;
pub mod http_date;
pub mod list;
pub mod message;
pub mod percent;
#[cfg(feature = "serde")]
pub(crate) mod serde_body;
pub mod text;
