//! The errors of a call, and their bodies.

use platform::json::writer::JsonObject;
use std::fmt;

/// The reason why a call failed: the caller gets a refusal (`Refused`), or a 500 without details
/// (`Broken`).
#[derive(Debug)]
pub(super) enum Failure {
    Refused(Box<Refusal>),
    Broken(Box<worker::Error>),
}

impl From<Box<Refusal>> for Failure {
    fn from(refusal: Box<Refusal>) -> Self {
        Self::Refused(refusal)
    }
}

impl From<&'static str> for Failure {
    fn from(error: &'static str) -> Self {
        Self::Broken(Box::new(error.into()))
    }
}

/// What the database says.
impl From<String> for Failure {
    fn from(error: String) -> Self {
        worker::Error::from(error).into()
    }
}

impl From<worker::Error> for Failure {
    fn from(error: worker::Error) -> Self {
        Self::Broken(Box::new(error))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => f.write_str(&refusal.message),
            Self::Broken(error) => error.fmt(f),
        }
    }
}

/// An error response. Its message says what is wrong and then what to send.
///
/// A message names fields and rules and never quotes a value, which may be a card number. Business
/// keys are the exception, because their form was checked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    /// The code of the error: the same as `kind`, or more specific.
    pub(super) code: &'static str,
    pub(super) message: String,
    /// The field, parameter or header that is wrong.
    pub(super) param: Option<String>,
    /// The allowed methods, for 405.
    pub(super) allow: Option<String>,
}

const INVALID_REQUEST: &str = "invalid_request_error";

impl Refusal {
    fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Box<Self> {
        let message = message.into();
        Box::new(Self { status, kind, code: kind, message, param: None, allow: None })
    }

    fn code(mut self: Box<Self>, code: &'static str) -> Box<Self> {
        self.code = code;
        self
    }

    fn param(mut self: Box<Self>, param: &str) -> Box<Self> {
        self.param = Some(param.to_owned());
        self
    }

    /// Returns 400 for a wrong `param`. The message is its name and `rule`.
    pub(super) fn invalid(param: &str, rule: &str) -> Box<Self> {
        Self::unreadable(format!("{param} {rule}.")).param(param)
    }

    /// Returns 400 for a wrong body.
    pub(super) fn unreadable(message: impl Into<String>) -> Box<Self> {
        Self::new(400, INVALID_REQUEST, message)
    }

    /// Returns 400 for a business key, in `param`, that belongs to other content. `object` has its
    /// article.
    pub(super) fn business_key_taken(param: &str, key: &str, object: &str) -> Box<Self> {
        let message = format!(
            "{param} {key} belongs to {object} with other content. Send a new {param}, or the content of the first request."
        );
        Self::new(400, "idempotency_error", message).param(param)
    }

    /// Returns 400 for an idempotency key under which other content was made.
    pub(super) fn key_taken() -> Box<Self> {
        let message = "This Idempotency-Key was used with other content. Send a new key.";
        Self::new(400, "idempotency_error", message).param("Idempotency-Key")
    }

    /// Returns 400 for an order that was already paid by `payment`.
    pub(super) fn already_paid(payment: &str) -> Box<Self> {
        let rule =
            format!("names an order that {payment} has paid. Send the id of an unpaid order");
        Self::invalid("order_id", &rule).code("order_already_paid")
    }

    /// Returns 400 for a `param` that names an order that does not exist.
    pub(super) fn no_such_order(param: &str) -> Box<Self> {
        let rule = format!(
            "names no order. Send the {} of an existing order",
            param.trim_start_matches("order_")
        );
        Self::invalid(param, &rule).code("resource_missing")
    }

    /// Returns 402 for a declined card. `payment` is the failed payment.
    pub(super) fn declined(code: &'static str, payment: &str) -> Box<Self> {
        let message = format!(
            "The card was declined, and nothing was charged ({payment}). Send another card to pay the order."
        );
        Self::new(402, "card_error", message).code(code)
    }

    pub(super) fn unauthenticated() -> Box<Self> {
        let message = "X-Api-Key must be a sandbox key: kuko_test_ or sandbox_, followed by 1 to 200 \
             letters, digits, '-', '_', '.' or '~'.";
        Self::new(401, "authentication_error", message).param("X-Api-Key")
    }

    pub(super) fn no_such_path() -> Box<Self> {
        let message =
            "There is no such path in this API. Send one of the paths in the sandbox's guide.";
        Self::new(404, INVALID_REQUEST, message).code("resource_missing")
    }

    pub(super) fn no_such_object() -> Box<Self> {
        let message =
            "There is no such object. Send the id or business key of an object of this merchant.";
        Self::new(404, INVALID_REQUEST, message).code("resource_missing")
    }

    pub(super) fn wrong_method(allow: String) -> Box<Self> {
        let message = format!("This path does not take the method. Send one of {allow}.");
        Box::new(Self { allow: Some(allow), ..*Self::new(405, INVALID_REQUEST, message) })
    }

    pub(super) fn too_large() -> Box<Self> {
        Self::new(413, INVALID_REQUEST, "The body is larger than 65536 bytes. Send a smaller one.")
    }

    /// Returns 408 for a body that broke off.
    pub(super) fn incomplete_body() -> Box<Self> {
        let message = "The body ended early, and nothing was executed. Send the request again.";
        Self::new(408, "api_connection_error", message)
    }

    /// Returns a 500 whose cause is in the log, or that the caller asked for.
    pub(super) fn api_error(message: &str) -> Box<Self> {
        Self::new(500, "api_error", message)
    }

    pub(super) fn internal() -> Box<Self> {
        Self::api_error("An internal error occurred. Send the request again with the same key.")
    }

    /// Returns 503 if the merchant's object did not respond or has newer data than this code. The
    /// outcome is unknown to the caller.
    pub(super) fn unavailable() -> Box<Self> {
        let message =
            "The merchant's data cannot be reached. Send the request again with the same key.";
        Self::new(503, "api_connection_error", message)
    }

    /// Returns the body: `{"type", "code", "message", "param"?, "request_id", "error"}`. `error` has
    /// the same members, because SDKs look there.
    pub(super) fn body(&self, request_id: &str) -> Vec<u8> {
        let members = || {
            let mut json = JsonObject::new()
                .text("type", self.kind)
                .text("code", self.code)
                .text("message", &self.message);
            if let Some(param) = &self.param {
                json = json.text("param", param);
            }
            json.text("request_id", request_id)
        };
        members().json("error", &members().finish()).finish().into_bytes()
    }
}
