//! Walks through a write flow, action by action.

use oncekey::BusinessKey;
use oncekey::policy::ResponseRules;
use oncekey::write_flow::{
    Action, CallerResponse, Event, FollowUp, Identity, Target, Write, WriteFlow, WriteOutcome,
};
use oncekey::{
    BusinessKeys, Completion, Decision, Execution, FailCause, KeyState, KeyStatus, Millis,
    Rejection, Settlement, Settling, StoredResponse, UnixMillis, UnknownOutcome,
};

pub(crate) const LEASE: Millis = Millis::from_seconds(10);
pub(crate) const START: UnixMillis = UnixMillis::new(1_764_000_000_000);

pub(crate) const EXECUTION: Execution = Execution { attempt: 1, lease: LEASE };

pub(crate) struct Walk {
    pub(crate) flow: WriteFlow,
    pub(crate) action: Action,
    pub(crate) now: UnixMillis,
}

impl Walk {
    pub(crate) fn begin(identity: Identity, business_key: Option<BusinessKey>) -> Self {
        Self::begin_with(identity, business_key, FailCause::ConnectionLost)
    }

    pub(crate) fn begin_with(
        identity: Identity,
        business_key: Option<BusinessKey>,
        unreachable: FailCause,
    ) -> Self {
        Self::begin_under(identity, business_key, unreachable, UnknownOutcome::Retry)
    }

    pub(crate) fn begin_under(
        identity: Identity,
        business_key: Option<BusinessKey>,
        unreachable: FailCause,
        unknown_outcome: UnknownOutcome,
    ) -> Self {
        let rules = ResponseRules::default();
        let write =
            Write { identity, business_key, lease: LEASE, unreachable, unknown_outcome, rules };
        Self::begin_write(write)
    }

    pub(crate) fn begin_write(write: Write) -> Self {
        let (flow, action) = WriteFlow::begin(write, START);
        Self { flow, action, now: START }
    }

    /// Begins a flow in which every record returns `Execute`.
    pub(crate) fn at_origin(identity: Identity, business_key: Option<BusinessKey>) -> Self {
        let mut walk = Self::begin(identity, business_key);
        while matches!(walk.action, Action::Begin(_)) {
            walk.gets(begun(execute()));
        }
        assert_eq!(walk.action, Action::CallOrigin(EXECUTION));
        walk
    }

    pub(crate) fn waits(&mut self, time: Millis) {
        self.now = self.now.plus(time);
    }

    pub(crate) fn gets(&mut self, event: Event) {
        self.action = self.flow.advance(event, self.now);
    }

    #[track_caller]
    pub(crate) fn expects(&self, action: Action) {
        assert_eq!(self.action, action);
    }

    #[track_caller]
    pub(crate) fn ends(
        &self,
        response: CallerResponse,
        state: Option<KeyState>,
        follow_ups: &[FollowUp],
    ) {
        let status = state.and_then(status);
        self.expects(Action::Respond(WriteOutcome {
            response,
            status,
            follow_ups: follow_ups.to_vec(),
        }));
    }
}

pub(crate) fn execute() -> Decision {
    Decision::Execute(EXECUTION)
}

pub(crate) fn begun(decision: Decision) -> Event {
    Event::Begun(Ok((decision, None)))
}

pub(crate) fn begun_as(decision: Decision, state: KeyState) -> Event {
    Event::Begun(Ok((decision, status(state))))
}

pub(crate) fn ended(completion: Completion) -> Event {
    Event::Ended(Some((completion, status(KeyState::Completed))))
}

pub(crate) fn recorded(state: KeyState) -> Event {
    Event::Ended(Some((Completion::Recorded, status(state))))
}

pub(crate) fn settle(target: Target) -> Action {
    Action::Settle(target, Settlement::Executed(response(200)))
}

pub(crate) fn settled(settling: Settling) -> Event {
    Event::Settled(Ok((settling, status(KeyState::Completed))))
}

pub(crate) fn response(status: u16) -> StoredResponse {
    StoredResponse::keep(status, [], vec![], "", 1000).0
}

pub(crate) fn rejected(why: Rejection) -> CallerResponse {
    CallerResponse::Rejected(why)
}

pub(crate) fn of_business_key(why: Rejection) -> Rejection {
    Rejection::OfBusinessKey { why: Box::new(why), business_key: business_key() }
}

pub(crate) fn business_key() -> BusinessKey {
    let keys = BusinessKeys::parse("POST:/v1/orders:/no").expect("a list");
    keys.with_value("POST", "/v1/orders", "A1").expect("a business key")
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
