//! A request to the origin, made from the caller's request.

use crate::http::bridge::{Outgoing, OutgoingBody, Responder};
use crate::http::headers;
use crate::http::request::HttpRequest;
use oncekey::request::forward::{forwarded_headers, is_forwarded, is_read, may_be_repeated};
use oncekey::request::key_headers::KeyHeaders;
use oncekey::request::override_headers::is_path_override;
use oncekey::{HeaderList, IdempotencyKey, ScopeSources};

/// A request as the origin gets it.
pub(crate) struct OriginRequest<'a> {
    method: String,
    /// Path and query.
    pub(super) target: String,
    /// The gateway's own scheme and host, as the caller knows them.
    pub(super) gateway: String,
    headers: HeaderList,
    body: OutgoingBody<'a>,
}

impl<'a> OriginRequest<'a> {
    /// Returns the caller's request with the body that was read, and with the headers by which the
    /// origin can deduplicate.
    pub(crate) fn once(
        request: &HttpRequest,
        body: &'a [u8],
        key: Option<&(IdempotencyKey, &KeyHeaders)>,
        attempt: u32,
        request_id: &str,
    ) -> Self {
        let mut forwarded = Self::plain(request, request_id);
        forwarded.take_uncoded();
        if let Some((key, names)) = key {
            names.set(&request.headers, &mut forwarded.headers, key);
        }
        forwarded.headers.set("idempotency-attempt", attempt.to_string());
        forwarded.body = match body {
            [] if may_be_repeated(&forwarded.method) => OutgoingBody::NoBytes,
            body => read_body(body),
        };
        forwarded
    }

    /// Returns a look-up: a read with the caller's credentials and no other header of the caller.
    pub(crate) fn look_up(
        request: &HttpRequest,
        target: String,
        scope: &ScopeSources,
        request_id: &str,
    ) -> Self {
        let is_credential =
            |name: &str| matches!(name, "authorization" | "cookie") || scope.has_header(name);
        let mut forwarded = Self::plain(request, request_id);
        forwarded.method = "GET".to_owned();
        forwarded.target = target;
        forwarded.headers.retain(|name, _| {
            is_credential(name)
                || matches!(name, "accept" | "x-request-id" | "forwarded")
                || name.starts_with("x-forwarded-")
        });
        forwarded.take_uncoded();
        forwarded
    }

    /// Returns a question about the caller: a read with the caller's credential, and nothing else of the
    /// request.
    pub(crate) fn question(
        request: &HttpRequest,
        target: &str,
        is_credential: &dyn Fn(&str) -> bool,
        request_id: &str,
    ) -> Self {
        let mut question = Self::plain(request, request_id);
        question.method = "GET".to_owned();
        question.target = target.to_owned();
        question.headers.retain(|name, _| is_credential(name) || name == "x-request-id");
        question.headers.set("accept", "application/json");
        question.take_uncoded();
        question
    }

    /// Returns the caller's request without a key. If the body was not `read`, it is passed on as a
    /// stream.
    pub(crate) fn keyless(request: &HttpRequest, read: Option<&'a [u8]>, request_id: &str) -> Self {
        let mut forwarded = Self::plain(request, request_id);
        if let Some(read) = read {
            forwarded.body = read_body(read);
        } else if !is_read(&request.method) {
            // The platform refuses a GET or HEAD with a body, even an empty one.
            forwarded.body = OutgoingBody::Caller;
        }
        forwarded
    }

    fn plain(request: &HttpRequest, request_id: &str) -> Self {
        let mut headers = request.headers.clone();
        headers.drop_connection_headers();
        headers.retain(|name, _| is_forwarded(name) && !is_path_override(name));
        let target = match &request.query {
            None => request.path.clone(),
            Some(query) => format!("{}?{query}", request.path),
        };
        let method = request.method.clone();
        let gateway = request.origin.clone();
        let body = OutgoingBody::None;
        let mut forwarded = Self { method, target, gateway, headers, body };
        forwarded.headers.set("x-request-id", request_id);
        if let Some((scheme, host)) = request.origin.split_once("://") {
            for (name, value) in forwarded_headers(scheme, host) {
                forwarded.headers.set(name, value);
            }
        }
        forwarded
    }

    /// Asks for a response without a coding. Responses are kept decoded, because later callers may
    /// accept other codings, and the digests in their headers must fit. The platform has replaced the
    /// caller's own `Accept-Encoding`.
    fn take_uncoded(&mut self) {
        self.headers.set("accept-encoding", "identity");
    }

    /// Returns the request as the platform takes it.
    pub(super) fn into_outgoing(mut self, base: &str, responder: Responder) -> Outgoing<'a> {
        // No connection adds it, and the Worker may check it.
        if matches!(responder, Responder::Binding | Responder::Handler)
            && let Some((_, host)) = base.split_once("://")
        {
            self.headers.set("host", host);
        }
        let mut head = [&self.method, "\n", base, &self.target].concat();
        headers::write(&self.headers, &mut head);
        // The platform's cache looks only at the URL, so it may hold a response to another
        // credential. Only the origin knows which headers are credentials.
        let no_store = responder == Responder::Network && is_read(&self.method);
        Outgoing { head, body: self.body, responder, no_store }
    }
}

/// Returns the body for bytes that were read.
fn read_body(bytes: &[u8]) -> OutgoingBody<'_> {
    if bytes.is_empty() { OutgoingBody::None } else { OutgoingBody::Bytes(bytes) }
}
