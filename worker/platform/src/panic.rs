//! Confines a panic to the task in which it happened.
//!
//! A panic aborts the wasm call in which it happens, and no Rust value is dropped. [`contain`] therefore
//! runs a future as a task of its own: every poll of the task is one call from JavaScript, and
//! `worker/entry.mjs` guards that call. If it traps (a panic, a stack overflow, no more memory), only this
//! task is lost. The caller that awaits the task gets [`Panicked`] at once, and other tasks continue.
//!
//! The values of the lost future are leaked, not dropped. So a value that must be dropped, such as a
//! reservation of memory, belongs to the caller of [`contain`] and not into the future.

use futures_channel::oneshot;
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use worker::wasm_bindgen::{self, prelude::wasm_bindgen};

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
    let task = Task {
        future: Some(Box::pin(async move {
            let value = future.await;
            let _ = sender.take().map(|sender| sender.send(value));
        })),
        lost: Box::new(move || drop(lost.take())),
        scheduled: false,
    };
    let id = TASKS.with_borrow_mut(|tasks| {
        let id = tasks.unused_id();
        tasks.running.push((id, task));
        id
    });
    wake(id);
    let running = Running(id);
    async move {
        let result = receiver.await.map_err(|_| Panicked);
        drop(running);
        result
    }
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
    scheduled: bool,
}

/// A list, because few tasks run at a time and a map would add code to the wasm.
#[derive(Default)]
struct Tasks {
    running: Vec<(u32, Task)>,
    last_id: u32,
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
    /// A panic was logged and its trap has not been seen yet.
    static PANICKED: Cell<bool> = const { Cell::new(false) };
}

// No other code runs while TASKS is borrowed: tasks are taken out of it first, and then polled or dropped.

fn remove(id: u32) -> Option<Task> {
    TASKS.with_borrow_mut(|tasks| tasks.remove(id))
}

fn wake(id: u32) {
    let due = TASKS.with_borrow_mut(|tasks| {
        tasks.get_mut(id).is_some_and(|task| !std::mem::replace(&mut task.scheduled, true))
    });
    if due {
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

/// Polls a task. JavaScript calls it after `schedule`.
#[wasm_bindgen(js_name = oncekeyPoll)]
pub fn poll(id: u32) {
    let future = TASKS.with_borrow_mut(|tasks| {
        let task = tasks.get_mut(id)?;
        task.scheduled = false;
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

/// Removes a task whose poll trapped, and settles it as [`Panicked`].
#[wasm_bindgen(js_name = oncekeyTrapped)]
pub fn trapped(id: u32) {
    if let Some(task) = remove(id) {
        (task.lost)();
    }
}

/// Returns whether the latest trap was a panic, which the hook has logged.
#[wasm_bindgen(js_name = oncekeyTookPanic)]
pub fn took_panic() -> bool {
    PANICKED.take()
}

/// Installs a hook that logs where a panic happened. It shows a literal message but not a formatted one: an
/// `unwrap` or `expect` formats its error, which may quote a caller's data.
#[wasm_bindgen(js_name = oncekeyInstallPanicHook)]
pub fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        PANICKED.set(true);
        let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
        let message = info.payload().downcast_ref::<&str>().unwrap_or(&"(message withheld)");
        worker::console_error!("oncekey: panic at {}: {message}", place.as_deref().unwrap_or("?"));
    }));
}

/// Faults for tests. Release builds have neither the feature nor its code.
#[cfg(feature = "test-faults")]
mod faults {
    use std::cell::RefCell;

    thread_local! {
        static ARMED: RefCell<Option<String>> = const { RefCell::new(None) };
    }

    /// Reads `Oncekey-Test-Panic: POINT`, `POINT:overflow` or `POINT:memory`, and makes that point fail the
    /// next time it is reached.
    pub fn arm(headers: &worker::Headers) {
        if let Ok(Some(wish)) = headers.get("Oncekey-Test-Panic") {
            ARMED.set(Some(wish));
        }
    }

    /// Fails if a request asked for a fault at this point.
    pub fn point(name: &str) {
        let hit = ARMED
            .with_borrow_mut(|armed| armed.take_if(|wish| wish.split(':').next() == Some(name)));
        match hit.as_deref().map(|wish| wish.split_once(':').map_or("", |(_, kind)| kind)) {
            None => {}
            Some("overflow") => drop(overflow(&[1; 64])),
            Some("memory") => loop {
                std::mem::forget(Vec::<u8>::with_capacity(1 << 30));
            },
            Some(_) => panic!("a test asked for this panic"),
        }
    }

    #[expect(unconditional_recursion, reason = "that is the fault")]
    #[inline(never)]
    fn overflow(data: &[u8; 64]) -> u8 {
        let mut more = *data;
        more[3] = more[3].wrapping_add(1);
        overflow(std::hint::black_box(&more)).wrapping_add(std::hint::black_box(more)[5])
    }
}

#[cfg(not(feature = "test-faults"))]
mod faults {
    /// Does nothing: this build has no faults.
    pub fn arm(_: &worker::Headers) {}

    /// Does nothing: this build has no faults.
    pub fn point(_: &str) {}
}

pub use faults::{arm, point};
