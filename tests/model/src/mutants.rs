//! Deliberate faults, each of which a checker has to find.
//!
//! A mutant lives in [`Rules`](crate::rules::Rules) alone, between the core and the world: it distorts what
//! goes into one call of the core or what comes out of it. The core itself is never changed.

macro_rules! mutants {
    ($($(#[doc = $what:literal])+ $name:ident,)+) => {
        /// A deliberate fault.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Mutant {
            $($(#[doc = $what])+ $name,)+
        }

        impl Mutant {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Its name, as it is written on a command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            /// What is wrong with it.
            pub fn fault(self) -> String {
                match self {
                    $(Self::$name => [$($what,)+].concat().trim().to_owned(),)+
                }
            }
        }
    };
}

mutants! {
    /// `complete` does not ask whose attempt it is: everybody counts as the owner.
    NoAttemptCheckInComplete,
    /// A lease is taken for dead while it lives.
    LeaseNotChecked,
    /// A lease never dies.
    LeaseNeverDies,
    /// An attempt whose lease died counts as one that was never dispatched.
    DeadLeaseCountsAsReleased,
    /// What is to be held is executed again.
    HoldTreatedAsRetry,
    /// That an earlier attempt may have been executed is forgotten when a later one ends.
    MaybeExecutedForgotten,
    /// An attempt that was overtaken brings a refusal, and it counts.
    OvertakenMayBringFailure,
    /// An attempt that was overtaken begins again when its call comes late.
    LateBeginOwnsAgain,
    /// A renewal that comes from an attempt that was overtaken gives the key back to it.
    RenewalTakesOver,
    /// A later response takes the place of the first.
    CompletedIsOverwritten,
    /// A 5xx counts as proof that nothing was executed.
    ReleaseOn5xx,
    /// What is released is forgotten, its fingerprint too.
    ReleaseForgetsFingerprint,
    /// A time-out counts as proof that nothing was executed.
    TimeOutReleases,
    /// Another request gets "in progress" instead of the error that the key belongs to another request.
    FingerprintAfterInProgress,
    /// Requests are not compared.
    FingerprintNotCompared,
    /// A record under a secret that is listed no more counts as none.
    UnlistedSecretIsNew,
    /// A key in flight is voided.
    VoidOfInFlight,
    /// The sweep removes what it finds, whether or not it still counts.
    SweepRemovesLiveRecord,
    /// A shard decides by its clock as it is, also when that went back.
    TimeGoesBack,
    /// The scope has no part in a record's name.
    ScopeLeftOut,
    /// A replay is not byte-equal to the first response.
    ReplayLosesBody,
    /// A key that the replica does not have counts as new: the request is executed.
    ReplicaMissCountsAsNew,
    /// A look-up's success counts as proof, also one that says that there is no such thing.
    PoliteNoneProves,
    /// The replica's copy counts for ever.
    ReplicaExpiryIgnored,
    /// The replica's copy is not compared with the request.
    ReplicaFingerprintIgnored,
    /// The origin is called however long the wait for it was.
    DispatchAfterHalfLease,
    /// The response leaves before it is stored.
    ResponseBeforeStored,
    /// An overtaken attempt gives its own response to its caller.
    OvertakenGivesItsOwn,
    /// A response that could not be stored is sent as if it were stored.
    NotStoredGoesUnmarked,
    /// The key is completed before its business key.
    KeyBeforeBusinessKey,
    /// The platform sends a write to the origin again when the connection breaks: two executions of one attempt.
    PlatformRepeatsWrites,
    /// The business key is not asked.
    BusinessKeyNotAsked,
    /// A business key is forgotten after the retention, as a key is.
    BusinessKeyForgotten,
    /// An event is forgotten after the retention, as a key is.
    EventForgotten,
    /// The page sends first and stores the key then.
    KeyStoredAfterSending,
    /// After a reload a new key is made though the outcome of the first is unknown.
    NewKeyOnReload,
    /// A changed payload gets a new key at once, though the outcome of the first is unknown.
    NewKeyForChangedPayload,
    /// After an unknown outcome a refusal settles the matter.
    RefusalAfterUnknownSettles,
    /// After an unknown outcome a 4xx settles the matter, though it has no proof.
    UnprovenRefusalSettles,
    /// A success counts, though it has no proof and the server would have sent it.
    UnprovenSuccessSettles,
    /// What a redirect led to counts as the response.
    RedirectSettles,
    /// The key calls are made under whatever credential there is.
    KeyCallsUnderAnyCredential,
    /// That the server knows nothing of a key counts as proof that nothing was executed.
    AbsentProvesNotExecuted,
    /// A time-out counts as a success.
    TimeOutCountsAsSuccess,
    /// A key is sent again though the server may have forgotten it.
    OldKeyIsSentAgain,
}

impl Mutant {
    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mutant| mutant.name() == name)
    }
}
