//! What was met, and how often: a generator that idles finds nothing, and must not look as if there were nothing.

macro_rules! met {
    ($($name:ident = $text:literal,)+) => {
        /// A thing worth meeting.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Met {
            $($name,)+
        }

        impl Met {
            /// All of them.
            pub(super) const ALL: &[Self] = &[$(Self::$name,)+];

            pub(super) const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }
        }
    };
}

met! {
    Execute = "decision: execute",
    ExecuteAgain = "decision: execute, a later attempt",
    Replay = "decision: replay",
    NotReplayable = "decision: not replayable",
    NotComparable = "decision: not replayable, its secret is listed no more",
    InProgress = "decision: in progress",
    OutcomeUnknown = "decision: outcome unknown",
    Mismatch = "decision: mismatch",
    KeyVoided = "decision: key voided",
    KeyExpired = "decision: key expired",
    BegunTwice = "decision: the same attempt asks again",
    RecalledNothing = "recall: it would execute",
    RecalledSomething = "recall: it would not",
    Recorded = "completion: recorded",
    RecordedAgain = "completion: recorded before",
    LeaseLost = "completion: lease lost",
    RecordGone = "completion: record gone",
    LateSuccess = "completion: an overtaken attempt brings the first success",
    Renewed = "renewal: renewed",
    RenewalLost = "renewal: lost",
    Settled = "settling: settled",
    NotUnknown = "settling: not unknown",
    Voided = "void: voided",
    VoidRefused = "void: what stands, stands",
    Inspected = "key call: the state is told",
    SweptAway = "sweep: removed",
    SweptToRest = "sweep: something is left",
    Unreadable = "shard: the record cannot be read",
    StepBegin = "step: begin first",
    StepBeginNumber = "step: begin number",
    StepAskReplica = "step: ask replica",
    StepRecallNumber = "step: recall number",
    StepCallOrigin = "step: call origin",
    StepLookUp = "step: look up",
    StepComplete = "step: complete first",
    StepCompleteNumber = "step: complete number",
    StepFail = "step: fail first",
    StepFailNumber = "step: fail number",
    StepSettle = "step: settle first",
    StepSettleNumber = "step: settle number",
    AfterFail = "after: fail",
    AfterNotStored = "after: fail, not stored",
    AfterCopy = "after: copy",
    ReplicaGave = "replica: an answer, or a mismatch, from a copy",
    ReplicaRaced = "replica: asked while the shard is slow",
    ReplicaNothing = "replica: nothing",
    ReplicaNotBelieved = "replica: a copy is not believed",
    OwnAnswer = "answer: the attempt's own",
    NotStoredAnswer = "answer: the attempt's own, not stored",
    ReplayAnswer = "answer: a replay",
    DuplicateAnswer = "answer: the event was done before",
    RejectedAnswer = "answer: a rejection",
    NumberAnswer = "answer: a rejection for a business number",
    StoreDownAnswer = "answer: the store is down",
    TooLateAnswer = "answer: too late to dispatch",
    TimedOutAnswer = "answer: the origin timed out",
    UnreachableAnswer = "answer: the origin cannot be reached",
    UnreadableAnswer = "answer: the record cannot be read",
    AdoptedAnswer = "answer: that of the business number",
    FoundAnswer = "look-up: found",
    FoundNothing = "look-up: nothing",
    Charged = "origin: charges",
    Recognised = "origin: recognises a repeated request",
    FateRefused = "origin: refuses for good",
    FateBusy = "origin: 429",
    FateDenied = "origin: 401",
    FateConflict = "origin: 409",
    FateMoved = "origin: redirects",
    FateErrorBefore = "origin: fails, nothing executed",
    FateErrorAfter = "origin: executes, then fails",
    FateCut = "origin: executes, and its answer breaks off",
    FateLarge = "origin: answers too large, or as a stream",
    FateSlow = "origin: slower than a lease",
    FateHangs = "origin: does not answer",
    FateUnreachable = "origin: cannot be reached",
    RequestLost = "fault: a request is lost",
    RequestDoubled = "fault: a request arrives twice",
    RequestLate = "fault: a request is late",
    AnswerLost = "fault: an answer is lost",
    AnswerLate = "fault: an answer is late",
    AnswerCut = "fault: an answer breaks off",
    CallLost = "fault: a call to a shard is lost",
    CallDoubled = "fault: a call to a shard arrives twice",
    CallLate = "fault: a call to a shard is late",
    ReplyLost = "fault: a reply of a shard is lost",
    ReplyLate = "fault: a reply of a shard is late",
    OriginCallLate = "fault: a call to the origin is late",
    CopyLost = "fault: a copy is not written",
    KvDown = "fault: the replica is down",
    KvSlow = "fault: the replica is slow",
    KvNegative = "fault: the replica has nothing, it says",
    KvStale = "fault: the replica gives what has expired",
    WriteRefused = "fault: storage takes no write",
    BodyRefused = "fault: storage takes no body",
    Broken = "fault: a record's bytes are broken",
    Crashed = "fault: a gateway dies",
    CrashedExecuting = "fault: a gateway dies while the origin is at work",
    Reset = "fault: a caller hangs up",
    OutlivedReset = "fault: the platform ends what a caller left behind",
    Evicted = "fault: an object is evicted",
    EvictedCall = "fault: a call is lost to an eviction",
    ShardClock = "fault: a shard's clock jumps",
    GatewayClock = "fault: a gateway's clock jumps",
    PageClock = "fault: a page's clock jumps",
    Rotated = "fault: a secret is rotated",
    Reloaded = "fault: a page is reloaded",
    ReloadedSending = "fault: a page is reloaded while it sends",
    DiedStoring = "fault: a page dies between storing and sending",
    Frozen = "fault: a page is frozen",
    StorageFull = "fault: storage is full",
    StorageCleared = "fault: storage is cleared",
    StorageDamaged = "fault: what is stored is damaged",
    Gated = "fault: somebody before the gateway answers",
    TwoSettings = "schedule: two versions of the settings",
    NaiveHold = "schedule: naive origin, hold",
    RecognisesRetry = "schedule: deduplicating origin, retry",
    Days = "schedule: days",
    Months = "schedule: months",
    SendFresh = "client: sends with a new key",
    SendSame = "client: sends again with the same key",
    SendEarlier = "client: sends the earlier payload again",
    WaitsForTurn = "client: waits for the other tab",
    WaitsToRetry = "client: waits to retry",
    WaitsForAnswer = "client: waits for an answer in progress",
    AsksState = "client: asks the state",
    AsksVoid = "client: asks to void",
    LooksUp = "client: looks up by its own means",
    EndSucceeded = "end: succeeded",
    EndRefused = "end: refused",
    EndNotExecuted = "end: not executed",
    EndStopped = "end: unknown, no further attempt",
    EndTooOld = "end: unknown, too old",
    EndUnreadable = "end: unknown, the entry cannot be read",
    EndOvertaken = "end: unknown, the key is another by now",
    EndPayloadChanged = "end: payload changed after the success",
    EndNotResolved = "end: not resolved",
    EndAnswerGone = "end: the answer is gone",
    EndKeyReused = "end: key reused",
    EndKeyVoided = "end: key voided",
    EndFound = "end: found out",
    EndFoundNothing = "end: nothing is stored",
    DoubtNetwork = "doubt: network",
    DoubtTimedOut = "doubt: timed out",
    DoubtCut = "doubt: cut",
    DoubtNotTheApi = "doubt: not the API",
    DoubtStatus = "doubt: status",
    DoubtHeld = "doubt: held",
    DoubtNotReplayable = "doubt: not replayable",
    DoubtMismatch = "doubt: mismatch",
    DoubtVoided = "doubt: voided",
    DoubtExpired = "doubt: expired",
    DoubtNoProof = "doubt: no proof",
    RestAsked = "rest: somebody asks again",
    RestSettled = "rest: an operator settles what is unknown",
    JournalRow = "journal: a row",
}

/// The counts.
#[derive(Clone)]
pub(super) struct Coverage([u64; Met::ALL.len()]);

impl Default for Coverage {
    fn default() -> Self {
        Self([0; Met::ALL.len()])
    }
}

impl Coverage {
    pub(super) fn note(&mut self, met: Met) {
        self.0[met as usize] += 1;
    }

    pub(super) fn count(&self, met: Met) -> u64 {
        self.0[met as usize]
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }
}
