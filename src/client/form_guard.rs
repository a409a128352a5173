//! The guard of a form: one submit is sent, and the others are swallowed until it has ended.
//!
//! The shell keeps a [`FormState`] for each form, reports what happens as a [`FormEvent`], stores
//! the state that [`next`] returns and carries out its [`FormAction`]. This module touches no page:
//! the shell decides what a lock looks like.
//!
//! # The rules
//!
//! 1. The first submit is always sent.
//! 2. While a submit is in progress, every other submit is swallowed, whichever button or key it came
//!    from and however long the first one takes. No time-out lets a second submit through.
//!    A double click and a held key are one submit, even if the first submit fails before the second
//!    one comes: see [`Presses`].
//! 3. A submit that ends without a success unlocks the form, even if its outcome is unknown. The next
//!    submit sends the same key, and so gets the response of the first one.
//! 4. After a success the form stays locked until the page is left: a redirect takes time, and a
//!    click in between would be a second purchase. The form is no longer busy. The page may report
//!    the same for a form whose outcome it knows by other means.
//! 5. A page that comes back from the browser's cache is unlocked in any state.
//! 6. Getting a key may take time (a lock, a store). The submit waits, locked, and is sent exactly
//!    once when the key is there.
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
//! A dash is [`FormAction::Keep`] and keeps the state. Where only a state is named, the action is
//! `Keep` too.
//!
//! The guard itself is TypeScript (`www/src/form/guard/`), so that a page need not load the core
//! before its form is guarded. It looks these rules up in tables (`rules.ts`), which a test makes
//! from this module.

mod press;

pub use press::{DOUBLE_TAP, Press, Presses};

/// The state of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormState {
    /// The next submit is sent.
    Free,
    /// A submit was sent and has not ended.
    Held,
    /// A submit waits for its key.
    Waiting,
    /// The key is there, and the shell submits the form again.
    Resending,
    /// A submit has succeeded.
    Done,
}

/// What happens to a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormEvent {
    /// A submit.
    Submit,
    /// A second submit by the same press: see [`Presses`].
    Repeat,
    /// The submit needs a key that is not there yet.
    KeyPending,
    /// The key is there.
    Resubmit,
    /// Another handler prevented the submit, or it never came. Nothing was sent.
    Cancelled,
    /// The submit succeeded.
    Succeeded,
    /// The page reports that the purpose of the form is done by other means.
    Done,
    /// The submit was refused, it failed, or its outcome is unknown.
    Failed,
    /// The page came back from the browser's cache.
    Shown,
    /// The page frees the form.
    Release,
}

/// What the shell does with the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormAction {
    /// Send the submit, and lock the form at once.
    Go,
    /// Prevent the submit before any other handler sees it.
    Swallow,
    /// Put the form back as it was, and submit it again.
    Resend,
    /// Put the form back as it was.
    Restore,
    /// Keep the form locked, and show that it is no longer busy.
    Finish,
    /// Change nothing.
    Keep,
}

impl FormEvent {
    /// Returns the event for the end of a submit: `succeeded`, `refused`, `unknown` or `failed`.
    pub fn of_outcome(outcome: &str) -> Option<Self> {
        match outcome {
            "succeeded" => Some(Self::Succeeded),
            "refused" | "unknown" | "failed" => Some(Self::Failed),
            _ => None,
        }
    }
}

/// Returns the next state of the form, and what to do.
pub const fn next(state: FormState, event: FormEvent) -> (FormState, FormAction) {
    match (state, event) {
        (FormState::Free | FormState::Resending, FormEvent::Submit)
        | (FormState::Resending, FormEvent::Repeat) => (FormState::Held, FormAction::Go),
        (_, FormEvent::Submit | FormEvent::Repeat) => (state, FormAction::Swallow),
        (FormState::Held, FormEvent::KeyPending) => (FormState::Waiting, FormAction::Keep),
        (FormState::Waiting, FormEvent::Resubmit) => (FormState::Resending, FormAction::Resend),
        (FormState::Done, FormEvent::Done)
        | (
            FormState::Free | FormState::Done,
            FormEvent::Succeeded | FormEvent::Failed | FormEvent::Cancelled,
        ) => (state, FormAction::Keep),
        (_, FormEvent::Succeeded | FormEvent::Done) => (FormState::Done, FormAction::Finish),
        (_, FormEvent::Failed | FormEvent::Cancelled) => (FormState::Free, FormAction::Restore),
        (FormState::Free, FormEvent::Shown | FormEvent::Release) => {
            (FormState::Free, FormAction::Keep)
        }
        (_, FormEvent::Shown | FormEvent::Release) => (FormState::Free, FormAction::Restore),
        (_, FormEvent::KeyPending | FormEvent::Resubmit) => (state, FormAction::Keep),
    }
}
