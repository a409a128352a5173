//! The answer of a key, as it is stored and replayed.

use crate::canonical::MediaType;
use crate::canonical::json::Document;
use crate::header_list::HeaderList;
use core::fmt;
use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

/// An origin's answer, ready to be stored: without what must never be replayed, and within the
/// store's limit.
#[derive(Clone, PartialEq, Eq, Hash, Encode, Decode)]
pub struct StoredResponse {
    /// The HTTP status.
    #[n(0)]
    pub status: u16,
    /// In the origin's order.
    #[n(1)]
    pub headers: HeaderList,
    /// The body, or `None` when it was not kept and the answer cannot be replayed.
    #[n(2)]
    body: Option<ByteVec>,
    /// The `X-Request-Id` that the first caller saw.
    #[n(3)]
    pub request_id: String,
    /// The id of what was made, where the answer says one and somebody will ask for it.
    #[n(4)]
    resource: Option<String>,
}

/// What an answer was too large for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kept {
    /// All of it is kept.
    Whole,
    /// Status and headers are kept.
    WithoutBody,
    /// Only the status is kept.
    StatusOnly,
}

impl StoredResponse {
    /// Takes an answer whose body was read whole. A `Content-Encoding` among the headers is one that
    /// the body still has: whoever decoded it takes the header out.
    ///
    /// `limit` is in bytes, for headers and body together. What does not fit is left out: first the
    /// body, then the headers. The answer is then known to exist and never executed again, but it
    /// cannot be replayed.
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

    /// Takes an answer whose body is not kept, because it is too large or has no end.
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

    /// The same answer without its body and headers: the last resort of a store that is full.
    pub fn into_status_only(self) -> Self {
        Self { headers: HeaderList::default(), body: None, ..self }
    }

    /// The body, or `None` when it was not kept.
    pub fn body(&self) -> Option<&[u8]> {
        self.body.as_ref().map(|body| body.as_slice())
    }

    /// The body as an own buffer.
    pub fn into_body(self) -> Option<Vec<u8>> {
        self.body.map(Vec::from)
    }

    /// The id of what was made, where it was [noted](Self::note_resource).
    pub fn resource(&self) -> Option<&str> {
        self.resource.as_deref()
    }

    /// Notes the id of what was made, which stays when the body goes: of a success in JSON the
    /// member `/data/id`, else `/id`; else the last segment of `Location`.
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
        // Of `https://host/orders/7` the path, of `https://host` nothing.
        let path = match path.find("://") {
            None => path,
            Some(scheme) => path[scheme + 3..].split_once('/')?.1,
        };
        let path = path.trim_end_matches('/');
        let last = &path[path.rfind('/').map_or(0, |slash| slash + 1)..];
        is_id(last).then(|| last.to_owned())
    }

    /// Whether a header's bytes may not be what came: the platform has put U+FFFD where they are no
    /// UTF-8. A store that can keep them as they came does so beside the record.
    pub fn has_odd_headers(&self) -> bool {
        self.headers.iter().any(|(_, value)| is_odd(value))
    }

    /// Whether there is anything but the status.
    pub(crate) fn has_content(&self) -> bool {
        self.body.is_some() || !self.headers.is_empty()
    }

    /// Whether it proves that the operation was executed.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether both are the answer of one attempt, of which a store may have kept less.
    pub(crate) fn is_same_answer(&self, other: &Self) -> bool {
        self.status == other.status && self.request_id == other.request_id
    }

    fn head_size(&self) -> usize {
        // Four bytes a string cover its CBOR head at these lengths.
        let size = |(name, value): (&str, &str)| name.len() + value.len() + 8;
        self.headers.iter().map(size).sum::<usize>() + self.request_id.len() + 16
    }
}

/// Headers of an origin that this project says itself, computed for each answer: they are neither
/// stored nor passed on.
pub fn is_own_header(name: &str) -> bool {
    name.starts_with("idempotent-") || name.starts_with("idempotency-")
}

/// Whether a header (in lower case) tells the digest of a body's bytes. Once a coding was taken off the
/// body, the digest is that of other bytes. (An `ETag` names a state of the resource to the origin, and
/// nobody compares it with bytes.)
pub fn is_digest(name: &str) -> bool {
    matches!(name, "content-digest" | "repr-digest" | "digest" | "content-md5")
}

/// Whether a header's value, as text, may have lost bytes that are no UTF-8.
pub fn is_odd(value: &str) -> bool {
    value.contains(char::REPLACEMENT_CHARACTER)
}

/// Whether a text is fit for the id of a request: 1 to 128 visible ASCII characters, which a header
/// can carry, and a journal or a log can show.
pub fn is_request_id(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether a text can be shown as the id of a resource: 1 to 255 visible characters.
fn is_id(text: &str) -> bool {
    let is_visible = |character: char| !character.is_control() && !character.is_whitespace();
    (1..=255).contains(&text.chars().count()) && text.chars().all(is_visible)
}

/// Whether a header (in lower case) may be stored and replayed.
fn is_kept(name: &str) -> bool {
    let not_kept = matches!(
        name,
        // A session of the first caller.
        "set-cookie" | "set-cookie2"
        // The length is the kept body's own.
        | "content-length"
        // Kept apart, because ours stands in where the origin has none.
        | "x-request-id"
        // Of the first exchange, or of what it passed through.
        | "server-timing" | "age" | "alt-svc" | "authentication-info" | "proxy-authentication-info"
        // An order to the first caller's browser: it must not log out the next one.
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
    fn values_of_a_name_keep_their_order_and_spelling() {
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
    fn what_belongs_to_one_exchange_is_never_stored() {
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
    fn what_does_not_fit_goes_body_first() {
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
    fn every_byte_of_an_answer_counts() {
        // 8 for each header, 16 for the rest, and all texts.
        let head = "etag".len() + "123".len() + 8 + "a".len() + "12".len() + 8 + "req_1".len() + 16;
        let headers = || pairs(&[("ETag", "123"), ("a", "12")]);
        let keep = |limit| StoredResponse::keep(200, headers(), vec![0], "req_1", limit).1;
        assert_eq!(keep(head + 1), Kept::Whole);
        assert_eq!(keep(head), Kept::WithoutBody);
        assert_eq!(keep(head - 1), Kept::StatusOnly);
    }

    #[test]
    fn a_body_comes_out_as_it_went_in() {
        let (kept, _) = StoredResponse::keep(200, [], b"bytes".to_vec(), "", 1000);
        assert_eq!(kept.into_body(), Some(b"bytes".to_vec()));
        assert_eq!(StoredResponse::without_body(200, [], "").into_body(), None);
    }

    #[test]
    fn headers_or_body_are_content() {
        let headers = pairs(&[("a", "b")]);
        let (whole, _) = StoredResponse::keep(200, headers.clone(), vec![0], "", 1000);
        let (body_alone, _) = StoredResponse::keep(200, [], Vec::new(), "", 1000);
        assert!(whole.has_content() && body_alone.has_content());
        assert!(StoredResponse::without_body(200, headers, "").has_content());
        assert!(!whole.into_status_only().has_content());
    }

    #[test]
    fn an_answer_is_told_by_status_and_request_id() {
        let of = |status, request_id| StoredResponse::without_body(status, [], request_id);
        assert!(of(201, "a").is_same_answer(&of(201, "a")));
        assert!(!of(201, "a").is_same_answer(&of(201, "b")));
        assert!(!of(201, "a").is_same_answer(&of(200, "a")));
    }

    #[test]
    fn digests_are_of_the_bytes_and_an_entity_tag_is_not() {
        for name in ["content-digest", "repr-digest", "digest", "content-md5"] {
            assert!(is_digest(name), "{name}");
        }
        assert!(!is_digest("etag") && !is_digest("want-content-digest"));
    }

    #[test]
    fn what_a_header_and_a_log_can_show_is_a_request_id() {
        for id in ["r", "req_1-~!", &"x".repeat(128)] {
            assert!(is_request_id(id), "{id}");
        }
        for other in ["", "a b", "a\n", "é", "a\u{7f}", &"x".repeat(129)] {
            assert!(!is_request_id(other), "{other:?}");
        }
    }

    #[test]
    fn an_empty_body_is_kept_as_empty() {
        let (kept, how) = StoredResponse::keep(204, [], Vec::new(), "", 1000);
        assert_eq!((kept.body(), how), (Some(&b""[..]), Kept::Whole));
    }
}
