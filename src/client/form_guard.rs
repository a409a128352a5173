//! The guard of a form: one submit goes, and the others wait for its end.
//!
//! The shell keeps a [`State`] for each form, tells what happens as an [`Event`], stores the state
//! that [`next`] gives back and carries out its [`Decision`]. Like the rest of the core this touches
//! no page: what a lock looks like is the shell's affair.
//!
//! # The rules
//!
//! 1. The first submit always goes.
//! 2. While one is out, every other is swallowed, whichever button or key it came from and however
//!    long it takes. There is no time after which a second one gets through.
//!    A double click and a held key are one submit, even when the first one has failed before the
//!    second one comes: see [`Presses`].
//! 3. What ends without a success unlocks, an unknown outcome too: the same intent is sent with the
//!    same key, so the next submit asks for the first one's answer.
//! 4. A success stays locked until the page goes: a redirect takes its time, and a click that comes
//!    in between would be a second purchase. The form is not busy any more. The page may say the
//!    same of a form whose outcome it knows by other means.
//! 5. A page that comes back from the browser's cache is a fresh page: it is unlocked in any state.
//! 6. A key may take time (a lock, a store). The submit then waits, locked, and goes exactly once
//!    when the key is there.
//!
//! # The table
//!
//! | event | Free | Held | Waiting | Resending | Done |
//! |---|---|---|---|---|---|
//! | Submit | Go → Held | Swallow | Swallow | Go → Held | Swallow |
//! | Repeat | Swallow | Swallow | Swallow | Go → Held | Swallow |
//! | KeyPending | – | → Waiting | – | – | – |
//! | Resubmit | – | – | Resend → Resending | – | – |
//! | Succeeded | – | Finish → Done | Finish → Done | Finish → Done | – |
//! | Done | Finish → Done | Finish → Done | Finish → Done | Finish → Done | – |
//! | Failed, Cancelled | – | Restore → Free | Restore → Free | Restore → Free | – |
//! | Shown, Release | – | Restore → Free | Restore → Free | Restore → Free | Restore → Free |
//!
//! A dash is [`Decision::Keep`], and the state stays; so is the decision where only a state is
//! named.

mod press;

pub use press::{Press, Presses};

/// What a form is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing: the next submit goes.
    Free,
    /// A submit has gone, and its end is not known.
    Held,
    /// A submit was stopped until its key is there.
    Waiting,
    /// The key is there; the submit that waited for it is about to come again.
    Resending,
    /// A submit has succeeded.
    Done,
}

/// What happens to a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A submit.
    Submit,
    /// A submit by a press that has submitted before: see [`Presses`].
    Repeat,
    /// The submit that went needs a key that is not there yet.
    KeyPending,
    /// The key is there.
    Resubmit,
    /// Another handler prevented the submit, or it never came: nothing was sent.
    Cancelled,
    /// It succeeded.
    Succeeded,
    /// The page says that what the form is for is done, whoever did it.
    Done,
    /// It was refused, it failed, or nobody knows.
    Failed,
    /// The page came back from the browser's cache.
    Shown,
    /// The page says that the form is free.
    Release,
}

/// What the shell does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Let the submit go, and lock the form at once.
    Go,
    /// Prevent the submit, before anybody else hears of it.
    Swallow,
    /// Put the form back as it was, and submit it again.
    Resend,
    /// Put the form back as it was.
    Restore,
    /// Leave the form locked, and show that it is not busy any more.
    Finish,
    /// Change nothing.
    Keep,
}

impl Event {
    /// The event that the end of a submit is: `succeeded`, `refused`, `unknown` or `failed`.
    pub fn of_outcome(outcome: &str) -> Option<Self> {
        match outcome {
            "succeeded" => Some(Self::Succeeded),
            "refused" | "unknown" | "failed" => Some(Self::Failed),
            _ => None,
        }
    }
}

/// The form's next state, and what to do.
pub const fn next(state: State, event: Event) -> (State, Decision) {
    match (state, event) {
        (State::Free | State::Resending, Event::Submit) | (State::Resending, Event::Repeat) => {
            (State::Held, Decision::Go)
        }
        (_, Event::Submit | Event::Repeat) => (state, Decision::Swallow),
        (State::Held, Event::KeyPending) => (State::Waiting, Decision::Keep),
        (State::Waiting, Event::Resubmit) => (State::Resending, Decision::Resend),
        (State::Done, Event::Done)
        | (State::Free | State::Done, Event::Succeeded | Event::Failed | Event::Cancelled) => {
            (state, Decision::Keep)
        }
        (_, Event::Succeeded | Event::Done) => (State::Done, Decision::Finish),
        (_, Event::Failed | Event::Cancelled) => (State::Free, Decision::Restore),
        (State::Free, Event::Shown | Event::Release) => (State::Free, Decision::Keep),
        (_, Event::Shown | Event::Release) => (State::Free, Decision::Restore),
        (_, Event::KeyPending | Event::Resubmit) => (state, Decision::Keep),
    }
}
