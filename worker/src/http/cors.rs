//! Decides which pages may call the gateway, and what their scripts may read of a response. The headers
//! are computed for each response, including errors and replays, because stored headers would name the
//! page of the first caller.

use crate::config::{Config, CorsOrigins};
use crate::http::request::HttpRequest;
use crate::http::response::{Body, HttpResponse};
use oncekey::HeaderList;

/// Headers that a script may read, in addition to those that scripts may always read.
const EXPOSED: &str = "Idempotent-Replayed, Idempotency-State, Idempotency-Expires, Idempotency-Stored, X-Request-Id, Retry-After, X-Should-Retry, Stripe-Should-Retry, Date, Location, Link, ETag";

/// Headers that a script may send, besides those of the key, if the preflight does not name any.
const ALLOWED: [&str; 3] = ["Content-Type", "X-Api-Key", "Authorization"];

/// Returns the response to a preflight (Fetch standard, CORS protocol), if the gateway handles CORS.
pub(crate) fn preflight(config: &Config, request: &HttpRequest) -> Option<HttpResponse> {
    let cors = &config.cors;
    let asked = request.header("access-control-request-method")?;
    if request.method != "OPTIONS" || matches!(cors, CorsOrigins::Off) {
        return None;
    }
    let mut response = HttpResponse::new(204, HeaderList::default(), Body::Bytes(Vec::new()));
    let origin = request.header("origin");
    apply(cors, origin, &mut response);
    if allowed_origin(cors, origin).is_some() {
        let asked_for = request.header("access-control-request-headers");
        // Header names are ASCII. Other text must not get into the log (`headers.rs`).
        let headers = asked_for.filter(|names| names.is_ascii()).map_or_else(
            || config.key_headers.names().chain(ALLOWED).collect::<Vec<_>>().join(", "),
            str::to_owned,
        );
        response.set("access-control-allow-methods", asked);
        response.set("access-control-allow-headers", &headers);
        response.set("access-control-max-age", "7200");
        response
            .set("vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers");
    }
    Some(response)
}

/// Sets what the calling page may read. This replaces the origin's own permissions, unless the gateway
/// leaves CORS to the origin.
pub(crate) fn apply(cors: &CorsOrigins, origin: Option<&str>, response: &mut HttpResponse) {
    if matches!(cors, CorsOrigins::Off) {
        return;
    }
    response.headers.retain(|name, _| !name.starts_with("access-control-"));
    let allowed = allowed_origin(cors, origin);
    if allowed != Some("*") {
        // A cache must not give one page the response for another.
        response.headers.vary_by("Origin");
    }
    let Some(allowed) = allowed else { return };
    response.set("access-control-allow-origin", allowed);
    response.set("access-control-expose-headers", EXPOSED);
    if allowed != "*" {
        // A listed origin may send cookies, which may be the scope.
        response.set("access-control-allow-credentials", "true");
    }
}

fn allowed_origin<'a>(cors: &CorsOrigins, origin: Option<&'a str>) -> Option<&'a str> {
    match cors {
        CorsOrigins::Off => None,
        CorsOrigins::Any => Some("*"),
        CorsOrigins::These(list) => {
            origin.filter(|origin| list.iter().any(|known| known == origin))
        }
    }
}
