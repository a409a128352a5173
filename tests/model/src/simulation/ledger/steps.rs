//! The checks at each step of a shard.

use super::{Kept, SLACK};
use crate::simulation::coverage::Milestone;
use crate::simulation::shard::{Reply, ShardOperation};
use crate::simulation::world::World;
use oncekey::{
    AttemptToken, Completion, Decision, ExpiredKey, KeyState, KeyStatus, Record, RecordState,
    Settling, UnixMillis,
};

impl World<'_> {
    /// Checks a step of a shard after it was stored.
    pub(in crate::simulation) fn check_step(
        &mut self,
        name: usize,
        operation: &ShardOperation,
        reply: &Reply,
        before: Option<&Record>,
        after: Option<&Record>,
        now: UnixMillis,
    ) {
        match (operation, reply) {
            (ShardOperation::Begin { content, token, .. }, Reply::Begun(decision, _)) => {
                self.check_begin(name, *content, *token, decision, after, now);
            }
            (ShardOperation::Renew { token }, _) => {
                if let Some(RecordState::InFlight { token: owner, lease_until }) =
                    after.map(|r| &r.state)
                {
                    let of_name = &mut self.ledger.names[name];
                    let other =
                        of_name.lease.filter(|(known, until)| known != owner && now < *until);
                    if owner == token {
                        of_name.lease = Some((*owner, *lease_until));
                        if other.is_some() {
                            self.breaks(
                                "1: one attempt at a time",
                                "a renewal takes over a key".into(),
                            );
                        }
                    }
                }
            }
            (
                ShardOperation::Complete { token, .. } | ShardOperation::Fail { token, .. },
                Reply::Ended(completion, _),
            ) => {
                self.check_end(name, operation, *token, completion, before);
                let is_elsewhere = matches!(operation, ShardOperation::Complete { response, .. } if response.status == 307);
                if is_elsewhere && before.is_some() && after.is_none() {
                    // After a 307 the caller sends the request elsewhere, so this record is forgotten.
                    let of_name = &mut self.ledger.names[name];
                    of_name.content = None;
                    of_name.ended.clear();
                }
            }
            (ShardOperation::Void { .. }, Reply::Status(status)) => {
                self.check_void(name, status.as_ref(), now)
            }
            (ShardOperation::Settle { .. }, Reply::Settled(settling, _)) => {
                self.note(match settling {
                    Settling::Settled => Milestone::Settled,
                    Settling::NotUnknown => Milestone::NotUnknown,
                });
                if *settling == Settling::Settled {
                    self.ledger.names[name].lease = None;
                }
            }
            (ShardOperation::Peek { .. }, Reply::Peeked(decision)) => self.note(match decision {
                None => Milestone::PeekedNothing,
                Some(_) => Milestone::PeekedSomething,
            }),
            _ => {}
        }
        self.check_kept(name, after, now);
    }

    fn check_begin(
        &mut self,
        name: usize,
        content: u8,
        token: AttemptToken,
        decision: &Decision,
        after: Option<&Record>,
        now: UnixMillis,
    ) {
        self.note(match decision {
            Decision::Execute(execution) if execution.attempt > 1 => Milestone::ExecuteAgain,
            Decision::Execute(_) => Milestone::Execute,
            Decision::Replay(_) => Milestone::Replay,
            Decision::NotReplayable { http_status: None, .. } => Milestone::NotComparable,
            Decision::NotReplayable { .. } => Milestone::NotReplayable,
            Decision::InProgress => Milestone::InProgress,
            Decision::OutcomeUnknown => Milestone::OutcomeUnknown,
            Decision::Mismatch => Milestone::Mismatch,
            Decision::KeyVoided => Milestone::KeyVoided,
            Decision::KeyExpired => Milestone::KeyExpired,
        });
        let of_name = &mut self.ledger.names[name];
        let is_other = of_name.content.is_some_and(|known| known != content);
        let alive = of_name.lease.is_some_and(|(owner, until)| owner != token && now < until);
        let has_response = of_name.kept_at(now).is_some();
        if let Decision::Execute(_) = decision {
            if alive {
                let what = format!("{}: another attempt's lease has not expired", of_name.label);
                return self.breaks("1: one attempt at a time", what);
            }
            if has_response {
                let what = format!("{}: is executed although it has its response", of_name.label);
                return self.breaks("3: a completed record never changes", what);
            }
            let until = match after.map(|record| &record.state) {
                Some(RecordState::InFlight { lease_until, .. }) => *lease_until,
                _ => now,
            };
            let now_right = self.now;
            let is_key = of_name.key.is_some();
            let known_for = self.settings.shortest() - SLACK;
            if is_key && is_other && now_right - of_name.content_at < known_for {
                let what = format!("{}: another request is executed", of_name.label);
                return self.breaks("begin: a key belongs to one request", what);
            }
            let again = of_name.granted.contains(&token);
            let after_it =
                of_name.granted.iter().rev().take_while(|other| **other != token).count();
            if again && of_name.ended.contains(&token) && after_it < 3 {
                let what = format!("{}: an attempt that has ended begins again", of_name.label);
                return self.breaks("1: an attempt that has ended changes nothing", what);
            }
            of_name.content_at = now_right;
            if !again {
                of_name.granted.push(token);
            }
            (of_name.lease, of_name.content) = (Some((token, until)), Some(content));
            if again {
                self.note(Milestone::BegunTwice);
            }
        } else if is_other
            && matches!(
                decision,
                Decision::Replay(_) | Decision::InProgress | Decision::OutcomeUnknown
            )
        {
            let what = format!("{}: another request gets {decision:?}", of_name.label);
            self.breaks("begin: a key belongs to one request", what);
        }
    }

    fn check_end(
        &mut self,
        name: usize,
        operation: &ShardOperation,
        token: AttemptToken,
        completion: &Completion,
        before: Option<&Record>,
    ) {
        let is_complete = matches!(operation, ShardOperation::Complete { .. });
        let of_name = &mut self.ledger.names[name];
        let again = of_name.ended.contains(&token);
        let owned = of_name.lease.is_some_and(|(owner, _)| owner == token);
        let met = match completion {
            Completion::Recorded if again => Milestone::RecordedAgain,
            Completion::Recorded if is_complete && !owned => Milestone::LateSuccess,
            Completion::Recorded => Milestone::Recorded,
            Completion::LeaseLost(_) => Milestone::LeaseLost,
            Completion::RecordGone => Milestone::RecordGone,
        };
        if *completion == Completion::Recorded {
            if is_complete && !again {
                of_name.recorded.push(token);
            }
            of_name.ended.push(token);
            if owned
                || !matches!(before.map(|record| &record.state), Some(RecordState::InFlight { .. }))
            {
                of_name.lease = None;
            }
            if let (ShardOperation::Complete { response, .. }, false, false) =
                (operation, owned, again)
                && !response.is_success()
            {
                let label = of_name.label.clone();
                self.breaks("3: a stale attempt adds the first success, nothing else", label);
            } else if !owned && is_complete && !again {
                self.ledger.names[name].lease = None;
            }
        }
        self.note(met);
    }

    fn check_void(&mut self, name: usize, status: Option<&KeyStatus>, now: UnixMillis) {
        let is_voided = status.is_some_and(|status| status.state == KeyState::Voided);
        self.note(if is_voided { Milestone::Voided } else { Milestone::VoidRefused });
        let of_name = &self.ledger.names[name];
        let (Some(key), true) = (of_name.key.clone(), is_voided) else { return };
        let tenant = of_name.tenant;
        if of_name.lease.is_some_and(|(_, until)| now < until) {
            return self
                .breaks("void: a key that was executed is not voided", "it is in flight".into());
        }
        let recent = self.settings.shortest().saturating_sub(2 * SLACK);
        let charged = self.origin.responses.iter().any(|given| {
            given.charged
                && given.tenant == tenant
                && given.key.as_ref() == Some(&key)
                && self.now - given.at < recent
        });
        if charged {
            return self
                .breaks("void: a key that was executed is not voided", "it was charged".into());
        }
        self.ledger.voided.push((tenant, key, self.now));
    }

    /// Checks that a record which has its response keeps it.
    pub(in crate::simulation) fn check_kept(
        &mut self,
        name: usize,
        after: Option<&Record>,
        now: UnixMillis,
    ) {
        let of_name = &mut self.ledger.names[name];
        let found = match after.map(|record| (&record.state, record.policy)) {
            Some((RecordState::Completed { response, completed_at }, policy)) => {
                Some((response, *completed_at, policy))
            }
            _ => None,
        };
        match (of_name.kept_at(now), found) {
            (None, None) => {}
            (None, Some((response, at, policy))) => {
                let forever = policy.expired_key == ExpiredKey::Remember;
                let end = at.plus(policy.retention);
                let until = (!forever).then_some(end);
                of_name.lease = None;
                if until.is_some_and(|until| until <= now) {
                    return;
                }
                of_name.kept.push(Kept {
                    response: response.clone(),
                    at,
                    until,
                    content_until: end,
                });
            }
            (Some(kept), found) => {
                let is_same = found.is_some_and(|(response, at, _)| {
                    let is_over = kept.content_until <= now;
                    let same_body = response.body() == kept.response.body()
                        || (is_over && response.body().is_none());
                    at == kept.at && response.status == kept.response.status && same_body
                });
                if !is_same {
                    let what =
                        format!("{}: {:?}", of_name.label, after.map(|record| &record.state));
                    self.breaks("3: a completed record never changes", what);
                }
            }
        }
    }
}
