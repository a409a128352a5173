//! The ledger of the simulation, and its checks. It contains what was sent and what was stored, and never asks the
//! core for the expected result.

mod responses;
mod steps;

use super::requests::{self, SOURCE};
use super::settings::SHARDS;
use super::world::World;
use oncekey::journal::JournalEntry;
use oncekey::{AttemptToken, IdempotencyKey, ScopedKey, StoredResponse, UnixMillis};
use std::collections::BTreeMap;

/// How far the clocks of the servers may jump in all.
const SLACK: u64 = 1_800_000;

#[derive(Default)]
pub(super) struct Ledger {
    pub(super) names: Vec<Name>,
    by_name: BTreeMap<[u8; 32], usize>,
    /// The voided keys: tenant, key, time.
    voided: Vec<(u8, IdempotencyKey, u64)>,
}

/// What the ledger knows about a record.
pub(super) struct Name {
    pub(super) label: String,
    pub(super) scoped: ScopedKey,
    pub(super) shard: usize,
    pub(super) tenant: u8,
    pub(super) key: Option<IdempotencyKey>,
    pub(super) business_key: Option<u8>,
    pub(super) rows: Vec<JournalEntry>,
    /// The time when the record was last changed or removed.
    pub(super) changed_at: UnixMillis,
    /// The attempt that owns the record, and the end of its lease.
    lease: Option<(AttemptToken, UnixMillis)>,
    granted: Vec<AttemptToken>,
    /// The attempts whose responses were stored.
    recorded: Vec<AttemptToken>,
    /// The attempts that have ended.
    ended: Vec<AttemptToken>,
    /// The content that is executed, or was executed last.
    pub(super) content: Option<u8>,
    /// The time when that execution began.
    content_at: u64,
    /// The stored responses, in their order.
    kept: Vec<Kept>,
}

/// A response that was stored.
#[derive(Clone, Debug)]
struct Kept {
    response: StoredResponse,
    at: UnixMillis,
    /// The time when the response expires; `None` if it is permanent.
    until: Option<UnixMillis>,
    content_until: UnixMillis,
}

impl Name {
    /// Returns the response that must be kept at this time.
    fn kept_at(&self, now: UnixMillis) -> Option<&Kept> {
        self.kept.last().filter(|kept| kept.until.is_none_or(|until| now < until))
    }
}

impl World<'_> {
    pub(super) fn name_of_key(&mut self, tenant: u8, key: &IdempotencyKey) -> usize {
        let scoped = self.rules.name(requests::scope(tenant), key);
        let label = || {
            let what = if tenant == SOURCE { "event" } else { "key" };
            format!("{what} {} of {tenant}", key.as_str())
        };
        self.name(scoped, label, tenant, Some(key), None)
    }

    pub(super) fn name_of_business_key(&mut self, tenant: u8, content: u8) -> usize {
        let business_key = requests::business_key(content);
        let scoped = ScopedKey::of_business_key(requests::scope(tenant), business_key);
        let label = || format!("business key {} of {tenant}", requests::business_key_of(content));
        self.name(scoped, label, tenant, None, Some(requests::business_key_of(content)))
    }

    fn name(
        &mut self,
        scoped: ScopedKey,
        label: impl FnOnce() -> String,
        tenant: u8,
        key: Option<&IdempotencyKey>,
        business_key: Option<u8>,
    ) -> usize {
        let names = &mut self.ledger.names;
        *self.ledger.by_name.entry(*scoped.as_bytes()).or_insert_with(|| {
            names.push(Name {
                label: label(),
                scoped,
                shard: usize::from(scoped.shard()) % SHARDS,
                tenant,
                key: key.cloned(),
                business_key,
                rows: Vec::new(),
                changed_at: UnixMillis::new(0),
                lease: None,
                granted: Vec::new(),
                recorded: Vec::new(),
                ended: Vec::new(),
                content: None,
                content_at: 0,
                kept: Vec::new(),
            });
            names.len() - 1
        })
    }
}
