//! What the end of one attempt means.

use crate::canonical::MediaType;
use crate::policy::AnswerClass;

/// How an attempt ended.
#[derive(Clone, Copy, Debug)]
pub enum Heard<'a> {
    /// There was an answer, or the start of one.
    Answer(&'a Answer<'a>),
    /// The connection was refused or broke; a browser does not tell which, nor whether it was CORS.
    NetworkError,
    /// There was no answer within the attempt's time.
    TimedOut,
    /// The caller's signal ended it while it was under way.
    Aborted,
}

/// What of an answer counts. Header values are as `Headers.get` gives them; `None` also for those
/// that CORS hides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer<'a> {
    /// The status.
    pub status: u16,
    /// Whether the body could be read.
    pub body: Body,
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
    /// It is the answer of the address that a redirect led to.
    pub redirected: bool,
}

/// What became of an answer's body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Body {
    /// It was read to its end, and is what its media type says (JSON that parses, for example).
    #[default]
    Whole,
    /// Nothing came, without an error. A connection that is cut after the headers looks like this
    /// too.
    Empty,
    /// Reading it failed, or what came is not what its media type says.
    Cut,
}

/// What is known when an attempt ends.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// An earlier attempt with this key may have been executed.
    pub maybe_executed: bool,
    /// The key is ours and tells its time, and nothing was ever unknown about it.
    pub may_remint: bool,
    /// The server is known to send `Idempotency-State`, and to let it be read here: it offers the
    /// key calls, or an earlier answer to this key carried one.
    pub sends_proof: bool,
    /// The statuses by which this server answers for the key itself, also without proof
    /// ([`is_final_status`]). Without effect where the server is known to send proof.
    pub final_statuses: &'a [u16],
    /// The media types that the API answers with, as in `Accept` without parameters:
    /// `application/json` stands for all of JSON, `*/*` for anything.
    pub expects: &'a str,
}

/// What an attempt's end means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The key's answer, a success.
    Succeeded {
        /// The answer's status.
        http_status: u16,
    },
    /// The key's answer, a refusal. The next try takes a new key.
    Refused {
        /// The answer's status.
        http_status: u16,
    },
    /// This attempt surely was not executed. It says nothing of earlier ones.
    NotExecuted {
        /// The answer's status.
        http_status: u16,
        /// Whether the same request may succeed a little later.
        again: bool,
    },
    /// An attempt with this key is under way, perhaps this very one, sent twice by the browser.
    InProgress,
    /// It may have been executed; asking again may tell.
    Ambiguous(Doubt),
    /// It may have been executed, and asking again will not tell.
    Unsettled(Doubt),
    /// The key belongs to another request, and this one was never executed.
    KeyReused {
        /// The answer's status.
        http_status: u16,
    },
    /// The key was given up, and nothing was ever executed.
    KeyVoided,
    /// A key that has just been made counts as too old: the clock here is wrong.
    KeyExpired,
}

/// Why an outcome is not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// The connection failed.
    Network,
    /// There was no answer in time.
    TimedOut,
    /// The caller ended it.
    Aborted,
    /// The body broke off or cannot be read.
    Cut,
    /// It is not an answer of the API: a captive portal's page, for example.
    NotTheApi,
    /// The status says nothing about what was done, or settles nothing any more.
    Status(u16),
    /// The server does not know either, and will not try again.
    Held,
    /// The server has an answer and cannot give it again.
    NotReplayable,
    /// The key belongs to another request.
    Mismatch,
    /// The key was given up.
    Voided,
    /// The key's answer has expired.
    Expired,
    /// It does not show that it is the key's answer, where that is needed: the server is known to
    /// send proof, or an earlier attempt may have been executed.
    NoProof,
    /// It is the answer of the address that a redirect led to, and shows no proof.
    Redirected,
}

impl Doubt {
    /// Its name in errors and events.
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

/// Says what an attempt's end means. The first line that fits counts:
///
/// | answer | nothing unknown before | an earlier attempt may have been executed |
/// |---|---|---|
/// | none, cut, or a body that cannot be read | Ambiguous; Unsettled when the caller ended it | same |
/// | `idempotency_in_progress` | InProgress | same |
/// | `idempotency_outcome_unknown`, `idempotency_not_replayable` | Unsettled | same |
/// | `idempotency_error` | KeyReused | Unsettled |
/// | `idempotency_key_voided` | KeyVoided | Unsettled |
/// | `idempotency_key_expired` | KeyExpired; Unsettled if the key is the caller's or tells no time | Unsettled |
/// | 5xx | Ambiguous; NotExecuted when the state is `released`; Unsettled when it is a kept answer or an `invalid_request_error` | same |
/// | proof (`Idempotency-State: completed`, `Idempotent-Replayed: true`) | by status: below 400 Succeeded, else Refused | same |
/// | a media type that the API does not answer with | Ambiguous | same |
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
/// A 2xx without proof, where the server would have sent it, comes from somebody else: a service
/// worker that queued the request, a portal, a cache. It settles nothing.
/// Likewise a 4xx without proof, where there would be one, comes from somebody before the key's
/// record, which was not reached: the same key may still be used.
/// After an attempt whose outcome is unknown, a 4xx without proof settles nothing, whoever the
/// server is: it may be about this attempt alone (a body that broke off, a limit, a firewall), while
/// the earlier one was executed. `Idempotency-State: absent` is no proof either.
/// After a redirect a response may be of the page that it led to (a log-in page that says 200), so
/// it settles nothing: the request may have been executed, or never have arrived.
/// A kept 5xx is what Stripe-like servers replay: it stays, and says nothing.
pub fn classify(heard: &Heard<'_>, context: &Context<'_>) -> Outcome {
    match heard {
        Heard::NetworkError => Outcome::Ambiguous(Doubt::Network),
        Heard::TimedOut => Outcome::Ambiguous(Doubt::TimedOut),
        Heard::Aborted => Outcome::Unsettled(Doubt::Aborted),
        Heard::Answer(answer) if answer.is_cut() => Outcome::Ambiguous(Doubt::Cut),
        Heard::Answer(answer) => answer
            .rejection(context)
            .or_else(|| answer.server_error())
            .or_else(|| answer.kept())
            .or_else(|| answer.foreign(context.expects))
            .unwrap_or_else(|| answer.by_status(context)),
    }
}

impl Answer<'_> {
    /// An answer that has no body also has no type. One that has a type, no length and no byte lost
    /// them on the way.
    fn is_cut(&self) -> bool {
        match self.body {
            Body::Whole => false,
            Body::Cut => true,
            Body::Empty => {
                self.content_type.is_some()
                    && self.content_length != Some("0")
                    && !matches!(self.status, 204 | 205)
            }
        }
    }

    /// What the server says in place of an answer.
    fn rejection(&self, context: &Context<'_>) -> Option<Outcome> {
        let unless_unknown = |outcome, doubt| {
            if context.maybe_executed { Outcome::Unsettled(doubt) } else { outcome }
        };
        if !matches!(self.status, 400..500) {
            return None;
        }
        Some(if self.is("idempotency_in_progress") || self.is("idempotency_key_in_use") {
            Outcome::InProgress
        } else if self.is("idempotency_outcome_unknown") {
            Outcome::Unsettled(Doubt::Held)
        } else if self.is("idempotency_not_replayable") {
            Outcome::Unsettled(Doubt::NotReplayable)
        } else if self.is("idempotency_error") {
            unless_unknown(Outcome::KeyReused { http_status: self.status }, Doubt::Mismatch)
        } else if self.is("idempotency_key_voided") {
            unless_unknown(Outcome::KeyVoided, Doubt::Voided)
        } else if self.is("idempotency_key_expired") {
            if context.may_remint && !context.maybe_executed {
                Outcome::KeyExpired
            } else {
                Outcome::Unsettled(Doubt::Expired)
            }
        } else {
            return None;
        })
    }

    fn server_error(&self) -> Option<Outcome> {
        let doubt = Doubt::Status(self.status);
        (self.status >= 500).then(|| {
            if self.is_proven() || self.is("invalid_request_error") {
                Outcome::Unsettled(doubt)
            } else if self.state == Some("released") {
                Outcome::NotExecuted { http_status: self.status, again: true }
            } else {
                Outcome::Ambiguous(doubt)
            }
        })
    }

    /// The key's answer, by the server's own word.
    fn kept(&self) -> Option<Outcome> {
        let http_status = self.status;
        self.is_proven().then_some(match http_status {
            200..400 => Outcome::Succeeded { http_status },
            400.. => Outcome::Refused { http_status },
            _ => Outcome::Ambiguous(Doubt::Status(http_status)),
        })
    }

    /// An answer of somebody else.
    fn foreign(&self, expects: &str) -> Option<Outcome> {
        let has_no_body = self.content_type.is_none() && self.body == Body::Empty;
        let is_expected = has_no_body
            || matches!(self.status, 204 | 205)
            || is_expected(self.content_type, expects);
        (!is_expected).then_some(Outcome::Ambiguous(Doubt::NotTheApi))
    }

    fn by_status(&self, context: &Context<'_>) -> Outcome {
        let http_status = self.status;
        let again = matches!(http_status, 425 | 429);
        let sends_proof = context.sends_proof || self.state.is_some();
        let is_named = !sends_proof && context.final_statuses.contains(&http_status);
        let is_open =
            matches!(self.state, Some("unknown" | "in_progress")) && !self.is_not_stored();
        let ambiguous = Outcome::Ambiguous(Doubt::Status(http_status));
        let is_retryable = self.is("api_error") || self.is("api_connection_error");
        let is_conflict_of_the_api = http_status == 409 && self.is("invalid_request_error");
        match (http_status, AnswerClass::of_status(http_status)) {
            (200..300, _) if self.redirected => Outcome::Unsettled(Doubt::Redirected),
            (200..300, _) if sends_proof && !self.is_not_stored() => {
                Outcome::Unsettled(Doubt::NoProof)
            }
            (200..300, _) => Outcome::Succeeded { http_status },
            (..400, _) => ambiguous,
            _ if self.redirected => ambiguous,
            (_, AnswerClass::NotExecuted) if is_open && !again => {
                Outcome::Unsettled(Doubt::Status(http_status))
            }
            _ if is_open => ambiguous,
            (_, AnswerClass::NotExecuted) if again => Outcome::NotExecuted { http_status, again },
            _ if is_retryable => ambiguous,
            (_, AnswerClass::Unknown) if !is_conflict_of_the_api => ambiguous,
            (_, AnswerClass::NotExecuted) if context.maybe_executed => {
                Outcome::Unsettled(Doubt::Status(http_status))
            }
            (_, AnswerClass::NotExecuted) => Outcome::NotExecuted { http_status, again },
            _ if context.maybe_executed && !is_named => Outcome::Unsettled(Doubt::NoProof),
            _ if sends_proof && !self.is_not_stored() => {
                Outcome::NotExecuted { http_status, again }
            }
            _ => Outcome::Refused { http_status },
        }
    }

    /// The error's plain name: our `code`, or the `type` where a server has only that.
    fn is(&self, name: &str) -> bool {
        self.error_code == Some(name) || self.error_type == Some(name)
    }

    fn is_proven(&self) -> bool {
        self.state == Some("completed") || self.replayed == Some("true")
    }

    /// The real answer, which the server could not keep.
    fn is_not_stored(&self) -> bool {
        self.stored == Some("false")
    }
}

/// Whether a status may be named in [`Context::final_statuses`]: a 4xx that is a key's answer. 401,
/// 403, 407, 408, 409, 417, 421, 423, 425 and 429 never are.
pub fn is_final_status(status: u16) -> bool {
    matches!(status, 400..500) && AnswerClass::of_status(status) == AnswerClass::Final
}

fn is_expected(content_type: Option<&str>, expects: &str) -> bool {
    let found = MediaType::parse(content_type);
    expects.split(',').map(str::trim).any(|expected| {
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
