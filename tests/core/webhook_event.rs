//! The lifecycle of a webhook's event.

use oncekey::webhook::fingerprints;
use oncekey::{
    Attempt, AttemptToken, Completion, Decision, ExpiredKey, FailCause, IdempotencyKey, KeyState,
    Millis, Policy, Record, RecordUpdate, Scope, ScopedKey, StoredResponse, UnixMillis,
    UnknownOutcome, lifecycle,
};

fn now() -> UnixMillis {
    UnixMillis::new(1_614_265_330_000)
}

#[test]
fn an_event_is_a_key_in_a_scope_of_its_source() {
    let key = IdempotencyKey::parse_bare("evt_1").unwrap();
    let name = |scope: Scope| ScopedKey::new(&scope, &key);
    let names = [
        name(Scope::of_source("dodo")),
        name(Scope::of_source("polar")),
        name(Scope::of_tenant("dodo")),
        name(Scope::anonymous()),
    ];
    for (place, one) in names.iter().enumerate() {
        assert!(names[..place].iter().all(|earlier| earlier != one));
    }
}

fn policy() -> Policy {
    let of_keys = Policy {
        retention: Millis::from_days(1),
        lease: Millis::from_seconds(15),
        unknown_outcome: UnknownOutcome::Hold,
        expired_key: ExpiredKey::Refuse,
    };
    of_keys.of_events()
}

/// One event and its record, over several deliveries.
#[derive(Default)]
struct Event {
    record: Option<Record>,
    deliveries: u8,
}

impl Event {
    fn store(&mut self, next: RecordUpdate) {
        match next {
            RecordUpdate::Keep => {}
            RecordUpdate::Write(record) => self.record = Some(*record),
            RecordUpdate::Remove => self.record = None,
        }
    }

    fn begin(&mut self, now: UnixMillis) -> (Decision, AttemptToken) {
        self.deliveries += 1;
        let token = AttemptToken::new([self.deliveries; 16]);
        let (fingerprints, policy) = (fingerprints(), policy());
        let attempt =
            Attempt { fingerprints: &fingerprints, token, minted_at: None, policy: &policy };
        let step = lifecycle::begin(self.record.clone(), &attempt, now);
        self.store(step.next);
        (step.decision, token)
    }

    fn complete(&mut self, token: AttemptToken, status: u16, now: UnixMillis) -> Completion {
        let response = StoredResponse::without_body(status, [], "req_1");
        let step = lifecycle::complete(self.record.clone(), token, response, now);
        self.store(step.next);
        step.decision
    }
}

#[test]
fn an_event_is_processed_after_a_2xx_and_stays_so() {
    for status in [200, 201, 202, 204, 299] {
        let mut event = Event::default();
        let (_, token) = event.begin(now());
        assert_eq!(event.complete(token, status, now()), Completion::Recorded);
        for days in [0, 1, 30, 31, 4000] {
            let later = now().plus(Millis::from_days(days));
            if let Some(record) = event.record.clone() {
                event.store(lifecycle::expire(record, later).next);
            }
            let (decision, _) = event.begin(later);
            let done = Decision::NotReplayable { http_status: Some(status), resource: None };
            assert_eq!(decision, done, "after {days} days");
        }
    }
}

#[test]
fn fault_38_an_event_that_the_origin_did_not_process_is_forwarded_again() {
    for status in
        [300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 408, 409, 410, 422, 429, 500, 503]
    {
        let mut event = Event::default();
        let (_, token) = event.begin(now());
        event.complete(token, status, now());
        let state = event.record.as_ref().and_then(|record| record.status(now()));
        assert_ne!(state.map(|status| status.state), Some(KeyState::Completed), "{status}");
        let (decision, token) = event.begin(now());
        assert!(matches!(decision, Decision::Execute(_)), "{status}: {decision:?}");
        event.complete(token, 200, now());
        assert!(matches!(event.begin(now()).0, Decision::NotReplayable { .. }), "{status}");
    }
}

#[test]
fn an_event_is_forwarded_again_after_a_time_out_but_not_while_in_flight() {
    let mut event = Event::default();
    let (_, token) = event.begin(now());
    assert_eq!(event.begin(now()).0, Decision::InProgress);
    let step = lifecycle::fail(event.record.clone(), token, FailCause::TimedOut, now());
    event.store(step.next);
    assert!(matches!(event.begin(now()).0, Decision::Execute(_)));
    let lease_is_over = now().plus(Millis::from_seconds(15));
    assert!(matches!(event.begin(lease_is_over).0, Decision::Execute(_)));
}
