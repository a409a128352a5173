//! Errors as responses: status, headers and body, in two dialects.

use super::Rejection;
use crate::should_retry::RequestKind;

/// The form of statuses and error bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Dialect {
    /// `{"type","code","message","request_id","error"}`, with the statuses of Stripe-like APIs.
    Kukopay,
    /// `application/problem+json` (RFC 9457), with the statuses of the IETF draft for the header
    /// `Idempotency-Key`.
    Ietf,
}

/// A rejection as a response: its status, headers and body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ErrorResponse {
    /// The HTTP status.
    pub status: u16,
    /// The error code, which programs compare.
    pub code: &'static str,
    /// The body's media type.
    pub content_type: &'static str,
    /// The body, in JSON.
    pub body: String,
    /// The value of `Retry-After` in seconds, where the same request may succeed later.
    pub retry_after: Option<u32>,
    /// The value of `Allow`, where the path accepts other methods.
    pub allow: Option<&'static str>,
    /// The value of `Link`, which leads to the entry of the code in `docs/guide/errors.md`.
    pub link: String,
    /// Whether the same request with the same key may succeed soon.
    pub should_retry: bool,
}

/// The path at which the gateway serves `docs/guide/errors.md`.
pub const ERRORS_PAGE: &str = "/_oncekey/errors";

/// Returns the value of `Link` (RFC 8288) that leads to the entry of an error code.
pub fn help_link(code: &str) -> String {
    ["<", ERRORS_PAGE, "#", code, ">; rel=\"help\""].concat()
}

const PROBLEM_JSON: &str = "application/problem+json";

impl Rejection {
    /// Returns the rejection as a response in a dialect. `accept` is the request's `Accept` header: if
    /// it names `application/problem+json`, the body is of that type in either dialect. The status
    /// is always the dialect's. `request_kind` is the kind of the request that was rejected.
    ///
    /// ```
    /// # use oncekey::{Dialect, Rejection, RequestKind};
    /// let kind = RequestKind::KeyedWrite;
    /// let error = Rejection::Mismatch.to_response(Dialect::Ietf, None, "req_1", kind);
    /// assert_eq!((error.status, error.content_type), (422, "application/problem+json"));
    /// assert!(!error.should_retry);
    ///
    /// let error = Rejection::InProgress.to_response(Dialect::Kukopay, None, "req_1", kind);
    /// assert_eq!((error.status, error.retry_after), (409, Some(1)));
    /// ```
    pub fn to_response(
        &self,
        dialect: Dialect,
        accept: Option<&str>,
        request_id: &str,
        request_kind: RequestKind,
    ) -> ErrorResponse {
        let ietf = dialect == Dialect::Ietf;
        let (status, code, retry_after) = self.kind(ietf);
        let asked = accept.is_some_and(|types| types.to_ascii_lowercase().contains(PROBLEM_JSON));
        let message = self.message();
        let should_retry = self.should_retry(request_kind);
        let (content_type, own) = if ietf || asked {
            let own = vec![
                ("type", format!("urn:oncekey:problem:{code}")),
                ("title", title(code)),
                ("detail", message.clone()),
                // The gateway's own request ids are `req_` and hexadecimal digits.
                ("instance", ["urn:oncekey:request:", request_id].concat()),
            ];
            (PROBLEM_JSON, own)
        } else {
            ("application/json", vec![("type", code.to_owned()), ("message", message.clone())])
        };
        let mut fields: Vec<_> =
            own.iter().map(|(name, text)| (*name, json_string(text))).collect();
        fields.push(("code", json_string(code)));
        if content_type == PROBLEM_JSON {
            fields.push(("status", status.to_string()));
            fields.push(("retryable", should_retry.to_string()));
        }
        let (why, business_key) = match self {
            Self::OfBusinessKey { why, business_key } => (&**why, Some(business_key)),
            why => (why, None),
        };
        if let Self::NotReplayable { http_status, resource } = why {
            fields.extend(http_status.map(|status| ("http_status", status.to_string())));
            fields.extend(resource.iter().map(|id| ("resource_id", json_string(id))));
        }
        let mut last = Vec::from_iter(business_key.map(|key| ("param", json_string(&key.param()))));
        last.push(("request_id", json_string(request_id)));
        fields.extend(last.iter().cloned());
        // SDKs for Stripe-like APIs treat a body without this member as a success.
        let mut error = vec![("type", json_string(code)), ("code", json_string(code))];
        error.push(("message", json_string(&message)));
        error.append(&mut last);
        fields.push(("error", json_object(&error)));
        ErrorResponse {
            status,
            code,
            content_type,
            body: json_object(&fields),
            retry_after,
            allow: match self {
                Self::MethodNotAllowed(allow) => Some(allow),
                _ => None,
            },
            link: help_link(code),
            should_retry,
        }
    }
}

/// Returns the summary of an error that RFC 9457 §3.1.3 requires: the same text for each use of a code.
fn title(code: &str) -> String {
    let words = code.replace('_', " ");
    let (first, rest) = words.split_at(1);
    first.to_ascii_uppercase() + rest
}

/// Writes a JSON object. The values are JSON already.
fn json_object(members: &[(&str, String)]) -> String {
    let members: Vec<_> =
        members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// Writes a JSON string (RFC 8259 §7).
fn json_string(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            '\0'..='\u{1f}' => json.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => json.push(character),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: RequestKind = RequestKind::KeyedWrite;

    #[test]
    fn type_and_code_are_equal_in_the_default_dialect() {
        let response = Rejection::Mismatch.to_response(Dialect::Kukopay, None, "req_1", KIND);
        assert_eq!((response.status, response.content_type), (400, "application/json"));
        assert!(
            response.body.starts_with(r#"{"type":"idempotency_error","message":"This"#),
            "{}",
            response.body
        );
        assert!(
            response.body.contains(r#""code":"idempotency_error","request_id":"req_1","error":"#)
        );
    }

    #[test]
    fn the_body_has_an_error_object_for_sdks_in_both_dialects() {
        for dialect in [Dialect::Kukopay, Dialect::Ietf] {
            let response = Rejection::InProgress.to_response(dialect, None, "req_1", KIND);
            let error = r#","error":{"type":"idempotency_in_progress","code":"idempotency_in_progress","message":"A request with this idempotency key is in progress. Retry later with the same key.","request_id":"req_1"}}"#;
            assert!(response.body.ends_with(error), "{}", response.body);
        }
    }

    #[test]
    fn the_ietf_dialect_is_a_problem_of_rfc_9457_with_the_code() {
        let response = Rejection::Mismatch.to_response(Dialect::Ietf, None, "req_1", KIND);
        assert_eq!((response.status, response.content_type), (422, "application/problem+json"));
        for field in [
            r#""type":"urn:oncekey:problem:idempotency_error""#,
            r#""title":"Idempotency error""#,
            r#""status":422"#,
            r#""instance":"urn:oncekey:request:req_1""#,
            r#""retryable":false"#,
            r#""code":"idempotency_error""#,
        ] {
            assert!(response.body.contains(field), "{field} in {}", response.body);
        }
        let asked = Rejection::Mismatch.to_response(
            Dialect::Kukopay,
            Some("text/html, Application/Problem+JSON"),
            "",
            KIND,
        );
        assert_eq!((asked.status, asked.content_type), (400, "application/problem+json"));
        assert!(asked.body.contains(r#""status":400"#));
    }

    #[test]
    fn a_request_id_is_escaped_in_the_body() {
        let response = Rejection::Internal.to_response(Dialect::Kukopay, None, "a\"b\\c\nd", KIND);
        assert!(response.body.ends_with(r#""request_id":"a\"b\\c\u000ad"}}"#), "{}", response.body);
        let problem = Rejection::Internal.to_response(Dialect::Ietf, None, "a\"b\\c\nd", KIND);
        let instance = r#""instance":"urn:oncekey:request:a\"b\\c\u000ad""#;
        assert!(problem.body.contains(instance), "{}", problem.body);
    }

    #[test]
    fn body_and_headers_agree_on_whether_to_retry() {
        for (kind, again) in [(RequestKind::Read, true), (RequestKind::Write, false)] {
            let response = Rejection::Internal.to_response(Dialect::Ietf, None, "req_1", kind);
            assert_eq!(response.should_retry, again);
            assert!(
                response.body.contains(&format!(r#""retryable":{again}"#)),
                "{}",
                response.body
            );
            assert_eq!(response.link, r#"</_oncekey/errors#api_error>; rel="help""#);
        }
    }

    #[test]
    fn a_405_lists_the_allowed_methods() {
        let response =
            Rejection::MethodNotAllowed("GET, HEAD").to_response(Dialect::Kukopay, None, "", KIND);
        assert_eq!((response.status, response.allow), (405, Some("GET, HEAD")));
        assert_eq!(Rejection::NotFound.to_response(Dialect::Kukopay, None, "", KIND).allow, None);
    }

    #[test]
    fn not_replayable_contains_the_status_of_the_first_response() {
        let response = Rejection::NotReplayable { http_status: Some(201), resource: None }
            .to_response(Dialect::Kukopay, None, "", KIND);
        assert!(response.body.contains(r#""http_status":201"#));
        let unlisted = Rejection::NotReplayable { http_status: None, resource: None }.to_response(
            Dialect::Kukopay,
            None,
            "",
            KIND,
        );
        assert!(!unlisted.body.contains("http_status"));
    }
}
