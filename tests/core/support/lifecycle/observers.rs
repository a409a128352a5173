//! The observers of a key: an operator who settles, the replica, and checks at any time and at
//! the end.

use super::requests::{response, token};
use super::world::{GatewayPhase, Message, REQUESTS, World};
use oncekey::{
    Attempt, Decision, KeyState, KeyStatus, Millis, RecordUpdate, Settlement, Settling,
    StoredResponse, UnknownOutcome, lifecycle, replica,
};

impl World {
    /// Checks that a void at this time would be a true proof, and that `released` is true.
    pub(crate) fn probe(&self) {
        let (record, now) = (self.record(), self.shard_now());
        let status = record.as_ref().and_then(|record| record.status(now));
        let counts = status.is_some();
        if status.is_some_and(|status| status.state == KeyState::Released) {
            assert!(
                !self.witness.executed_in_this_generation(),
                "released although it was executed"
            );
        }
        let step = lifecycle::void(record, self.minted_at, &self.today, now);
        if matches!(&step.next, RecordUpdate::Write(_)) {
            self.witness.assert_voidable(counts);
        }
    }

    /// Lets an operator settle truthfully. While a message is on its way, the operator cannot know the outcome.
    pub(crate) fn settle(&mut self) {
        let under_way = self.network.iter().any(|message| match message {
            Message::Request(_) => true,
            Message::Begun(of, Decision::Execute(_), _) => {
                self.gateways[*of].phase == GatewayPhase::Asking
            }
            _ => false,
        });
        let status = self.record().and_then(|record| record.status(self.shard_now()));
        let is_unknown = status.is_some_and(|status| status.state == KeyState::Unknown);
        if under_way && is_unknown {
            return;
        }
        let executed = self.witness.executed_in_this_generation();
        let settlement = if executed {
            Settlement::Executed(response(201, "resolved"))
        } else {
            Settlement::NotExecuted
        };
        let step = self.call(None, false, |record, now| lifecycle::settle(record, settlement, now));
        assert_eq!(
            step.decision == Settling::Settled,
            is_unknown,
            "an unknown outcome can be settled"
        );
        if is_unknown {
            self.witness.settled(executed);
        }
    }

    /// Copies a stored response to the replica.
    pub(crate) fn copy(&mut self, of: usize, own: &StoredResponse, status: Option<&KeyStatus>) {
        let Some(status) = status else { return };
        let fingerprint = &REQUESTS[self.gateways[of].request].signing();
        let shortest = Millis::from_seconds(60);
        let copy = replica::copy(fingerprint, own, status, shortest, self.now);
        self.copies.extend(copy.map(|(copy, _)| copy));
    }

    /// Checks that the replica agrees with the shard at this time. Its copies never disappear here.
    pub(crate) fn ask_replica(&mut self, pick: usize, other: bool) {
        if self.copies.is_empty() {
            return;
        }
        let copy = self.copies[pick % self.copies.len()].clone();
        let policy = self.today;
        let attempt = Attempt {
            fingerprints: &REQUESTS[usize::from(other)],
            token: token(255),
            minted_at: self.minted_at,
            policy: &policy,
        };
        let Some(verified) = replica::verify(copy, &attempt, self.now) else {
            return;
        };
        let of_record = lifecycle::begin(self.record(), &attempt, self.shard_now());
        assert_eq!(verified.decision, of_record.decision);
        assert_eq!(verified.status, of_record.status);
        self.witness.decided(&verified.decision, self.witness.generation());
        self.witness.milestone("a replica responds");
    }

    /// Checks, when no message is left, that every state is final or can be settled.
    pub(crate) fn come_to_rest(&mut self) {
        self.now = self.now.plus(Millis::from_seconds(70));
        let record = self.record();
        let (now, policy) = (self.shard_now(), self.today);
        let decisions = [0, 1].map(|of| {
            let attempt = Attempt {
                fingerprints: &REQUESTS[of],
                token: token(255),
                minted_at: self.minted_at,
                policy: &policy,
            };
            lifecycle::begin(record.clone(), &attempt, now).decision
        });
        assert!(!decisions.contains(&Decision::InProgress), "a key is stuck: {decisions:?}");
        assert!(
            decisions.iter().any(|decision| *decision != Decision::Mismatch),
            "the key belongs to one of them"
        );
        if decisions.contains(&Decision::OutcomeUnknown) {
            let policy = record.as_ref().map(|record| record.policy.unknown_outcome);
            assert_eq!(policy, Some(UnknownOutcome::Hold), "only `hold` leaves an unknown outcome");
            let step = lifecycle::settle(record, Settlement::NotExecuted, now);
            assert_eq!(step.decision, Settling::Settled, "and an operator can end that");
        }
    }
}
