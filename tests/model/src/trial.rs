//! Tries the mutants. A search that finds no fault in the core proves something only if it finds deliberate faults.

use crate::config::Config;
use crate::configs;
use crate::explore::{Explored, How, explore};
use crate::mutants::Mutant;
use crate::rules::Rules;

/// The result of a trial.
#[derive(Debug)]
pub struct Verdict {
    /// The mutant.
    pub mutant: Mutant,
    /// The search that caught it.
    pub caught: Option<Explored>,
}

/// Searches until a mutant is caught: first in the world where it is expected to show, then in all others.
pub fn try_mutant(mutant: Mutant, how: How) -> Verdict {
    let all = configs::all(false);
    let is_suspected = |config: &&Config| config.name == suspected(mutant);
    let first = all.iter().filter(is_suspected);
    let others = all.iter().filter(|config| !is_suspected(config));
    let searches =
        first.chain(others).map(|config| explore(config.clone(), Rules::with(mutant), how));
    let caught = { searches }.find(|explored| explored.broken.is_some());
    Verdict { mutant, caught }
}

/// Returns the world in which the fault should show.
pub const fn suspected(mutant: Mutant) -> &'static str {
    use Mutant as M;
    match mutant {
        M::LeaseNeverExpires
        | M::ExpiredLeaseCountsAsReleased
        | M::HoldTreatedAsRetry
        | M::ReleaseOn5xx
        | M::ReplayLosesBody
        | M::ResponseBeforeStored
        | M::NotStoredIsUnmarked
        | M::PlatformRepeatsWrites => "hold",
        M::TimeOutReleases => "hold, and time",
        M::NoAttemptCheckInComplete
        | M::LeaseNotChecked
        | M::OvertakenMayRecordRefusal
        | M::LateBeginOwnsAgain
        | M::CompletedIsOverwritten
        | M::DispatchAfterHalfLease
        | M::OvertakenSendsItsOwn => "retry",
        M::RenewalTakesOver => "retry, three times",
        M::ReleaseForgetsFingerprint
        | M::FingerprintAfterInProgress
        | M::FingerprintNotCompared => "two requests",
        M::UnlistedSecretIsNew => "secrets that rotate",
        M::MaybeExecutedForgotten | M::VoidOfInFlight => "voids",
        M::SweepRemovesLiveRecord => "several lives",
        M::TimeGoesBack => "clocks that jump",
        M::RestartForgetsTime | M::RemovalForgetsTime => "restarts behind the clock",
        M::ScopeLeftOut => "two tenants",
        M::ReplicaMissCountsAsNew | M::ReplicaFingerprintIgnored => "replica",
        M::ReplicaExpiryIgnored => "replica, over time",
        M::MemoryKeepsEveryResponse | M::MemoryNamesMixed | M::MemoryKeepsUnstoredResponse => {
            "memory"
        }
        M::MemoryExpiryIgnored => "memory, over time",
        M::KeyBeforeBusinessKey => "business keys, retry",
        M::BusinessKeyNotChecked => "business keys, hold",
        M::BusinessKeyForgotten | M::LookUpSuccessAlwaysProves => "business keys, looked up",
        M::EventForgotten => "events",
        M::KeyStoredAfterSending
        | M::NewKeyOnReload
        | M::NewKeyForChangedPayload
        | M::AbsentProvesNotExecuted => "a page",
        M::RefusalAfterUnknownSettles
        | M::UnprovenRefusalSettles
        | M::RedirectSettles
        | M::TimeOutCountsAsSuccess => "a page without proof",
        M::UnprovenSuccessSettles | M::KeyCallsUnderAnyCredential => "a page and others",
        M::OldKeyIsSentAgain => "a page that comes back",
    }
}
