//! Tasks: futures that run on their own, so that a panic in one is confined to it.
//!
//! A panic aborts the wasm call in which it happens, and no Rust value is dropped. `worker/entry.mjs` guards each call
//! from JavaScript. If a call traps (a panic, a stack overflow, no more memory), `trapped` ends the task that was
//! polled, and only this task is lost. A caller that awaits it gets [`Panicked`] at once, and other tasks continue.
//!
//! The values of the lost future are leaked, not dropped. So a value that must be dropped, such as a
//! reservation of memory, belongs to the caller of [`contain`] and not into the future.
//!
//! A call from JavaScript that brings a result is a [`turn`]: it also polls the tasks that the result woke.

use futures_channel::oneshot;
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use wasm_bindgen::prelude::wasm_bindgen;

/// The awaited future trapped and was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panicked;

/// Runs `future` as a task of its own. Dropping the returned future cancels the task.
pub fn contain<T: 'static>(
    future: impl Future<Output = T> + 'static,
) -> impl Future<Output = Result<T, Panicked>> {
    let (sender, receiver) = oneshot::channel();
    // A trap leaks what the future holds, so the sender of a lost task has a second owner.
    let sender = Rc::new(Cell::new(Some(sender)));
    let lost = Rc::clone(&sender);
    let id = spawn(
        async move {
            let value = future.await;
            let _ = sender.take().map(|sender| sender.send(value));
        },
        move || drop(lost.take()),
    );
    let running = Running(id);
    async move {
        let result = receiver.await.map_err(|_| Panicked);
        drop(running);
        result
    }
}

/// Runs `future` as a task of its own, and `lost` if the task traps. Returns the number of the task.
pub fn spawn(future: impl Future<Output = ()> + 'static, lost: impl FnOnce() + 'static) -> u32 {
    let task = Task { future: Some(Box::pin(future)), lost: Box::new(lost), is_due: false };
    let id = TASKS.with_borrow_mut(|tasks| {
        let id = tasks.unused_id();
        tasks.running.push((id, task));
        id
    });
    wake(id);
    id
}

/// Cancels a task when it is dropped.
struct Running(u32);

impl Drop for Running {
    fn drop(&mut self) {
        remove(self.0);
    }
}

struct Task {
    /// The future; `None` while it is polled. So a task whose poll trapped has no future, and later wakes
    /// do nothing.
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
    /// Tells the caller that the task is lost.
    lost: Box<dyn FnOnce()>,
    /// Whether the task was woken and was not polled since.
    is_due: bool,
}

/// A list, because few tasks run at a time and a map would add code to the wasm.
#[derive(Default)]
struct Tasks {
    running: Vec<(u32, Task)>,
    last_id: u32,
    /// Whether a call from JavaScript is running, which polls the tasks that are due before it returns.
    in_turn: bool,
    /// The tasks that are due in this turn.
    due: Vec<u32>,
    /// The task that is polled.
    current: Option<u32>,
}

impl Tasks {
    fn unused_id(&mut self) -> u32 {
        loop {
            self.last_id = self.last_id.wrapping_add(1);
            if self.get_mut(self.last_id).is_none() {
                return self.last_id;
            }
        }
    }

    fn get_mut(&mut self, id: u32) -> Option<&mut Task> {
        self.running.iter_mut().find(|(known, _)| *known == id).map(|(_, task)| task)
    }

    fn remove(&mut self, id: u32) -> Option<Task> {
        let place = self.running.iter().position(|(known, _)| *known == id)?;
        Some(self.running.swap_remove(place).1)
    }
}

thread_local! {
    static TASKS: RefCell<Tasks> = RefCell::default();
    /// The time of the turn in milliseconds, while there is one.
    static NOW: Cell<Option<f64>> = const { Cell::new(None) };
}

// No other code runs while TASKS is borrowed: tasks are taken out of it first, and then polled or dropped.

fn remove(id: u32) -> Option<Task> {
    TASKS.with_borrow_mut(|tasks| tasks.remove(id))
}

fn wake(id: u32) {
    let is_for_later = TASKS.with_borrow_mut(|tasks| {
        let in_turn = tasks.in_turn;
        let newly_due =
            tasks.get_mut(id).is_some_and(|task| !std::mem::replace(&mut task.is_due, true));
        if newly_due && in_turn {
            tasks.due.push(id);
        }
        newly_due && !in_turn
    });
    if is_for_later {
        schedule(id);
    }
}

struct WakeTask(u32);

impl Wake for WakeTask {
    fn wake(self: Arc<Self>) {
        wake(self.0);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        wake(self.0);
    }
}

#[wasm_bindgen]
extern "C" {
    /// Makes `worker/entry.mjs` call [`poll`] from a microtask of its own, in the request that asks for it.
    #[wasm_bindgen(js_namespace = host)]
    fn schedule(task: u32);
}

/// Runs `work`, and then the tasks that it woke. `now` is the time, which stands still in a turn.
pub fn turn(now: f64, work: impl FnOnce()) {
    NOW.set(Some(now));
    TASKS.with_borrow_mut(|tasks| tasks.in_turn = true);
    work();
    while let Some(id) = TASKS.with_borrow_mut(|tasks| {
        let id = (!tasks.due.is_empty()).then(|| tasks.due.remove(0));
        tasks.in_turn = id.is_some();
        tasks.current = id;
        id
    }) {
        poll_once(id);
    }
    NOW.set(None);
}

/// Returns the time that came with JavaScript's call; `None` outside of a turn.
pub(crate) fn time_of_turn() -> Option<f64> {
    NOW.get()
}

/// Polls a task. JavaScript calls it after `schedule`.
#[wasm_bindgen(js_name = oncekeyPoll)]
pub fn poll(id: u32, now: f64) {
    turn(now, || TASKS.with_borrow_mut(|tasks| tasks.due.push(id)));
}

fn poll_once(id: u32) {
    let future = TASKS.with_borrow_mut(|tasks| {
        let task = tasks.get_mut(id)?;
        task.is_due = false;
        task.future.take()
    });
    let Some(mut future) = future else { return };
    let waker = Waker::from(Arc::new(WakeTask(id)));
    let ready = future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
    if ready {
        remove(id);
        return;
    }
    // The task is absent if it was cancelled during its own poll; then its future is dropped here.
    TASKS.with_borrow_mut(|tasks| {
        if let Some(task) = tasks.get_mut(id) {
            task.future = Some(future);
            None
        } else {
            Some(future)
        }
    });
}

/// Ends the task whose poll trapped, and schedules the tasks that were due after it.
pub(crate) fn trapped() {
    NOW.set(None);
    let (lost, due) = TASKS.with_borrow_mut(|tasks| {
        tasks.in_turn = false;
        let lost = tasks.current.take().and_then(|id| tasks.remove(id));
        (lost, std::mem::take(&mut tasks.due))
    });
    for id in due {
        schedule(id);
    }
    if let Some(task) = lost {
        (task.lost)();
    }
}
