//! The mutants: deliberate faults, each of which a search has to find.
//!
//! A mutant is implemented only in [`Rules`](crate::rules::Rules), between the core and the world. It changes the
//! input or the result of one call of the core. The core itself is never changed.

macro_rules! mutants {
    ($($(#[doc = $what:literal])+ $name:ident,)+) => {
        /// A deliberate fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Mutant {
            $($(#[doc = $what])+ $name,)+
        }

        impl Mutant {
            /// All mutants.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Returns the name, as it is written on a command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            /// Returns a description of the fault.
            pub fn fault(self) -> String {
                match self {
                    $(Self::$name => [$($what,)+].concat().trim().to_owned(),)+
                }
            }
        }
    };
}

mutants! {
    /// `complete` does not check which attempt calls it: every attempt counts as the owner.
    NoAttemptCheckInComplete,
    /// A live lease counts as ended.
    LeaseNotChecked,
    /// A lease never ends.
    LeaseNeverExpires,
    /// An attempt whose lease ended counts as an attempt that was never dispatched.
    ExpiredLeaseCountsAsReleased,
    /// A request on hold is executed again.
    HoldTreatedAsRetry,
    /// When a later attempt ends, the record forgets that an earlier attempt may have been executed.
    MaybeExecutedForgotten,
    /// An overtaken attempt gets a refusal from the origin, and the refusal counts.
    OvertakenMayRecordRefusal,
    /// An overtaken attempt begins again when its call comes late.
    LateBeginOwnsAgain,
    /// A renewal by an overtaken attempt gives the key back to it.
    RenewalTakesOver,
    /// A later response replaces the first.
    CompletedIsOverwritten,
    /// A 5xx counts as proof that nothing was executed.
    ReleaseOn5xx,
    /// A released key is forgotten, with its fingerprint.
    ReleaseForgetsFingerprint,
    /// A time-out counts as proof that nothing was executed.
    TimeOutReleases,
    /// Another request gets "in progress" instead of the error that the key belongs to another request.
    FingerprintAfterInProgress,
    /// Requests are not compared.
    FingerprintNotCompared,
    /// A record whose secret is no longer listed counts as no record.
    UnlistedSecretIsNew,
    /// A key in flight is voided.
    VoidOfInFlight,
    /// The sweep removes every record that it finds, even if the record still counts.
    SweepRemovesLiveRecord,
    /// A shard uses its clock as it is, even if the clock was set back.
    TimeGoesBack,
    /// After a restart, a shard uses its clock even if it is behind the last change of the record.
    RestartForgetsTime,
    /// A shard does not store the time of a change that the record does not show.
    RemovalForgetsTime,
    /// The scope is not part of a record's name.
    ScopeLeftOut,
    /// A replay is not byte-equal to the first response.
    ReplayLosesBody,
    /// A missing copy in the replica counts as a new key: the request is executed.
    ReplicaMissCountsAsNew,
    /// Every 2xx of a look-up counts as proof, even if it reports that the object does not exist.
    LookUpSuccessAlwaysProves,
    /// A copy in the replica never expires.
    ReplicaExpiryIgnored,
    /// A copy in the replica is not compared with the request.
    ReplicaFingerprintIgnored,
    /// The clock of a memory stands still, so a copy in memory never expires.
    MemoryExpiryIgnored,
    /// A memory keeps every response, even a response that leaves the outcome unknown, so it contradicts a later
    /// settlement.
    MemoryKeepsEveryResponse,
    /// A memory has one place for all keys of all tenants.
    MemoryNamesMixed,
    /// A memory keeps a response before the object has recorded it.
    MemoryKeepsUnstoredResponse,
    /// The origin is called however long the attempt waited before.
    DispatchAfterHalfLease,
    /// The response is sent before it is stored.
    ResponseBeforeStored,
    /// An overtaken attempt gives its own response to its caller.
    OvertakenSendsItsOwn,
    /// A response that could not be stored is sent without the mark.
    NotStoredIsUnmarked,
    /// The idempotency key is completed before its business key.
    KeyBeforeBusinessKey,
    /// The platform sends a write to the origin again when the connection breaks: one attempt is executed twice.
    PlatformRepeatsWrites,
    /// The record of the business key is not checked.
    BusinessKeyNotChecked,
    /// A business key is forgotten after the retention, like an idempotency key.
    BusinessKeyForgotten,
    /// An event is forgotten after the retention, like an idempotency key.
    EventForgotten,
    /// The page sends the request before it stores the key.
    KeyStoredAfterSending,
    /// A reload makes a new key although the outcome of the first key is unknown.
    NewKeyOnReload,
    /// A changed payload gets a new key at once, although the outcome of the first key is unknown.
    NewKeyForChangedPayload,
    /// A refusal settles the intent after an unknown outcome.
    RefusalAfterUnknownSettles,
    /// A 4xx without proof settles the intent after an unknown outcome.
    UnprovenRefusalSettles,
    /// A success without proof counts, although the server would have sent proof.
    UnprovenSuccessSettles,
    /// The page that a redirect led to counts as the response.
    RedirectSettles,
    /// The key calls are sent with any credential, also with another one than the request had.
    KeyCallsUnderAnyCredential,
    /// If the server has no record of a key, that counts as proof that nothing was executed.
    AbsentProvesNotExecuted,
    /// A time-out counts as a success.
    TimeOutCountsAsSuccess,
    /// A key is sent again although the server may have forgotten it.
    OldKeyIsSentAgain,
}

impl Mutant {
    /// Returns the mutant with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mutant| mutant.name() == name)
    }
}
