//! What always holds: the properties of `docs/protocol.md`, each as something that a world can break.

named! {
    /// A property. The digits are those of the six rules of the lifecycle.
    pub enum Property {
        /// No two attempts of a key are dispatched unless the earlier one's outcome was recorded as unknown or
        /// released, or its lease had died.
        OneAtATime = "1: one attempt at a time is dispatched",
        /// Where no clock was set, whoever calls the origin holds every lease that the call needs.
        DispatchedWithLease = "1: who calls the origin holds its leases",
        /// With `hold` no attempt is dispatched after one that may have executed.
        HeldIsHeld = "1: with hold, nothing is dispatched after what may have executed",
        /// Within the retention there is one kept response, and every response that goes out as kept is that one.
        OneResponse = "2: one kept response within the retention, byte for byte",
        /// A record that is completed never changes before it expires.
        CompletedStays = "3: a completed record never changes",
        /// An attempt that does not own the key adds the first success, and nothing else.
        StaleAddsOnlySuccess = "3: a stale attempt adds the first success, nothing else",
        /// Nobody sees what was made for another scope.
        ScopesApart = "4: a key of one scope never meets a key of another",
        /// When nothing goes wrong any more, nothing stays in flight, and every caller gets a response.
        NothingStuck = "5: no key is stuck",
        /// Nobody executes without the authority's word.
        AuthorityDecides = "6: a key that the replica lacks never counts as new",
        /// What the replica gives is the authority's response, alive when it was asked for.
        ReplicaIsFinal = "6: what the replica gives is the response, and has not expired",
        /// A key belongs to one request: another request gets that error, also while the first is in progress.
        OneRequest = "begin: a key belongs to one request, and that outranks in progress",
        /// A shard's time never goes back.
        TimeGoesOn = "time: a shard's time never goes back",
        /// Only `voided` proves that nothing was and nothing will be executed.
        VoidedProves = "void: what is voided never executes",
        /// Nothing is charged twice: with `hold` whatever the origin does, with `retry` where it deduplicates.
        ChargedOnce = "end to end: nothing is charged twice",
        /// No intent has two keys whose outcome is open.
        OneOpenKey = "client: no intent has two keys with unknown outcomes",
        /// What the page keeps as a success was paid, once.
        SuccessIsPaid = "client: a success that is kept was paid once",
    }
}
