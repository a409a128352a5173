//! The caller's request, with its head parsed and its body unread.

use crate::config::Config;
use crate::http::body_budget::Reservation;
use crate::http::bridge::{Bridge, Source};
use crate::http::headers;
use oncekey::budget::TINY;
use oncekey::request::form_key::{SplitForm, has_fields, take_key};
use oncekey::request::path::normalize;
use oncekey::{HeaderList, Millis, Rejection, UnixMillis};
use platform::clock;
use platform::operation::{DONE, LATE};
use std::rc::Rc;

/// How long the next piece of a body may take.
const NEXT_CHUNK: Millis = Millis::from_seconds(10);

/// How often a stalled body checks whether it still has its room in memory.
const LOOK: Millis = Millis::from_seconds(1);

/// How long a whole body may take.
const WHOLE_BODY: Millis = Millis::from_seconds(120);

/// A request whose body was not read.
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    /// Scheme and host of the URL that the caller used: `https://shop.example`.
    pub(crate) origin: String,
    /// The path as the platform reads it, normalized.
    pub(crate) path: String,
    /// Without the question mark. `None` if there is no query.
    pub(crate) query: Option<String>,
    /// Names in lower case. The platform has joined repeated headers with a comma and a space.
    pub(crate) headers: HeaderList,
    bridge: Rc<Bridge>,
}

impl HttpRequest {
    /// Reads the head of a request: its method, the origin, the path and the query of its URL as the platform parses
    /// it, and its headers, a line each.
    pub(crate) fn new(bridge: &Rc<Bridge>, head: &str) -> Self {
        let mut lines = head.split('\n');
        let mut line = || lines.next().unwrap_or_default();
        let (method, origin) = (line().to_owned(), line().to_owned());
        // `fetch` sends the path as the platform parses it, with dot segments resolved. The path that is
        // checked, compared and passed on must be the same.
        let (path, query) = (normalize(line()), line().strip_prefix('?').map(str::to_owned));
        let headers = headers::read(lines);
        Self { method, origin, path, query, headers, bridge: Rc::clone(bridge) }
    }

    /// Returns whether the request is a write. Repeating a write is safe only with a key.
    pub(crate) fn is_write(&self) -> bool {
        !matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    /// Reads the whole body, up to `limit` bytes, and holds its bytes in `reservation`.
    pub(crate) async fn read_body(
        &self,
        limit: u64,
        reservation: &Reservation,
    ) -> Result<Vec<u8>, Rejection> {
        let announced = self.header("content-length").and_then(|length| length.parse().ok());
        if announced.is_some_and(|length: u64| length > limit) {
            return Err(Rejection::BodyTooLarge(limit));
        }
        if announced == Some(0) {
            return Ok(Vec::new());
        }
        if let Some(length) = announced.filter(|length| *length <= TINY) {
            return self.read_tiny(length, reservation).await;
        }
        let Some(body) = self.bridge.body() else {
            return Ok(Vec::new());
        };
        // The buffer grows as bytes arrive, because an announced length must not cost memory.
        let mut length = 0;
        let latest = clock::now().plus(WHOLE_BODY);
        while let Some(chunk) = next_chunk(&body, latest, reservation).await? {
            length += chunk.len() as u64;
            if length > limit {
                return Err(Rejection::BodyTooLarge(limit));
            }
            reservation.append(&chunk).map_err(|_| Rejection::Overloaded)?;
            if announced == Some(length) {
                reservation.is_whole();
            }
        }
        reservation.take().map_err(|_| Rejection::Overloaded)
    }

    /// Reads a tiny body in one operation. Its announced length is counted from the start, because the platform holds
    /// the bytes that have arrived.
    async fn read_tiny(
        &self,
        length: u64,
        reservation: &Reservation,
    ) -> Result<Vec<u8>, Rejection> {
        reservation.announce(length).map_err(|_| Rejection::Overloaded)?;
        let latest = clock::now().plus(NEXT_CHUNK);
        loop {
            let reply = self.bridge.read_whole(LOOK).await;
            match (reply.status, reply.bytes) {
                (DONE, Some(body)) if body.len() as u64 == length => {
                    reservation.take().map_err(|_| Rejection::Overloaded)?;
                    return Ok(body);
                }
                (LATE, _) if clock::now() >= latest => return Err(Rejection::BodyUnreadable),
                (LATE, _) if !reservation.is_kept() => return Err(Rejection::Overloaded),
                (LATE, _) => {}
                _ => return Err(Rejection::BodyUnreadable),
            }
        }
    }

    /// Returns whether the body is a form that may carry the key in a field.
    pub(crate) fn may_carry_key(&self, config: &Config) -> bool {
        let (content_type, coding) = (self.header("content-type"), self.header("content-encoding"));
        config.key_field.is_some() && has_fields(content_type, coding)
    }

    /// Reads a form that may carry the key in a field. Returns `None`, with the body unread, for any
    /// other request.
    pub(crate) async fn read_form(
        &self,
        config: &Config,
        reservation: &Reservation,
    ) -> Result<Option<SplitForm>, Rejection> {
        let content_type = self.header("content-type");
        let (Some(field), Some(content_type)) = (&config.key_field, content_type) else {
            return Ok(None);
        };
        if !self.may_carry_key(config) {
            return Ok(None);
        }
        let body = self.read_body(config.max_request, reservation).await?;
        take_key(content_type, body, field).map(Some).map_err(Rejection::FormKey)
    }
}

/// Reads the next piece of a body, which must arrive before `latest`. A stalled body fails after
/// [`NEXT_CHUNK`], or as soon as it loses its room in memory to others.
async fn next_chunk(
    body: &Source,
    latest: UnixMillis,
    reservation: &Reservation,
) -> Result<Option<Vec<u8>>, Rejection> {
    let latest = latest.min(clock::now().plus(NEXT_CHUNK));
    loop {
        let left = latest.since(clock::now());
        let reply = body.read(Some(left.min(LOOK))).await;
        match reply.status {
            DONE => return Ok(reply.bytes),
            LATE if left <= LOOK => return Err(Rejection::BodyUnreadable),
            LATE if !reservation.is_kept() => return Err(Rejection::Overloaded),
            LATE => {}
            _ => return Err(Rejection::BodyUnreadable),
        }
    }
}
