//! Errors for callers: why a request gets no response from the origin, as a status and a body in two
//! dialects.

use crate::business_key::BusinessKey;
use crate::decision::Decision;
use crate::key::KeyError;
use crate::request::form_key::FormKeyError;
use crate::scope::ScopeError;
use crate::webhook::WebhookError;

/// The form of statuses and error bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `{"type","code","message","request_id","error"}`, with the statuses of Stripe-like APIs.
    Kukopay,
    /// `application/problem+json` (RFC 9457), with the statuses of the IETF draft for the header
    /// `Idempotency-Key`.
    Ietf,
}

/// Why a request gets no response from the origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rejection {
    /// The route requires an idempotency key, and the request has none.
    KeyMissing,
    /// The `Idempotency-Key` header cannot be read.
    KeyMalformed(KeyError),
    /// The idempotency key in a form cannot be read.
    FormKey(FormKeyError),
    /// The body did not arrive completely.
    BodyUnreadable,
    /// The body is larger than this many bytes.
    BodyTooLarge(u64),
    /// The scope of the key cannot be read from the request.
    NoScope(ScopeError),
    /// The webhook was not accepted.
    Webhook(WebhookError),
    /// The key was used with another request.
    Mismatch,
    /// An attempt is in progress.
    InProgress,
    /// An earlier attempt may have been executed, and the policy puts the key on hold.
    OutcomeUnknown,
    /// The response cannot be replayed.
    NotReplayable {
        /// The status of the response. `None` if the requests could not be compared.
        http_status: Option<u16>,
        /// The id of the resource that was created, where it is known.
        resource: Option<String>,
    },
    /// The rejection is about the business key, not the idempotency key.
    OfBusinessKey {
        /// The rejection of an idempotency key in the same state.
        why: Box<Rejection>,
        /// The business key.
        business_key: BusinessKey,
    },
    /// The key was voided.
    KeyVoided,
    /// The key's response has expired.
    KeyExpired,
    /// The origin could not be reached, or the connection broke.
    OriginUnreachable(Recourse),
    /// The origin did not respond in time.
    OriginTimedOut(Recourse),
    /// The store of records did not reply; the origin was not called.
    StoreUnavailable,
    /// Too many bytes of bodies are in memory; the origin was not called.
    Overloaded,
    /// More than half of the lease was over before the origin could be called, so it was not called.
    TooLateToDispatch,
    /// The stored record cannot be read; the origin was not called.
    RecordUnreadable,
    /// The admin call has no valid admin token.
    NotAdmin,
    /// No route has this path.
    NotFound,
    /// The key of an admin call has no record.
    NoRecord,
    /// The path does not accept this method. Holds the value of `Allow` (RFC 9110 §10.2.1).
    MethodNotAllowed(&'static str),
    /// The request is invalid. Holds the message.
    Invalid(String),
    /// A setting is wrong. Holds the name of the setting and the values that it accepts.
    Misconfigured(String),
    /// The outcome is not unknown, so it cannot be settled.
    NothingToSettle,
    /// The gateway has a bug.
    Internal,
}

/// What a caller can do when the origin did not respond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recourse {
    /// Send the request again: it is a read, which changes nothing.
    Retry,
    /// Look up the result: the request is a write without a key, and sending it again could execute
    /// it twice.
    LookUp,
    /// Retry with the same key: the gateway executes the request again.
    RetryWithKey,
    /// Wait: the key is on hold until its outcome is settled.
    OnHold,
    /// Retry with the same key: nothing was executed.
    NotExecuted,
}

/// A rejection as a response: its status, headers and body.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
}

impl Decision {
    /// Returns the rejection that the caller gets; `None` for `Execute` and `Replay`.
    pub fn rejection(&self) -> Option<Rejection> {
        Some(match self {
            Self::Execute(_) | Self::Replay(_) => return None,
            Self::NotReplayable { http_status, resource } => {
                Rejection::NotReplayable { http_status: *http_status, resource: resource.clone() }
            }
            Self::InProgress => Rejection::InProgress,
            Self::OutcomeUnknown => Rejection::OutcomeUnknown,
            Self::Mismatch => Rejection::Mismatch,
            Self::KeyVoided => Rejection::KeyVoided,
            Self::KeyExpired => Rejection::KeyExpired,
        })
    }
}

impl Rejection {
    /// Returns the rejection as a response in a dialect. `accept` is the request's `Accept` header: if
    /// it names `application/problem+json`, the body is of that type in either dialect. The status
    /// is always the dialect's.
    pub fn to_response(
        &self,
        dialect: Dialect,
        accept: Option<&str>,
        request_id: &str,
    ) -> ErrorResponse {
        let ietf = dialect == Dialect::Ietf;
        let (status, code, retry_after) = self.kind(ietf);
        let asked = accept.is_some_and(|types| types.to_ascii_lowercase().contains(PROBLEM_JSON));
        let message = self.message();
        let (content_type, own) = if ietf || asked {
            let names = [("type", format!("urn:oncekey:problem:{code}")), ("title", title(code))];
            (PROBLEM_JSON, [&names[..], &[("detail", message.clone())]].concat())
        } else {
            ("application/json", vec![("type", code.to_owned()), ("message", message.clone())])
        };
        let mut fields: Vec<_> =
            own.iter().map(|(name, text)| (*name, json_string(text))).collect();
        fields.push(("code", json_string(code)));
        if content_type == PROBLEM_JSON {
            fields.push(("status", status.to_string()));
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
        }
    }

    /// Returns the status, the code and the seconds of `Retry-After`.
    fn kind(&self, ietf: bool) -> (u16, &'static str, Option<u32>) {
        match self {
            Self::KeyMissing => (400, "idempotency_key_missing", None),
            Self::KeyMalformed(_) | Self::FormKey(_) | Self::Invalid(_) => {
                (400, "invalid_request_error", None)
            }
            Self::BodyUnreadable => (408, "api_connection_error", None),
            Self::NoScope(ScopeError::Missing(_) | ScopeError::Incomplete(_))
            | Self::NotAdmin
            | Self::Webhook(WebhookError::BadTime | WebhookError::BadSignature) => {
                (401, "authentication_error", None)
            }
            Self::NoScope(_) | Self::Webhook(_) => (400, "invalid_request_error", None),
            Self::NotFound => (404, "invalid_request_error", None),
            Self::NoRecord => (404, "idempotency_key_not_found", None),
            Self::MethodNotAllowed(_) => (405, "invalid_request_error", None),
            Self::BodyTooLarge(_) => (413, "invalid_request_error", None),
            Self::Mismatch => (if ietf { 422 } else { 400 }, "idempotency_error", None),
            Self::KeyExpired => (400, "idempotency_key_expired", None),
            Self::InProgress => (409, "idempotency_in_progress", Some(1)),
            Self::OutcomeUnknown => (409, "idempotency_outcome_unknown", None),
            Self::NotReplayable { .. } => (409, "idempotency_not_replayable", None),
            Self::KeyVoided => (409, "idempotency_key_voided", None),
            Self::NothingToSettle => (409, "idempotency_not_unknown", None),
            Self::OfBusinessKey { why, .. } => why.kind(ietf),
            Self::OriginUnreachable(_) => (502, "api_connection_error", None),
            Self::OriginTimedOut(_) => (504, "api_connection_error", None),
            Self::StoreUnavailable | Self::Overloaded | Self::TooLateToDispatch => {
                (503, "api_connection_error", Some(1))
            }
            Self::RecordUnreadable | Self::Misconfigured(_) | Self::Internal => {
                (500, "api_error", None)
            }
        }
    }

    fn message(&self) -> String {
        let text = match self {
            Self::KeyMissing => {
                "This request needs an Idempotency-Key header. Send a UUID, and send the same UUID with every retry."
            }
            Self::KeyMalformed(error) => return error.to_string(),
            Self::FormKey(error) => return error.to_string(),
            Self::NoScope(error) => return error.to_string(),
            Self::Webhook(error) => return error.to_string(),
            Self::BodyUnreadable => {
                "The request body did not arrive completely in time, so this request was not executed. Send it again with the same key."
            }
            Self::BodyTooLarge(limit) => {
                return format!(
                    "The request body is larger than {limit} bytes. Send a smaller body."
                );
            }
            Self::Mismatch => {
                "This idempotency key was already used with a different request. Send the same method, path, query and body, or use a new key."
            }
            Self::InProgress => {
                "A request with this idempotency key is in progress. Retry later with the same key."
            }
            Self::OutcomeUnknown => {
                "An earlier request with this idempotency key may have been executed, but its outcome is unknown. It will not be executed again until the outcome is settled. Do not send it with a new key."
            }
            Self::NotReplayable { http_status: Some(status), .. } => {
                return format!(
                    "The request with this idempotency key returned status {status}, but that response cannot be replayed. Look up the result instead."
                );
            }
            Self::OfBusinessKey { why, business_key } if **why == Self::Mismatch => {
                return format!(
                    "{business_key} was already used with different content. Send the original content, or use another business key."
                );
            }
            Self::OfBusinessKey { why, business_key } => {
                let business_key = business_key.to_string();
                let message = why.message().replace("this idempotency key", &business_key);
                return message.replace("This idempotency key", &business_key);
            }
            Self::NotReplayable { http_status: None, .. } => {
                "A request with this idempotency key exists, but the two requests cannot be compared because the fingerprint secret was removed. Look up the result; do not retry with a new key."
            }
            Self::KeyVoided => {
                "This idempotency key was voided before anything was executed. Use a new one."
            }
            Self::KeyExpired => {
                "The response to this idempotency key has expired. Look up the result, and use a new key only for a new operation."
            }
            Self::OriginUnreachable(recourse) => {
                return format!("The connection to the API failed{}", recourse.text());
            }
            Self::OriginTimedOut(recourse) => {
                return format!("The API did not respond in time{}", recourse.text());
            }
            Self::StoreUnavailable => {
                "The store of idempotency keys is unavailable, so this request was not executed. Send the same request again."
            }
            Self::Overloaded => {
                "Too many large requests are in progress, so this one was not executed. Send the same request again."
            }
            Self::TooLateToDispatch => {
                "This request waited too long to be executed safely, so it was not executed. Send the same request again."
            }
            Self::RecordUnreadable => {
                "The record of this idempotency key cannot be read, so this request was not executed. Do not use a new key. Send the request id to the operator."
            }
            Self::NotAdmin => {
                "This call needs the admin token. Send it in the header Authorization: Bearer TOKEN."
            }
            Self::NotFound => "This path does not exist. Check the URL.",
            Self::NoRecord => {
                "There is no record of this idempotency key. This does not prove that nothing was executed: the request may still be on its way, or its record may have been removed."
            }
            Self::MethodNotAllowed(allow) => {
                return format!("This path does not accept this method. Use {allow}.");
            }
            Self::Invalid(what) => return what.clone(),
            Self::Misconfigured(what) => {
                return format!("This Worker is not configured correctly: {what}");
            }
            Self::NothingToSettle => {
                "The outcome of this key is not unknown, so it cannot be settled. Look up its state instead."
            }
            Self::Internal => {
                "Something went wrong in the gateway. Send the same request again, with the same idempotency key if it has one."
            }
        };
        text.to_owned()
    }
}

const PROBLEM_JSON: &str = "application/problem+json";

impl Recourse {
    /// Returns the second half of a message. The first half says why there is no response.
    const fn text(self) -> &'static str {
        match self {
            Self::Retry => ". Send the request again.",
            Self::LookUp => {
                ". The request may have been executed. Look up its result before you send it again: without an idempotency key, it would be executed a second time."
            }
            Self::RetryWithKey => {
                ". The request may have been executed. Retry with the same idempotency key."
            }
            Self::OnHold => {
                ". The request may have been executed. It will not be executed again until its outcome is settled. Retry later with the same idempotency key, and do not use a new one."
            }
            Self::NotExecuted => {
                ". This attempt was not executed. Retry with the same idempotency key."
            }
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

    #[test]
    fn our_dialect_names_type_and_code_alike() {
        let response = Rejection::Mismatch.to_response(Dialect::Kukopay, None, "req_1");
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
    fn an_error_is_also_where_sdks_look_for_it() {
        for dialect in [Dialect::Kukopay, Dialect::Ietf] {
            let response = Rejection::InProgress.to_response(dialect, None, "req_1");
            let error = r#","error":{"type":"idempotency_in_progress","code":"idempotency_in_progress","message":"A request with this idempotency key is in progress. Retry later with the same key.","request_id":"req_1"}}"#;
            assert!(response.body.ends_with(error), "{}", response.body);
        }
    }

    #[test]
    fn the_draft_dialect_is_rfc_9457_and_keeps_the_plain_code() {
        let response = Rejection::Mismatch.to_response(Dialect::Ietf, None, "req_1");
        assert_eq!((response.status, response.content_type), (422, "application/problem+json"));
        for field in [
            r#""type":"urn:oncekey:problem:idempotency_error""#,
            r#""title":"Idempotency error""#,
            r#""status":422"#,
            r#""code":"idempotency_error""#,
        ] {
            assert!(response.body.contains(field), "{field} in {}", response.body);
        }
        let asked = Rejection::Mismatch.to_response(
            Dialect::Kukopay,
            Some("text/html, Application/Problem+JSON"),
            "",
        );
        assert_eq!((asked.status, asked.content_type), (400, "application/problem+json"));
        assert!(asked.body.contains(r#""status":400"#));
    }

    #[test]
    fn a_request_id_of_the_origin_cannot_break_the_body() {
        let response = Rejection::Internal.to_response(Dialect::Kukopay, None, "a\"b\\c\nd");
        assert!(response.body.ends_with(r#""request_id":"a\"b\\c\u000ad"}}"#), "{}", response.body);
    }

    #[test]
    fn a_method_that_is_not_taken_names_those_that_are() {
        let response =
            Rejection::MethodNotAllowed("GET, HEAD").to_response(Dialect::Kukopay, None, "");
        assert_eq!((response.status, response.allow), (405, Some("GET, HEAD")));
        assert_eq!(Rejection::NotFound.to_response(Dialect::Kukopay, None, "").allow, None);
    }

    #[test]
    fn what_is_left_to_a_caller_fits_its_request() {
        let text = |recourse| Rejection::OriginUnreachable(recourse).message();
        assert!(!text(Recourse::Retry).contains("key"));
        assert!(text(Recourse::LookUp).contains("Look up its result"));
        assert!(text(Recourse::RetryWithKey).ends_with("Retry with the same idempotency key."));
        assert!(text(Recourse::OnHold).contains("not be executed again until"));
        assert!(text(Recourse::NotExecuted).contains("was not executed. Retry"));
        let late = Rejection::OriginTimedOut(Recourse::RetryWithKey).message();
        assert!(late.starts_with("The API did not respond in time. "), "{late}");
    }

    #[test]
    fn not_replayable_tells_the_first_status() {
        let response = Rejection::NotReplayable { http_status: Some(201), resource: None }
            .to_response(Dialect::Kukopay, None, "");
        assert!(response.body.contains(r#""http_status":201"#));
        let unlisted = Rejection::NotReplayable { http_status: None, resource: None }.to_response(
            Dialect::Kukopay,
            None,
            "",
        );
        assert!(!unlisted.body.contains("http_status"));
    }
}
