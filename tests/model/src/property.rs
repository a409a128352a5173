//! The properties of `docs/protocol.md` that a world must never break.

named! {
    /// A property. A number at the beginning of a name is that of the lifecycle's rule.
    pub enum Property {
        /// No attempt of a key is dispatched unless the outcome of each earlier attempt was recorded as unknown or
        /// released, or its lease had expired.
        OneAtATime = "1: one attempt at a time is dispatched",
        /// If no clock was set, an attempt that calls the origin holds every lease that the call needs.
        DispatchedWithLease = "1: an attempt that calls the origin holds its leases",
        /// With `hold`, no attempt is dispatched after an attempt that may have been executed.
        NothingAfterHold = "1: with hold, nothing is dispatched after an attempt that may have executed",
        /// Within the retention there is one kept response, and every response that is sent as stored is that response.
        OneResponse = "2: one kept response within the retention, byte for byte",
        /// A completed record never changes before it expires.
        CompletedStays = "3: a completed record never changes",
        /// An attempt that does not own the key adds the first success, and nothing else.
        StaleAddsOnlySuccess = "3: a stale attempt adds the first success, nothing else",
        /// No caller sees a response that was made for another scope.
        ScopesApart = "4: no caller gets a response of another scope",
        /// When no further fault happens, no record stays in flight, and every caller gets a response.
        NothingStuck = "5: no key is stuck",
        /// Nothing is executed unless the object has allowed it.
        ShardDecides = "6: a key that the replica lacks never counts as new",
        /// The replica returns only stored responses that had not expired when it was asked.
        ReplicaIsFinal = "6: a response from the replica is the stored response, and has not expired",
        /// A key belongs to one request: another request gets a mismatch, also while the first is in progress.
        OneRequest = "begin: a key belongs to one request, also while it is in progress",
        /// A shard's time never goes back.
        TimeGoesOn = "time: a shard's time never goes back",
        /// A voided key was not executed, and never will be.
        VoidedNeverExecutes = "void: a voided key never executes",
        /// Nothing is charged twice: with `hold` whatever the origin does, with `retry` if the origin recognizes
        /// repeated requests.
        ChargedOnce = "end to end: nothing is charged twice",
        /// No intent has two keys with unknown outcomes.
        OneUnknownKey = "client: no intent has two keys with unknown outcomes",
        /// A success that the page stores was paid once.
        SuccessIsPaid = "client: a stored success was paid once",
    }
}
