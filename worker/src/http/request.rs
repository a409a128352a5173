//! A request as it came in: its head taken apart, its body not yet read.

use crate::config::Config;
use crate::http::body_budget::Reservation;
use futures_util::StreamExt;
use oncekey::request::form_key::{SplitForm, has_fields, take_key};
use oncekey::request::path::normalize;
use oncekey::{HeaderList, Millis, Rejection, UnixMillis};
use platform::clock;
use web_sys::Url;
use worker::{ByteStream, Request};

/// How long the next piece of a body may take.
const NEXT_CHUNK: Millis = Millis::from_seconds(10);

/// How often a body that stands still looks whether it still has its place in memory.
const LOOK: Millis = Millis::from_seconds(1);

/// How long a whole body may take.
const WHOLE_BODY: Millis = Millis::from_seconds(120);

/// A request whose body was not read.
pub(crate) struct Incoming {
    pub(crate) method: String,
    /// Scheme and host, as the caller has asked for them: `https://shop.example`.
    pub(crate) origin: String,
    /// As the platform reads the request target, in one spelling.
    pub(crate) path: String,
    /// Without the question mark; `None` where there is none.
    pub(crate) query: Option<String>,
    /// Names in lower case. The platform has joined repeated headers with a comma and a space.
    pub(crate) headers: HeaderList,
    request: Request,
}

impl Incoming {
    pub(crate) fn new(request: Request) -> Self {
        let raw = request.inner();
        // The platform's own reading, dot segments resolved, for that is what `fetch` sends, and in
        // one spelling: what is judged, compared and passed on must be one path.
        let (origin, path, query) = match Url::new(&raw.url()) {
            Ok(url) => (url.origin(), normalize(&url.pathname()), url.search()),
            Err(_) => (String::new(), "/".to_owned(), String::new()),
        };
        Self {
            method: raw.method(),
            origin,
            path,
            query: query.strip_prefix('?').map(str::to_owned),
            headers: request.headers().entries().collect(),
            request,
        }
    }

    /// Whether a key makes this request safe to repeat. Reads are safe without.
    pub(crate) fn is_write(&self) -> bool {
        !matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
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
        let mut length = 0;
        let mut chunks = ByteStream::from(stream);
        let latest = clock::now().plus(WHOLE_BODY);
        while let Some(chunk) = next_chunk(&mut chunks, latest, reservation).await? {
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

    /// Whether the body is a form that may carry the key in a field.
    pub(crate) fn may_carry_key(&self, config: &Config) -> bool {
        let (content_type, coding) = (self.header("content-type"), self.header("content-encoding"));
        config.key_field.is_some() && has_fields(content_type, coding)
    }

    /// Reads a form that may carry the key in a field; `None` is a body that is still unread.
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

    /// The headers as the platform has them.
    pub(crate) fn headers_as_they_came(&self) -> worker::web_sys::Headers {
        self.request.inner().headers()
    }

    /// The body as the stream that it came as, to be passed on.
    pub(crate) fn body_stream(&self) -> Option<worker::web_sys::ReadableStream> {
        self.request.inner().body()
    }
}

/// The next piece of a body, which has to come until `latest`. A body that stands still ends after a
/// while, and as soon as it has lost its place in memory to others.
async fn next_chunk(
    chunks: &mut ByteStream,
    latest: UnixMillis,
    reservation: &Reservation,
) -> Result<Option<Vec<u8>>, Rejection> {
    let latest = latest.min(clock::now().plus(NEXT_CHUNK));
    let mut next = chunks.next();
    loop {
        let left = latest.since(clock::now());
        match clock::within(left.min(LOOK), &mut next).await {
            Some(chunk) => return chunk.transpose().map_err(|_| Rejection::BodyUnreadable),
            None if left <= LOOK => return Err(Rejection::BodyUnreadable),
            None if !reservation.is_kept() => return Err(Rejection::Overloaded),
            None => {}
        }
    }
}
