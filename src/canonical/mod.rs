//! Canonical forms of bodies: what "the same body" means.
//!
//! A retry may send the same body in other bytes: members of JSON in another order, `1.0` for `1`, or a
//! new multipart boundary. So bodies are compared in a canonical form. There are five:
//!
//! | media type | form | ignored |
//! |---|---|---|
//! | JSON: `application/json`, `*/*+json` | [`json`] | order of members, white space, spelling |
//! | `multipart/*` | [`multipart`] | the boundary, order and case of a part's header names |
//! | `application/x-www-form-urlencoded` | [`pairs`] | order of pairs, spelling of escapes |
//! | any, with `Content-Encoding: gzip` | compressed bytes | the header of the gzip stream: time, name, system |
//! | anything else | raw bytes | nothing |
//!
//! In HTML forms (`multipart/form-data` and `application/x-www-form-urlencoded`), some [`fields`] are
//! ignored.
//!
//! A body that breaks the rules of its media type is compared by its raw bytes, which is only stricter.
//!
//! A tag byte precedes each form, so that bodies in different forms are never equal.

pub mod fields;
pub mod json;
pub mod multipart;
pub mod pairs;

mod case;
mod case_tables;
pub(crate) mod disposition;
mod gzip;
mod lookalike;
mod media_type;
mod number;
mod pointer;
mod sink;
mod text;
pub(crate) mod work;

pub use pointer::{JsonPointer, PointerError};

pub(crate) use case::folded_letters;
pub(crate) use media_type::{MediaType, is_token};
pub(crate) use sink::{BufferedSink, Sink};

use fields::IgnoredFields;
use pairs::Pairs;

/// Returns whether a body of this type is JSON: `application/json`, or any type with the suffix `+json`
/// (RFC 6839 §3.1), such as `application/problem+json`.
pub fn is_json(content_type: &str) -> bool {
    MediaType::parse(Some(content_type)).is_json()
}

/// Returns whether the canonical form of every body of this type, without a `Content-Encoding`, is the body as it is.
pub(crate) fn is_raw(content_type: Option<&str>) -> bool {
    let media_type = MediaType::parse(content_type);
    !media_type.is_json() && !media_type.is_multipart() && !media_type.is_pairs()
}

/// A body, parsed by the rules of its media type.
pub(crate) enum CanonicalBody<'a> {
    Raw(&'a [u8]),
    /// A form of pairs. Its fingerprint of version 1 is of its bytes, and that of version 2 of its [`pairs`].
    Pairs(&'a [u8]),
    Json(json::Document<'a>),
    /// The flag says whether the body is an HTML form, in which some fields are ignored.
    Multipart(multipart::MultipartBody<'a>, bool),
    /// A gzip stream, first without its header and then with it.
    Gzip(&'a [u8], &'a [u8]),
}

impl<'a> CanonicalBody<'a> {
    /// Parses a body. A body that breaks the rules of its media type becomes [`Raw`](Self::Raw).
    pub(crate) fn read(media_type: &MediaType<'a>, coding: Option<&str>, body: &'a [u8]) -> Self {
        let is_gzip = |coding: &str| {
            let coding = coding.trim();
            coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip")
        };
        let coded = coding.filter(|coding| is_gzip(coding));
        let read = if let Some(data) = coded.and_then(|_| gzip::without_header(body)) {
            Some(Self::Gzip(data, body))
        } else if media_type.is_json() {
            json::Document::parse(body).map(CanonicalBody::Json)
        } else if media_type.is_multipart() {
            let is_form = media_type.essence() == "multipart/form-data";
            let multipart = multipart::MultipartBody::parse(media_type, body);
            multipart.map(|multipart| CanonicalBody::Multipart(multipart, is_form))
        } else if media_type.is_pairs() && fields::are_pairs(body) {
            Some(Self::Pairs(body))
        } else {
            None
        };
        read.unwrap_or(CanonicalBody::Raw(body))
    }

    /// Writes the tag and the form without a length, so nothing may be written after it. Returns whether
    /// anything was ignored: fields of an HTML form, or the header of a gzip stream.
    pub(crate) fn write(&self, ignore: &[JsonPointer], sink: &mut impl Sink) -> bool {
        match self {
            CanonicalBody::Raw(bytes) => {
                sink.put(b"\x00");
                sink.put(bytes);
                false
            }
            CanonicalBody::Pairs(bytes) => {
                sink.put(b"\x00");
                fields::write_pairs(bytes, IgnoredFields::new(ignore), sink)
            }
            CanonicalBody::Json(document) => {
                sink.put(b"\x01");
                document.write(ignore, sink);
                false
            }
            CanonicalBody::Multipart(multipart, is_form) => {
                sink.put(b"\x02");
                let ignored = IgnoredFields::new(ignore);
                multipart.write(|part| *is_form && ignored.has_part(part), sink)
            }
            CanonicalBody::Gzip(data, _) => {
                sink.put(b"\x03");
                sink.put(data);
                true
            }
        }
    }

    /// Returns the pairs of a form that is compared by value.
    pub(crate) fn pairs(&self, ignore: &[JsonPointer]) -> Option<Pairs> {
        match self {
            CanonicalBody::Pairs(bytes) => Pairs::read(bytes, IgnoredFields::new(ignore)),
            _ => None,
        }
    }

    /// Writes the tag and the form, including everything that [`write`](Self::write) ignores.
    pub(crate) fn write_whole(&self, sink: &mut impl Sink) {
        match self {
            CanonicalBody::Pairs(bytes) | CanonicalBody::Gzip(_, bytes) => {
                CanonicalBody::Raw(bytes).write(&[], sink);
            }
            CanonicalBody::Multipart(multipart, _) => {
                sink.put(b"\x02");
                multipart.write(|_| false, sink);
            }
            CanonicalBody::Raw(_) | CanonicalBody::Json(_) => {
                self.write(&[], sink);
            }
        }
    }
}
