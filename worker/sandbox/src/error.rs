//! Why a call did not succeed, and how that is told.

use platform::json::writer::Shown;
use std::fmt;

/// Either the caller is told why (`Refused`), or something here broke (`Broken`: 500, no details).
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

/// An answer that says no.
///
/// Messages name fields and rules, never what a caller sent: a wrong value may be a card number.
/// The exceptions are the merchant's own numbers, which are checked before they are named.
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
    pub(super) allow: Option<String>,
}

const INVALID_REQUEST: &str = "invalid_request_error";

impl Refusal {
    fn new(status: u16, kind: &'static str, message: &str) -> Box<Self> {
        let message = message.to_owned();
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

    /// 400: `param` is wrong. The message is the name and what it must be.
    pub(super) fn invalid(param: &str, rule: &str) -> Box<Self> {
        Self::unreadable(&[param, " ", rule, "."].concat()).param(param)
    }

    /// 400: the body as a whole is wrong.
    pub(super) fn unreadable(message: &str) -> Box<Self> {
        Self::new(400, INVALID_REQUEST, message)
    }

    /// 400: the business number that `param` names belongs to other content. `object` comes with its
    /// article.
    pub(super) fn number_taken(param: &str, number: &str, object: &str) -> Box<Self> {
        let message = [
            param,
            " ",
            number,
            " belongs to ",
            object,
            " with other content. A number is permanent: use a new one, or send what it stands for \
             as it was.",
        ];
        Self::new(400, "idempotency_error", &message.concat()).param(param)
    }

    /// 400: something with other content was made under this call's key.
    pub(super) fn key_taken() -> Box<Self> {
        let message = "This Idempotency-Key was used for other content; use a new one.";
        Self::new(400, "idempotency_error", message).param("Idempotency-Key")
    }

    /// 400: an order is paid once, and `payment` has done that.
    pub(super) fn already_paid(payment: &str) -> Box<Self> {
        let rule = ["names an order that is paid, by ", payment];
        Self::invalid("order_id", &rule.concat()).code("order_already_paid")
    }

    /// 400: `param` names what is not there.
    pub(super) fn no_referent(param: &str) -> Box<Self> {
        Self::invalid(param, "names nothing that is here").code("resource_missing")
    }

    /// 402: the card was declined, and `payment` is the record of that.
    pub(super) fn declined(code: &'static str, payment: &str) -> Box<Self> {
        let message = [
            "The card was declined, and nothing was charged: ",
            payment,
            " is this try. Another card may pay the order.",
        ];
        Self::new(402, "card_error", &message.concat()).code(code)
    }

    pub(super) fn unauthenticated() -> Box<Self> {
        let message = "X-Api-Key must be a sandbox key: kuko_test_ or sandbox_ and then 1 to 200 \
             letters, digits, '-', '_', '.' or '~'.";
        Self::new(401, "authentication_error", message).param("X-Api-Key")
    }

    pub(super) fn missing(message: &str) -> Box<Self> {
        Self::new(404, INVALID_REQUEST, message).code("resource_missing")
    }

    pub(super) fn no_such_object() -> Box<Self> {
        Self::missing("There is no such object.")
    }

    pub(super) fn wrong_method(allow: String) -> Box<Self> {
        let message = ["This call takes only ", &allow, "."].concat();
        let mut refusal = Self::new(405, INVALID_REQUEST, &message);
        refusal.allow = Some(allow);
        refusal
    }

    pub(super) fn too_large() -> Box<Self> {
        Self::new(413, INVALID_REQUEST, "The body must not be larger than 65536 bytes.")
    }

    /// 500 that was asked for with `Sandbox-Fault`.
    pub(super) fn injected() -> Box<Self> {
        Self::new(500, "api_error", "An error, as Sandbox-Fault asked for.")
    }

    /// 500 that a test card stands for.
    pub(super) fn answer_lost() -> Box<Self> {
        Self::new(500, "api_error", "An error after the payment was made, as this card asks for.")
    }

    pub(super) fn internal() -> Box<Self> {
        Self::new(500, "api_error", "Something went wrong on our side.")
    }

    /// 503: the merchant's object could not be asked, or not understood. Whether it took effect is
    /// not known to the caller.
    pub(super) fn unavailable() -> Box<Self> {
        Self::new(
            503,
            "api_connection_error",
            "The merchant's data can't be reached at the moment. Try again with the same key.",
        )
    }

    /// 408: the body did not come to its end.
    pub(super) fn cut() -> Box<Self> {
        let message = "The body could not be read to its end; nothing was done. Send it again.";
        Self::new(408, "api_connection_error", message)
    }

    /// The body: `{"type", "code", "message", "param"?, "request_id", "error"}`, where `error` has
    /// the same members, for SDKs that look there.
    pub(super) fn body(&self, request_id: &str) -> Vec<u8> {
        let members = || {
            let mut shown = Shown::new()
                .text("type", self.kind)
                .text("code", self.code)
                .text("message", &self.message);
            if let Some(param) = &self.param {
                shown = shown.text("param", param);
            }
            shown.text("request_id", request_id)
        };
        members().json("error", &members().finish()).finish().into_bytes()
    }
}
