//! The milestones, each of which a search must reach. If nothing happened in a world, no property could break in it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

named! {
    /// Something that a search must reach.
    #[expect(missing_docs, reason = "the name of each milestone describes it")]
    pub enum Milestone {
        Execute = "decision: execute",
        ExecuteAgain = "decision: execute, a later attempt",
        Replay = "decision: replay",
        NotReplayable = "decision: not replayable",
        InProgress = "decision: in progress",
        OutcomeUnknown = "decision: outcome unknown",
        Mismatch = "decision: mismatch",
        KeyVoided = "decision: key voided",
        KeyExpired = "decision: key expired",
        Recorded = "completion: recorded",
        LeaseLostReplay = "completion: lease lost, another attempt's response is kept",
        LeaseLost = "completion: lease lost",
        RecordGone = "completion: record gone",
        LateSuccess = "completion: an overtaken attempt brings the first success",
        Renewed = "renewal: renewed",
        RenewalLost = "renewal: lost",
        Settled = "settling: settled",
        NotUnknown = "settling: not unknown",
        Voided = "void: voided",
        VoidRefused = "void: refused, the state stays",
        Swept = "sweep: removed",
        SweptToTombstone = "sweep: a tombstone is left",
        Copied = "replica: a copy is written",
        ReplicaGave = "replica: a copy is the response",
        ReplicaHadNothing = "replica: the copy is missing",
        CopyNotVerified = "replica: a copy does not count",
        Recalled = "memory: a copy decides",
        NotRecalled = "memory: no copy, or a copy that is not used",
        OwnResponse = "response: the attempt's own",
        NotStoredResponse = "response: the attempt's own, not stored",
        ReplayResponse = "response: a replay",
        DuplicateResponse = "response: the event was processed before",
        Rejected = "response: a rejection",
        RejectedBusinessKey = "response: a rejection for a business key",
        StoreDown = "response: the store is down",
        TooLate = "response: too late to dispatch",
        AdoptedBusinessKey = "business key: a key takes its response",
        LookedUp = "look-up: found",
        LookedUpNothing = "look-up: nothing found",
        Dropped = "fault: a message is lost",
        Doubled = "fault: a message is doubled",
        GivenUp = "fault: a gateway stops waiting for a call that may still arrive",
        ArrivedLate = "fault: a call arrives after its gateway stopped waiting",
        Crashed = "fault: a gateway crashes",
        Evicted = "fault: an object is evicted",
        LeaseExpired = "fault: a lease expires",
        ClockJumped = "fault: a clock jumps",
        Rotated = "fault: a secret is rotated",
        ErrorAfter = "fault: the origin executes, then fails",
        ErrorBefore = "fault: the origin fails, nothing executed",
        Denied = "fault: the origin refuses with 401 or 429",
        Refused = "fault: the origin refuses finally",
        Moved = "fault: the origin redirects",
        Deduplicated = "origin: recognizes a repeated request",
        DayPassed = "time: a retention passes",
        MonthPassed = "time: thirty days pass",
        Reloaded = "fault: a page is reloaded",
        SentBeforeReload = "fault: a page is reloaded while its request is in progress",
        Intercepted = "fault: an intermediary responds",
        TwoTabs = "client: two tabs have a call at the same time",
        ClientSucceeded = "client: a success",
        ClientRefused = "client: a refusal",
        ClientUnknown = "client: unknown",
        ClientPayloadChanged = "client: the payload was changed after the success",
        ClientNotResolved = "client: not resolved",
        ClientResponseGone = "client: the response is gone",
        ClientFound = "client: resolved, or given up",
        ClientTooOld = "client: too old to be sent",
        ClientRotated = "client: a new key replaces an old key",
        ClientVoids = "client: voids a key",
        OtherCredential = "client: no key call under another credential",
        ClientSendsEarlier = "client: sends the earlier payload again",
        AtRest = "rest: the world comes to rest",
        SettledAtRest = "rest: an operator settles an unknown outcome",
    }
}

/// The milestones that all threads of a search have reached.
#[derive(Debug, Default)]
pub struct Reached {
    bits: [AtomicU64; 2],
    transitions: AtomicU64,
}

impl Reached {
    pub(crate) fn note(&self, milestone: Milestone) {
        let (word, bit) = (milestone as usize / 64, 1 << (milestone as usize % 64));
        if self.bits[word].load(Ordering::Relaxed) & bit == 0 {
            self.bits[word].fetch_or(bit, Ordering::Relaxed);
        }
    }

    pub(crate) fn count(&self) {
        self.transitions.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many transitions were made.
    pub fn transitions(&self) -> u64 {
        self.transitions.load(Ordering::Relaxed)
    }

    /// Returns the milestones that were reached.
    pub fn milestones(&self) -> BTreeSet<Milestone> {
        let is_reached = |milestone: &Milestone| {
            let bit = 1 << (*milestone as usize % 64);
            self.bits[*milestone as usize / 64].load(Ordering::Relaxed) & bit != 0
        };
        Milestone::ALL.iter().copied().filter(is_reached).collect()
    }
}
