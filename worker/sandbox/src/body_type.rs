//! Which types of bodies an operation accepts.

use minicbor::{Decode, Encode};
use oncekey::canonical::is_json;

/// A kind of body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(super) enum BodyType {
    /// `application/json` and the `+json` family.
    #[n(0)]
    Json,
    /// A form as browsers send it.
    #[n(1)]
    Form,
}

impl BodyType {
    pub(super) const RULE: &'static str =
        "must be application/json or application/x-www-form-urlencoded";

    /// Reads a media type. Its parameters are ignored.
    pub(super) fn of(media_type: &str) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        let essence = essence.to_ascii_lowercase();
        match essence.as_str() {
            _ if is_json(media_type) => Some(Self::Json),
            "application/x-www-form-urlencoded" => Some(Self::Form),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_types() {
        for yes in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/x+json",
            "text/x+json",
        ] {
            assert_eq!(BodyType::of(yes), Some(BodyType::Json), "{yes}");
        }
        let form = "Application/X-WWW-Form-URLEncoded;charset=utf-8";
        assert_eq!(BodyType::of(form), Some(BodyType::Form));
        for no in ["", "text/plain", "application/jsonp", "/x+json", ";application/json"] {
            assert_eq!(BodyType::of(no), None, "{no}");
        }
    }
}
