//! What "the same body" means.
//!
//! A retry may spell its body differently and still be the same request: members in another order,
//! `1.0` for `1`, a fresh multipart boundary. So a body is not compared as it stands but in a
//! canonical form, of which there are four:
//!
//! | media type | form | what does not matter |
//! |---|---|---|
//! | JSON: `application/json`, `*/*+json` | [`json`] | order of members, white space, spelling |
//! | `multipart/*` | [`multipart`] | the boundary, order and case of a part's header names |
//! | any, in the coding `gzip` | compressed bytes | the header of the gzip stream: time, name, system |
//! | anything else | raw bytes | nothing |
//!
//! Of forms, `multipart/form-data` and `application/x-www-form-urlencoded`, some [`fields`] do not
//! count.
//!
//! A body that does not keep to the rules of its media type is compared by its raw bytes. That is
//! never wrong, only stricter. The pairs of `application/x-www-form-urlencoded` are compared by their
//! raw bytes too: browsers serialise them in one way, and the order of fields means something to
//! many servers.
//!
//! A tag byte leads each form, so that a body of one form is never equal to a body of another.

pub mod fields;
pub mod json;
pub mod multipart;

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

pub(crate) use lookalike::folded_letters;
pub(crate) use media_type::{MediaType, is_token};
pub(crate) use sink::{Hashing, Sink};

use fields::LeftOut;

/// Returns whether a body of this type is JSON: `application/json`, or any type with the suffix `+json`
/// (RFC 6839 §3.1), such as `application/problem+json`.
pub fn is_json(content_type: &str) -> bool {
    MediaType::parse(Some(content_type)).is_json()
}

/// A body, read by the rules of its media type.
pub(crate) enum Body<'a> {
    Raw(&'a [u8]),
    Pairs(&'a [u8]),
    Json(json::Document<'a>),
    /// The flag: whether it is a form, which some fields do not count in.
    Multipart(multipart::Message<'a>, bool),
    /// A gzip stream without its header, and with it.
    Gzip(&'a [u8], &'a [u8]),
}

impl<'a> Body<'a> {
    pub(crate) fn read(media_type: &MediaType<'a>, coding: Option<&str>, body: &'a [u8]) -> Self {
        let is_gzip = |coding: &str| {
            let coding = coding.trim();
            coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip")
        };
        let coded = coding.filter(|coding| is_gzip(coding));
        let read = if let Some(data) = coded.and_then(|_| gzip::without_header(body)) {
            Some(Body::Gzip(data, body))
        } else if media_type.is_json() {
            json::Document::parse(body).map(Body::Json)
        } else if media_type.is_multipart() {
            let is_form = media_type.essence() == "multipart/form-data";
            let message = multipart::Message::parse(media_type, body);
            message.map(|message| Body::Multipart(message, is_form))
        } else if media_type.is_pairs() && fields::are_pairs(body) {
            Some(Body::Pairs(body))
        } else {
            None
        };
        read.unwrap_or(Body::Raw(body))
    }

    /// Writes tag and form. The form has no length before it: nothing may follow it. Returns whether
    /// anything was left out: fields of a form, or the header of a gzip stream.
    pub(crate) fn write(&self, ignore: &[JsonPointer], sink: &mut impl Sink) -> bool {
        match self {
            Body::Raw(bytes) => {
                sink.put(b"\x00");
                sink.put(bytes);
                false
            }
            Body::Pairs(bytes) => {
                sink.put(b"\x00");
                fields::write_pairs(bytes, LeftOut::new(ignore), sink)
            }
            Body::Json(document) => {
                sink.put(b"\x01");
                document.write(ignore, sink);
                false
            }
            Body::Multipart(message, is_form) => {
                sink.put(b"\x02");
                let left_out = LeftOut::new(ignore);
                message.write(|part| *is_form && left_out.has_part(part), sink)
            }
            Body::Gzip(data, _) => {
                sink.put(b"\x03");
                sink.put(data);
                true
            }
        }
    }

    /// Writes tag and form with all that [`write`](Self::write) leaves out.
    pub(crate) fn write_whole(&self, sink: &mut impl Sink) {
        match self {
            Body::Pairs(bytes) | Body::Gzip(_, bytes) => {
                Body::Raw(bytes).write(&[], sink);
            }
            Body::Multipart(message, _) => {
                sink.put(b"\x02");
                message.write(|_| false, sink);
            }
            Body::Raw(_) | Body::Json(_) => {
                self.write(&[], sink);
            }
        }
    }
}
