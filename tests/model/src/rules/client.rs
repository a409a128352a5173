//! The calls of the client.

use super::{M, Rules};
use oncekey::Millis;
use oncekey::client::intent::{
    Call, CallInput, CallStep, Command, Credential, Entry, Hints, IntentState, KeyCallCredential,
    Report, Stored,
};
use oncekey::client::retry::{self, AttemptResult};

const JSON: Option<&str> = Some("application/json");

/// A step of a call, in the order in which a page carries it out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ordered {
    /// The entry to store first.
    pub write: Option<Entry>,
    /// The command to carry out next.
    pub command: Command,
    /// The entry to store after that. Only a mutant has one.
    pub write_after: Option<Entry>,
}

/// A client's call.
impl Rules {
    /// Calls [`Call::begin`].
    pub fn begin_call(self, call: &mut Call, input: &CallInput) -> Ordered {
        let mut input = self.input(input);
        if let (Some(M::NewKeyOnReload), Stored::Entry(entry)) = (self.mutant, &input.stored)
            && matches!(entry.state, IntentState::Sending | IntentState::Unknown)
        {
            input.stored = Stored::Nothing;
        }
        let step = call.clone().begin(&input);
        if self.has(M::NewKeyForChangedPayload) && makes_room(&step.command) {
            input.stored = Stored::Nothing;
        }
        self.ordered(call.begin(&input))
    }

    /// [`Call::attempt_ended`].
    pub fn attempt_ended(
        self,
        call: &mut Call,
        result: &AttemptResult<'_>,
        hints: &Hints<'_>,
        input: &CallInput,
    ) -> Ordered {
        let mut input = self.input(input);
        if let (Some(M::RefusalAfterUnknownSettles), Stored::Entry(entry)) =
            (self.mutant, &mut input.stored)
        {
            entry.maybe_executed = false;
        }
        let paid = retry::ResponseSummary {
            status: 200,
            content_type: JSON,
            ..retry::ResponseSummary::default()
        };
        let seen = match result {
            AttemptResult::Response(response) => self.seen(**response, &input.stored),
            _ => paid,
        };
        match result {
            AttemptResult::Response(_) => {
                self.ordered(call.attempt_ended(&AttemptResult::Response(&seen), hints, &input))
            }
            AttemptResult::TimedOut if self.has(M::TimeOutCountsAsSuccess) => {
                self.ordered(call.attempt_ended(&AttemptResult::Response(&paid), hints, &input))
            }
            result => self.ordered(call.attempt_ended(result, hints, &input)),
        }
    }

    fn seen<'a>(
        self,
        response: retry::ResponseSummary<'a>,
        stored: &Stored,
    ) -> retry::ResponseSummary<'a> {
        let is_unproven = response.state.is_none() && response.replayed.is_none();
        let (is_success, is_refusal) = (response.status < 300, response.status / 100 == 4);
        let may_be_executed = matches!(stored, Stored::Entry(entry) if entry.maybe_executed);
        let settles = self.has(M::UnprovenSuccessSettles) && is_success
            || self.has(M::UnprovenRefusalSettles) && is_refusal && may_be_executed;
        retry::ResponseSummary {
            replayed: if settles && is_unproven { Some("true") } else { response.replayed },
            redirected: response.redirected && !self.has(M::RedirectSettles),
            ..response
        }
    }

    /// Calls [`Call::key_call`]. Returns whether a key call with this credential may be made for the key.
    pub fn speaks(self, call: &Call, source: &Credential, stored: &Stored) -> bool {
        let as_whom = call.key_call(source, stored);
        let speaks =
            matches!(as_whom, KeyCallCredential::Caller(_) | KeyCallCredential::Same { .. });
        speaks || self.has(M::KeyCallsUnderAnyCredential)
    }

    /// Calls [`Call::waited`].
    pub fn waited(self, call: &mut Call, input: &CallInput) -> Ordered {
        self.ordered(call.waited(&self.input(input)))
    }

    /// Calls [`Call::report`].
    pub fn report(self, call: &mut Call, report: Report, input: &CallInput) -> Ordered {
        let report = match report {
            Report::Absent if self.has(M::AbsentProvesNotExecuted) => Report::Voided,
            report => report,
        };
        self.ordered(call.report(report, &self.input(input)))
    }

    fn input(self, input: &CallInput) -> CallInput {
        let mut input = input.clone();
        if let (Some(M::OldKeyIsSentAgain), Stored::Entry(entry)) = (self.mutant, &mut input.stored)
        {
            entry.safe_until = input.now.plus(Millis::from_days(1));
        }
        input
    }

    fn ordered(self, step: CallStep) -> Ordered {
        let CallStep { write, command } = step;
        if self.has(M::KeyStoredAfterSending) && matches!(command, Command::Send { .. }) {
            return Ordered { write: None, command, write_after: write };
        }
        Ordered { write, command, write_after: None }
    }
}

/// Returns whether this step sends a changed payload while the outcome of the earlier payload is unknown.
fn makes_room(command: &Command) -> bool {
    use oncekey::client::intent::{End, SentRequest};
    match command {
        Command::AskState { .. } | Command::Void { .. } | Command::End(End::NotResolved) => true,
        Command::Send { request, .. } => *request == SentRequest::Earlier,
        _ => false,
    }
}
