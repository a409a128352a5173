//! Recognizes submits that come from one press: a double click, or a key that is held down.
//!
//! A browser fires one `submit` event for each click of a double click and for each repeat of a
//! held key. The buyer wants one purchase, so they count as one submit, even if the first submit
//! failed before the second click.
//!
//! The shell reports each [`Press`] before the submit that it may cause, and calls
//! [`Presses::over`] when the task of that press has ended. A later submit, from a timer or after an
//! `await`, belongs to no press.

use super::FormEvent;
use crate::time::Millis;

/// A click or a key press, by a person or by a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// A click of a person.
    Click {
        /// The event's `detail`: its number in a row of clicks. 0 without a pointer.
        detail: i32,
        /// For a tap: how long ago the same element was tapped before. Some browsers do not count
        /// taps.
        tapped_before: Option<Millis>,
    },
    /// A click that a script made.
    Scripted {
        /// The event's `detail`.
        detail: i32,
    },
    /// A key was pressed, or is being held.
    KeyDown {
        /// The event's `repeat`.
        repeat: bool,
    },
    /// A later event of the same key: `keypress` or `keyup`.
    Key,
}

/// Two taps on one element within this time are a double tap.
const DOUBLE_TAP: Millis = Millis::new(500);

/// The presses of a page that may submit a form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presses {
    /// The number of the last press.
    last: u32,
    /// Whether an event of the last press is being handled.
    open: Open,
    /// The last press that submitted the form.
    submitted: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    No,
    ByPerson,
    ByScript,
}

impl Presses {
    /// Notes a press.
    pub fn pressed(&mut self, press: Press) {
        let is_open = self.open == Open::ByPerson;
        let (continues, by) = match press {
            // A click by a handler of a press belongs to that press.
            Press::Scripted { .. } if is_open => return,
            Press::Scripted { detail } => (detail > 1, Open::ByScript),
            // A key clicks the focused button. Assistive technology clicks without a key.
            Press::Click { detail: ..=0, .. } => (is_open, Open::ByPerson),
            Press::Click { detail, tapped_before } => {
                let is_double_tap = tapped_before.is_some_and(|before| before <= DOUBLE_TAP);
                (detail > 1 || is_double_tap, Open::ByPerson)
            }
            Press::KeyDown { repeat } => (repeat, Open::ByPerson),
            Press::Key => (true, Open::ByPerson),
        };
        if !continues {
            self.last = self.last.wrapping_add(1);
        }
        self.open = by;
    }

    /// Notes that the task of the last press has ended.
    pub fn over(&mut self) {
        self.open = Open::No;
    }

    /// Returns [`FormEvent::Repeat`] if the press of this submit has submitted before, otherwise
    /// [`FormEvent::Submit`].
    pub fn submit(&mut self) -> FormEvent {
        let press = (self.open != Open::No).then_some(self.last);
        let repeats = press.is_some() && press == self.submitted;
        self.submitted = press.or(self.submitted);
        if repeats { FormEvent::Repeat } else { FormEvent::Submit }
    }
}
