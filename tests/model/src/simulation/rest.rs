//! The random faults, and the checks after them: every caller that keeps trying gets a result, unknown outcomes can be
//! settled, and the journal, the records and the origin's records agree.

use super::coverage::Milestone;
use super::message::Event;
use super::requests::EVENT;
use super::shard::ShardOperation;
use super::world::{Clock, World};
use oncekey::replica::Memory;
use oncekey::{ChangeKind, KeyState, RecordState, Settlement};

/// The pause between two rounds: longer than any call takes.
const ROUND: u64 = 400_000;
/// The last round.
const LAST: u8 = 5;
/// How long a shard's time may stand still after its clock was set back.
const CLOCKS: u64 = 1_200_000;

impl World<'_> {
    /// Draws a fault.
    pub(super) fn random_fault(&mut self) {
        if self.calm {
            return;
        }
        match self.choices.below(12) {
            0 => {}
            1 | 2 => {
                let gateway = usize::from(self.choices.below(2));
                self.crash(gateway);
            }
            3 => {
                let shard = self.choices.below(self.shards.len() as u16);
                self.note(Milestone::Evicted);
                self.log(|_| format!("object {shard} is evicted"));
                self.shards[usize::from(shard)].forget_all(self.now);
            }
            4 => self.set_clock(),
            5 => {
                let gateway = usize::from(self.choices.below(2));
                let secrets = &mut self.settings.gateways[gateway].secrets;
                *secrets = (*secrets + 1).min(2);
                let list = *secrets;
                // Other settings are another isolate.
                self.memories[gateway] = Memory::new();
                self.note(Milestone::Rotated);
                self.log(|_| format!("gateway {gateway} now has list {list} of secrets"));
            }
            6 => self.break_record(),
            7 => {
                let pick = self.choices.below(8);
                self.hang_up(pick);
            }
            8 => self.settle_all(),
            _ => self.random_page_fault(),
        }
    }

    fn set_clock(&mut self) {
        let by = self.choices.pick(&[-540_000, -20_000, 20_000, 540_000]);
        let which = self.choices.below(4);
        self.jumped_at = self.now;
        let (met, text) = if which < 3 {
            self.shards[usize::from(which)].clock = by;
            (Milestone::ShardClock, format!("the clock of shard {which} is {by} ms off"))
        } else {
            let gateway = usize::from(self.choices.below(2));
            self.clocks[gateway] = by;
            (Milestone::GatewayClock, format!("the clock of gateway {gateway} is {by} ms off"))
        };
        self.note(met);
        self.log(|_| text);
    }

    fn set_clocks_right(&mut self) {
        self.clocks = [0; 2];
        self.shards.iter_mut().for_each(|shard| shard.clock = 0);
    }

    /// Begins a round of rest. No further fault happens from the first round on.
    pub(super) fn rest(&mut self, round: u8) {
        self.log(|_| format!("--- rest, round {round}"));
        self.calm = true;
        match round {
            0 => {
                self.thaw();
                self.set_clocks_right();
                return self.later(CLOCKS + ROUND, Event::Rest(1));
            }
            LAST => return self.check_end_of_all(),
            _ => {
                if round == 3 {
                    self.check_known(false);
                    self.settle_all();
                }
                for caller in 0..self.callers.len() {
                    self.callers[caller].more = 6;
                    if !self.callers[caller].is_served()
                        || (round == 3 && self.callers[caller].is_unknown())
                    {
                        self.note(Milestone::RestSent);
                        self.caller_sends(caller);
                    }
                }
                self.pages_submit_again(round);
            }
        }
        self.later(ROUND, Event::Rest(round + 1));
    }

    /// Returns whether everything has been checked.
    pub(super) fn over(&self) -> bool {
        self.is_over
    }

    /// Lets an operator settle every unknown outcome according to the origin's records. Requests in progress are left
    /// alone.
    pub(super) fn settle_all(&mut self) {
        for name in 0..self.ledger.names.len() {
            let of_name = &self.ledger.names[name];
            let now = self.time(Clock::Shard(of_name.shard));
            let record = self.read(name).ok().flatten();
            let status = record.as_ref().and_then(|record| record.status(now));
            // A request that was executed before the key expired does not count.
            let begun =
                record.map_or(0, |record| record.created_at.as_u64().saturating_sub(1_200_000));
            if status.is_none_or(|status| status.state != KeyState::Unknown) || self.is_busy(name) {
                continue;
            }
            let of_name = &self.ledger.names[name];
            let is_its = |given: &super::origin::Given| {
                let same_business_key = given.content != EVENT
                    && of_name.business_key
                        == Some(super::requests::business_key_of(given.content));
                let same_key = of_name.key.is_some() && given.key == of_name.key;
                let is_same =
                    Some(given.content) == of_name.content && given.tenant == of_name.tenant;
                given.charged && is_same && begun <= given.at && (same_key || same_business_key)
            };
            let found = self.origin.responses.iter().position(is_its);
            let settlement = match found {
                Some(number) => Settlement::Executed(self.origin.recorded_response(number)),
                None => Settlement::NotExecuted,
            };
            self.note(Milestone::RestSettled);
            let operation = ShardOperation::Settle { settlement, by_operator: true };
            let reply = self.carry_out(name, &operation);
            self.log(|world| {
                let executed = if found.is_some() { "executed" } else { "not executed" };
                format!("operator: {}: {executed}: {reply:?}", world.ledger.names[name].label)
            });
        }
    }

    /// Returns whether a request in progress may still be executed for this record.
    fn is_busy(&self, name: usize) -> bool {
        let of_name = &self.ledger.names[name];
        let runs = self.flows.iter().flatten().any(|running| {
            let handles = [Some(running.first), running.business_key];
            handles.into_iter().flatten().any(|handle| handle.name == name)
        });
        let comes = self.origin.coming.iter().any(|coming| {
            let same_business_key = coming.content != EVENT
                && of_name.business_key == Some(super::requests::business_key_of(coming.content));
            coming.tenant == of_name.tenant && (coming.key == of_name.key || same_business_key)
        });
        runs || comes
    }

    /// Checks that every caller got a result, or the error that the outcome is unknown.
    fn check_known(&mut self, after_settling: bool) {
        for caller in 0..self.callers.len() {
            let asking = &self.callers[caller];
            if !asking.is_served() || (after_settling && asking.is_unknown()) {
                let what = format!(
                    "caller {caller} keeps trying, and last got {}",
                    asking.last_response()
                );
                return self.breaks("5: no key is stuck", what);
            }
        }
    }

    fn check_end_of_all(&mut self) {
        self.is_over = true;
        self.check_known(true);
        self.check_pages();
        for name in 0..self.ledger.names.len() {
            self.check_journal(name);
        }
        for number in 0..self.origin.responses.len() {
            self.check_charge_is_recorded(number);
        }
    }

    /// Checks that the journal of a record agrees with the record.
    fn check_journal(&mut self, name: usize) {
        let of_name = &self.ledger.names[name];
        let label = of_name.label.clone();
        let is_response = |row: &&oncekey::journal::JournalEntry| {
            matches!(row.kind, ChangeKind::Completed | ChangeKind::LateSuccess)
                || (row.kind == ChangeKind::Settled && row.state == Some(KeyState::Completed))
        };
        let responses: Vec<_> = of_name.rows.iter().filter(is_response).collect();
        for (at, row) in responses.iter().enumerate() {
            if responses[..at].iter().any(|other| other.created_at == row.created_at) {
                return self.breaks("journal: one response in a life", label);
            }
        }
        let Ok(Some(record)) = self.read(name) else { return };
        let RecordState::Completed { response, .. } = &record.state else { return };
        let is_booked = responses.iter().any(|row| {
            row.created_at == Some(record.created_at)
                && row.http_status == Some(response.status)
                && row.request_id.as_ref() == Some(&response.request_id)
        });
        if !is_booked {
            self.breaks("journal: each response has its row", label);
        }
    }

    /// Checks that a charge of the origin is recorded for as long as it has to be.
    fn check_charge_is_recorded(&mut self, number: usize) {
        let given = &self.origin.responses[number];
        let known_for = self.settings.shortest().saturating_sub(3_600_000);
        if !given.charged || self.now - given.at > known_for {
            return;
        }
        let is_its = |name: &&super::ledger::Name| {
            let same_business_key = given.content != EVENT
                && name.business_key == Some(super::requests::business_key_of(given.content));
            let same_key = name.key.is_some() && name.key == given.key;
            name.tenant == given.tenant && (same_key || same_business_key)
        };
        let names = 0..self.ledger.names.len();
        let booked =
            names.into_iter().filter(|name| is_its(&&self.ledger.names[*name])).any(|name| {
                let state = self.read(name).map(|record| record.map(|record| record.state));
                match state {
                    Err(()) => true,
                    Ok(None) => false,
                    Ok(Some(state)) => {
                        !matches!(state, RecordState::Released { .. } | RecordState::Voided { .. })
                    }
                }
            });
        if !booked {
            let what = format!("response {number} took money, and no record contains it");
            self.breaks("journal: every charge is recorded", what);
        }
    }
}
