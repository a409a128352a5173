//! What was met: a property that holds of a world in which nothing happens says nothing.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

named! {
    /// A thing worth meeting.
    #[expect(missing_docs, reason = "each says in its name what it is")]
    pub enum Event {
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
        SweptToTombstone = "sweep: something is left",
        Copied = "replica: a copy is written",
        ReplicaGave = "replica: a response is given from a copy",
        ReplicaHadNothing = "replica: nothing is there, or the copy is not found",
        CopyNotVerified = "replica: a copy does not count",
        OwnResponse = "response: the attempt's own",
        NotStoredResponse = "response: the attempt's own, not stored",
        ReplayResponse = "response: a replay",
        DuplicateResponse = "response: the event was done before",
        Rejected = "response: a rejection",
        RejectedBusinessKey = "response: a rejection for a business key",
        StoreDown = "response: the store is down",
        TooLate = "response: too late to dispatch",
        AdoptedBusinessKey = "pair: a key takes its business key's response",
        LookedUp = "look-up: found",
        LookedUpNothing = "look-up: nothing found",
        Dropped = "fault: a message is lost",
        Doubled = "fault: a message is doubled",
        GivenUp = "fault: a call is given up, and may still arrive",
        ArrivedLate = "fault: a call arrives that was given up",
        Crashed = "fault: a gateway dies",
        Evicted = "fault: an object is evicted",
        LeaseDied = "fault: a lease dies",
        ClockJumped = "fault: a clock jumps",
        Rotated = "fault: a secret is rotated",
        ErrorAfter = "fault: the origin executes, then fails",
        ErrorBefore = "fault: the origin fails, nothing executed",
        Denied = "fault: the origin refuses with 401 or 429",
        Refused = "fault: the origin refuses for good",
        Moved = "fault: the origin sends elsewhere",
        Deduplicated = "origin: recognises a repeated request",
        DayPassed = "time: a retention passes",
        MonthPassed = "time: thirty days pass",
        Reloaded = "fault: a page is reloaded",
        SentBeforeReload = "fault: a page is reloaded with a request under way",
        Gated = "fault: an intermediary responds",
        TwoTabs = "client: two tabs are at it",
        ClientSucceeded = "client: a success",
        ClientRefused = "client: a refusal",
        ClientUnknown = "client: unknown",
        ClientPayloadChanged = "client: the payload was changed after the success",
        ClientNotResolved = "client: not resolved",
        ClientResponseGone = "client: the response is gone",
        ClientFound = "client: resolved, or given up",
        ClientTooOld = "client: too old to be sent",
        ClientRotated = "client: a new key takes an old one's place",
        ClientVoids = "client: asks to void a key",
        OtherCredential = "client: no key call under another credential",
        ClientSendsEarlier = "client: sends the earlier payload again",
        AtRest = "rest: the world comes to rest",
        SettledAtRest = "rest: an operator settles what is unknown",
    }
}

/// The events that were met, by all threads of a search.
#[derive(Debug, Default)]
pub struct Reached {
    bits: [AtomicU64; 2],
    transitions: AtomicU64,
}

impl Reached {
    pub(crate) fn note(&self, event: Event) {
        let (word, bit) = (event as usize / 64, 1 << (event as usize % 64));
        if self.bits[word].load(Ordering::Relaxed) & bit == 0 {
            self.bits[word].fetch_or(bit, Ordering::Relaxed);
        }
    }

    pub(crate) fn count(&self) {
        self.transitions.fetch_add(1, Ordering::Relaxed);
    }

    /// How many transitions were made.
    pub fn transitions(&self) -> u64 {
        self.transitions.load(Ordering::Relaxed)
    }

    /// What was met.
    pub fn events(&self) -> BTreeSet<Event> {
        let is_met = |event: &Event| {
            let bit = 1 << (*event as usize % 64);
            self.bits[*event as usize / 64].load(Ordering::Relaxed) & bit != 0
        };
        Event::ALL.iter().copied().filter(is_met).collect()
    }
}
