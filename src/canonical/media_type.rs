//! Media types (RFC 9110 §8.3.1).

use crate::codec::text::{split, split_once, trim, trim_start};
use std::borrow::Cow;

/// A `Content-Type`, split into its type and its parameters.
pub(crate) struct MediaType<'a> {
    essence: Cow<'a, str>,
    parameters: &'a str,
}

impl<'a> MediaType<'a> {
    /// Splits a `Content-Type` at its first semicolon. This never fails: an invalid media type is kept
    /// in lower case, and a missing one is empty.
    pub(crate) fn parse(content_type: Option<&'a str>) -> Self {
        let (essence, parameters) = halves(content_type.unwrap_or(""));
        let mut essence = Cow::Borrowed(trim(essence));
        if essence.bytes().any(|byte| byte.is_ascii_uppercase()) {
            essence.to_mut().make_ascii_lowercase();
        }
        Self { essence, parameters }
    }

    /// Returns `type/subtype` in lower case, without parameters.
    pub(crate) fn essence(&self) -> &str {
        &self.essence
    }

    /// Returns whether this is `application/json` or a type with the suffix `+json` (RFC 6839 §3.1).
    pub(crate) fn is_json(&self) -> bool {
        self.names()
            .is_some_and(|names| names == ("application", "json") || names.1.ends_with("+json"))
    }

    /// Returns whether this is `multipart/*`.
    pub(crate) fn is_multipart(&self) -> bool {
        self.names().is_some_and(|names| names.0 == "multipart")
    }

    /// Returns whether this is a form of `name=value` pairs. The npm package records a multipart form
    /// as `application/x-form`, because the browser sends it and the boundary is unknown.
    pub(crate) fn is_pairs(&self) -> bool {
        matches!(self.essence(), "application/x-www-form-urlencoded" | "application/x-form")
    }

    /// Returns the boundary of a multipart type, if it is given exactly once in well-formed parameters.
    /// A boundary has 1 to 70 characters of a small set (RFC 2046 §5.1.1). Some of these characters, such
    /// as `=` and `/`, would need quotes, but are also accepted without them because many clients omit
    /// the quotes.
    pub(crate) fn boundary(&self) -> Option<&'a str> {
        let mut found = None;
        let mut rest = self.parameters;
        loop {
            rest = trim_start(rest, b" \t;");
            if rest.is_empty() {
                break;
            }
            let (name, value, later) = parameter(rest)?;
            if name.eq_ignore_ascii_case("boundary") && found.replace(value).is_some() {
                return None;
            }
            rest = later;
        }
        found.filter(|boundary| is_boundary(boundary.as_bytes()))
    }

    /// Returns whether all readers decode the body as UTF-8: no charset is given, or only UTF-8 is given,
    /// and only once. The parameters of a JSON type must also be well-formed, because readers disagree
    /// about malformed ones. (For other types, many clients write a boundary without the quotes that it
    /// needs.)
    pub(crate) fn is_utf8(&self) -> bool {
        let (mut rest, mut has_charset) = (self.parameters, false);
        loop {
            rest = trim_start(rest, b" \t;");
            if rest.is_empty() {
                return true;
            }
            let is_quoted = split_once(rest, b'=').is_some_and(|(_, value)| value.starts_with('"'));
            let Some((name, value, later)) = parameter(rest) else {
                return !self.is_json() && !mentions_charset(rest);
            };
            // RFC 2231 splits or encodes a parameter under names such as `charset*` and `charset*0`.
            let is_charset = split(name, b'*').next().unwrap_or("").eq_ignore_ascii_case("charset");
            let is_utf8 = ["utf-8", "utf8"].iter().any(|one| value.eq_ignore_ascii_case(one));
            if is_charset && (has_charset || !is_utf8 || name.as_bytes().contains(&b'*')) {
                return false;
            }
            // Two header lines arrive joined by a comma.
            if self.is_json() && !is_quoted && !is_token(value) {
                return false;
            }
            has_charset |= is_charset;
            rest = later;
        }
    }

    fn names(&self) -> Option<(&str, &str)> {
        split_once(self.essence(), b'/')
            .filter(|(kind, subtype)| is_token(kind) && is_token(subtype))
    }
}

/// Returns whether a text is a token (RFC 9110 §5.6.2), like the names of media types and header
/// fields.
pub(crate) fn is_token(name: impl AsRef<[u8]>) -> bool {
    let name = name.as_ref();
    !name.is_empty()
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

/// Reads the first parameter of a list. Returns its name, its value without quotes, and the rest of the
/// list.
fn parameter(list: &str) -> Option<(&str, &str, &str)> {
    let (name, after) = split_once(list, b'=')?;
    if !is_token(name) {
        return None;
    }
    let Some(quoted) = after.strip_prefix('"') else {
        let (value, later) = halves(after);
        return Some((name, trim(value), later));
    };
    let mut bytes = quoted.bytes().enumerate();
    let end = loop {
        match bytes.next()? {
            (at, b'"') => break at,
            // An escaped quote does not end the value. The value is not unescaped, because one with a
            // backslash is neither a valid boundary nor UTF-8.
            (_, b'\\') => drop(bytes.next()?),
            _ => {}
        }
    };
    let (between, later) = halves(quoted.get(end + 1..)?);
    trim(between).is_empty().then_some((name, quoted.get(..end)?, later))
}

/// Returns the text before the first semicolon, and that after it.
fn halves(list: &str) -> (&str, &str) {
    split_once(list, b';').unwrap_or((list, ""))
}

/// Returns whether a text mentions a charset, in any case.
fn mentions_charset(text: &str) -> bool {
    text.as_bytes().windows(7).any(|name| name.eq_ignore_ascii_case(b"charset"))
}

fn is_boundary(boundary: &[u8]) -> bool {
    (1..=70).contains(&boundary.len())
        && boundary
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(byte))
        && !boundary.ends_with(b" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_essence_is_in_lower_case_and_has_no_parameters() {
        for content_type in [
            "application/json",
            " Application/JSON ;charset=utf-8",
            "APPLICATION/json;",
            "application/json\t; a=\"b;c\"",
        ] {
            let media_type = MediaType::parse(Some(content_type));
            assert_eq!(media_type.essence(), "application/json");
            assert!(media_type.is_json());
        }
        assert_eq!(MediaType::parse(None).essence(), "");
        assert_eq!(MediaType::parse(Some(" ; charset=utf-8")).essence(), "");
    }

    #[test]
    fn only_application_json_and_types_that_end_in_json_are_json() {
        for yes in ["application/problem+json", "image/vnd.api+json; x=1", "application/LD+JSON"] {
            assert!(MediaType::parse(Some(yes)).is_json(), "{yes}");
        }
        for no in [
            "",
            "json",
            "text/plain",
            "text/json",
            "application/json5",
            "application/json, application/json",
            "application/x json",
            "/+json",
            "a/b/c+json",
        ] {
            assert!(!MediaType::parse(Some(no)).is_json(), "{no}");
        }
    }

    #[test]
    fn a_content_type_is_utf8_only_if_no_reader_sees_another_charset() {
        for parameters in [
            "",
            ";",
            "; charset=utf-8",
            ";charset=UTF8 ;",
            "; Charset=\"Utf-8\"; v=1",
            "; a=\"charset=utf-7, b\"",
        ] {
            for kind in ["application/json", "text/plain"] {
                let content_type = format!("{kind}{parameters}");
                assert!(MediaType::parse(Some(&content_type)).is_utf8(), "{content_type}");
            }
        }
        for parameters in [
            "charset=utf-7",
            "charset=\"utf-16\"",
            "charset=utf-16le",
            "charset=iso-8859-1",
            "charset=us-ascii",
            "charset=",
            "charset=\"utf\\-8\"",
            "charset=utf-8; charset=utf-8",
            "charset=utf-8; charset=utf-7",
            "charset*=utf-8''utf-7",
            "charset*0=utf-8",
            "charset = utf-7",
            "charset",
            "charset=utf-8, application/json",
            "a=b; charset=utf-32",
            "a=\"b; charset=utf-7",
        ] {
            for kind in ["application/json", "application/x+json", "text/plain", ""] {
                let content_type = format!("{kind};{parameters}");
                assert!(!MediaType::parse(Some(&content_type)).is_utf8(), "{content_type}");
            }
        }
        for parameters in ["boundary", "a b", "a=b c", "a=b, text/plain", "=", "a=\"b"] {
            let content_type = format!("application/json;{parameters}");
            assert!(!MediaType::parse(Some(&content_type)).is_utf8(), "{content_type}");
            let content_type = format!("multipart/form-data;{parameters}");
            assert!(MediaType::parse(Some(&content_type)).is_utf8(), "{content_type}");
        }
    }

    #[test]
    fn the_boundary_is_found() {
        for (parameters, boundary) in [
            ("boundary=AaB03x", "AaB03x"),
            ("charset=utf-8; BOUNDARY=\"a b\"", "a b"),
            ("boundary=----=_Part_1/2:3 ", "----=_Part_1/2:3"),
            (";; boundary=x ;; ", "x"),
            ("a=\";boundary=no\\\"\"; boundary=yes;b=c", "yes"),
        ] {
            let content_type = format!("multipart/form-data;{parameters}");
            assert_eq!(
                MediaType::parse(Some(&content_type)).boundary(),
                Some(boundary),
                "{parameters}"
            );
        }
    }

    #[test]
    fn an_ambiguous_boundary_is_refused() {
        let long = format!("boundary={}", "b".repeat(71));
        for parameters in [
            "",
            "boundary",
            "boundary=",
            "boundary=\"\"",
            "boundary=\"x",
            "boundary=\"x\"y",
            "boundary=a;boundary=a",
            "boundary=\"a \"",
            "boundary=a\\b",
            "boundary=\"a\\b\"",
            "boundary=é",
            "boundary=a;charset",
            "boundary =a",
            "=a",
            "boundary=a\"b",
            &long,
        ] {
            let content_type = format!("multipart/form-data;{parameters}");
            assert_eq!(MediaType::parse(Some(&content_type)).boundary(), None, "{parameters}");
        }
        let longest = format!("multipart/mixed;boundary={}", "b".repeat(70));
        assert_eq!(MediaType::parse(Some(&longest)).boundary().map(str::len), Some(70));
    }
}
