//! The objects: each of them holds one record, on a shelf of its own, and the time of its last write. A restart forgets
//! that time: then the object has the time that the record shows, and the time of the last change that it did not show.

use super::requests::{WriteRequest, token};
use super::witness::{Change, EndOfAttempt, Witness};
use super::{Action, World};
use crate::config::{Clock, Scene};
use crate::property::Property;
use crate::reached::Milestone;
use oncekey::write_flow::{Event as FlowEvent, Identity, Target};
use oncekey::{
    Attempt, Completion, Decision, FailCause, KeyState, KeyStatus, Record, RecordUpdate, Rejection,
    Renewal, ScopedKey, Settlement, Settling, StoredResponse, UnixMillis,
};
use std::sync::Arc;

/// The record that is stored under one name, and the copies that the replica may have of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shelf {
    pub(super) name: ScopedKey,
    pub(super) record: Option<Arc<Record>>,
    /// The time of the last change. The object knows this time until it restarts.
    pub(super) last_seen: UnixMillis,
    /// The stored time: of the last change that left a row in the journal, or that the record does not show.
    pub(super) marked: UnixMillis,
    /// Whether the object restarted after the last change.
    pub(super) has_restarted: bool,
    /// Whether the record belongs to a business key or an event, and so is permanent.
    pub(super) for_good: bool,
    /// Every copy that was ever written: a location that is out of date may still return any of them.
    pub(super) copies: Vec<Arc<Record>>,
    pub(super) witness: Witness,
}

/// A gateway's call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ObjectCall {
    pub(super) running: u8,
    pub(super) step: u8,
    pub(super) shelf: u8,
    pub(super) of: Target,
    pub(super) request: WriteRequest,
    pub(super) what: ObjectOperation,
}

/// An operation of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ObjectOperation {
    Begin,
    Renew,
    Peek,
    Complete(StoredResponse),
    Fail(FailCause),
    Settle(Settlement),
}

impl ObjectOperation {
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::Begin => 0,
            Self::Renew => 1,
            Self::Peek => 2,
            Self::Complete(_) => 3,
            Self::Fail(_) => 4,
            Self::Settle(_) => 5,
        }
    }
}

impl ObjectCall {
    /// Returns whether no gateway waits for the reply, even if nothing fails.
    pub(super) fn is_unasked(&self) -> bool {
        matches!(self.what, ObjectOperation::Renew) || self.step == u8::MAX
    }
}

impl World {
    /// Returns the shelf of this name.
    pub(super) fn shelf(&mut self, name: ScopedKey, for_good: bool) -> u8 {
        let known = self.shelves.iter().position(|shelf| shelf.name == name);
        let at = known.unwrap_or_else(|| {
            let (copies, witness) = (Vec::new(), Witness::default());
            let never = UnixMillis::new(0);
            self.shelves.push(Shelf {
                name,
                record: None,
                last_seen: never,
                marked: never,
                has_restarted: false,
                for_good,
                copies,
                witness,
            });
            self.shelves.len() - 1
        });
        at as u8
    }

    pub(super) fn at_object(&mut self, scene: &Scene, call: &ObjectCall) -> Option<FlowEvent> {
        let (rules, reached) = (scene.rules, &scene.reached);
        let policy = scene.config.gateways[usize::from(call.request.gateway)].policy;
        let token = token(call.running, call.of);
        let now = self.object_time(scene, call.shelf);
        let record = self.record(call.shelf);
        match &call.what {
            ObjectOperation::Begin => {
                let policy = match (call.request.identity, call.of) {
                    (Identity::Event, _) => rules.of_events(policy),
                    (Identity::Key, Target::First) => policy,
                    (Identity::BusinessKey, _) | (Identity::Key, Target::BusinessKey) => {
                        rules.of_business_keys(policy)
                    }
                };
                let fingerprints = call.request.fingerprints();
                let minted_at = call.request.minted_at.filter(|_| call.of == Target::First);
                let attempt = Attempt { fingerprints, token, minted_at, policy: &policy };
                let step = rules.begin(record, &attempt, now);
                reached.note(decided(&step.decision));
                let change = Change::Begun(&call.request, call.running, &step.decision);
                let (next, has_row) = (step.next, step.change.is_some());
                self.change(scene, call.shelf, next, has_row, change, now);
                Some(FlowEvent::Begun(Ok((step.decision, step.status))))
            }
            ObjectOperation::Renew => {
                let step = rules.renew(record, token, now);
                let is_lost = step.decision == Renewal::Lost;
                reached.note(if is_lost { Milestone::RenewalLost } else { Milestone::Renewed });
                let change = Change::ByAttempt(call.running, token, EndOfAttempt::Renewal);
                let (next, has_row) = (step.next, step.change.is_some());
                self.change(scene, call.shelf, next, has_row, change, now);
                None
            }
            ObjectOperation::Peek => {
                let step = rules.peek(record, call.request.fingerprints(), now);
                Some(FlowEvent::Peeked(Ok(step.decision)))
            }
            ObjectOperation::Complete(response) => {
                let step = rules.complete(record, token, response.clone(), now);
                let change =
                    Change::ByAttempt(call.running, token, EndOfAttempt::Response(response));
                let (next, has_row) = (step.next, step.change.is_some());
                self.change(scene, call.shelf, next, has_row, change, now);
                Some(ended(scene, step.decision, step.status))
            }
            ObjectOperation::Fail(cause) => {
                let step = rules.fail(record, token, *cause, now);
                let change = Change::ByAttempt(call.running, token, EndOfAttempt::Failure(*cause));
                let (next, has_row) = (step.next, step.change.is_some());
                self.change(scene, call.shelf, next, has_row, change, now);
                Some(ended(scene, step.decision, step.status))
            }
            ObjectOperation::Settle(settlement) => {
                let step = rules.settle(record, settlement.clone(), now);
                let settling = step.decision;
                reached.note(match settling {
                    Settling::Settled => Milestone::Settled,
                    Settling::NotUnknown => Milestone::NotUnknown,
                });
                let (next, has_row) = (step.next, step.change.is_some());
                self.change(scene, call.shelf, next, has_row, Change::Settled, now);
                Some(FlowEvent::Settled(Ok((settling, step.status))))
            }
        }
    }

    /// Voids a key for a caller or a page, and returns the status after that.
    pub(super) fn void_key(
        &mut self,
        scene: &Scene,
        shelf: u8,
        minted_at: Option<UnixMillis>,
    ) -> Option<KeyStatus> {
        let now = self.object_time(scene, shelf);
        let record = self.record(shelf);
        let policy = &scene.config.gateways[0].policy;
        let step = scene.rules.void(record, minted_at, policy, now);
        let is_voided = step.status.as_ref().is_some_and(|s| s.state == KeyState::Voided);
        scene.reached.note(if is_voided { Milestone::Voided } else { Milestone::VoidRefused });
        let (next, has_row) = (step.next, step.change.is_some());
        self.change(scene, shelf, next, has_row, Change::Voided(is_voided), now);
        step.status
    }

    /// Returns the status of a key.
    pub(super) fn key_status(&mut self, scene: &Scene, shelf: u8) -> Option<KeyStatus> {
        let now = self.object_time(scene, shelf);
        self.record(shelf).and_then(|record| record.status(now))
    }

    pub(super) fn sweep(&mut self, scene: &Scene, shelf: u8) {
        self.left.sweeps -= 1;
        let now = self.object_time(scene, shelf);
        let Some(record) = self.record(shelf) else { return };
        let step = scene.rules.expire(record, now);
        scene.reached.note(match step.next {
            RecordUpdate::Remove => Milestone::Swept,
            _ => Milestone::SweptToTombstone,
        });
        self.change(scene, shelf, step.next, step.change.is_some(), Change::Swept, now);
    }

    /// Evicts an object: its memory is lost, and so are its calls and replies in the network.
    pub(super) fn evict(&mut self, scene: &Scene, shelf: u8) {
        use super::Message;
        self.left.evictions -= 1;
        scene.reached.note(Milestone::Evicted);
        self.shelves[usize::from(shelf)].has_restarted = true;
        let hit: Vec<_> = self
            .running
            .iter()
            .filter(|running| running.waits_for(shelf))
            .map(|running| (running.number, running.step))
            .collect();
        self.net.retain(|message| match message {
            Message::Call(call) => call.shelf != shelf,
            Message::Reply { running, step, .. } => !hit.contains(&(*running, *step)),
            _ => true,
        });
    }

    pub(super) fn sweeps_and_evictions(&self, scene: &Scene, actions: &mut Vec<Action>) {
        for (at, shelf) in self.shelves.iter().enumerate() {
            let at = at as u8;
            if let Some(record) = shelf.record.as_ref().filter(|_| self.left.sweeps > 0) {
                let now = self.shelf_time(scene, shelf);
                let next = scene.rules.expire((**record).clone(), now).next;
                if next != RecordUpdate::Keep {
                    actions.push(Action::Sweep(at));
                }
            }
            let is_hit = |message: &super::Message| match message {
                super::Message::Call(call) => call.shelf == at,
                super::Message::Reply { running, step, .. } => self
                    .running
                    .iter()
                    .any(|r| (r.number, r.step) == (*running, *step) && r.waits_for(at)),
                _ => false,
            };
            let forgets = !shelf.has_restarted && shelf.marked < shelf.last_seen;
            let counts = forgets && scene.config.bounds.jumps > 0;
            if self.left.evictions > 0 && (counts || self.net.iter().any(is_hit)) {
                actions.push(Action::Evict(at));
            }
        }
    }

    fn record(&self, shelf: u8) -> Option<Record> {
        self.shelves[usize::from(shelf)].record.as_deref().cloned()
    }

    /// Returns the time of a shelf's object.
    pub(super) fn object_time(&mut self, scene: &Scene, shelf: u8) -> UnixMillis {
        let shelf = &self.shelves[usize::from(shelf)];
        let now = self.shelf_time(scene, shelf);
        if now < shelf.last_seen {
            self.breaks(Property::TimeGoesOn);
        }
        now
    }

    /// Returns the time of the object that has this shelf.
    pub(super) fn shelf_time(&self, scene: &Scene, shelf: &Shelf) -> UnixMillis {
        let last_seen = if shelf.has_restarted { shelf.marked } else { shelf.last_seen };
        scene.rules.time(self.time_at(Clock::Objects), last_seen, shelf.record.as_deref())
    }

    pub(super) fn change(
        &mut self,
        scene: &Scene,
        at: u8,
        next: RecordUpdate,
        has_row: bool,
        change: Change<'_>,
        now: UnixMillis,
    ) {
        let before = self.shelves[usize::from(at)].record.clone();
        self.witness(scene, at, before.as_deref(), &next, &change, now);
        let shelf = &mut self.shelves[usize::from(at)];
        if has_row || !scene.rules.shows_time(&next, now) {
            shelf.marked = now;
        }
        match next {
            RecordUpdate::Keep if has_row => {}
            RecordUpdate::Keep => return,
            RecordUpdate::Remove => shelf.record = None,
            RecordUpdate::Write(record) => {
                let record = if scene.config.wire {
                    Record::decode(&record.encode()).expect("a stored record can be read again")
                } else {
                    *record
                };
                shelf.record = Some(Arc::new(record));
            }
        }
        (shelf.last_seen, shelf.has_restarted) = (now, false);
    }
}

fn ended(scene: &Scene, completion: Completion, status: Option<KeyStatus>) -> FlowEvent {
    scene.reached.note(match &completion {
        Completion::Recorded => Milestone::Recorded,
        Completion::RecordGone => Milestone::RecordGone,
        Completion::LeaseLost(decision) if matches!(**decision, Decision::Replay(_)) => {
            Milestone::LeaseLostReplay
        }
        Completion::LeaseLost(_) => Milestone::LeaseLost,
    });
    FlowEvent::Ended(Some((completion, status)))
}

fn decided(decision: &Decision) -> Milestone {
    match decision {
        Decision::Execute(execution) if execution.attempt > 1 => Milestone::ExecuteAgain,
        Decision::Execute(_) => Milestone::Execute,
        Decision::Replay(_) => Milestone::Replay,
        Decision::NotReplayable { .. } => Milestone::NotReplayable,
        Decision::InProgress => Milestone::InProgress,
        Decision::OutcomeUnknown => Milestone::OutcomeUnknown,
        Decision::Mismatch => Milestone::Mismatch,
        Decision::KeyVoided => Milestone::KeyVoided,
        Decision::KeyExpired => Milestone::KeyExpired,
    }
}

/// Returns the event of a call that gets no reply.
pub(super) fn silence(what: &ObjectOperation) -> FlowEvent {
    match what {
        ObjectOperation::Begin | ObjectOperation::Renew => {
            FlowEvent::Begun(Err(Rejection::StoreUnavailable))
        }
        ObjectOperation::Peek => FlowEvent::Peeked(Err(Rejection::StoreUnavailable)),
        ObjectOperation::Complete(_) | ObjectOperation::Fail(_) => FlowEvent::Ended(None),
        ObjectOperation::Settle(_) => FlowEvent::Settled(Err(Rejection::StoreUnavailable)),
    }
}
