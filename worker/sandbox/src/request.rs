//! One request to an operation, as the merchant's object reads it, and the responses with its result.

use crate::body_type::BodyType;
use crate::error::{Failure, Refusal};
use crate::fields::Fields;
use crate::input::{is_id_part, parse_key, percent_decoded};
use crate::pages::Listed;
use crate::response::ApiResponse;
use oncekey::response::is_request_id;
use oncekey::webhook::target::Reach;
use oncekey::{IdempotencyKey, UnixMillis};
use platform::{clock, random};
use worker::{Headers, Request};

/// The largest body, in bytes. The refusal of a larger one names this number.
const MAX_BODY_BYTES: usize = 64 * 1024;

pub(super) struct ApiRequest {
    pub(super) id: String,
    idempotency_key: Option<IdempotencyKey>,
    /// The segment of the path that names an object.
    pub(super) named: String,
    pub(super) query: String,
    media_type: String,
    pub(super) body: Vec<u8>,
    pub(super) now: UnixMillis,
    /// How far webhooks may go.
    pub(super) reach: Reach,
}

impl ApiRequest {
    pub(super) async fn read(
        mut request: Request,
        id: &str,
        named: &str,
        reach: Reach,
    ) -> Result<Self, Failure> {
        let key = header(request.headers(), "Idempotency-Key");
        let idempotency_key = key.map(|key| parse_key(&key, "Idempotency-Key")).transpose()?;
        let media_type = header(request.headers(), "Content-Type").unwrap_or_default();
        let url = request.inner().url();
        let query = url.split_once('?').map_or("", |(_, query)| query).to_owned();
        let body = request.bytes().await.map_err(|_| Refusal::incomplete_body())?;
        if body.len() > MAX_BODY_BYTES {
            return Err(Refusal::too_large().into());
        }
        let (id, named, now) = (id.to_owned(), named.to_owned(), clock::now());
        Ok(Self { id, idempotency_key, named, query, media_type, body, now, reach })
    }

    pub(super) fn key(&self) -> Option<&str> {
        self.idempotency_key.as_ref().map(IdempotencyKey::as_str)
    }

    pub(super) fn body_type(&self) -> Result<BodyType, Box<Refusal>> {
        BodyType::of(&self.media_type)
            .ok_or_else(|| Refusal::invalid("Content-Type", BodyType::RULE))
    }

    /// Reads a body with members or fields of these names.
    pub(super) fn fields(&self, known: &[&str]) -> Result<Fields, Box<Refusal>> {
        Fields::of_body(self.body_type()?, &self.body, known)
    }

    /// Reads a query with parameters of these names.
    pub(super) fn parameters(&self, known: &[&str]) -> Result<Fields, Box<Refusal>> {
        Fields::of_query(&self.query, known)
    }

    /// Returns the id in the path, which must begin with `prefix`.
    pub(super) fn object_id(&self, prefix: &str) -> Result<&str, Box<Refusal>> {
        let is_id = self.named.strip_prefix(prefix).is_some_and(is_id_part);
        is_id.then_some(self.named.as_str()).ok_or_else(Refusal::no_such_object)
    }

    /// Returns the idempotency key in the path. `param` is its name in an error.
    pub(super) fn named_key(&self, param: &str) -> Result<IdempotencyKey, Box<Refusal>> {
        parse_key(&percent_decoded(&self.named), param)
    }

    /// Returns a response with an object, in JSON, that was found or changed.
    pub(super) fn found(&self, object: &str) -> ApiResponse {
        ApiResponse::data(200, object, &self.id)
    }

    /// Returns a response with an object, in JSON, that this request or an earlier one made.
    pub(super) fn created(&self, object: &str) -> ApiResponse {
        ApiResponse::data(201, object, &self.id)
    }

    /// Returns a response with a page of a list.
    pub(super) fn page(&self, listed: &Listed) -> ApiResponse {
        ApiResponse::list(listed, &self.id)
    }
}

/// Returns the request id that the gateway gave, or a new one.
pub(super) fn request_id(headers: &Headers) -> String {
    let given = header(headers, "X-Request-Id");
    given.filter(|id| is_request_id(id)).unwrap_or_else(random::request_id)
}

/// Returns a header's value. The names used here are all valid.
pub(super) fn header(headers: &Headers, name: &str) -> Option<String> {
    headers.get(name).ok().flatten()
}
