//! What "the same body" means.
//!
//! A retry may spell its body differently and still be the same request: members in another order,
//! `1.0` for `1`, a fresh multipart boundary. So a body is not compared as it stands but in a
//! canonical form, of which there are three:
//!
//! | media type | form | what does not matter |
//! |---|---|---|
//! | JSON: `application/json`, `*/*+json` | [`json`] | order of members, white space, spelling |
//! | `multipart/*` | [`multipart`] | the boundary, order and case of a part's header names |
//! | anything else | raw bytes | nothing |
//!
//! A body that does not keep to the rules of its media type is compared by its raw bytes. That is
//! never wrong, only stricter. Forms (`application/x-www-form-urlencoded`) are compared by their
//! raw bytes too: browsers serialise them in one way, and the order of fields means something to
//! many servers.
//!
//! A tag byte leads each form, so that a body of one form is never equal to a body of another.

pub mod json;
pub mod multipart;

mod media_type;
mod number;
mod pointer;
mod sink;
mod text;
pub(crate) mod work;

pub use pointer::{JsonPointer, PointerError};

pub(crate) use media_type::{MediaType, is_token};
pub(crate) use sink::{Hashing, Sink};

/// A body, read by the rules of its media type.
pub(crate) enum Body<'a> {
    Raw(&'a [u8]),
    Json(json::Document<'a>),
    Multipart(multipart::Message<'a>),
}

impl<'a> Body<'a> {
    pub(crate) fn read(media_type: &MediaType<'a>, body: &'a [u8]) -> Self {
        let read = if media_type.is_json() {
            json::Document::parse(body).map(Body::Json)
        } else if media_type.is_multipart() {
            multipart::Message::parse(media_type, body).map(Body::Multipart)
        } else {
            None
        };
        read.unwrap_or(Body::Raw(body))
    }

    /// Writes tag and form. The form has no length before it: nothing may follow it.
    pub(crate) fn write(&self, ignore: &[JsonPointer], sink: &mut impl Sink) {
        match self {
            Body::Raw(bytes) => {
                sink.put(b"\x00");
                sink.put(bytes);
            }
            Body::Json(document) => {
                sink.put(b"\x01");
                document.write(ignore, sink);
            }
            Body::Multipart(message) => {
                sink.put(b"\x02");
                message.write(sink);
            }
        }
    }
}
