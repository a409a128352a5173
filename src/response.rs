//! The response of a key, as it is stored and replayed.

use crate::canonical::json::Document;
use crate::canonical::{MediaType, is_token};
use crate::codec::cbor::record_fields;
use crate::header_list::HeaderList;
use crate::message_fields;
use core::fmt;
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

/// An origin's response, ready to be stored: without headers that must never be replayed, and within
/// the store's limit.
#[derive(Clone, PartialEq, Eq, Hash, Encode, Decode)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StoredResponse {
    /// The HTTP status.
    #[n(0)]
    pub status: u16,
    /// The headers, in the origin's order.
    #[n(1)]
    pub headers: HeaderList,
    /// The body; `None` if it was not kept, so that the response cannot be replayed.
    #[n(2)]
    #[cfg_attr(feature = "serde", serde(with = "crate::codec::serde_body"))]
    body: Option<ByteVec>,
    /// The `X-Request-Id` that the first caller got.
    #[n(3)]
    pub request_id: String,
    /// The id of the resource that was created, where the response names it and a caller may need it.
    #[n(4)]
    resource: Option<String>,
}

message_fields!(StoredResponse { status, headers, body, request_id, resource });
record_fields!(StoredResponse { status, headers, body, request_id, resource });

/// How much of a response is kept. The rest was too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kept {
    /// The whole response is kept.
    Whole,
    /// Status and headers are kept.
    WithoutBody,
    /// Only the status is kept.
    StatusOnly,
}

impl StoredResponse {
    /// Prepares a response whose body was read completely. A caller that has decoded the body must
    /// remove the header `Content-Encoding`.
    ///
    /// `limit` is in bytes, for headers and body together. If the response is larger, the body is left
    /// out, then the headers. The request is still never executed again, but its response cannot be
    /// replayed.
    ///
    /// ```
    /// # use oncekey::StoredResponse;
    /// let headers = [("set-cookie", "sid=1"), ("content-type", "text/plain")];
    /// let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    /// let (response, _) = StoredResponse::keep(201, headers.clone(), b"hello".to_vec(), "req_1", 1000);
    /// assert_eq!(response.body(), Some(&b"hello"[..]));
    /// assert_eq!(response.headers.get("content-type"), Some("text/plain"));
    /// assert_eq!(response.headers.get("set-cookie"), None); // belongs to the first caller
    ///
    /// // The body does not fit into the limit.
    /// let (response, _) = StoredResponse::keep(201, headers, vec![0; 5000], "req_1", 1000);
    /// assert_eq!((response.status, response.body()), (201, None));
    /// ```
    pub fn keep(
        status: u16,
        headers: impl IntoIterator<Item = (String, String)>,
        body: Vec<u8>,
        request_id: &str,
        limit: usize,
    ) -> (Self, Kept) {
        let mut response = Self::without_body(status, headers, request_id);
        let head = response.head_size();
        if head > limit {
            response.headers = HeaderList::default();
            return (response, Kept::StatusOnly);
        }
        if head + body.len() > limit {
            return (response, Kept::WithoutBody);
        }
        response.body = Some(body.into());
        (response, Kept::Whole)
    }

    /// Prepares a response whose body is not kept, because the body is too large or never ends.
    pub fn without_body(
        status: u16,
        headers: impl IntoIterator<Item = (String, String)>,
        request_id: &str,
    ) -> Self {
        let mut headers: HeaderList = headers.into_iter().collect();
        headers.drop_connection_headers();
        headers.retain(|name, _| is_kept(name));
        Self { status, headers, body: None, request_id: request_id.to_owned(), resource: None }
    }

    /// Removes the body and the headers, for a store that is full.
    pub fn into_status_only(self) -> Self {
        Self { headers: HeaderList::default(), body: None, ..self }
    }

    /// Returns the body; `None` if it was not kept.
    pub fn body(&self) -> Option<&[u8]> {
        self.body.as_ref().map(|body| body.as_slice())
    }

    /// Returns the body as an owned buffer; `None` if it was not kept.
    pub fn into_body(self) -> Option<Vec<u8>> {
        self.body.map(Vec::from)
    }

    /// Returns the id of the resource that was created, if it was [noted](Self::note_resource).
    pub fn resource(&self) -> Option<&str> {
        self.resource.as_deref()
    }

    /// Notes the id of the resource that was created, so that the id stays when the body is removed.
    /// It is the member `/data/id` or else `/id` of a success in JSON, or else the last segment of
    /// `Location`.
    pub fn note_resource(&mut self) {
        if self.is_success() && self.resource.is_none() {
            self.resource = self.id_in_body().or_else(|| self.id_in_location());
        }
    }

    fn id_in_body(&self) -> Option<String> {
        let is_coded =
            self.headers.get("content-encoding").is_some_and(|coding| !coding.is_empty());
        if is_coded || !MediaType::parse(self.headers.get("content-type")).is_json() {
            return None;
        }
        let document = Document::parse(self.body()?)?;
        let id = |steps: &[&str]| document.find(steps)?.scalar().filter(|id| is_id(id));
        id(&["data", "id"]).or_else(|| id(&["id"]))
    }

    fn id_in_location(&self) -> Option<String> {
        let target = self.headers.get("location")?;
        let path = &target[..target.find(['?', '#']).unwrap_or(target.len())];
        // The path of `https://host/orders/7` is `orders/7`; `https://host` has none.
        let path = match path.find("://") {
            None => path,
            Some(scheme) => path[scheme + 3..].split_once('/')?.1,
        };
        let path = path.trim_end_matches('/');
        let last = &path[path.rfind('/').map_or(0, |slash| slash + 1)..];
        is_id(last).then(|| last.to_owned())
    }

    /// Returns whether the value of a header may differ from the bytes that the origin sent: the
    /// platform writes U+FFFD for bytes that are not UTF-8. A store that can keep the original bytes
    /// keeps them beside the record.
    pub fn has_odd_headers(&self) -> bool {
        self.headers.iter().any(|(_, value)| is_odd(value))
    }

    /// Returns whether there is more than the status.
    pub(crate) fn has_content(&self) -> bool {
        self.body.is_some() || !self.headers.is_empty()
    }

    /// Returns whether the status is 2xx, which proves that the request was executed.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns whether both are the response of one attempt. A store may have kept less of one.
    pub(crate) fn is_same_response(&self, other: &Self) -> bool {
        self.status == other.status && self.request_id == other.request_id
    }

    fn head_size(&self) -> usize {
        // The CBOR head of a string takes at most 4 bytes at these lengths.
        let size = |(name, value): (&str, &str)| name.len() + value.len() + 8;
        self.headers.iter().map(size).sum::<usize>() + self.request_id.len() + 16
    }
}

/// Returns whether the gateway itself computes this header for each response. An origin's header of
/// that name is neither stored nor passed on.
pub fn is_own_header(name: &str) -> bool {
    name.starts_with("idempotent-") || name.starts_with("idempotency-")
}

/// Reads the name of a header that an operator excludes from storage and replays, and puts it into lower
/// case. The headers without which the body cannot be read are refused.
pub fn parse_not_replayed(name: &str) -> Result<String, NotReplayedError> {
    let name = name.to_ascii_lowercase();
    let is_needed = matches!(&name[..], "content-type" | "content-encoding");
    if is_token(&name) && !is_needed { Ok(name) } else { Err(NotReplayedError) }
}

/// A text is not the name of a header that a replay may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NotReplayedError;

impl fmt::Display for NotReplayedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "must be a list of header names, such as X-Trace-Id, but not Content-Type or Content-Encoding",
        )
    }
}

impl core::error::Error for NotReplayedError {}

/// Returns whether a header (in lower case) is a digest of the body's bytes (RFC 9530). The digest is
/// wrong once the body was decoded. An `ETag` names a version of the resource, not bytes.
pub fn is_digest(name: &str) -> bool {
    matches!(name, "content-digest" | "repr-digest" | "digest" | "content-md5")
}

/// Returns whether a header's value may have lost bytes that are not UTF-8.
pub fn is_odd(value: &str) -> bool {
    value.contains(char::REPLACEMENT_CHARACTER)
}

/// Returns whether a text is a valid request id: 1 to 128 visible ASCII characters, which are safe in
/// a header, a journal and a log.
pub fn is_request_id(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns whether a text is a valid id of a resource: 1 to 255 characters, none of them a control
/// character or white space.
fn is_id(text: &str) -> bool {
    let is_visible = |character: char| !character.is_control() && !character.is_whitespace();
    (1..=255).contains(&text.chars().count()) && text.chars().all(is_visible)
}

/// Returns whether a header (in lower case) may be stored and replayed.
fn is_kept(name: &str) -> bool {
    let not_kept = matches!(
        name,
        // These start a session of the first caller.
        "set-cookie" | "set-cookie2"
        // The length follows from the stored body.
        | "content-length"
        // The request id is a field of its own. The gateway makes one if the origin sent none.
        | "x-request-id"
        // These describe the first delivery, or the proxies that it passed.
        | "server-timing" | "age" | "alt-svc" | "authentication-info" | "proxy-authentication-info"
        // This is for the first caller's browser. It must not log another caller out.
        | "clear-site-data"
    );
    !not_kept
        && !is_own_header(name)
        && !name.starts_with("access-control-")
        && !name.starts_with("cf-")
}

impl fmt::Debug for StoredResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = self.body.as_ref().map(|body| body.len());
        write!(f, "StoredResponse({}, {} headers, {body:?} bytes)", self.status, self.headers.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(headers: &[(&str, &str)]) -> Vec<(String, String)> {
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn repeated_headers_keep_their_order_and_values() {
        let headers = pairs(&[("Link", "<a>; rel=next"), ("ETag", "\"x\""), ("Link", "<b>, <c>")]);
        let (kept, how) = StoredResponse::keep(201, headers, b"ok".to_vec(), "req_1", 1000);
        assert_eq!(how, Kept::Whole);
        assert_eq!(
            kept.headers,
            pairs(&[("link", "<a>; rel=next"), ("etag", "\"x\""), ("link", "<b>, <c>")])
                .into_iter()
                .collect()
        );
        assert_eq!(kept.body(), Some(&b"ok"[..]));
    }

    #[test]
    fn headers_of_a_single_delivery_are_not_stored() {
        let headers = pairs(&[
            ("Set-Cookie", "sid=1"),
            ("Connection", "close, X-Hop"),
            ("X-Hop", "1"),
            ("Transfer-Encoding", "chunked"),
            ("Clear-Site-Data", "\"cookies\""),
            ("CF-Ray", "1"),
            ("Content-Length", "20"),
            ("Access-Control-Allow-Origin", "*"),
            ("Idempotent-Replayed", "true"),
            ("Idempotency-State", "completed"),
            ("X-Request-Id", "req_origin"),
            ("Content-Type", "text/plain"),
        ]);
        let (kept, _) = StoredResponse::keep(200, headers, Vec::new(), "req_origin", 1000);
        assert_eq!(kept.headers, pairs(&[("content-type", "text/plain")]).into_iter().collect());
        assert_eq!(kept.request_id, "req_origin");
    }

    #[test]
    fn a_response_that_is_too_large_loses_its_body_first_and_then_its_headers() {
        let headers = || pairs(&[("a", &"x".repeat(100))]);
        let keep = |limit| StoredResponse::keep(200, headers(), vec![0; 100], "", limit);
        let head = StoredResponse::without_body(200, headers(), "").head_size();
        assert_eq!(keep(head + 100).1, Kept::Whole);
        assert_eq!(keep(head + 99).1, Kept::WithoutBody);
        assert_eq!(keep(head).1, Kept::WithoutBody);
        assert_eq!(keep(head - 1).1, Kept::StatusOnly);
        assert_eq!((keep(0).0.headers.len(), keep(0).0.body()), (0, None));
    }

    #[test]
    fn every_byte_of_a_response_counts_for_its_size() {
        // 8 for each header, 16 for the rest, and all texts.
        let head = "etag".len() + "123".len() + 8 + "a".len() + "12".len() + 8 + "req_1".len() + 16;
        let headers = || pairs(&[("ETag", "123"), ("a", "12")]);
        let keep = |limit| StoredResponse::keep(200, headers(), vec![0], "req_1", limit).1;
        assert_eq!(keep(head + 1), Kept::Whole);
        assert_eq!(keep(head), Kept::WithoutBody);
        assert_eq!(keep(head - 1), Kept::StatusOnly);
    }

    #[test]
    fn a_body_is_returned_unchanged() {
        let (kept, _) = StoredResponse::keep(200, [], b"bytes".to_vec(), "", 1000);
        assert_eq!(kept.into_body(), Some(b"bytes".to_vec()));
        assert_eq!(StoredResponse::without_body(200, [], "").into_body(), None);
    }

    #[test]
    fn a_response_with_headers_or_a_body_has_content() {
        let headers = pairs(&[("a", "b")]);
        let (whole, _) = StoredResponse::keep(200, headers.clone(), vec![0], "", 1000);
        let (body_alone, _) = StoredResponse::keep(200, [], Vec::new(), "", 1000);
        assert!(whole.has_content() && body_alone.has_content());
        assert!(StoredResponse::without_body(200, headers, "").has_content());
        assert!(!whole.into_status_only().has_content());
    }

    #[test]
    fn responses_with_equal_status_and_request_id_are_the_same() {
        let of = |status, request_id| StoredResponse::without_body(status, [], request_id);
        assert!(of(201, "a").is_same_response(&of(201, "a")));
        assert!(!of(201, "a").is_same_response(&of(201, "b")));
        assert!(!of(201, "a").is_same_response(&of(200, "a")));
    }

    #[test]
    fn digest_headers_are_recognized_and_an_etag_is_none() {
        for name in ["content-digest", "repr-digest", "digest", "content-md5"] {
            assert!(is_digest(name), "{name}");
        }
        assert!(!is_digest("etag") && !is_digest("want-content-digest"));
    }

    #[test]
    fn a_request_id_has_1_to_128_visible_ascii_characters() {
        for id in ["r", "req_1-~!", &"x".repeat(128)] {
            assert!(is_request_id(id), "{id}");
        }
        for other in ["", "a b", "a\n", "é", "a\u{7f}", &"x".repeat(129)] {
            assert!(!is_request_id(other), "{other:?}");
        }
    }

    #[test]
    fn a_header_that_is_not_replayed_has_a_name_and_is_not_needed() {
        assert_eq!(parse_not_replayed("X-Trace-Id"), Ok("x-trace-id".to_owned()));
        for text in ["", "a b", "Content-Type", "content-encoding", "é"] {
            assert_eq!(parse_not_replayed(text), Err(NotReplayedError), "{text}");
        }
    }

    #[test]
    fn an_empty_body_is_kept_as_empty() {
        let (kept, how) = StoredResponse::keep(204, [], Vec::new(), "", 1000);
        assert_eq!((kept.body(), how), (Some(&b""[..]), Kept::Whole));
    }
}
