//! A request as it came in: its head taken apart, its body not yet read.

use crate::budget::Reservation;
use futures_util::StreamExt;
use oncekey::{Rejection, ScopeSource};
use worker::{ByteStream, Request};

/// A request whose body was not read.
pub(crate) struct Incoming {
    pub(crate) method: String,
    /// As it stands in the request target.
    pub(crate) path: String,
    /// Without the question mark; `None` where there is none.
    pub(crate) query: Option<String>,
    /// Names in lower case. The platform has joined repeated headers with a comma and a space.
    pub(crate) headers: Vec<(String, String)>,
    request: Request,
}

impl Incoming {
    pub(crate) fn new(request: Request) -> Self {
        let raw = request.inner();
        let (path, query) = split_target(&raw.url());
        Self {
            method: raw.method(),
            path,
            query,
            headers: request.headers().entries().collect(),
            request,
        }
    }

    /// Whether a key makes this request safe to repeat. Reads are safe without.
    pub(crate) fn is_write(&self) -> bool {
        matches!(self.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// What the request carries of a scope source.
    pub(crate) fn scope_value(&self, source: &ScopeSource) -> Option<String> {
        match source {
            ScopeSource::Header(name) => self.header(name).map(str::to_owned),
            ScopeSource::Cookie(name) => self
                .header("cookie")?
                .split(';')
                .filter_map(|pair| pair.trim().split_once('='))
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.to_owned()),
        }
    }

    /// Reads the body to its end, `limit` bytes at most, and holds its bytes in `reservation`.
    pub(crate) async fn read_body(
        &self,
        limit: u64,
        reservation: &Reservation,
    ) -> Result<Vec<u8>, Rejection> {
        let announced = self.header("content-length").and_then(|length| length.parse().ok());
        if announced.is_some_and(|length: u64| length > limit) {
            return Err(Rejection::BodyTooLarge(limit));
        }
        let Some(stream) = self.request.inner().body() else {
            return Ok(Vec::new());
        };
        // Grown as it comes: a length that is only announced must not cost memory.
        let mut body = Vec::new();
        let mut chunks = ByteStream::from(stream);
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| Rejection::BodyUnreadable)?;
            if (body.len() + chunk.len()) as u64 > limit {
                return Err(Rejection::BodyTooLarge(limit));
            }
            if !reservation.grow(chunk.len() as u64) {
                return Err(Rejection::Overloaded);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The body as the stream that it came as, to be passed on.
    pub(crate) fn body_stream(&self) -> Option<worker::web_sys::ReadableStream> {
        self.request.inner().body()
    }
}

/// Path and query of an absolute URL, character for character: to parse and write them again could
/// change what the caller signed.
fn split_target(url: &str) -> (String, Option<String>) {
    let after_scheme = url.find("://").map_or(0, |at| at + 3);
    let target = url[after_scheme..].find(['/', '?']).map_or("", |at| &url[after_scheme + at..]);
    match target.split_once('?') {
        None => (target.to_owned(), None),
        Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
    }
}
