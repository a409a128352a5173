//! The encodings of headers, settings and keys. The shells use some of them too.

pub(crate) mod base64;
pub mod hex;
pub(crate) mod http_date;
pub mod list;
pub mod percent;
