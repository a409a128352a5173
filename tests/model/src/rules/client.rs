//! The client's calls.

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
    /// What is stored first.
    pub write: Option<Entry>,
    /// What is done then.
    pub command: Command,
    /// What is stored after that; nothing, without a fault.
    pub write_after: Option<Entry>,
}

/// A client's call.
impl Rules {
    /// [`Call::begin`].
    pub fn begin_call(self, call: &mut Call, moment: &CallInput) -> Ordered {
        let mut moment = self.moment(moment);
        if let (Some(M::NewKeyOnReload), Stored::Entry(entry)) = (self.mutant, &moment.stored)
            && matches!(entry.state, IntentState::Sending | IntentState::Unknown)
        {
            moment.stored = Stored::Nothing;
        }
        let step = call.clone().begin(&moment);
        if self.has(M::NewKeyForChangedPayload) && makes_room(&step.command) {
            moment.stored = Stored::Nothing;
        }
        self.ordered(call.begin(&moment))
    }

    /// [`Call::attempt_ended`].
    pub fn attempt_ended(
        self,
        call: &mut Call,
        heard: &AttemptResult<'_>,
        said: &Hints<'_>,
        moment: &CallInput,
    ) -> Ordered {
        let mut moment = self.moment(moment);
        if let (Some(M::RefusalAfterUnknownSettles), Stored::Entry(entry)) =
            (self.mutant, &mut moment.stored)
        {
            entry.maybe_executed = false;
        }
        let paid = retry::ResponseSummary {
            status: 200,
            content_type: JSON,
            ..retry::ResponseSummary::default()
        };
        let seen = match heard {
            AttemptResult::Response(answer) => self.seen(**answer, &moment.stored),
            _ => paid,
        };
        match heard {
            AttemptResult::Response(_) => {
                self.ordered(call.attempt_ended(&AttemptResult::Response(&seen), said, &moment))
            }
            AttemptResult::TimedOut if self.has(M::TimeOutCountsAsSuccess) => {
                self.ordered(call.attempt_ended(&AttemptResult::Response(&paid), said, &moment))
            }
            heard => self.ordered(call.attempt_ended(heard, said, &moment)),
        }
    }

    fn seen<'a>(
        self,
        answer: retry::ResponseSummary<'a>,
        stored: &Stored,
    ) -> retry::ResponseSummary<'a> {
        let is_unproven = answer.state.is_none() && answer.replayed.is_none();
        let (is_success, is_refusal) = (answer.status < 300, answer.status / 100 == 4);
        let may_be_executed = matches!(stored, Stored::Entry(entry) if entry.maybe_executed);
        let settles = self.has(M::UnprovenSuccessSettles) && is_success
            || self.has(M::UnprovenRefusalSettles) && is_refusal && may_be_executed;
        retry::ResponseSummary {
            replayed: if settles && is_unproven { Some("true") } else { answer.replayed },
            redirected: answer.redirected && !self.has(M::RedirectSettles),
            ..answer
        }
    }

    /// [`Call::key_call`]: whether a key call under this credential speaks for the key's.
    pub fn speaks(self, call: &Call, source: &Credential, stored: &Stored) -> bool {
        let as_whom = call.key_call(source, stored);
        let speaks =
            matches!(as_whom, KeyCallCredential::Caller(_) | KeyCallCredential::Same { .. });
        speaks || self.has(M::KeyCallsUnderAnyCredential)
    }

    /// [`Call::waited`].
    pub fn waited(self, call: &mut Call, moment: &CallInput) -> Ordered {
        self.ordered(call.waited(&self.moment(moment)))
    }

    /// [`Call::report`].
    pub fn report(self, call: &mut Call, report: Report, moment: &CallInput) -> Ordered {
        let report = match report {
            Report::Absent if self.has(M::AbsentProvesNotExecuted) => Report::Voided,
            report => report,
        };
        self.ordered(call.report(report, &self.moment(moment)))
    }

    fn moment(self, moment: &CallInput) -> CallInput {
        let mut moment = moment.clone();
        if let (Some(M::OldKeyIsSentAgain), Stored::Entry(entry)) =
            (self.mutant, &mut moment.stored)
        {
            entry.safe_until = moment.now.plus(Millis::from_days(1));
        }
        moment
    }

    fn ordered(self, step: CallStep) -> Ordered {
        let CallStep { write, command } = step;
        if self.has(M::KeyStoredAfterSending) && matches!(command, Command::Send { .. }) {
            return Ordered { write: None, command, write_after: write };
        }
        Ordered { write, command, write_after: None }
    }
}

/// The step of a submit whose payload was changed while the outcome of the earlier one is unknown.
fn makes_room(command: &Command) -> bool {
    use oncekey::client::intent::{End, SentRequest};
    match command {
        Command::AskState { .. } | Command::Void { .. } | Command::End(End::NotResolved) => true,
        Command::Send { request, .. } => *request == SentRequest::Earlier,
        _ => false,
    }
}
