//! An exchange, walked through step by step.

use oncekey::business::Number;
use oncekey::exchange::{After, Answer, Answered, Exchange, NamedBy, Of, Step, Told, Write};
use oncekey::{
    BusinessKeys, Completion, Decision, Execution, FailCause, KeyState, KeyStatus, Millis,
    Rejection, Settlement, Settling, StoredResponse, UnixMillis, UnknownOutcome,
};

pub(crate) const LEASE: Millis = Millis::from_seconds(10);
pub(crate) const START: UnixMillis = UnixMillis::new(1_764_000_000_000);

pub(crate) const EXECUTION: Execution = Execution { attempt: 1, lease: LEASE };

pub(crate) struct Walk {
    pub(crate) exchange: Exchange,
    pub(crate) step: Step,
    pub(crate) now: UnixMillis,
}

impl Walk {
    pub(crate) fn begin(named_by: NamedBy, number: Option<Number>) -> Self {
        Self::begin_with(named_by, number, FailCause::ConnectionLost)
    }

    pub(crate) fn begin_with(
        named_by: NamedBy,
        number: Option<Number>,
        unreachable: FailCause,
    ) -> Self {
        Self::begin_under(named_by, number, unreachable, UnknownOutcome::Retry)
    }

    pub(crate) fn begin_under(
        named_by: NamedBy,
        number: Option<Number>,
        unreachable: FailCause,
        unknown_outcome: UnknownOutcome,
    ) -> Self {
        let write = Write { named_by, number, lease: LEASE, unreachable, unknown_outcome };
        let (exchange, step) = Exchange::begin(write, START);
        Self { exchange, step, now: START }
    }

    /// Everybody says Execute.
    pub(crate) fn at_origin(named_by: NamedBy, number: Option<Number>) -> Self {
        let mut walk = Self::begin(named_by, number);
        while matches!(walk.step, Step::Begin(_)) {
            walk.hears(begun(execute()));
        }
        assert_eq!(walk.step, Step::CallOrigin(EXECUTION));
        walk
    }

    pub(crate) fn waits(&mut self, time: Millis) {
        self.now = self.now.plus(time);
    }

    pub(crate) fn hears(&mut self, told: Told) {
        self.step = self.exchange.tell(told, self.now);
    }

    #[track_caller]
    pub(crate) fn expects(&self, step: Step) {
        assert_eq!(self.step, step);
    }

    #[track_caller]
    pub(crate) fn ends(&self, answer: Answer, state: Option<KeyState>, after: &[After]) {
        let status = state.and_then(status);
        self.expects(Step::Answer(Answered { answer, status, after: after.to_vec() }));
    }
}

pub(crate) fn execute() -> Decision {
    Decision::Execute(EXECUTION)
}

pub(crate) fn begun(decision: Decision) -> Told {
    Told::Begun(Ok((decision, None)))
}

pub(crate) fn begun_as(decision: Decision, state: KeyState) -> Told {
    Told::Begun(Ok((decision, status(state))))
}

pub(crate) fn ended(completion: Completion) -> Told {
    Told::Ended(Some((completion, status(KeyState::Completed))))
}

pub(crate) fn recorded(state: KeyState) -> Told {
    Told::Ended(Some((Completion::Recorded, status(state))))
}

pub(crate) fn settle(of: Of) -> Step {
    Step::Settle(of, Settlement::Executed(answer(200)))
}

pub(crate) fn settled(settling: Settling) -> Told {
    Told::Settled(Ok((settling, status(KeyState::Completed))))
}

pub(crate) fn answer(status: u16) -> StoredResponse {
    StoredResponse::keep(status, [], vec![], "", 1000).0
}

pub(crate) fn rejected(why: Rejection) -> Answer {
    Answer::Rejected(why)
}

pub(crate) fn of_number(why: Rejection) -> Rejection {
    Rejection::OfNumber { why: Box::new(why), number: number() }
}

pub(crate) fn number() -> Number {
    let keys = BusinessKeys::parse("POST:/v1/orders:/no").expect("a list");
    keys.number_of("POST", "/v1/orders", "A1").expect("a number")
}

pub(crate) fn status(state: KeyState) -> Option<KeyStatus> {
    Some(KeyStatus {
        state,
        attempts: 1,
        http_status: None,
        request_id: None,
        created_at: START,
        completed_at: None,
        expires_at: None,
    })
}
