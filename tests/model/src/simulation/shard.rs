//! The objects: each reads, decides and writes in one step. Records are stored as bytes.

use super::coverage::Milestone;
use super::message::Event;
use super::world::{Clock, World};
use oncekey::journal::{JournalEntry, RequestedBy};
use oncekey::{
    Attempt, AttemptToken, Completion, Decision, FailCause, Fingerprints, KeyStatus, Policy,
    Record, RecordUpdate, Renewal, Settlement, Settling, StoredResponse, Transition, UnixMillis,
};
use std::rc::Rc;

/// An object. Its records are numbered as their names are ([`Ledger::names`](super::ledger::Ledger)).
#[derive(Default)]
pub(super) struct Shard {
    pub(super) clock: i64,
    /// The newest time of a change that the object knows; it may lose its memory.
    last_seen: u64,
    /// The newest stored time: of a row in the journal, or of a change that no record shows.
    marked: u64,
    /// The time of the last eviction.
    evicted_at: u64,
    /// The time of the next alarm by the object's clock, as far as the object knows.
    alarm_at: Option<u64>,
    alarms: u32,
    rows: Vec<Row>,
}

/// A stored record.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: usize,
    pub(super) bytes: Rc<[u8]>,
    due_at: Option<u64>,
}

/// An operation of a shard.
#[derive(Clone, Debug)]
pub(super) enum ShardOperation {
    Begin {
        content: u8,
        prints: &'static Fingerprints,
        token: AttemptToken,
        minted_at: Option<UnixMillis>,
        policy: Policy,
    },
    Renew {
        token: AttemptToken,
    },
    Complete {
        token: AttemptToken,
        response: StoredResponse,
    },
    Fail {
        token: AttemptToken,
        cause: FailCause,
    },
    Void {
        minted_at: Option<UnixMillis>,
        policy: Policy,
    },
    Settle {
        settlement: Settlement,
        by_operator: bool,
    },
    Peek {
        prints: &'static Fingerprints,
    },
    GetStatus,
}

/// The reply to an operation.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Begun(Decision, Option<KeyStatus>),
    Renewed,
    Ended(Completion, Option<KeyStatus>),
    Status(Option<KeyStatus>),
    Settled(Settling, Option<KeyStatus>),
    Peeked(Option<Decision>),
    Unreadable,
    NotStored,
}

/// A call on its way to a shard.
#[derive(Clone, Debug)]
pub(super) struct ShardMessage {
    pub(super) call: u32,
    pub(super) attempt: u8,
    pub(super) name: usize,
    pub(super) operation: Rc<ShardOperation>,
    pub(super) sent_at: u64,
}

impl Shard {
    /// Evicts the object: its memory and the calls on their way to it are lost. Its storage is kept.
    pub(super) fn forget_all(&mut self, now: u64) {
        (self.evicted_at, self.alarm_at, self.last_seen) = (now, None, self.marked);
    }
}

impl World<'_> {
    pub(super) fn at_shard(&mut self, message: ShardMessage) {
        let ShardMessage { call, attempt, name, operation, sent_at } = message;
        let shard = self.ledger.names[name].shard;
        if sent_at < self.shards[shard].evicted_at {
            self.note(Milestone::EvictedCall);
            self.later(1, Event::Reply { call, attempt, reply: None });
            return;
        }
        let reply = self.carry_out(name, &operation);
        self.log(|world| {
            let name = &world.ledger.names[name].label;
            format!("shard {shard}: {name}: {} -> {}", shown(&operation), replied(&reply))
        });
        let reply = Some(Rc::new(reply));
        if self.goes_wrong(self.settings.fault_rates.calls) {
            if self.choices.below(2) == 0 {
                self.note(Milestone::ReplyLost);
                self.log(|_| "  this reply is lost".to_owned());
                return;
            }
            self.note(Milestone::ReplyLate);
            let after = self.lateness();
            self.later(after, Event::Reply { call, attempt, reply });
        } else {
            let after = self.transit();
            self.later(after, Event::Reply { call, attempt, reply });
        }
    }

    /// Carries out an operation: reads, decides, writes.
    pub(super) fn carry_out(&mut self, name: usize, operation: &ShardOperation) -> Reply {
        let record = match self.read(name) {
            Ok(record) => record,
            Err(()) => {
                self.note(Milestone::Unreadable);
                return Reply::Unreadable;
            }
        };
        let now = self.shard_time(name, record.as_ref());
        let before = record.clone();
        let rules = self.rules;
        let (reply, next, change) = match operation {
            ShardOperation::Begin { prints, token, minted_at, policy, .. } => {
                let (token, minted_at) = (*token, *minted_at);
                let attempt = Attempt { fingerprints: prints, token, minted_at, policy };
                let step = rules.begin(record, &attempt, now);
                (Reply::Begun(step.decision, step.status), step.next, step.change)
            }
            ShardOperation::Renew { token } => {
                let step = rules.renew(record, *token, now);
                let met = if step.decision == Renewal::Renewed {
                    Milestone::Renewed
                } else {
                    Milestone::RenewalLost
                };
                self.note(met);
                (Reply::Renewed, step.next, step.change)
            }
            ShardOperation::Complete { token, response } => {
                let step = rules.complete(record, *token, response.clone(), now);
                (Reply::Ended(step.decision, step.status), step.next, step.change)
            }
            ShardOperation::Fail { token, cause } => {
                let step = rules.fail(record, *token, *cause, now);
                (Reply::Ended(step.decision, step.status), step.next, step.change)
            }
            ShardOperation::Void { minted_at, policy } => {
                let step = rules.void(record, *minted_at, policy, now);
                (Reply::Status(step.status), step.next, step.change)
            }
            ShardOperation::Settle { settlement, .. } => {
                let step = rules.settle(record, settlement.clone(), now);
                (Reply::Settled(step.decision, step.status), step.next, step.change)
            }
            ShardOperation::Peek { prints } => {
                let step = rules.peek(record, prints, now);
                (Reply::Peeked(step.decision), step.next, step.change)
            }
            ShardOperation::GetStatus => (
                Reply::Status(record.and_then(|record| record.status(now))),
                RecordUpdate::Keep,
                None,
            ),
        };
        let operator = matches!(operation, ShardOperation::Settle { by_operator: true, .. });
        let by = RequestedBy { operator, ..RequestedBy::default() };
        let row = change.map(|change| JournalEntry::new(change, by, now));
        let Ok(after) = self.write(name, next, row, now) else {
            self.log(|_| "  storage refuses the write".to_owned());
            return Reply::NotStored;
        };
        let after = after.unwrap_or_else(|| before.clone());
        self.check_step(name, operation, &reply, before.as_ref(), after.as_ref(), now);
        reply
    }

    pub(super) fn read(&self, name: usize) -> Result<Option<Record>, ()> {
        let shard = &self.shards[self.ledger.names[name].shard];
        match shard.rows.iter().find(|row| row.name == name) {
            None => Ok(None),
            Some(row) => Record::decode(&row.bytes).map(Some).map_err(drop),
        }
    }

    /// Returns the time for a decision about a record.
    fn shard_time(&mut self, name: usize, record: Option<&Record>) -> UnixMillis {
        let shard = self.ledger.names[name].shard;
        let last_seen = UnixMillis::new(self.shards[shard].last_seen);
        let now = self.rules.time(self.time(Clock::Shard(shard)), last_seen, record);
        if now < last_seen.never_before(self.ledger.names[name].changed_at) {
            self.breaks("time: a shard's time never goes back", format!("shard {shard}"));
        }
        now
    }

    /// Stores what an operation left: `Some(None)` removes the record, `None` leaves it unchanged.
    fn write(
        &mut self,
        name: usize,
        next: RecordUpdate,
        row: Option<JournalEntry>,
        now: UnixMillis,
    ) -> Result<Option<Option<Record>>, ()> {
        if next == RecordUpdate::Keep && row.is_none() {
            return Ok(None);
        }
        let shard = self.ledger.names[name].shard;
        let is_marked = row.is_some() || !self.rules.shows_time(&next, now);
        let mut record = match next {
            RecordUpdate::Keep => None,
            RecordUpdate::Remove => Some(None),
            RecordUpdate::Write(record) => Some(Some(*record)),
        };
        if self.goes_wrong(self.settings.fault_rates.storage) {
            let smaller = match &record {
                Some(Some(record)) if self.choices.below(2) == 1 => {
                    record.clone().without_response_body()
                }
                _ => None,
            };
            let Some(smaller) = smaller else {
                self.note(Milestone::WriteRefused);
                return Err(());
            };
            self.note(Milestone::BodyRefused);
            self.log(|_| "  storage refuses the body and takes the rest".to_owned());
            record = Some(Some(smaller));
        }
        let of_shard = &mut self.shards[shard];
        of_shard.last_seen = of_shard.last_seen.max(now.as_u64());
        if is_marked {
            of_shard.marked = of_shard.marked.max(now.as_u64());
        }
        self.ledger.names[name].changed_at = now;
        let rows = &mut of_shard.rows;
        match &record {
            None => {}
            Some(None) => rows.retain(|row| row.name != name),
            Some(Some(record)) => {
                let bytes = record.encode().into();
                let due_at = record.due_at().map(UnixMillis::as_u64);
                match rows.iter_mut().find(|row| row.name == name) {
                    Some(row) => (row.bytes, row.due_at) = (bytes, due_at),
                    None => rows.push(Row { name, bytes, due_at }),
                }
                self.set_alarm(shard);
            }
        }
        if let Some(row) = row {
            self.note(Milestone::JournalRow);
            self.ledger.names[name].rows.push(row);
        }
        Ok(record)
    }

    fn set_alarm(&mut self, shard: usize) {
        let of_shard = &self.shards[shard];
        let Some(due_at) = of_shard.rows.iter().filter_map(|row| row.due_at).min() else { return };
        if of_shard.alarm_at.is_some_and(|alarm_at| alarm_at <= due_at) {
            return;
        }
        let after = due_at.saturating_sub(self.time(Clock::Shard(shard)).as_u64());
        let of_shard = &mut self.shards[shard];
        of_shard.alarm_at = Some(due_at);
        of_shard.alarms += 1;
        let number = of_shard.alarms;
        self.later(after, Event::Alarm { shard, number });
    }

    /// Runs the sweep.
    pub(super) fn alarm(&mut self, shard: usize, number: u32) {
        if self.shards[shard].alarms != number || self.over() {
            return;
        }
        self.shards[shard].alarm_at = None;
        let last_seen = self.shards[shard].last_seen;
        let clock = self.time(Clock::Shard(shard)).as_u64().max(last_seen);
        let is_due = |row: &&Row| row.due_at.is_some_and(|due_at| due_at <= clock);
        let due: Vec<_> =
            self.shards[shard].rows.iter().filter(is_due).map(|row| row.name).collect();
        for name in due {
            let Ok(Some(record)) = self.read(name) else {
                let rows = &mut self.shards[shard].rows;
                rows.iter_mut().filter(|row| row.name == name).for_each(|row| row.due_at = None);
                continue;
            };
            let now = self.shard_time(name, Some(&record));
            let Transition { next, change, .. } = self.rules.expire(record, now);
            match next {
                RecordUpdate::Keep => {}
                RecordUpdate::Write(_) => self.note(Milestone::SweptToRest),
                RecordUpdate::Remove => self.note(Milestone::SweptAway),
            }
            let by = RequestedBy::default();
            let row = change.map(|change| JournalEntry::new(change, by, now));
            self.log(|world| format!("shard {shard}: sweeps {}", world.ledger.names[name].label));
            match self.write(name, next, row, now) {
                Ok(Some(after)) => self.check_kept(name, after.as_ref(), now),
                Ok(None) => {}
                // The platform repeats the alarm a little later.
                Err(()) => {
                    self.shards[shard].alarm_at = Some(0);
                    self.shards[shard].alarms += 1;
                    let number = self.shards[shard].alarms;
                    self.later(2_000, Event::Alarm { shard, number });
                    return;
                }
            }
        }
        self.set_alarm(shard);
    }

    pub(super) fn repair(&mut self, name: usize, bytes: &Rc<[u8]>) {
        let shard = self.ledger.names[name].shard;
        if let Some(row) = self.shards[shard].rows.iter_mut().find(|row| row.name == name) {
            row.bytes = Rc::clone(bytes);
            row.due_at =
                Record::decode(bytes).ok().and_then(|r| r.due_at()).map(UnixMillis::as_u64);
        }
        self.set_alarm(shard);
        self.log(|world| format!("{} can be read again", world.ledger.names[name].label));
    }

    /// Makes a record unreadable for a while: its bytes are damaged, or a newer build has written them.
    pub(super) fn break_record(&mut self) {
        let names = self.ledger.names.len() as u16;
        if names == 0 {
            return;
        }
        let name = usize::from(self.choices.below(names));
        let shard = self.ledger.names[name].shard;
        let Some(row) = self.shards[shard].rows.iter_mut().find(|row| row.name == name) else {
            return;
        };
        if Record::decode(&row.bytes).is_err() {
            return;
        }
        let whole = Rc::clone(&row.bytes);
        let mut bytes = whole.to_vec();
        let at = bytes.len() / 2;
        bytes[at] ^= 0x40;
        row.bytes = bytes.into();
        self.note(Milestone::Broken);
        self.log(|world| format!("{} cannot be read from now on", world.ledger.names[name].label));
        let after = self.choices.pick(&[1_000, 20_000, 90_000]);
        self.later(after, Event::Repair { name, bytes: whole });
    }
}

fn shown(operation: &ShardOperation) -> String {
    match operation {
        ShardOperation::Begin { content, token, .. } => {
            format!("begin {token:?} content {content}")
        }
        ShardOperation::Renew { token } => format!("renew {token:?}"),
        ShardOperation::Complete { token, response } => {
            format!("complete {token:?} with {}", response.status)
        }
        ShardOperation::Fail { token, cause } => format!("fail {token:?} {cause:?}"),
        ShardOperation::Void { .. } => "void".to_owned(),
        ShardOperation::Settle { settlement: Settlement::NotExecuted, .. } => {
            "settle: not executed".to_owned()
        }
        ShardOperation::Settle { .. } => "settle: executed".to_owned(),
        ShardOperation::Peek { .. } => "peek".to_owned(),
        ShardOperation::GetStatus => "get status".to_owned(),
    }
}

fn replied(reply: &Reply) -> String {
    let state_of = |status: &Option<KeyStatus>| status.as_ref().map(|status| status.state);
    match reply {
        Reply::Begun(decision, status) => format!("{} ({:?})", decided(decision), state_of(status)),
        Reply::Ended(Completion::LeaseLost(what), status) => {
            format!("lease lost: {} ({:?})", decided(what), state_of(status))
        }
        Reply::Ended(completion, status) => format!("{completion:?} ({:?})", state_of(status)),
        Reply::Status(status) => format!("{:?}", state_of(status)),
        Reply::Settled(settling, status) => format!("{settling:?} ({:?})", state_of(status)),
        Reply::Peeked(decision) => {
            decision.as_ref().map_or("would be executed".to_owned(), decided)
        }
        Reply::Renewed => "done".to_owned(),
        Reply::Unreadable => "the record cannot be read".to_owned(),
        Reply::NotStored => "not stored".to_owned(),
    }
}

fn decided(decision: &Decision) -> String {
    match decision {
        Decision::Replay(response) => format!("Replay of a {}", response.status),
        Decision::Execute(execution) => format!("Execute, attempt {}", execution.attempt),
        other => format!("{other:?}"),
    }
}
