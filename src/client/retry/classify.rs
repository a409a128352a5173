//! What the result of one attempt means.

use crate::canonical::MediaType;
use crate::codec::text::{split, trim};
use crate::policy::ResponseClass;

/// Returns what the result of an attempt means. The first row that matches counts:
///
/// | response | nothing unknown before | an earlier attempt may have been executed |
/// |---|---|---|
/// | none, cut, or a body that cannot be read | Ambiguous; Unsettled when the caller ended it | same |
/// | `idempotency_in_progress` | InProgress | same |
/// | `idempotency_outcome_unknown`, `idempotency_not_replayable` | Unsettled | same |
/// | `idempotency_error` | KeyReused | Unsettled |
/// | `idempotency_key_voided` | KeyVoided | Unsettled |
/// | `idempotency_key_expired` | KeyExpired; Unsettled if the key is the caller's or tells no time | Unsettled |
/// | 5xx | Ambiguous; NotExecuted when the state is `released`; Unsettled when it is a kept response or an `invalid_request_error` | same |
/// | proof (`Idempotency-State: completed`, `Idempotent-Replayed: true`) | by status: below 400 Succeeded, else Refused | same |
/// | a media type that the API does not return | Ambiguous | same |
/// | 2xx after a redirect | Unsettled | same |
/// | 4xx after a redirect | Ambiguous | same |
/// | 2xx | Succeeded; where the server sends proof, Unsettled, unless `Idempotency-Stored: false` | same |
/// | 4xx with the state `unknown` or `in_progress`, not `Idempotency-Stored: false` | Ambiguous; Unsettled for 401, 403, 407, 417, 421, 423 | same |
/// | 425, 429 | NotExecuted, again | same |
/// | `api_error`, `api_connection_error`; 408; 409 that is no `invalid_request_error` | Ambiguous | same |
/// | 401, 403, 407, 417, 421, 423 | NotExecuted | Unsettled |
/// | any other 4xx | Refused; where the server sends proof, NotExecuted, unless `Idempotency-Stored: false` | Unsettled; Refused for one of [`Context::final_statuses`] where the server sends no proof |
/// | any other status | Ambiguous | same |
///
/// If the server sends proof, a 2xx without proof comes from another sender: a service worker that
/// queued the request, a portal, a cache. It settles nothing. A 4xx without proof did not reach the
/// record of the key, so the same key may still be used.
/// After an attempt whose outcome is unknown, a 4xx without proof never settles anything: it may be
/// about this attempt only (a body that broke off, a limit, a firewall), while the earlier attempt
/// was executed. `Idempotency-State: absent` is no proof either. After a redirect, the response may
/// be from another page (a log-in page with status 200), so it settles nothing: the request may
/// have been executed, or may never have arrived. Stripe-like servers replay a kept 5xx. A retry gets
/// the same 5xx, which does not say whether the request was executed.
///
/// ```
/// # use oncekey::client::retry::{
/// #     AttemptResult, BodyState, Context, Outcome, ResponseSummary, classify,
/// # };
/// let context = Context {
///     maybe_executed: false,
///     may_remint: false,
///     sends_proof: false,
///     final_statuses: &[],
///     expects: "",
/// };
/// let outcome = classify(&AttemptResult::TimedOut, &context);
/// assert!(matches!(outcome, Outcome::Ambiguous(_)), "the request may have been executed");
/// ```
pub fn classify(result: &AttemptResult<'_>, context: &Context<'_>) -> Outcome {
    match result {
        AttemptResult::NetworkError => Outcome::Ambiguous(UnknownReason::Network),
        AttemptResult::TimedOut => Outcome::Ambiguous(UnknownReason::TimedOut),
        AttemptResult::Aborted => Outcome::Unsettled(UnknownReason::Aborted),
        AttemptResult::Response(response) if response.is_cut() => {
            Outcome::Ambiguous(UnknownReason::Cut)
        }
        AttemptResult::Response(response) => response
            .rejection(context)
            .or_else(|| response.server_error())
            .or_else(|| response.kept())
            .or_else(|| response.foreign(context.expects))
            .unwrap_or_else(|| response.by_status(context)),
    }
}

/// The result of an attempt.
#[derive(Clone, Copy, Debug)]
pub enum AttemptResult<'a> {
    /// There was a response, or the start of one.
    Response(&'a ResponseSummary<'a>),
    /// The connection was refused or broke, or CORS forbade the response. A browser does not tell
    /// which.
    NetworkError,
    /// There was no response within the time of the attempt.
    TimedOut,
    /// The caller's signal ended the attempt.
    Aborted,
}

/// What counts in a response. Header values are as `Headers.get` returns them. A header that CORS
/// hides is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResponseSummary<'a> {
    /// The status.
    pub status: u16,
    /// Whether the body could be read.
    pub body: BodyState,
    /// `Content-Type`.
    pub content_type: Option<&'a str>,
    /// `Content-Length`.
    pub content_length: Option<&'a str>,
    /// The member `type` of an error's body, at the top or in its member `error`.
    pub error_type: Option<&'a str>,
    /// The member `code` of an error's body, at the same place.
    pub error_code: Option<&'a str>,
    /// `Idempotency-State`.
    pub state: Option<&'a str>,
    /// `Idempotent-Replayed`.
    pub replayed: Option<&'a str>,
    /// `Idempotency-Stored`.
    pub stored: Option<&'a str>,
    /// Whether the response came after a redirect.
    pub redirected: bool,
}

/// The state of a response's body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BodyState {
    /// It was read to its end, and is what its media type says (JSON that parses, for example).
    #[default]
    Whole,
    /// The body is empty, without an error. A connection that is cut after the headers looks the
    /// same.
    Empty,
    /// Reading the body failed, or it is not what its media type says.
    Cut,
}

/// What is known when an attempt ends.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// Whether an earlier attempt with this key may have been executed.
    pub maybe_executed: bool,
    /// Whether the key was minted here and contains a time, and its outcome was never unknown.
    pub may_remint: bool,
    /// Whether the server is known to send `Idempotency-State`, and to let it be read here: it offers
    /// the key calls, or an earlier response for this key had the header.
    pub sends_proof: bool,
    /// The statuses that this server returns for the key itself, even without proof
    /// ([`is_final_status`]). They have no effect if the server is known to send proof.
    pub final_statuses: &'a [u16],
    /// The media types of the API's responses, as in `Accept` without parameters:
    /// `application/json` includes every JSON type, `*/*` every type.
    pub expects: &'a str,
}

/// What the result of an attempt means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The key's response, a success.
    Succeeded {
        /// The status of the response.
        http_status: u16,
    },
    /// The key's response, a refusal. The next submit uses a new key.
    Refused {
        /// The status of the response.
        http_status: u16,
    },
    /// This attempt was not executed. Earlier attempts may have been.
    NotExecuted {
        /// The status of the response.
        http_status: u16,
        /// Whether the same request may succeed a little later.
        again: bool,
    },
    /// An attempt with this key is in progress. It may be this one, if the browser sent it twice.
    InProgress,
    /// The attempt may have been executed. A retry may show the outcome.
    Ambiguous(UnknownReason),
    /// The attempt may have been executed, and a retry will not show the outcome.
    Unsettled(UnknownReason),
    /// The key belongs to another request, and this one was never executed.
    KeyReused {
        /// The status of the response.
        http_status: u16,
    },
    /// The key was voided, and nothing was executed.
    KeyVoided,
    /// A fresh key counts as too old: the clock here is wrong.
    KeyExpired,
}

/// Why an outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnknownReason {
    /// The connection failed.
    Network,
    /// There was no response in time.
    TimedOut,
    /// The caller ended the attempt.
    Aborted,
    /// The body broke off or cannot be read.
    Cut,
    /// The response is not from the API. It may be the page of a captive portal.
    NotTheApi,
    /// The status says nothing about what was done, or settles nothing any more.
    Status(u16),
    /// The server does not know either, and keeps the key on hold.
    Held,
    /// The server has a response and cannot replay it.
    NotReplayable,
    /// The key belongs to another request.
    Mismatch,
    /// The key was voided.
    Voided,
    /// The key's response has expired.
    Expired,
    /// The response does not prove that it belongs to the key, and proof is needed: the server is
    /// known to send it, or an earlier attempt may have been executed.
    NoProof,
    /// The response came after a redirect, without proof.
    Redirected,
}

impl UnknownReason {
    /// Returns the name in errors and events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::TimedOut => "timed_out",
            Self::Aborted => "aborted",
            Self::Cut => "cut",
            Self::NotTheApi => "not_the_api",
            Self::Status(_) => "status",
            Self::Held => "held",
            Self::NotReplayable => "not_replayable",
            Self::Mismatch => "mismatch",
            Self::Voided => "voided",
            Self::Expired => "expired",
            Self::NoProof => "no_proof",
            Self::Redirected => "redirected",
        }
    }
}

impl ResponseSummary<'_> {
    /// Returns whether the body was lost or broke off. A response without a body has no media type. If
    /// it has a type, but no length and no byte, its body was lost on the way.
    fn is_cut(&self) -> bool {
        match self.body {
            BodyState::Whole => false,
            BodyState::Cut => true,
            BodyState::Empty => {
                self.content_type.is_some()
                    && self.content_length != Some("0")
                    && !matches!(self.status, 204 | 205)
            }
        }
    }

    /// Returns what an idempotency error means.
    fn rejection(&self, context: &Context<'_>) -> Option<Outcome> {
        let unless_unknown = |outcome, reason| {
            if context.maybe_executed { Outcome::Unsettled(reason) } else { outcome }
        };
        if !matches!(self.status, 400..500) {
            return None;
        }
        Some(if self.is("idempotency_in_progress") || self.is("idempotency_key_in_use") {
            Outcome::InProgress
        } else if self.is("idempotency_outcome_unknown") {
            Outcome::Unsettled(UnknownReason::Held)
        } else if self.is("idempotency_not_replayable") {
            Outcome::Unsettled(UnknownReason::NotReplayable)
        } else if self.is("idempotency_error") {
            unless_unknown(Outcome::KeyReused { http_status: self.status }, UnknownReason::Mismatch)
        } else if self.is("idempotency_key_voided") {
            unless_unknown(Outcome::KeyVoided, UnknownReason::Voided)
        } else if self.is("idempotency_key_expired") {
            if context.may_remint && !context.maybe_executed {
                Outcome::KeyExpired
            } else {
                Outcome::Unsettled(UnknownReason::Expired)
            }
        } else {
            return None;
        })
    }

    fn server_error(&self) -> Option<Outcome> {
        let reason = UnknownReason::Status(self.status);
        (self.status >= 500).then(|| {
            if self.is_proven() || self.is("invalid_request_error") {
                Outcome::Unsettled(reason)
            } else if self.state == Some("released") {
                Outcome::NotExecuted { http_status: self.status, again: true }
            } else {
                Outcome::Ambiguous(reason)
            }
        })
    }

    /// Returns what a response with proof means.
    fn kept(&self) -> Option<Outcome> {
        let http_status = self.status;
        self.is_proven().then_some(match http_status {
            200..400 => Outcome::Succeeded { http_status },
            400.. => Outcome::Refused { http_status },
            _ => Outcome::Ambiguous(UnknownReason::Status(http_status)),
        })
    }

    /// Returns what a response of another sender means.
    fn foreign(&self, expects: &str) -> Option<Outcome> {
        let has_no_body = self.content_type.is_none() && self.body == BodyState::Empty;
        let is_expected = has_no_body
            || matches!(self.status, 204 | 205)
            || is_expected(self.content_type, expects);
        (!is_expected).then_some(Outcome::Ambiguous(UnknownReason::NotTheApi))
    }

    fn by_status(&self, context: &Context<'_>) -> Outcome {
        let http_status = self.status;
        let again = matches!(http_status, 425 | 429);
        let sends_proof = context.sends_proof || self.state.is_some();
        let is_named = !sends_proof && context.final_statuses.contains(&http_status);
        let is_open =
            matches!(self.state, Some("unknown" | "in_progress")) && !self.is_not_stored();
        let ambiguous = Outcome::Ambiguous(UnknownReason::Status(http_status));
        let is_retryable = self.is("api_error") || self.is("api_connection_error");
        let is_conflict_of_the_api = http_status == 409 && self.is("invalid_request_error");
        match (http_status, ResponseClass::of_status(http_status)) {
            (200..300, _) if self.redirected => Outcome::Unsettled(UnknownReason::Redirected),
            (200..300, _) if sends_proof && !self.is_not_stored() => {
                Outcome::Unsettled(UnknownReason::NoProof)
            }
            (200..300, _) => Outcome::Succeeded { http_status },
            (..400, _) => ambiguous,
            _ if self.redirected => ambiguous,
            (_, ResponseClass::NotExecuted) if is_open && !again => {
                Outcome::Unsettled(UnknownReason::Status(http_status))
            }
            _ if is_open => ambiguous,
            (_, ResponseClass::NotExecuted) if again => Outcome::NotExecuted { http_status, again },
            _ if is_retryable => ambiguous,
            (_, ResponseClass::Unknown) if !is_conflict_of_the_api => ambiguous,
            (_, ResponseClass::NotExecuted) if context.maybe_executed => {
                Outcome::Unsettled(UnknownReason::Status(http_status))
            }
            (_, ResponseClass::NotExecuted) => Outcome::NotExecuted { http_status, again },
            _ if context.maybe_executed && !is_named => Outcome::Unsettled(UnknownReason::NoProof),
            _ if sends_proof && !self.is_not_stored() => {
                Outcome::NotExecuted { http_status, again }
            }
            _ => Outcome::Refused { http_status },
        }
    }

    /// Returns whether the error has this name, as its `code` or as its `type`.
    fn is(&self, name: &str) -> bool {
        self.error_code == Some(name) || self.error_type == Some(name)
    }

    fn is_proven(&self) -> bool {
        self.state == Some("completed") || self.replayed == Some("true")
    }

    /// Returns whether the server could not store this response.
    fn is_not_stored(&self) -> bool {
        self.stored == Some("false")
    }
}

/// Returns whether [`Context::final_statuses`] may list this status: a 4xx that is about a key.
/// 401, 403, 407, 408, 409, 417, 421, 423, 425 and 429 never are.
pub fn is_final_status(status: u16) -> bool {
    matches!(status, 400..500) && ResponseClass::of_status(status) == ResponseClass::Final
}

/// Returns whether a status below 400 ended the request, as a success or a redirect.
pub const fn is_success(status: u16) -> bool {
    status < 400
}

fn is_expected(content_type: Option<&str>, expects: &str) -> bool {
    let found = MediaType::parse(content_type);
    split(expects, b',').map(trim).any(|expected| {
        let expected = MediaType::parse(Some(expected));
        match expected.essence().strip_suffix("/*") {
            Some("*") => true,
            Some(kind) => found.essence().split_once('/').is_some_and(|(found, _)| found == kind),
            None => {
                found.essence() == expected.essence() || (found.is_json() && expected.is_json())
            }
        }
    })
}
