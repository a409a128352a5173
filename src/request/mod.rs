//! The parts of a request: its path, its route, the key in its form, and the headers that a gateway
//! refuses or changes before it calls the origin.

pub mod form_key;
#[doc(hidden)]
pub mod forward;
pub mod key_headers;
#[doc(hidden)]
pub mod override_headers;
#[doc(hidden)]
pub mod path;
pub mod route;
#[doc(hidden)]
pub mod skip;
