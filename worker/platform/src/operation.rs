//! Operations of the platform that take time: JavaScript carries them out (`worker/bridge.mjs`).
//!
//! Rust starts an operation with one call, which gives it a number. One call of [`done`] brings the result, and runs
//! the task that waits for it. A promise, which costs ten calls and two closures, is not needed.

use crate::task;
use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use wasm_bindgen::{JsValue, prelude::wasm_bindgen};

/// The status of an operation that has not ended in time. The operation continues.
pub const LATE: u16 = 0;

/// The status of an operation that failed. The text says why.
pub const FAILED: u16 = 1;

/// The status of an operation that has ended and has no HTTP status.
pub const DONE: u16 = 2;

/// The status of a response whose body broke off.
pub const CUT_OFF: u16 = 3;

/// The result of an operation. Fields that the result does not have are empty.
#[derive(Debug)]
pub struct Reply {
    /// One of the constants above, or the status of a response.
    pub status: u16,
    /// Headers, a line for each name and value, or the reason of a failure.
    pub text: String,
    /// A body, or a piece of it.
    pub bytes: Option<Vec<u8>>,
    /// An object of the platform.
    pub object: JsValue,
}

/// An operation that was started. Dropping it cancels a timer, and ignores the result of everything else.
#[derive(Debug)]
pub struct Operation(u32);

enum State {
    Waiting(Option<Waker>),
    Done(Reply),
}

/// A list, because few operations are in progress at a time.
#[derive(Default)]
struct Operations {
    states: Vec<(u32, State)>,
    last: u32,
}

thread_local! {
    static OPERATIONS: RefCell<Operations> = RefCell::default();
}

impl Operation {
    /// Lets `start` give an operation to JavaScript.
    pub fn start(start: impl FnOnce(u32)) -> Self {
        let number = OPERATIONS.with_borrow_mut(|operations| {
            operations.last = operations.last.wrapping_add(1);
            operations.states.push((operations.last, State::Waiting(None)));
            operations.last
        });
        start(number);
        Self(number)
    }
}

impl Future for Operation {
    type Output = Reply;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Reply> {
        let done = OPERATIONS.with_borrow_mut(|operations| {
            if let State::Waiting(waker) = operations.get_mut(self.0)? {
                *waker = Some(context.waker().clone());
                return None;
            }
            operations.remove(self.0)
        });
        match done {
            Some(State::Done(reply)) => Poll::Ready(reply),
            _ => Poll::Pending,
        }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        let state = OPERATIONS.with_borrow_mut(|operations| operations.remove(self.0));
        if let Some(State::Waiting(_)) = state {
            cancel(self.0);
        }
    }
}

impl Operations {
    fn get_mut(&mut self, number: u32) -> Option<&mut State> {
        self.states.iter_mut().find(|(known, _)| *known == number).map(|(_, state)| state)
    }

    fn remove(&mut self, number: u32) -> Option<State> {
        let place = self.states.iter().position(|(known, _)| *known == number)?;
        Some(self.states.swap_remove(place).1)
    }
}

#[wasm_bindgen]
extern "C" {
    /// Starts a timer.
    #[wasm_bindgen(js_namespace = host)]
    pub(crate) fn sleep(operation: u32, millis: f64);

    /// Cancels the operation if it is a timer. Other operations continue.
    #[wasm_bindgen(js_namespace = host)]
    fn cancel(operation: u32);
}

/// Takes the result of an operation. JavaScript calls it at the time `now`.
#[wasm_bindgen(js_name = oncekeyDone)]
pub fn done(
    operation: u32,
    now: f64,
    status: u16,
    text: Option<String>,
    bytes: Option<Vec<u8>>,
    object: JsValue,
) {
    let reply = Reply { status, text: text.unwrap_or_default(), bytes, object };
    let waiting = OPERATIONS.with_borrow_mut(|operations| {
        Some(std::mem::replace(operations.get_mut(operation)?, State::Done(reply)))
    });
    if let Some(State::Waiting(Some(waker))) = waiting {
        task::turn(now, || waker.wake());
    }
}
