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
    /// A click of a person, the first in a row: the event's `detail` is 1.
    Click,
    /// A further click in a row: `detail` is more than 1, or the same element was tapped less than
    /// [`DOUBLE_TAP`] ago. Some browsers do not count taps.
    ClickAgain,
    /// A click of a person without a pointer: `detail` is 0. A key clicks the focused button.
    /// Assistive technology clicks without a key.
    ClickByKey,
    /// A click that a script made.
    Scripted,
    /// A click that a script made, with a `detail` of more than 1.
    ScriptedAgain,
    /// A key was pressed.
    KeyDown,
    /// A key is being held: the event's `repeat` is true.
    KeyHeld,
    /// A later event of the same key: `keypress` or `keyup`.
    Key,
}

/// Two taps on one element within this time are a double tap.
pub const DOUBLE_TAP: Millis = Millis::new(500);

/// The presses of a page that may submit a form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presses {
    /// Whether an event of the last press is being handled.
    open: Open,
    /// Whether the last press has submitted the form.
    submitted: bool,
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
            Press::Scripted | Press::ScriptedAgain if is_open => return,
            Press::Scripted => (false, Open::ByScript),
            Press::ScriptedAgain => (true, Open::ByScript),
            Press::ClickByKey => (is_open, Open::ByPerson),
            Press::Click | Press::KeyDown => (false, Open::ByPerson),
            Press::ClickAgain | Press::KeyHeld | Press::Key => (true, Open::ByPerson),
        };
        self.submitted &= continues;
        self.open = by;
    }

    /// Notes that the task of the last press has ended.
    pub fn over(&mut self) {
        self.open = Open::No;
    }

    /// Returns [`FormEvent::Repeat`] if the press of this submit has submitted before, otherwise
    /// [`FormEvent::Submit`].
    pub fn submit(&mut self) -> FormEvent {
        if self.open == Open::No {
            return FormEvent::Submit;
        }
        let repeats = std::mem::replace(&mut self.submitted, true);
        if repeats { FormEvent::Repeat } else { FormEvent::Submit }
    }
}
