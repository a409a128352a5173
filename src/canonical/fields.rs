//! Which fields of a form a fingerprint leaves out.
//!
//! A server that guards its forms against cross-site requests puts a token into each page that it
//! renders. After a reload the same form carries another token, and it is still the same request. So
//! fields of the usual names ([`CSRF_FIELDS`]) do not count in forms, and neither do those that the
//! caller names: a pointer of one step, such as `/nonce`, names the field `nonce`. A pointer of
//! several steps names nothing in a form.
//!
//! | form | a field that is left out is |
//! |---|---|
//! | `application/x-www-form-urlencoded` | a pair whose name, with its escapes undone, is that name |
//! | `multipart/form-data` | a part that is plainly a field of that name, and no file |
//!
//! A token's name also counts as the last step of a nested one: `payment[_token]`, as Symfony writes
//! it. Upper and lower case differ.
//!
//! The other bytes are compared as they are. So a form without such a field has the fingerprint that
//! it would have without this rule, and a form with one has that of the same form without it.
//!
//! # What stays
//!
//! A field is compared where one reader may see more in it than another:
//!
//! - in pairs, one with a `;` in it, where some readers divide pairs too;
//! - pairs in a body that holds anything but visible ASCII, as a compressed one does;
//! - in parts, a disposition that is not plainly `form-data` with one `name`.

use super::disposition::{field_name, halves};
use super::multipart::Part;
use super::pointer::JsonPointer;
use super::sink::Sink;
use super::work::spent;
use crate::codec::percent;

/// The names under which frameworks put a token against cross-site requests into their forms.
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
    // CodeIgniter 3 and 4; gorilla/csrf; Yii 1; nosurf and Fiber are among the above; WordPress; Slim.
    "csrf_test_name",
    "gorilla.csrf.Token",
    "YII_CSRF_TOKEN",
    "_wpnonce",
    "csrf_name",
    "csrf_value",
];

/// Names that are longer are compared, whoever gives them.
const LONGEST_NAME: usize = 1024;

/// The fields that do not count.
#[derive(Clone, Copy)]
pub(crate) struct LeftOut<'p> {
    ignore: &'p [JsonPointer],
}

impl<'p> LeftOut<'p> {
    pub(crate) fn new(ignore: &'p [JsonPointer]) -> Self {
        Self { ignore }
    }

    /// Whether a part of `multipart/form-data` is left out.
    pub(crate) fn has_part(self, part: &Part<'_>) -> bool {
        field_name(part).is_some_and(|name| {
            is_csrf(name) || self.names().any(|left_out| in_part(left_out).eq(name.iter().copied()))
        })
    }

    /// Whether a pair of `application/x-www-form-urlencoded` is left out.
    fn has_pair(self, pair: &[u8]) -> bool {
        if pair.contains(&b';') {
            return false;
        }
        let (name, _) = halves(pair, b'=');
        let name: Vec<u8> = decoded(name).take(LONGEST_NAME + 1).collect();
        name.len() <= LONGEST_NAME
            && (is_csrf(&name) || self.names().any(|left_out| left_out.as_bytes() == name))
    }

    fn names(self) -> impl Iterator<Item = &'p str> {
        self.ignore.iter().filter_map(|pointer| match pointer.steps() {
            [name] => Some(name.as_str()),
            _ => None,
        })
    }
}

/// Whether a body can be read as pairs, so that each pair is the same to every reader.
pub(crate) fn are_pairs(body: &[u8]) -> bool {
    spent(body.len());
    body.iter().all(u8::is_ascii_graphic)
}

/// Writes the pairs that count, divided as they were. Returns whether any was left out.
pub(crate) fn write_pairs(body: &[u8], left_out: LeftOut<'_>, sink: &mut impl Sink) -> bool {
    spent(body.len());
    let (mut is_first, mut is_whole) = (true, true);
    for pair in body.split(|&byte| byte == b'&') {
        if left_out.has_pair(pair) {
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

/// A field's name as browsers write it in a part (HTML, "multipart/form-data encoding algorithm").
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

/// The bytes that the text of a pair stands for. What is no escape stays as it is.
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
    fn hostile_forms_cost_their_length() {
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
                write_pairs(body, LeftOut::new(&ignore), &mut form)
            });
            assert!(spent <= 2 * body.len());
            assert!(form.len() <= body.len());
        }
    }
}
