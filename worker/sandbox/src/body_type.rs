//! The types of bodies that an operation takes.

use oncekey::canonical::is_json;

/// A type of body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyType {
    /// `application/json` and the `+json` family.
    Json,
    /// A form as browsers send it.
    Form,
}

impl BodyType {
    pub(super) const RULE: &'static str =
        "must be application/json or application/x-www-form-urlencoded";

    /// Reads a media type. Its parameters are ignored.
    pub(super) fn of(media_type: &str) -> Option<Self> {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        match essence.to_ascii_lowercase().as_str() {
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
