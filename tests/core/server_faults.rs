//! The reported faults of servers, as far as the core's rules prevent them.

use crate::support::lifecycle::requests::{request, response, token};
use oncekey::fingerprint::RequestParts;
use oncekey::{
    Attempt, AttemptToken, Completion, Decision, Execution, ExpiredKey, FailCause, Fingerprint,
    IdempotencyKey, KeyError, KeyState, Millis, Policy, Record, RecordUpdate, Renewal, Scope,
    ScopedKey, StoredResponse, Transition, UnixMillis, UnknownOutcome, lifecycle,
};
use proptest::prelude::*;

const NOW: UnixMillis = UnixMillis::new(1_764_000_000_000);
const LEASE: Millis = Millis::from_seconds(15);
const RETENTION: Millis = Millis::from_days(1);

fn policy() -> Policy {
    Policy {
        retention: RETENTION,
        lease: LEASE,
        unknown_outcome: UnknownOutcome::Retry,
        expired_key: ExpiredKey::Forget,
    }
}

/// One key, as a shard stores it.
#[derive(Clone, Default)]
struct Key {
    record: Option<Record>,
}

impl Key {
    fn in_flight() -> Self {
        let mut key = Self::default();
        key.begin("a", token(1), NOW);
        key
    }

    /// Returns the key in each state that a first attempt can leave.
    fn in_every_state() -> Vec<(&'static str, Self)> {
        let ended = |status| {
            let mut key = Self::in_flight();
            key.complete(token(1), response(status, "first"), NOW);
            key
        };
        vec![
            ("in flight", Self::in_flight()),
            ("unknown", ended(500)),
            ("released", ended(429)),
            ("completed", ended(201)),
        ]
    }

    fn next(&mut self, next: RecordUpdate) {
        match next {
            RecordUpdate::Keep => {}
            RecordUpdate::Write(record) => self.record = Some(*record),
            RecordUpdate::Remove => self.record = None,
        }
    }

    fn store<D>(&mut self, step: Transition<D>) -> D {
        self.next(step.next);
        step.decision
    }

    fn begin(&mut self, body: &str, token: AttemptToken, now: UnixMillis) -> Decision {
        let (fingerprints, policy) = (request(body, ""), policy());
        let attempt =
            Attempt { fingerprints: &fingerprints, token, minted_at: None, policy: &policy };
        self.store(lifecycle::begin(self.record.clone(), &attempt, now))
    }

    fn complete(
        &mut self,
        token: AttemptToken,
        response: StoredResponse,
        now: UnixMillis,
    ) -> Completion {
        self.store(lifecycle::complete(self.record.clone(), token, response, now))
    }

    fn fail(&mut self, token: AttemptToken, cause: FailCause, now: UnixMillis) -> Completion {
        self.store(lifecycle::fail(self.record.clone(), token, cause, now))
    }

    /// Runs the sweep.
    fn expire(&mut self, now: UnixMillis) {
        if let Some(record) = self.record.clone() {
            self.next(lifecycle::expire(record, now).next);
        }
    }

    /// Returns the number of the attempt, if it may run.
    fn runs(&mut self, token: AttemptToken, now: UnixMillis) -> Option<u32> {
        match self.begin("a", token, now) {
            Decision::Execute(Execution { attempt, .. }) => Some(attempt),
            _ => None,
        }
    }

    fn state(&self, now: UnixMillis) -> Option<KeyState> {
        self.record.as_ref()?.status(now).map(|status| status.state)
    }
}

#[test]
fn faults_1_2_one_of_many_first_requests_runs_and_the_others_must_retry() {
    let mut key = Key::default();
    assert_eq!(key.runs(token(1), NOW), Some(1));
    for other in 2..=100 {
        assert_eq!(key.begin("a", token(other), NOW), Decision::InProgress);
    }
}

#[test]
fn fault_3_another_body_is_a_mismatch_in_every_state() {
    for (state, mut key) in Key::in_every_state() {
        let before = key.record.clone();
        assert_eq!(key.begin("b", token(2), NOW), Decision::Mismatch, "{state}");
        assert_eq!(key.record, before, "{state}");
    }
}

#[test]
fn fault_5_an_overtaken_attempt_does_not_change_the_record() {
    let strange = token(9);
    for (state, key) in Key::in_every_state() {
        let mut key = key;
        let before = key.record.clone();
        for status in [200, 201, 402, 422, 429, 500, 307] {
            assert!(
                matches!(
                    key.complete(strange, response(status, "late"), NOW),
                    Completion::LeaseLost(_)
                ),
                "{state}, {status}"
            );
        }
        for cause in [FailCause::NotDispatched, FailCause::TimedOut, FailCause::ConnectionLost] {
            assert!(matches!(key.fail(strange, cause, NOW), Completion::LeaseLost(_)), "{state}");
        }
        let renewal = key.store(lifecycle::renew(key.record.clone(), strange, NOW));
        assert_eq!(renewal, Renewal::Lost, "{state}");
        assert_eq!(key.record, before, "{state}");
    }
}

#[test]
fn faults_6_8_a_dead_attempt_blocks_its_key_for_exactly_one_lease() {
    let mut key = Key::in_flight();
    let death = UnixMillis::new(NOW.as_u64() + 15_000);
    let last = UnixMillis::new(death.as_u64() - 1);
    assert_eq!(key.clone().begin("a", token(2), last), Decision::InProgress);
    assert_eq!(key.runs(token(2), death), Some(2));
}

#[test]
fn faults_7_13_however_an_attempt_ends_the_next_one_may_run_with_a_higher_number() {
    let statuses = (500..600).chain([401, 403, 407, 408, 409, 417, 421, 423, 425, 429]);
    for status in statuses {
        let mut key = Key::in_flight();
        key.complete(token(1), response(status, ""), NOW);
        assert_eq!(key.runs(token(2), NOW), Some(2), "{status}");
    }
    for cause in [FailCause::NotDispatched, FailCause::TimedOut, FailCause::ConnectionLost] {
        let mut key = Key::in_flight();
        key.fail(token(1), cause, NOW);
        assert_eq!(key.runs(token(2), NOW), Some(2), "{cause:?}");
    }
    // Attempts that end without recording anything, again and again.
    let mut key = Key::in_flight();
    for number in 2..=20 {
        let now = NOW.plus(Millis::new(LEASE.as_u64() * u64::from(number)));
        assert_eq!(key.runs(token(number), now), Some(u32::from(number)));
    }
}

#[test]
fn faults_10_15_an_expired_key_is_absent_whether_it_was_swept_or_not() {
    for (state, key) in Key::in_every_state() {
        let due = key.record.as_ref().and_then(Record::due_at).expect("it ends some day");
        for (now, counts) in [(UnixMillis::new(due.as_u64() - 1), true), (due, false)] {
            let mut swept = key.clone();
            swept.expire(now);
            let mut unswept = key.clone();
            assert_eq!(swept.state(now), unswept.state(now), "{state}");
            assert_eq!(
                swept.begin("b", token(2), now),
                unswept.begin("b", token(2), now),
                "{state}"
            );
            assert_eq!(
                swept.begin("a", token(3), now),
                unswept.begin("a", token(3), now),
                "{state}"
            );
            let mut fresh = key.clone();
            let is_new = fresh.runs(token(2), now) == Some(1);
            assert_eq!(is_new, !counts, "{state}");
        }
    }
}

#[test]
fn fault_14_a_repeated_call_gets_the_same_reply() {
    let mut key = Key::default();
    let first = key.begin("a", token(1), NOW);
    assert_eq!(key.begin("a", token(1), NOW), first);
    assert_eq!(key.complete(token(1), response(500, "x"), NOW), Completion::Recorded);
    assert_eq!(key.complete(token(1), response(500, "x"), NOW), Completion::Recorded);
    let second = key.begin("a", token(2), NOW);
    assert_eq!(key.begin("a", token(2), NOW), second);
    assert_ne!(second, first);
    assert_eq!(key.fail(token(2), FailCause::TimedOut, NOW), Completion::Recorded);
    assert_eq!(key.fail(token(2), FailCause::TimedOut, NOW), Completion::Recorded);
}

#[test]
fn fault_34_a_server_error_is_never_stored_as_the_response() {
    for status in 500..600 {
        let mut key = Key::in_flight();
        key.complete(token(1), response(status, "oops"), NOW);
        assert_eq!(key.state(NOW), Some(KeyState::Unknown), "{status}");
    }
}

#[test]
fn fault_21_a_key_has_up_to_255_characters_and_each_changes_its_stored_name() {
    let scope = Scope::of_tenant(&"t".repeat(5000));
    let mut names = std::collections::HashSet::new();
    for length in 1..=600 {
        let text = "k".repeat(length);
        for key in [
            IdempotencyKey::parse_bare(&text),
            IdempotencyKey::parse_header(&text),
            IdempotencyKey::parse_header(&format!("\"{text}\"")),
        ] {
            assert_eq!(key.is_ok(), length <= 255, "{length}");
            match key {
                Ok(key) => names.extend([ScopedKey::new(&scope, &key)]),
                Err(error) => assert_eq!(error, KeyError::TooLong(255)),
            }
        }
    }
    assert_eq!(names.len(), 255);
}

#[test]
fn fault_22_a_key_with_a_character_other_than_visible_ascii_is_refused() {
    let all = (0..=0x20).chain(0x7f..=0x2fff).chain([0xfeff, 0xff4b, 0xfffd, 0xfffe, 0x1f511]);
    for odd in all.filter_map(char::from_u32) {
        for text in [format!("{odd}k"), format!("k{odd}k"), format!("k{odd}")] {
            let no_key = Err(KeyError::NotVisibleAscii);
            assert_eq!(IdempotencyKey::parse_bare(&text), no_key, "{text:?}");
            assert_eq!(IdempotencyKey::parse_header(&format!("\"{text}\"")), no_key, "{text:?}");
            // White space around a header's value is not part of it.
            if text.trim_matches([' ', '\t']) != "k" {
                assert_eq!(IdempotencyKey::parse_header(&text), no_key, "{text:?}");
            }
        }
    }
}

#[test]
fn faults_17_18_a_key_belongs_to_one_method_path_and_query() {
    let of = |method, path, query| {
        let parts = RequestParts {
            method,
            path,
            query,
            content_encoding: None,
            content_type: Some("application/json"),
            body: b"{}",
            ignore: &[],
        };
        Fingerprint::plain(&parts)
    };
    let mut all = Vec::new();
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        for path in ["/pay", "/pay/", "/pay/x", "/pa", "/PAY"] {
            for query in [None, Some("to=alice"), Some("to=mallory"), Some("to=alice&x"), Some("x")]
            {
                all.push(of(method, path, query));
            }
        }
    }
    // A byte that moves from one part to another also makes another request.
    all.push(of("POST", "/pay?to=alice", None));
    let distinct: std::collections::HashSet<_> = all.iter().map(Fingerprint::digest_hex).collect();
    assert_eq!(distinct.len(), all.len());
}

proptest! {
    #[test]
    fn fault_19_amounts_of_any_length_differ_in_every_digit(
        amount in "[1-9][0-9]{0,60}", place: prop::sample::Index, by in 1..10_u8,
    ) {
        let mut other = amount.clone().into_bytes();
        let place = place.index(other.len());
        other[place] = b'0' + (other[place] - b'0' + by) % 10;
        let of = |amount: &str| {
            let body = format!("{{\"amount\":{amount}}}");
            Fingerprint::plain(&RequestParts {
                method: "POST",
                path: "/pay",
                query: None,
                content_encoding: None, content_type: Some("application/json"),
                body: body.as_bytes(),
                ignore: &[],
            })
        };
        let other = String::from_utf8(other).unwrap();
        prop_assert_ne!(of(&amount), of(&other));
        prop_assert_ne!(of(&amount), of(&format!("{amount}.{}1", "0".repeat(place))));
        prop_assert_eq!(of(&amount), of(&format!("{amount}.{}", "0".repeat(place + 1))));
    }

    #[test]
    fn fault_22_only_a_text_of_visible_ascii_is_a_key(text in "\\PC*|[\\x00-\\x7f]*") {
        if let Ok(key) = IdempotencyKey::parse_header(&text) {
            prop_assert!(key.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }

    #[test]
    fn fault_23_tenants_never_share_a_record(
        one in "[ab]{0,3}", other in "[ab]{0,3}", key in "[ab]{1,3}", second in "[ab]{1,3}",
    ) {
        let name = |tenant: &str, key: &str| {
            ScopedKey::new(&Scope::of_tenant(tenant), &IdempotencyKey::parse_bare(key).unwrap())
        };
        prop_assert_eq!(name(&one, &key) == name(&other, &second), one == other && key == second);
    }

    #[test]
    fn faults_27_28_29_headers_and_body_are_stored_unchanged(
        status in prop_oneof![Just(200_u16), Just(201), Just(302), Just(404)],
        headers in prop::collection::vec(("(x-[a-z]{1,8}|link|location|content-disposition|etag)", "[ -~]{0,60}"), 0..12),
        body: Vec<u8>,
    ) {
        let (response, _) = StoredResponse::keep(status, headers.clone(), body.clone(), "req_1", 1 << 20);
        let mut key = Key::in_flight();
        key.complete(token(1), response, NOW);
        let stored = key.record.expect("a record").encode();
        let mut again = Key { record: Some(Record::decode(&stored).unwrap()) };
        let Decision::Replay(replayed) = again.begin("a", token(2), NOW) else { panic!("no replay") };
        prop_assert_eq!(replayed.headers.clone().into_iter().collect::<Vec<_>>(), headers);
        prop_assert_eq!((replayed.status, replayed.body()), (status, Some(&body[..])));
    }
}

#[test]
fn a_uuidv7_from_the_future_counts_as_minted_now() {
    let fingerprints = request("a", "");
    for expired_key in [ExpiredKey::Forget, ExpiredKey::Refuse] {
        let policy = Policy { expired_key, ..policy() };
        let begin = |minted_at| {
            let attempt = Attempt {
                fingerprints: &fingerprints,
                token: token(1),
                minted_at: Some(minted_at),
                policy: &policy,
            };
            lifecycle::begin(None, &attempt, NOW)
        };
        for ahead in [1, 3_600_001, RETENTION.as_u64() * 2, u64::MAX] {
            let minted_at = NOW.plus(Millis::new(ahead));
            assert_eq!(begin(minted_at), begin(NOW), "{ahead}");
            let void = |minted_at| lifecycle::void(None, Some(minted_at), &policy, NOW);
            assert_eq!(void(minted_at), void(NOW), "{ahead}");
        }
    }
}
