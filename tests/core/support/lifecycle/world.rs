//! A world that runs the lifecycle: callers, gateways, a network that delays, repeats, reorders and
//! loses messages, an origin that may execute before it fails, clocks that jump, a store, a replica, and an
//! operator who settles truthfully. All of it is about one key.

use super::requests::{request, response, token};
use super::witness::{End, Witness};
use oncekey::{
    Attempt, Completion, Decision, ExpiredKey, FailCause, Fingerprints, KeyState, KeyStatus,
    Millis, Policy, Record, RecordUpdate, Renewal, StoredResponse, Transition, UnixMillis,
    UnknownOutcome, lifecycle,
};
use std::sync::LazyLock;

const START: UnixMillis = UnixMillis::new(1_764_000_000_000);
const DAY: u64 = 86_400_000;
/// The two requests with the key.
pub(crate) static REQUESTS: LazyLock<[Fingerprints; 2]> =
    LazyLock::new(|| [request("one", ""), request("other", "")]);

/// The next event. Each number selects one of the possible messages or gateways.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// A caller sends a request, the first or the other, through a new gateway.
    Send { other: bool },
    /// A message arrives. `fate` is what the origin does with a message for it.
    Deliver { pick: usize, fate: usize },
    /// A message arrives, and will arrive again.
    Duplicate { pick: usize },
    /// A message is lost.
    Lose { pick: usize },
    /// A gateway that waits for the store's reply sends its call again.
    Repeat { pick: usize },
    /// A gateway that waits for the origin renews its lease.
    Renew { pick: usize },
    /// A gateway stops waiting for the origin.
    GiveUp { pick: usize, lost: bool },
    /// A gateway stops waiting for the store's first reply, and records that.
    Abandon { pick: usize },
    /// A gateway dies.
    Crash { pick: usize },
    /// The caller voids the key.
    Void,
    /// The operator settles the outcome.
    Settle,
    /// Time passes.
    Wait { time: usize },
    /// The store's clock jumps to this many seconds from the true time.
    Step { seconds: i64 },
    /// The sweep runs.
    Sweep,
    /// The operator changes the policy.
    Redeploy { unknown: UnknownOutcome, expired: ExpiredKey },
    /// A gateway asks a replica about a request.
    AskReplica { pick: usize, other: bool },
}

#[derive(Clone, Debug)]
pub(crate) enum Message {
    Begin(usize),
    Begun(usize, Decision, u32),
    Renew(usize),
    Complete(usize, StoredResponse),
    Fail(usize, FailCause),
    Ended(usize, Completion, Option<KeyStatus>, u32),
    Request(usize),
    Response(usize, StoredResponse),
}

#[derive(Clone, PartialEq)]
pub(crate) enum GatewayPhase {
    Asking,
    Waiting,
    Storing(StoredEnd),
    Over,
}

/// The result that a gateway stores at the end.
#[derive(Clone, PartialEq)]
pub(crate) enum StoredEnd {
    Response(StoredResponse),
    Failure(FailCause),
}

pub(crate) struct Gateway {
    pub(crate) request: usize,
    sent_at: UnixMillis,
    pub(crate) phase: GatewayPhase,
}

pub(crate) struct World {
    pub(crate) now: UnixMillis,
    clock_step: i64,
    clock_was_set: bool,
    last_seen: UnixMillis,
    stored: Option<Vec<u8>>,
    pub(crate) today: Policy,
    pub(crate) minted_at: Option<UnixMillis>,
    pub(crate) network: Vec<Message>,
    pub(crate) gateways: Vec<Gateway>,
    pub(crate) copies: Vec<Record>,
    pub(crate) witness: Witness,
}

impl World {
    /// `minted`: by how many minutes the clock was ahead that minted the key, for a key with a time.
    pub(crate) fn new(unknown: UnknownOutcome, expired: ExpiredKey, minted: Option<i64>) -> Self {
        let today = Policy {
            retention: Millis::from_days(1),
            lease: Millis::from_seconds(10),
            unknown_outcome: unknown,
            expired_key: expired,
        };
        // A business key contains no time.
        let minted = minted.filter(|_| expired != ExpiredKey::Remember);
        let minted_at = minted.map(|minutes| shifted(START, minutes * 60_000));
        Self {
            now: START,
            clock_step: 0,
            clock_was_set: false,
            last_seen: START,
            stored: None,
            today,
            minted_at,
            network: Vec::new(),
            gateways: Vec::new(),
            copies: Vec::new(),
            witness: Witness::new(today, minted_at.is_some()),
        }
    }

    fn is_business_key(&self) -> bool {
        self.today.expired_key == ExpiredKey::Remember
    }

    pub(crate) fn step(&mut self, op: Op) {
        self.happen(op);
        self.probe();
    }

    fn happen(&mut self, op: Op) {
        match op {
            Op::Send { other } => {
                let gateway = Gateway {
                    request: other.into(),
                    sent_at: self.now,
                    phase: GatewayPhase::Asking,
                };
                self.gateways.push(gateway);
                self.network.push(Message::Begin(self.gateways.len() - 1));
            }
            Op::Deliver { pick, fate } => {
                if let Some(message) = self.take(pick) {
                    self.deliver(message, fate);
                }
            }
            Op::Duplicate { pick } => {
                if let Some(message) = self.take(pick) {
                    // HTTP does not send a request to the origin twice.
                    if !matches!(message, Message::Request(_)) {
                        self.network.push(message.clone());
                    }
                    self.deliver(message, 0);
                }
            }
            Op::Lose { pick } => drop(self.take(pick)),
            Op::Repeat { pick } => {
                let waiting = self.gateway(pick, |phase| *phase == GatewayPhase::Asking);
                self.network.extend(waiting.map(Message::Begin));
                let storing = self.gateway(pick, |phase| matches!(phase, GatewayPhase::Storing(_)));
                let message = storing.map(|of| match self.gateways[of].phase.clone() {
                    GatewayPhase::Storing(StoredEnd::Response(response)) => {
                        Message::Complete(of, response)
                    }
                    GatewayPhase::Storing(StoredEnd::Failure(cause)) => Message::Fail(of, cause),
                    _ => unreachable!(),
                });
                self.network.extend(message);
            }
            Op::Renew { pick } => {
                let waiting = self.gateway(pick, |phase| *phase == GatewayPhase::Waiting);
                self.network.extend(waiting.map(Message::Renew));
            }
            Op::GiveUp { pick, lost } => {
                if let Some(of) = self.gateway(pick, |phase| *phase == GatewayPhase::Waiting) {
                    let cause = if lost { FailCause::ConnectionLost } else { FailCause::TimedOut };
                    self.end(of, StoredEnd::Failure(cause));
                }
            }
            Op::Abandon { pick } => {
                if let Some(of) = self.gateway(pick, |phase| *phase == GatewayPhase::Asking) {
                    self.gateways[of].phase = GatewayPhase::Over;
                    self.network.push(Message::Fail(of, FailCause::NotDispatched));
                }
            }
            Op::Crash { pick } => {
                if let Some(of) = self.gateway(pick, |phase| *phase != GatewayPhase::Over) {
                    self.gateways[of].phase = GatewayPhase::Over;
                }
            }
            Op::Void => {
                let (minted_at, today) = (self.minted_at, self.today);
                self.call(None, false, |record, now| {
                    lifecycle::void(record, minted_at, &today, now)
                });
            }
            Op::Settle => self.settle(),
            Op::Wait { time } => {
                let times = [1, 2_000, 5_000, 10_000, 60_000, DAY / 2, DAY, DAY + 1, 30 * DAY];
                self.now = self.now.plus(Millis::new(times[time % times.len()]));
            }
            Op::Step { seconds } => {
                self.clock_step = seconds * 1000;
                self.clock_was_set = true;
            }
            Op::Sweep => {
                self.call(None, false, |record, now| {
                    let nothing = Transition {
                        decision: (),
                        status: None,
                        next: RecordUpdate::Keep,
                        change: None,
                    };
                    record.map_or(nothing, |record| lifecycle::expire(record, now))
                })
                .decision
            }
            Op::Redeploy { unknown, expired } => {
                self.today.unknown_outcome = unknown;
                // No policy changes a key into a business key, or a business key into a key.
                if !self.is_business_key() {
                    self.today.expired_key = expired;
                }
                self.witness.policy_changed();
            }
            Op::AskReplica { pick, other } => self.ask_replica(pick, other),
        }
    }

    fn deliver(&mut self, message: Message, fate: usize) {
        match message {
            Message::Begin(of) => {
                let policy = self.today;
                let attempt = Attempt {
                    fingerprints: &REQUESTS[self.gateways[of].request],
                    token: token(of as u8),
                    minted_at: self.minted_at,
                    policy: &policy,
                };
                let step = self
                    .call(Some(of), false, |record, now| lifecycle::begin(record, &attempt, now));
                let now = self.last_seen;
                if let (Decision::Execute(execution), RecordUpdate::Write(record)) =
                    (&step.decision, &step.next)
                {
                    self.witness.granted(of, execution, record.policy, now);
                }
                let generation = self.witness.generation();
                self.network.push(Message::Begun(of, step.decision, generation));
            }
            Message::Begun(of, decision, generation)
                if self.gateways[of].phase == GatewayPhase::Asking =>
            {
                if let Decision::Execute(execution) = &decision {
                    if execution.may_dispatch(self.gateways[of].sent_at, self.now) {
                        let now = self.shard_now();
                        self.witness.dispatched(of, now, !self.clock_was_set);
                        self.gateways[of].phase = GatewayPhase::Waiting;
                        self.network.push(Message::Request(of));
                    } else {
                        self.end(of, StoredEnd::Failure(FailCause::NotDispatched));
                    }
                } else {
                    self.witness.decided(&decision, generation);
                    self.gateways[of].phase = GatewayPhase::Over;
                }
            }
            Message::Renew(of) => {
                let step = self.call(Some(of), false, |record, now| {
                    lifecycle::renew(record, token(of as u8), now)
                });
                if step.decision == Renewal::Renewed {
                    self.witness.renewed(of, self.last_seen);
                }
            }
            Message::Complete(of, response) => {
                let (stored_end, success) = (response.clone(), response.is_success());
                let step = self.call(Some(of), success, |record, now| {
                    lifecycle::complete(record, token(of as u8), stored_end, now)
                });
                self.ended(of, step, End::of_status(response.status, self.is_business_key()));
            }
            Message::Fail(of, cause) => {
                let step = self.call(Some(of), false, |record, now| {
                    lifecycle::fail(record, token(of as u8), cause, now)
                });
                self.ended(of, step, End::of_failure(cause));
            }
            Message::Ended(of, completion, status, generation) => {
                if let GatewayPhase::Storing(stored_end) = self.gateways[of].phase.clone() {
                    match (completion, stored_end) {
                        (Completion::Recorded, StoredEnd::Response(own)) => {
                            let state = status.as_ref().map(|status| status.state);
                            if End::of_status(own.status, self.is_business_key()) == End::Response
                                || state == Some(KeyState::Completed)
                            {
                                self.witness.saw(&own, generation);
                            }
                            self.copy(of, &own, status.as_ref());
                        }
                        (Completion::LeaseLost(decision), _) => {
                            self.witness.decided(&decision, generation);
                        }
                        _ => {}
                    }
                    self.gateways[of].phase = GatewayPhase::Over;
                }
            }
            Message::Request(of) => {
                let status =
                    [200, 201, 503, 402, 429, 503, 500, 401, 409, 307, 404, 204][fate % 12];
                let works =
                    status < 300 || (matches!(status, 409 | 500..) && fate.is_multiple_of(2));
                if works {
                    let now = self.shard_now();
                    self.witness.executed(of, now);
                }
                self.network.push(Message::Response(of, response(status, &format!("from {of}"))));
            }
            Message::Response(of, response) if self.gateways[of].phase == GatewayPhase::Waiting => {
                let is_final =
                    End::of_status(response.status, self.is_business_key()) == End::Response;
                if is_final && fate % 16 == 15 {
                    // The response is sent with the mark that it was not stored.
                    self.end(of, StoredEnd::Failure(FailCause::NotStored));
                } else {
                    self.end(of, StoredEnd::Response(response));
                }
            }
            Message::Begun(..) | Message::Response(..) => {}
        }
    }

    fn end(&mut self, of: usize, stored_end: StoredEnd) {
        self.network.push(match stored_end.clone() {
            StoredEnd::Response(response) => Message::Complete(of, response),
            StoredEnd::Failure(cause) => Message::Fail(of, cause),
        });
        self.gateways[of].phase = GatewayPhase::Storing(stored_end);
    }

    fn ended(&mut self, of: usize, step: Transition<Completion>, end: End) {
        if step.next != RecordUpdate::Keep {
            assert_eq!(step.decision, Completion::Recorded);
            self.witness.ended(of, end);
        }
        let generation = self.witness.generation();
        self.network.push(Message::Ended(of, step.decision, step.status, generation));
    }

    /// Reads, decides and writes in one step. The store keeps bytes.
    pub(crate) fn call<D>(
        &mut self,
        who: Option<usize>,
        brings_success: bool,
        decide: impl FnOnce(Option<Record>, UnixMillis) -> Transition<D>,
    ) -> Transition<D> {
        let now = self.shard_now();
        self.last_seen = now;
        let before = self.record();
        let step = decide(before.clone(), now);
        match &step.next {
            RecordUpdate::Keep => {}
            RecordUpdate::Write(record) => self.stored = Some(record.encode()),
            RecordUpdate::Remove => self.stored = None,
        }
        let after = self.record();
        if let RecordUpdate::Write(record) = &step.next {
            assert_eq!(after.as_ref(), Some(&**record), "a stored record is read back unchanged");
        }
        self.witness.changed(who, brings_success, before.as_ref(), after.as_ref(), now);
        step
    }

    pub(crate) fn record(&self) -> Option<Record> {
        let decode =
            |bytes: &Vec<u8>| Record::decode(bytes).expect("the store returns the bytes unchanged");
        self.stored.as_ref().map(decode)
    }

    fn take(&mut self, pick: usize) -> Option<Message> {
        let count = self.network.len();
        (count > 0).then(|| self.network.remove(pick % count))
    }

    fn gateway(&self, pick: usize, which: impl Fn(&GatewayPhase) -> bool) -> Option<usize> {
        let of: Vec<_> =
            (0..self.gateways.len()).filter(|of| which(&self.gateways[*of].phase)).collect();
        (!of.is_empty()).then(|| of[pick % of.len()])
    }

    pub(crate) fn shard_now(&self) -> UnixMillis {
        shifted(self.now, self.clock_step).never_before(self.last_seen)
    }
}

fn shifted(time: UnixMillis, millis: i64) -> UnixMillis {
    UnixMillis::new(time.as_u64().saturating_add_signed(millis))
}
