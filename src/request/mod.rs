//! What a request says of itself: its path, its route, its key in a form, and what goes on to the origin.

pub mod form_key;
pub mod forward;
pub mod override_headers;
pub mod path;
pub mod route;
