//! Look-ups: how an origin is asked what became of a request, and what its answer proves.

use crate::business::{is_json, parse_entries, split_entry, text_at};
use crate::canonical::json::Document;
use crate::canonical::{JsonPointer, PointerError};
use crate::path;
use crate::route::{Route, RouteError};
use core::fmt;

/// Which requests can be looked up, and where.
#[derive(Clone, Debug, Default)]
pub struct LookUps(Vec<(Route, Template)>);

/// Why a list is none of look-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookUpError {
    /// An entry is not `METHOD:/path:TEMPLATE`.
    NotAnEntry,
    /// The route of an entry is none.
    Route(RouteError),
    /// The pointer of a placeholder is none.
    Pointer(PointerError),
    /// The template is no path with placeholders.
    NotATemplate,
    /// There is no placeholder: every request would be looked up at one place.
    NoPlaceholder,
}

/// A path and query with placeholders.
#[derive(Clone, Debug)]
struct Template {
    /// Each with the text before it.
    placeholders: Vec<(String, JsonPointer)>,
    rest: String,
}

impl LookUps {
    /// Reads `METHOD:/path:TEMPLATE,…`, where a template is a path and query with JSON pointers in
    /// braces: `POST:/v1/orders:/v1/orders?out_trade_no={/out_trade_no}`. Of several that fit a
    /// request, the first counts.
    pub fn parse(list: &str) -> Result<Self, LookUpError> {
        parse_entries(list, |entry| {
            let (route, template) = split_entry(entry).ok_or(LookUpError::NotAnEntry)?;
            let route = Route::parse(route).map_err(LookUpError::Route)?;
            Ok((route, Template::parse(template)?))
        })
        .map(Self)
    }

    /// The path and query to ask for what became of a request; `None` where there is no look-up for
    /// it, or its body does not have what the look-up needs.
    pub fn target(
        &self,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Option<String> {
        let (_, template) = self.0.iter().find(|(route, _)| route.matches(method, path))?;
        is_json(content_type).then(|| template.fill(&Document::parse(body)?))?
    }
}

/// Whether the answer of a look-up proves that the request was executed, and is then its answer: a
/// 2xx in JSON that holds one object. An empty list (`[]`, or in the member `data`) and `null` say
/// that there is none, and of several nobody knows which.
pub fn proves_execution(status: u16, body: &[u8]) -> bool {
    if !(200..300).contains(&status) {
        return false;
    }
    let Some(document) = Document::parse(body) else {
        return false;
    };
    let root = document.root();
    let found = root.member("data").unwrap_or(root);
    !found.is_null() && found.elements().is_none_or(|count| count == 1)
}

impl Template {
    fn parse(text: &str) -> Result<Self, LookUpError> {
        let is_plain = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_graphic() && !b"#{}\"<>\\^`|".contains(&byte))
        };
        let (mut placeholders, mut rest) = (Vec::<(String, _)>::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            let (pointer, later) = after.split_once('}').ok_or(LookUpError::NotATemplate)?;
            let pointer = JsonPointer::parse(pointer).map_err(LookUpError::Pointer)?;
            placeholders.push((before.to_owned(), pointer));
            rest = later;
        }
        let is_target = text.starts_with('/') && !text.starts_with("//");
        if !is_target || !is_plain(rest) || !placeholders.iter().all(|(before, _)| is_plain(before))
        {
            return Err(LookUpError::NotATemplate);
        }
        if placeholders.is_empty() {
            return Err(LookUpError::NoPlaceholder);
        }
        Ok(Self { placeholders, rest: rest.to_owned() })
    }

    fn fill(&self, document: &Document<'_>) -> Option<String> {
        let mut target = String::new();
        for (before, pointer) in &self.placeholders {
            target.push_str(before);
            push_encoded(&mut target, &text_at(document, pointer)?);
        }
        target.push_str(&self.rest);
        // A value must not lead elsewhere: a URL parser goes up for `..`, and many an origin does so
        // for `..%2F` too.
        let path = target.split('?').next()?;
        (!path::has_dots(path)).then_some(target)
    }
}

/// Percent-encodes all but the unreserved characters (RFC 3986 §2.3).
fn push_encoded(target: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            target.push(char::from(byte));
        } else {
            let digit = |half: u8| char::from(b"0123456789ABCDEF"[usize::from(half)]);
            target.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

impl fmt::Display for LookUpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAnEntry => {
                "each entry must be METHOD:/path:TEMPLATE, for example POST:/v1/orders:/v1/orders?out_trade_no={/out_trade_no}"
            }
            Self::Route(error) => return error.fmt(f),
            Self::Pointer(error) => return error.fmt(f),
            Self::NotATemplate => {
                "a look-up is a path and query in visible ASCII, with JSON pointers in braces: /v1/orders?out_trade_no={/out_trade_no}"
            }
            Self::NoPlaceholder => {
                "a look-up needs a JSON pointer in braces, or it would find the same for every request"
            }
        })
    }
}

impl core::error::Error for LookUpError {}
