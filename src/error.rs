//! What a caller is told when there is no answer of the origin to give: a status and a body, in two
//! dialects.

use crate::business_key::BusinessKey;
use crate::decision::Decision;
use crate::key::KeyError;
use crate::request::form_key::FormKeyError;
use crate::scope::ScopeError;
use crate::webhook::WebhookError;

/// How error bodies look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `{"type","code","message","request_id"}`, the statuses of Stripe-like APIs.
    Kukopay,
    /// `application/problem+json` (RFC 9457), the statuses of the IETF Idempotency-Key draft.
    Ietf,
}

/// Why a request gets no answer of the origin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rejection {
    /// The route asks for a key and there is none.
    KeyMissing,
    /// The key is none.
    KeyMalformed(KeyError),
    /// The key of a form cannot be told.
    FormKey(FormKeyError),
    /// The body broke off, or cannot be read.
    BodyUnreadable,
    /// The body is larger than this many bytes.
    BodyTooLarge(u64),
    /// The request has no scope.
    NoScope(ScopeError),
    /// The webhook is not taken.
    Webhook(WebhookError),
    /// The key belongs to another request.
    Mismatch,
    /// An attempt is under way.
    InProgress,
    /// An earlier attempt may have been executed, and the policy is to hold.
    OutcomeUnknown,
    /// The answer cannot be given again.
    NotReplayable {
        /// Its status, where there is one.
        http_status: Option<u16>,
        /// The id of what was made, where it is known.
        resource: Option<String>,
    },
    /// The rejection is about the business key, not the idempotency key.
    OfBusinessKey {
        /// What would be said of a key.
        why: Box<Rejection>,
        /// Which business key.
        business_key: BusinessKey,
    },
    /// The key was given up.
    KeyVoided,
    /// The key's answer has expired.
    KeyExpired,
    /// The origin could not be reached, or the connection broke.
    OriginUnreachable(Recourse),
    /// The origin did not answer in time.
    OriginTimedOut(Recourse),
    /// The store does not answer; the origin was not called.
    StoreUnavailable,
    /// Too much is under way; the origin was not called.
    Overloaded,
    /// Too much of the lease had gone before the origin could be called, so it was not.
    TooLateToDispatch,
    /// The stored record cannot be read; the origin was not called.
    RecordUnreadable,
    /// An admin call without the admin token.
    NotAdmin,
    /// There is nothing at this path.
    NotFound,
    /// There is no record of the key that was asked about.
    NoRecord,
    /// The path does not take this method, but these, as `Allow` lists them (RFC 9110 §10.2.1).
    MethodNotAllowed(&'static str),
    /// The request is wrong in this way.
    Invalid(String),
    /// A setting is wrong: which, and what it may be.
    Misconfigured(String),
    /// Only an unknown outcome can be settled.
    NothingToSettle,
    /// Our fault.
    Internal,
}

/// What is left to a caller that the origin did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recourse {
    /// A read changes nothing: it may be sent again.
    Retry,
    /// A write without a key: somebody has to find out what became of it.
    LookUp,
    /// The same key is executed again.
    RetryWithKey,
    /// The key is held until its outcome is settled.
    OnHold,
    /// Nothing was executed, and the same key may try again.
    NotExecuted,
}

/// A rejection as it goes out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ErrorResponse {
    /// The HTTP status.
    pub status: u16,
    /// The plain name, which machines compare.
    pub code: &'static str,
    /// The body's media type.
    pub content_type: &'static str,
    /// The body, JSON.
    pub body: String,
    /// The `Retry-After` in seconds, where the same request may succeed later.
    pub retry_after: Option<u32>,
    /// The `Allow`, where the path takes other methods.
    pub allow: Option<&'static str>,
}

impl Decision {
    /// What the caller is told, or `None` for a decision that has an answer: `Execute`, `Replay`.
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
    /// The rejection in a dialect. `accept` is the request's `Accept` header: who asks for
    /// `application/problem+json` gets such a body in either dialect, with the dialect's status.
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
        // SDKs of Stripe-like APIs look here, and take what lacks it for a success.
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

    /// Status, code and `Retry-After`.
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
                "This request needs an Idempotency-Key header. Send a UUID, and the same one with every retry."
            }
            Self::KeyMalformed(error) => return error.to_string(),
            Self::FormKey(error) => return error.to_string(),
            Self::NoScope(error) => return error.to_string(),
            Self::Webhook(error) => return error.to_string(),
            Self::BodyUnreadable => {
                "The request body did not arrive completely in time, so nothing was executed. Send the request again with the same key."
            }
            Self::BodyTooLarge(limit) => {
                return format!(
                    "The request body is larger than {limit} bytes. Send a smaller one."
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
            Self::NotFound => "There is nothing at this path.",
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
            Self::NothingToSettle => "Only a key whose outcome is unknown can be settled.",
            Self::Internal => {
                "Something went wrong in the gateway. Send the same request again, with the same idempotency key if it has one."
            }
        };
        text.to_owned()
    }
}

const PROBLEM_JSON: &str = "application/problem+json";

impl Recourse {
    /// The rest of a sentence that says why there is no response.
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

/// The short summary that RFC 9457 asks for: the same for every occurrence of a code.
fn title(code: &str) -> String {
    let words = code.replace('_', " ");
    let (first, rest) = words.split_at(1);
    first.to_ascii_uppercase() + rest
}

/// A JSON object of members whose values are JSON.
fn json_object(members: &[(&str, String)]) -> String {
    let members: Vec<_> =
        members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// A JSON string (RFC 8259 §7).
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
