//! Why a call did not succeed, and how that is told.

use super::input::RequestId;
use serde::Serialize;

/// Either the caller is told why (`Refused`), or something here broke (`Broken`: 500, no details).
#[derive(Debug)]
pub(super) enum Failure {
    Refused(Refusal),
    Broken(worker::Error),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<worker::Error> for Failure {
    fn from(error: worker::Error) -> Self {
        Self::Broken(error)
    }
}

/// An answer that says no.
///
/// Messages name fields and rules, never what a caller sent: a wrong value may be a card number.
/// The one exception is `out_trade_no`, which is checked before it is named.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    /// The same word as `kind`, or a narrower one.
    pub(super) code: &'static str,
    pub(super) message: String,
    /// The field, parameter or header that is at fault.
    pub(super) param: Option<String>,
    /// For 405: the methods there are.
    pub(super) allow: Option<&'static str>,
}

const INVALID_REQUEST: &str = "invalid_request_error";

impl Refusal {
    fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, code: kind, message: message.into(), param: None, allow: None }
    }

    /// 400: `param` is wrong. The message is the name and what it must be.
    pub(super) fn invalid(param: &str, rule: &str) -> Self {
        Self {
            param: Some(param.to_owned()),
            ..Self::new(400, INVALID_REQUEST, format!("{param} {rule}."))
        }
    }

    /// 400: the body as a whole is wrong.
    pub(super) fn unreadable(message: impl Into<String>) -> Self {
        Self::new(400, INVALID_REQUEST, message)
    }

    /// 400: the business number that `param` names belongs to other content.
    pub(super) fn number_taken(param: &str, number: &str, object: &str) -> Self {
        let message = format!(
            "{param} {number} belongs to an {object} with other content. A number is permanent: \
             use a new one, or send the {object} as it was."
        );
        Self { param: Some(param.to_owned()), ..Self::new(400, "idempotency_error", message) }
    }

    pub(super) fn unauthenticated() -> Self {
        let message = "X-Api-Key must be a sandbox key: kuko_test_ or sandbox_ and then 1 to 200 \
             letters, digits, '-', '_', '.' or '~'.";
        Self {
            param: Some("X-Api-Key".to_owned()),
            ..Self::new(401, "authentication_error", message)
        }
    }

    pub(super) fn missing(message: &str) -> Self {
        Self { code: "resource_missing", ..Self::new(404, INVALID_REQUEST, message) }
    }

    pub(super) fn wrong_method(allow: &'static str) -> Self {
        let message = format!("This call takes only {allow}.");
        Self { allow: Some(allow), ..Self::new(405, INVALID_REQUEST, message) }
    }

    pub(super) fn too_large(limit: usize) -> Self {
        let message = format!("The body must not be larger than {limit} bytes.");
        Self::new(413, INVALID_REQUEST, message)
    }

    /// 500 that was asked for with `Sandbox-Fault`.
    pub(super) fn injected() -> Self {
        Self::new(500, "api_error", "An error, as Sandbox-Fault asked for.")
    }

    pub(super) fn internal() -> Self {
        Self::new(500, "api_error", "Something went wrong on our side.")
    }

    /// 503: the merchant's object could not be asked, or not understood. Whether it took effect is
    /// not known to the caller.
    pub(super) fn unavailable() -> Self {
        Self::new(
            503,
            "api_connection_error",
            "The merchant's data can't be reached at the moment. Try again with the same key.",
        )
    }

    /// The body: `{"type", "code", "message", "param"?, "request_id"}`.
    pub(super) fn body(&self, request_id: &RequestId) -> Vec<u8> {
        #[derive(Serialize)]
        struct Body<'a> {
            r#type: &'a str,
            code: &'a str,
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            param: Option<&'a str>,
            request_id: &'a RequestId,
        }
        let body = Body {
            r#type: self.kind,
            code: self.code,
            message: &self.message,
            param: self.param.as_deref(),
            request_id,
        };
        // Plain strings: there is nothing in them that could fail.
        serde_json::to_vec(&body).unwrap_or_default()
    }
}
