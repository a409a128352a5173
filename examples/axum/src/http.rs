//! Requests and responses of axum, as the core reads and returns them.

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, StatusCode, request::Parts};
use axum::response::{IntoResponse, Response};
use oncekey::fingerprint::RequestParts;
use oncekey::{Decision, Dialect, HeaderList, Rejection, RequestKind, UnixMillis};
use std::time::SystemTime;

/// What the caller gets.
pub(crate) type Reply = Result<Response, Rejection>;

/// A response that was read completely.
pub(crate) type Whole = (u16, Vec<(String, String)>, Vec<u8>);

pub(crate) fn now() -> UnixMillis {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    UnixMillis::new(now.as_millis() as u64)
}

pub(crate) fn list(headers: &HeaderMap) -> HeaderList {
    headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect()
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// Returns what a request is compared by.
pub(crate) fn compared<'a>(
    parts: &'a Parts,
    headers: &'a HeaderList,
    body: &'a [u8],
) -> RequestParts<'a> {
    RequestParts {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        query: parts.uri.query(),
        content_type: headers.get("content-type"),
        content_encoding: headers.get("content-encoding"),
        body,
        ignore: &[],
    }
}

/// Reads a response. Returns `None` if its body breaks off.
pub(crate) async fn whole(response: Response) -> Option<Whole> {
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.ok()?;
    let headers = list(&parts.headers);
    let headers = headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    Some((parts.status.as_u16(), headers.collect(), body.into()))
}

pub(crate) fn response(status: u16, headers: Vec<(String, String)>, body: Vec<u8>) -> Response {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(name, value);
    }
    let invalid = |_| StatusCode::INTERNAL_SERVER_ERROR.into_response();
    response.body(Body::from(body)).unwrap_or_else(invalid)
}

/// Returns what a caller gets whose request is not executed: the stored response, or an error.
pub(crate) fn current(decision: Decision) -> Reply {
    let Decision::Replay(stored) = decision else {
        return Err(decision.rejection().unwrap_or(Rejection::Internal));
    };
    let (status, mut headers) = (stored.status, Vec::new());
    headers.extend(stored.headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
    headers.push(("idempotent-replayed".to_owned(), "true".to_owned()));
    Ok(response(status, headers, stored.into_body().unwrap_or_default()))
}

pub(crate) fn error(why: &Rejection, request_id: &str) -> Response {
    let error = why.to_response(Dialect::Ietf, None, request_id, RequestKind::KeyedWrite);
    let mut headers = vec![("content-type".to_owned(), error.content_type.to_owned())];
    headers.extend(error.retry_after.map(|s| ("retry-after".to_owned(), s.to_string())));
    response(error.status, headers, error.body.into())
}
