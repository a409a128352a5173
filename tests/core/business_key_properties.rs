//! Two keys or none, and one business key: properties that always hold, checked in random histories in which
//! gateways die between any two steps.
//!
//! 1. With `hold`, the request of a business key is executed at most once, whatever its idempotency keys.
//! 2. Within the retention, all callers of a business key who see a success see the same one.
//! 3. A success is seen only by callers who sent its content.
//! 4. No attempt calls the origin without both leases.
//! 5. No record is stuck in progress.

use crate::support::histories::{play_all, reached};
use crate::support::lifecycle::requests::{request, response, token};
use oncekey::business_key::{KeyEnd, Pairing, alone, end_of_key, on_hold, pair};
use oncekey::{
    Attempt, Completion, Decision, Execution, ExpiredKey, FailCause, Fingerprints, Millis, Policy,
    Record, RecordUpdate, ResponseClass, Settlement, StoredResponse, Transition, UnixMillis,
    UnknownOutcome, lifecycle,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

static REQUESTS: LazyLock<[Fingerprints; 2]> =
    LazyLock::new(|| [request("content 0", ""), request("content 1", "")]);

/// The numbers of the records: keys 0 and 1 have one content each, key 2 has the content of key 0.
const BUSINESS_KEY: usize = 9;

#[derive(Clone, Copy, Debug)]
enum Op {
    /// A request arrives: with the key 0, 1 or 2, or without one.
    Send { key: Option<usize>, content: usize },
    /// A gateway makes its next step. `fate` is what the origin does with a call.
    Go { pick: usize, fate: usize },
    /// A gateway dies.
    Crash { pick: usize },
    /// Time passes.
    Wait { time: usize },
}

#[derive(Clone, Debug)]
enum WritePhase {
    AskKey,
    AskBusinessKey(Execution),
    Dispatch(Execution),
    AtOrigin,
    EndBusinessKey(StoredEnd),
    EndKey(KeyEnd, StoredEnd),
    Over,
}

#[derive(Clone, Debug)]
enum StoredEnd {
    Response(StoredResponse),
    Failure(FailCause),
}

struct Gateway {
    key: Option<usize>,
    content: usize,
    sent_at: UnixMillis,
    phase: WritePhase,
}

struct World {
    now: UnixMillis,
    policy: Policy,
    records: BTreeMap<usize, Record>,
    gateways: Vec<Gateway>,
    works: u32,
    seen: Option<StoredResponse>,
    milestones: BTreeSet<&'static str>,
}

impl World {
    fn new(unknown_outcome: UnknownOutcome) -> Self {
        Self {
            now: UnixMillis::new(1_764_000_000_000),
            policy: Policy {
                retention: Millis::from_days(1),
                lease: Millis::from_seconds(10),
                unknown_outcome,
                expired_key: ExpiredKey::Forget,
            },
            records: BTreeMap::new(),
            gateways: Vec::new(),
            works: 0,
            seen: None,
            milestones: BTreeSet::new(),
        }
    }

    fn happen(&mut self, op: Op) {
        match op {
            Op::Send { key, content } => {
                let content = key.map_or(content, |key| key % 2);
                let phase = WritePhase::AskKey;
                self.gateways.push(Gateway { key, content, sent_at: self.now, phase });
            }
            Op::Go { pick, fate } => {
                if let Some(of) = self.pick(pick) {
                    self.go(of, fate);
                }
            }
            Op::Crash { pick } => {
                if let Some(of) = self.pick(pick) {
                    self.gateways[of].phase = WritePhase::Over;
                }
            }
            Op::Wait { time } => {
                let times = [1, 4_000, 10_000, 10_000, 60_000];
                self.now = self.now.plus(Millis::new(times[time % times.len()]));
            }
        }
    }

    fn go(&mut self, of: usize, fate: usize) {
        let (key, content) = (self.gateways[of].key, self.gateways[of].content);
        let first = key.unwrap_or(BUSINESS_KEY);
        self.gateways[of].phase = match self.gateways[of].phase.clone() {
            WritePhase::AskKey => match (self.begin(first, of), key) {
                (Decision::Execute(execution), Some(_)) => WritePhase::AskBusinessKey(execution),
                (Decision::OutcomeUnknown, Some(_)) => {
                    self.found_held(of, first);
                    WritePhase::Over
                }
                (decision, None) => match alone(decision) {
                    Pairing::Dispatch(execution) => WritePhase::Dispatch(execution),
                    Pairing::Adopt(response) => self.saw(of, &response),
                    Pairing::LookUp(_) | Pairing::End(_) => WritePhase::Over,
                },
                (Decision::Replay(response), _) => self.saw(of, &response),
                _ => WritePhase::Over,
            },
            WritePhase::AskBusinessKey(execution) => {
                match pair(execution, self.begin(BUSINESS_KEY, of)) {
                    Pairing::Dispatch(execution) => WritePhase::Dispatch(execution),
                    Pairing::Adopt(response) => {
                        self.milestones.insert("a key takes the business key's response");
                        WritePhase::EndKey(
                            KeyEnd::Adopt(response.clone()),
                            StoredEnd::Response(response),
                        )
                    }
                    Pairing::LookUp(_) | Pairing::End(_) => {
                        let failure = StoredEnd::Failure(FailCause::NotDispatched);
                        WritePhase::EndKey(KeyEnd::Own, failure)
                    }
                }
            }
            WritePhase::Dispatch(execution) => {
                if execution.may_dispatch(self.gateways[of].sent_at, self.now) {
                    for name in [first, BUSINESS_KEY] {
                        let status = self.records[&name].status(self.now);
                        let state = status.map_or("gone", |status| status.state.as_str());
                        // An overtaken attempt may have recorded its success meanwhile.
                        let has_lease = state == "in_progress"
                            || state == "completed"
                                && self.policy.unknown_outcome == UnknownOutcome::Retry;
                        assert!(has_lease, "dispatched without a lease: {state}");
                    }
                    WritePhase::AtOrigin
                } else {
                    WritePhase::EndBusinessKey(StoredEnd::Failure(FailCause::NotDispatched))
                }
            }
            WritePhase::AtOrigin => {
                let (status, works) = [
                    (201, true),
                    (201, true),
                    (201, true),
                    (400, false),
                    (429, false),
                    (500, true),
                    (500, false),
                    (307, false),
                    (0, true),
                    (0, false),
                ][fate % 10];
                if works {
                    self.works += 1;
                    let holds = self.policy.unknown_outcome == UnknownOutcome::Hold;
                    assert!(self.works == 1 || !holds, "executed twice");
                }
                WritePhase::EndBusinessKey(match status {
                    0 => StoredEnd::Failure(FailCause::TimedOut),
                    status => StoredEnd::Response(response(
                        status,
                        &format!("content {content}, from {of}"),
                    )),
                })
            }
            // A request without a key has one record, and the caller gets its decision.
            WritePhase::EndBusinessKey(end) if key.is_none() => {
                match self.end(BUSINESS_KEY, of, end.clone()) {
                    Completion::Recorded => self.saw_own(of, &end),
                    Completion::LeaseLost(decision) => match *decision {
                        Decision::Replay(response) => self.saw(of, &response),
                        _ => WritePhase::Over,
                    },
                    Completion::RecordGone => WritePhase::Over,
                }
            }
            WritePhase::EndBusinessKey(end) => {
                let completion = self.end(BUSINESS_KEY, of, end.clone());
                match &end {
                    StoredEnd::Response(own) => WritePhase::EndKey(
                        end_of_key(completion, ResponseClass::of_status(own.status)),
                        end,
                    ),
                    StoredEnd::Failure(_) => WritePhase::EndKey(KeyEnd::Own, end),
                }
            }
            WritePhase::EndKey(key_end, own_end) => {
                let end = match key_end {
                    KeyEnd::Own => own_end,
                    KeyEnd::Adopt(response) => {
                        if !matches!(&own_end, StoredEnd::Response(own) if *own == response) {
                            self.milestones
                                .insert("an overtaken key takes the business key's response");
                        }
                        StoredEnd::Response(response)
                    }
                    KeyEnd::Unknown(_) => {
                        self.milestones.insert("an overtaken business key leaves its key unknown");
                        StoredEnd::Failure(FailCause::ConnectionLost)
                    }
                };
                match self.end(first, of, end.clone()) {
                    Completion::Recorded => self.saw_own(of, &end),
                    Completion::LeaseLost(decision) => match *decision {
                        Decision::Replay(response) => self.saw(of, &response),
                        _ => WritePhase::Over,
                    },
                    Completion::RecordGone => WritePhase::Over,
                }
            }
            WritePhase::Over => WritePhase::Over,
        };
    }

    /// Checks whether the business key of a key on hold has the response.
    fn found_held(&mut self, of: usize, first: usize) {
        let (fingerprints, now) = (&REQUESTS[self.gateways[of].content], self.now);
        let peeked =
            self.call(BUSINESS_KEY, |record| lifecycle::peek(record, fingerprints, now)).decision;
        if let Pairing::Adopt(response) = on_hold(peeked) {
            let settlement = Settlement::Executed(response.clone());
            self.call(first, |record| lifecycle::settle(record, settlement, now));
            self.milestones.insert("a key on hold takes the business key's response");
            self.saw(of, &response);
        }
    }

    fn begin(&mut self, name: usize, of: usize) -> Decision {
        let now = self.now;
        let policy =
            if name == BUSINESS_KEY { self.policy.of_business_keys() } else { self.policy };
        let attempt = Attempt {
            fingerprints: &REQUESTS[self.gateways[of].content],
            token: token(of as u8),
            minted_at: None,
            policy: &policy,
        };
        self.call(name, |record| lifecycle::begin(record, &attempt, now)).decision
    }

    fn end(&mut self, name: usize, of: usize, end: StoredEnd) -> Completion {
        let (token, now) = (token(of as u8), self.now);
        self.call(name, |record| match end {
            StoredEnd::Response(response) => lifecycle::complete(record, token, response, now),
            StoredEnd::Failure(cause) => lifecycle::fail(record, token, cause, now),
        })
        .decision
    }

    fn call<D>(
        &mut self,
        name: usize,
        decide: impl FnOnce(Option<Record>) -> Transition<D>,
    ) -> Transition<D> {
        let step = decide(self.records.get(&name).cloned());
        match &step.next {
            RecordUpdate::Keep => {}
            RecordUpdate::Write(record) => drop(self.records.insert(name, (**record).clone())),
            RecordUpdate::Remove => drop(self.records.remove(&name)),
        }
        step
    }

    fn saw_own(&mut self, of: usize, end: &StoredEnd) -> WritePhase {
        match end {
            StoredEnd::Response(response) => self.saw(of, response),
            StoredEnd::Failure(_) => WritePhase::Over,
        }
    }

    /// A caller sees a response.
    fn saw(&mut self, of: usize, response: &StoredResponse) -> WritePhase {
        if response.is_success() {
            let own = format!("content {}", self.gateways[of].content);
            let body = String::from_utf8_lossy(response.body().expect("kept")).into_owned();
            assert!(body.starts_with(&own), "{own} gets {body}");
            let first = self.seen.get_or_insert_with(|| response.clone());
            assert_eq!((first.body(), first.status), (response.body(), response.status));
            self.milestones.insert("a success is seen");
        }
        WritePhase::Over
    }

    fn pick(&self, pick: usize) -> Option<usize> {
        let alive = |of: &usize| !matches!(self.gateways[*of].phase, WritePhase::Over);
        let alive: Vec<_> = (0..self.gateways.len()).filter(alive).collect();
        (!alive.is_empty()).then(|| alive[pick % alive.len()])
    }

    /// Checks that no record is in progress once no gateway works on it.
    fn come_to_rest(&mut self) {
        self.now = self.now.plus(Millis::from_seconds(60));
        for record in self.records.values() {
            let state = record.status(self.now).map(|status| status.state.as_str());
            assert_ne!(state, Some("in_progress"), "stuck");
        }
    }
}

fn op() -> impl Strategy<Value = Op> {
    (0..100_u8, 0..1000_usize, 0..1000_usize).prop_map(|(what, pick, choice)| match what {
        0..20 => Op::Send {
            key: [None, Some(0), Some(0), Some(2), Some(2), Some(1)][pick % 6],
            content: usize::from(choice.is_multiple_of(8)),
        },
        20..84 => Op::Go { pick, fate: choice },
        84..87 => Op::Crash { pick },
        _ => Op::Wait { time: pick },
    })
}

fn history() -> impl Strategy<Value = (UnknownOutcome, Vec<Op>)> {
    (prop_oneof![Just(UnknownOutcome::Retry), Just(UnknownOutcome::Hold)], vec(op(), 1..80))
}

fn run((unknown, ops): (UnknownOutcome, Vec<Op>)) -> World {
    let mut world = World::new(unknown);
    ops.into_iter().for_each(|op| world.happen(op));
    world.come_to_rest();
    world
}

#[test]
fn a_business_key_is_executed_once_whatever_its_idempotency_keys() {
    play_all(&history(), 6000, |history| drop(run(history)));
}

/// The histories must reach these milestones. If nothing happened in them, the properties would prove nothing.
#[test]
fn the_histories_reach_all_milestones() {
    let reached = reached(&history(), 12_000, |history| run(history).milestones);
    for milestone in [
        "a success is seen",
        "a key takes the business key's response",
        "an overtaken key takes the business key's response",
        "an overtaken business key leaves its key unknown",
        "a key on hold takes the business key's response",
    ] {
        assert!(
            reached.get(milestone).is_some_and(|times| *times >= 3),
            "{milestone}: {reached:?}"
        );
    }
}
