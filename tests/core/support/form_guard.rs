//! Every state and every event of the guard of a form.

use oncekey::client::form_guard::{FormEvent, FormState};

pub(crate) const STATES: [FormState; 5] =
    [FormState::Free, FormState::Held, FormState::Waiting, FormState::Resending, FormState::Done];

pub(crate) const EVENTS: [FormEvent; 10] = [
    FormEvent::Submit,
    FormEvent::Repeat,
    FormEvent::KeyPending,
    FormEvent::Resubmit,
    FormEvent::Succeeded,
    FormEvent::Done,
    FormEvent::Failed,
    FormEvent::Cancelled,
    FormEvent::Shown,
    FormEvent::Release,
];
