//! Requests as they come in, and responses on their way out.

pub(crate) mod body_budget;
pub(crate) mod bridge;
pub(crate) mod context;
pub(crate) mod cors;
pub(crate) mod delivery;
pub(crate) mod headers;
pub(crate) mod request;
pub(crate) mod response;
