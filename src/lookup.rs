//! Look-ups: how the gateway asks an origin whether a request was executed, and which response proves
//! it.
//!
//! # The proof
//!
//! Many APIs report "not found" with a 200: `[]`, `{"orders":[]}`, `{"id":0}`, `{"error":…}`. Each rule
//! therefore names, in the fragment of its look-up, a member that only an existing object has:
//!
//! ```text
//! POST:/v1/orders:/v1/orders?out_trade_no={/out_trade_no}#/data/id
//! ```
//!
//! A response proves the execution if all of these hold, and settles nothing otherwise:
//!
//! - its status is 2xx;
//! - its body is JSON that all parsers read alike (see [`canonical::json`](crate::canonical::json)),
//!   without a `Content-Encoding`;
//! - its `Content-Type`, if there is one, is JSON and names no charset but UTF-8;
//! - the pointer (RFC 6901) leads to a text with content, or to a number other than zero.
//!
//! A text has no content if it has no letter and no digit, or if it is the UUID of zeros. A number below
//! 1e-99 counts as zero, because a parser may round it to zero.

use crate::business_key::text_in;
use crate::canonical::json::{Document, JsonValue};
use crate::canonical::{JsonPointer, MediaType, PointerError};
use crate::header_list::HeaderList;
use crate::request::path;
use crate::request::route::{RouteError, RouteRules, RuleError};
use crate::response::StoredResponse;
use core::fmt;

/// The look-ups of requests, by route.
#[derive(Clone, Debug, Default)]
pub struct LookUps(RouteRules<LookUpRule>);

/// The look-up of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookUp<'a> {
    /// The path and query of the look-up.
    pub target: String,
    proof: &'a JsonPointer,
}

/// Why a list of look-ups cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LookUpError {
    /// An entry is not `METHOD:/path:LOOK-UP#/json/pointer`.
    NotAnEntry,
    /// The route of an entry cannot be read.
    Route(RouteError),
    /// The pointer of a placeholder cannot be read.
    Pointer(PointerError),
    /// The look-up is not a path with placeholders and a fragment.
    NotATemplate,
    /// The look-up has no placeholder, so it would be the same for every request.
    NoPlaceholder,
    /// The look-up has no fragment, which says which response proves an execution.
    NoProof,
    /// The fragment is not a pointer.
    Proof(PointerError),
}

#[derive(Clone, Debug)]
struct LookUpRule {
    template: Template,
    /// The pointer to the proof in the response.
    proof: JsonPointer,
}

/// A path and query with placeholders.
#[derive(Clone, Debug)]
struct Template {
    /// The placeholders, each with the text before it.
    placeholders: Vec<(String, JsonPointer)>,
    rest: String,
}

impl LookUps {
    /// Reads a list `METHOD:/path:LOOK-UP#/json/pointer,…`. A look-up is a path and query with JSON
    /// pointers in braces, such as
    /// `POST:/v1/orders:/v1/orders?out_trade_no={/out_trade_no}#/data/id`. The pointer in its fragment
    /// leads to the proof in the response. If several entries match a request, the first counts.
    ///
    /// # Errors
    ///
    /// Returns an error if an entry has another form, or its route or a pointer cannot be read.
    pub fn parse(list: &str) -> Result<Self, LookUpError> {
        RouteRules::parse(list, LookUpRule::parse).map(Self).map_err(|error| match error {
            RuleError::NotAnEntry => LookUpError::NotAnEntry,
            RuleError::Route(error) => LookUpError::Route(error),
            RuleError::Argument(error) => error,
        })
    }

    /// Returns the look-up for a request; `None` if its route has no look-up, or its body lacks a member
    /// that the look-up needs.
    pub fn find(
        &self,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Option<LookUp<'_>> {
        let (_, rule) = self.0.first(method, path)?;
        // If programs may read the body differently, the look-up could find another object.
        let target = rule.template.fill(|pointer| text_in(pointer, content_type, body).ok()?)?;
        Some(LookUp { target, proof: &rule.proof })
    }
}

impl LookUp<'_> {
    /// Returns whether a response proves that the request was executed. The response then becomes the
    /// response of the request.
    pub fn is_proved_by(&self, response: &StoredResponse) -> bool {
        let has_proof = |body| {
            let document = json_of(&response.headers, body)?;
            document.find(self.proof.steps()).map(has_content)
        };
        response.is_success() && response.body().and_then(has_proof) == Some(true)
    }
}

/// Parses the body of a response as JSON that all parsers read alike. Its type, if there is one, must be
/// JSON in UTF-8, without a coding.
pub(crate) fn json_of<'a>(headers: &HeaderList, body: &'a [u8]) -> Option<Document<'a>> {
    let media_type = MediaType::parse(headers.get("content-type"));
    let is_json = media_type.essence().is_empty() || media_type.is_json();
    let is_plain = headers.get("content-encoding").is_none_or(|coding| {
        let coding = coding.trim();
        coding.is_empty() || coding.eq_ignore_ascii_case("identity")
    });
    (is_json && media_type.is_utf8() && is_plain).then(|| Document::parse(body))?
}

/// Returns whether a value is a text with content, or a number other than zero.
pub(crate) fn has_content(value: JsonValue<'_>) -> bool {
    let Some(text) = value.scalar() else {
        return false;
    };
    if value.is_number() {
        let is_tiny = text.split_once("e-").is_some_and(|(_, exponent)| exponent.len() > 2);
        return text != "0" && !is_tiny;
    }
    text.chars().any(char::is_alphanumeric) && !is_nil_uuid(&text)
}

/// Returns whether a text is the UUID of zeros, which programs use for "none" (RFC 9562 §5.9).
fn is_nil_uuid(text: &str) -> bool {
    let digits = || text.bytes().filter(|byte| !b"-{}".contains(byte));
    digits().count() == 32 && digits().all(|byte| byte == b'0')
}

impl LookUpRule {
    fn parse(look_up: &str) -> Result<Self, LookUpError> {
        let (template, fragment) = Template::parse(look_up)?;
        let fragment = fragment.ok_or(LookUpError::NoProof)?;
        if !is_plain(fragment) {
            return Err(LookUpError::Proof(PointerError::BadFragment));
        }
        let proof = JsonPointer::parse_fragment(fragment).map_err(LookUpError::Proof)?;
        Ok(Self { template, proof })
    }
}

impl Template {
    /// Reads a template up to its fragment, and returns the fragment unread.
    fn parse(text: &str) -> Result<(Self, Option<&str>), LookUpError> {
        let (mut placeholders, mut rest, mut fragment) = (Vec::<(String, _)>::new(), text, None);
        // A pointer in braces may contain a `#`.
        while let Some(at) = rest.find(['{', '#']) {
            let (before, after) = (&rest[..at], &rest[at + 1..]);
            if rest[at..].starts_with('#') {
                (rest, fragment) = (before, Some(after));
                break;
            }
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
        Ok((Self { placeholders, rest: rest.to_owned() }, fragment))
    }

    fn fill(&self, text_at: impl Fn(&JsonPointer) -> Option<String>) -> Option<String> {
        let mut target = String::new();
        for (before, pointer) in &self.placeholders {
            target.push_str(before);
            push_encoded(&mut target, &text_at(pointer)?);
        }
        target.push_str(&self.rest);
        // A value must not lead to another path: URL parsers resolve `..`, and many origins also
        // resolve `..%2F`.
        let path = target.split('?').next()?;
        (!path::has_dot_segments(path)).then_some(target)
    }
}

/// Returns whether a text has only characters that a URI may contain unescaped.
pub(crate) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && !b"#{}\"<>\\^`|".contains(&byte))
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

/// An example of an entry, for error messages.
const EXAMPLE: &str = "POST:/v1/orders:/v1/orders?out_trade_no={/out_trade_no}#/data/id";

impl fmt::Display for LookUpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnEntry => f.write_str("each entry must be METHOD:/path:LOOK-UP#/json/pointer"),
            Self::Route(error) => error.fmt(f),
            Self::Pointer(error) => error.fmt(f),
            Self::NotATemplate => f.write_str(
                "a look-up must be a path and query in visible ASCII, with JSON pointers in braces and one as its fragment",
            ),
            Self::NoPlaceholder => f.write_str(
                "a look-up needs a JSON pointer in braces; without one, it would find the same object for every request",
            ),
            Self::NoProof => f.write_str(
                "a look-up must end in a fragment: a JSON pointer to the member of the response that proves the execution, such as the object's id",
            ),
            Self::Proof(error) => write!(f, "the fragment of a look-up must be a JSON pointer: {error}"),
        }?;
        write!(f, "; for example {EXAMPLE}")
    }
}

impl core::error::Error for LookUpError {}
