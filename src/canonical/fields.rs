//! The form fields that a fingerprint ignores.
//!
//! Many servers put a token against cross-site requests into each form that they render. After a reload
//! the form contains another token, but submitting it is still the same request. So fields with the
//! usual names of such tokens ([`CSRF_FIELDS`]) are ignored in HTML forms. The setting can add names: a
//! pointer of one step, such as `/nonce`, names the field `nonce`. A pointer of several steps has no
//! effect on forms.
//!
//! | form | an ignored field is |
//! |---|---|
//! | `application/x-www-form-urlencoded` | a pair with that name after decoding |
//! | `multipart/form-data` | a part with that name that is not a file |
//!
//! The name of a token is also recognized as the last step of a nested name, such as `payment[_token]`
//! of Symfony. Names are compared with case.
//!
//! A form with an ignored field has the same fingerprint as the form without that field.
//!
//! # Fields that are always compared
//!
//! A field is not ignored if some readers may find more in it than others:
//!
//! - a pair with a `;`, because some readers split pairs there, or with a very long name;
//! - any pair of a body with a byte outside visible ASCII, such as a compressed body;
//! - a part whose disposition is not `form-data` with exactly one `name`.

use super::disposition::{field_name, halves};
use super::multipart::Part;
use super::pointer::JsonPointer;
use super::sink::Sink;
use super::work::spent;
use crate::codec::percent;

/// The names of form fields that web frameworks use for tokens against cross-site requests.
pub const CSRF_FIELDS: [&str; 15] = [
    // Rails; Django; Laravel and Symfony; ASP.NET.
    "authenticity_token",
    "csrfmiddlewaretoken",
    "_token",
    "__RequestVerificationToken",
    // Spring, Express and Yii 2; Phoenix and Symfony's login; CakePHP; Flask and WTForms; Play.
    "_csrf",
    "_csrf_token",
    "_csrfToken",
    "csrf_token",
    "csrfToken",
    // CodeIgniter 3 and 4; gorilla/csrf; Yii 1; WordPress; Slim. nosurf and Fiber use names listed above.
    "csrf_test_name",
    "gorilla.csrf.Token",
    "YII_CSRF_TOKEN",
    "_wpnonce",
    "csrf_name",
    "csrf_value",
];

/// The length in bytes of the longest name of a pair that is ignored or sorted.
pub const LONGEST_NAME: usize = 1024;

/// The fields that a fingerprint ignores.
#[derive(Clone, Copy)]
pub(crate) struct IgnoredFields<'p> {
    ignore: &'p [JsonPointer],
}

impl<'p> IgnoredFields<'p> {
    pub(crate) fn new(ignore: &'p [JsonPointer]) -> Self {
        Self { ignore }
    }

    /// Returns whether a part of `multipart/form-data` is ignored.
    pub(crate) fn has_part(self, part: &Part<'_>) -> bool {
        field_name(part).is_some_and(|name| {
            is_csrf(name) || self.names().any(|ignored| in_part(ignored).eq(name.iter().copied()))
        })
    }

    /// Returns whether a pair of `application/x-www-form-urlencoded` is ignored.
    pub(crate) fn has_pair(self, pair: &[u8]) -> bool {
        if pair.contains(&b';') {
            return false;
        }
        let (name, _) = halves(pair, b'=');
        let name: Vec<u8> = decoded(name).take(LONGEST_NAME + 1).collect();
        name.len() <= LONGEST_NAME
            && (is_csrf(&name) || self.names().any(|ignored| ignored.as_bytes() == name))
    }

    fn names(self) -> impl Iterator<Item = &'p str> {
        self.ignore.iter().filter_map(|pointer| match pointer.steps() {
            [name] => Some(name.as_str()),
            _ => None,
        })
    }
}

/// Returns whether all readers split a body into the same pairs: it contains only visible ASCII.
pub(crate) fn are_pairs(body: &[u8]) -> bool {
    spent(body.len());
    body.iter().all(u8::is_ascii_graphic)
}

/// Writes the pairs that are not ignored, separated by `&`. Returns whether any pair was ignored.
pub(crate) fn write_pairs(body: &[u8], ignored: IgnoredFields<'_>, sink: &mut impl Sink) -> bool {
    spent(body.len());
    let (mut is_first, mut is_whole) = (true, true);
    for pair in body.split(|&byte| byte == b'&') {
        if ignored.has_pair(pair) {
            is_whole = false;
            continue;
        }
        if !is_first {
            sink.put(b"&");
        }
        sink.put(pair);
        is_first = false;
    }
    !is_whole
}

fn is_csrf(name: &[u8]) -> bool {
    let is_listed = |name: &[u8]| CSRF_FIELDS.iter().any(|field| field.as_bytes() == name);
    let nested = name.strip_suffix(b"]").and_then(|name| {
        let bracket = name.iter().rposition(|&byte| byte == b'[')?;
        (bracket > 0).then_some(&name[bracket + 1..])
    });
    is_listed(nested.unwrap_or(name))
}

/// Returns the name of a field as browsers write it in a part (HTML, "multipart/form-data encoding
/// algorithm").
fn in_part(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().flat_map(|byte| {
        let (escaped, plain): (&[u8], _) = match byte {
            b'"' => (b"%22", None),
            b'\r' => (b"%0D", None),
            b'\n' => (b"%0A", None),
            byte => (b"", Some(byte)),
        };
        escaped.iter().copied().chain(plain)
    })
}

/// Decodes a name or a value of a url-encoded form. A percent sign that begins no valid escape is kept.
pub(crate) fn decoded(mut text: &[u8]) -> impl Iterator<Item = u8> + '_ {
    core::iter::from_fn(move || {
        let (byte, rest) = match text.split_first()? {
            (b'+', rest) => (b' ', rest),
            _ => percent::first(text)?,
        };
        text = rest;
        Some(byte)
    })
}

#[cfg(test)]
mod tests {
    use super::super::work::measure;
    use super::*;

    #[test]
    fn hostile_forms_are_read_in_linear_time() {
        const SIZE: usize = 1 << 18;
        let ignore = [JsonPointer::parse("/nonce").unwrap()];
        for text in [
            "&".repeat(SIZE),
            "a=;&".repeat(SIZE / 4),
            "_token=&".repeat(SIZE / 8),
            "%5F".repeat(SIZE / 3),
            "a[".repeat(SIZE / 2) + "_token]=1",
        ] {
            let body = text.as_bytes();
            let mut form = Vec::new();
            let (_, spent) = measure(|| {
                assert!(are_pairs(body));
                write_pairs(body, IgnoredFields::new(&ignore), &mut form)
            });
            assert!(spent <= 2 * body.len());
            assert!(form.len() <= body.len());
        }
    }
}
