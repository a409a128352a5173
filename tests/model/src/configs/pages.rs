//! Worlds with a page.

use super::{NOTHING_WRONG, PLAIN};
use crate::config::{Bounds, Clock, Config, Fate, Gateway, IntermediaryResponse, Page, Recognizes};

const DAY: i64 = 24 * 3600 * 1000;

const TWO_TABS: Page = Page {
    submits: &[(0, 0), (1, 0)],
    sends: 3,
    key_calls: true,
    proof: true,
    gives_up: false,
    intermediary: &[IntermediaryResponse::SignIn],
    changes_credential: false,
};

/// A page in two tabs, with the key calls, in front of an origin that recognizes the key.
pub(super) fn page(large: u8) -> Config {
    Config {
        name: "a page",
        page: Some(Page { submits: &[(0, 0), (1, 1)], ..TWO_TABS }),
        gateways: vec![Gateway::RETRY],
        recognizes: Recognizes::Key,
        fates: &[Fate::ErrorAfter, Fate::Refused],
        bounds: Bounds {
            losses: 1,
            doubles: large,
            lates: large,
            fates: 1,
            reloads: 1,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// A page that cannot read the proof, without the key calls, in front of an origin that charges each time.
pub(super) fn page_without_proof(_: u8) -> Config {
    Config {
        name: "a page without proof",
        page: Some(Page {
            submits: &[(0, 0), (0, 1)],
            key_calls: false,
            proof: false,
            intermediary: &[
                IntermediaryResponse::SignIn,
                IntermediaryResponse::BadRequest,
                IntermediaryResponse::LogIn,
            ],
            ..TWO_TABS
        }),
        gateways: vec![Gateway::HOLD],
        fates: &[Fate::ErrorAfter, Fate::Denied],
        bounds: Bounds {
            losses: 1,
            lates: 1,
            fates: 1,
            interceptions: 1,
            reloads: 1,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// A page in two tabs, with the key calls, in front of an origin that charges each time. An intermediary responds in
/// its place (400, 202, or a page behind a redirect), the browser sends a request twice, and a reload brings another
/// credential.
pub(super) fn page_and_others(_: u8) -> Config {
    Config {
        name: "a page and others",
        page: Some(Page {
            submits: &[(0, 0), (0, 1)],
            intermediary: &[
                IntermediaryResponse::BadRequest,
                IntermediaryResponse::LogIn,
                IntermediaryResponse::Queued,
            ],
            changes_credential: true,
            ..TWO_TABS
        }),
        gateways: vec![Gateway::HOLD],
        fates: &[Fate::ErrorAfter],
        bounds: Bounds { losses: 1, fates: 1, interceptions: 2, reloads: 1, ..NOTHING_WRONG },
        ..PLAIN
    }
}

/// A page that gives the intent up, and takes another payload.
pub(super) fn page_gives_up(large: u8) -> Config {
    Config {
        name: "a page that gives up",
        page: Some(Page { submits: &[(0, 0), (0, 1)], sends: 3, gives_up: true, ..TWO_TABS }),
        gateways: vec![Gateway::RETRY],
        recognizes: Recognizes::Key,
        fates: &[Fate::ErrorAfter, Fate::Busy],
        bounds: Bounds {
            losses: 1,
            doubles: 1,
            fates: 1,
            leases: large,
            reloads: large,
            ..NOTHING_WRONG
        },
        ..PLAIN
    }
}

/// A page that comes back on another day.
pub(super) fn page_comes_back(_: u8) -> Config {
    Config {
        name: "a page that comes back",
        page: Some(Page { submits: &[(0, 0), (1, 0), (0, 1)], sends: 3, ..TWO_TABS }),
        gateways: vec![Gateway::HOLD],
        fates: &[Fate::ErrorAfter, Fate::Refused],
        jumps: &[(Clock::Page, DAY)],
        bounds: Bounds { losses: 1, fates: 1, retentions: 1, jumps: 1, ..NOTHING_WRONG },
        ..PLAIN
    }
}

/// Returns the worlds of the client's documented limits, each with exactly what its limit needs. The search must
/// find the broken property in each of them. If it does not, the case is no longer a limit.
pub fn limits() -> Vec<Config> {
    vec![
        // The page accepts a refusal that could not be stored. The browser's second copy of the request arrives after
        // the lease has expired and before the gateway puts the key on hold, so it is executed.
        Config {
            name: "limit: refused, unstored",
            page: Some(Page { submits: &[(0, 0), (0, 1)], key_calls: false, ..TWO_TABS }),
            gateways: vec![Gateway::RETRY],
            recognizes: Recognizes::Key,
            fates: &[Fate::Refused],
            bounds: Bounds { losses: 1, doubles: 1, fates: 1, leases: 1, ..NOTHING_WRONG },
            ..PLAIN
        },
        // The browser sent the request twice, and one copy was refused with 401. Without the key calls, the page cannot
        // void the other copy.
        Config {
            name: "limit: two copies",
            page: Some(Page {
                submits: &[(0, 0), (0, 1)],
                key_calls: false,
                proof: false,
                ..TWO_TABS
            }),
            gateways: vec![Gateway::HOLD],
            bounds: Bounds { doubles: 1, interceptions: 1, ..NOTHING_WRONG },
            ..PLAIN
        },
        // The page's clock is set back by as much as the time that has passed.
        Config {
            name: "limit: a clock goes back",
            page: Some(TWO_TABS),
            gateways: vec![Gateway::HOLD],
            jumps: &[(Clock::Page, -DAY)],
            bounds: Bounds { losses: 1, retentions: 1, jumps: 1, ..NOTHING_WRONG },
            ..PLAIN
        },
    ]
}
