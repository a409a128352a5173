//! Keeps a panic to the task that it happened in.
//!
//! A panic aborts the wasm call that it happens in and drops nothing. [`contain`] therefore runs a future
//! as a task of its own: every poll of it is one call from JavaScript, and `../entry.mjs` guards that call.
//! When it traps (a panic, a stack overflow, no more memory), exactly this task is lost, whoever awaits it
//! gets [`Panicked`] at once, and nothing else notices.
//!
//! What the lost future held is leaked, not dropped. A guard that has to be given back, such as a share of
//! a budget, belongs to the caller's side of [`contain`].

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use worker::wasm_bindgen;
use worker::wasm_bindgen::prelude::wasm_bindgen;

/// The future that was to be awaited trapped, and is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panicked;

/// Runs `future` as a task of its own. Dropping what this returns cancels the task, as with any future.
pub(crate) fn contain<T: 'static>(future: impl Future<Output = T> + 'static) -> Contained<T> {
    let outcome = Rc::new(Outcome { value: Cell::new(None), waiting: Cell::new(None) });
    let (done, lost) = (Rc::clone(&outcome), Rc::clone(&outcome));
    let task = Task {
        future: Some(Box::pin(async move { done.settle(Ok(future.await)) })),
        lost: Box::new(move || lost.settle(Err(Panicked))),
        scheduled: false,
    };
    let id = TASKS.with_borrow_mut(|tasks| {
        let id = tasks.unused_id();
        tasks.running.push((id, task));
        id
    });
    wake(id);
    Contained { outcome, id }
}

/// The caller's side of [`contain`].
pub(crate) struct Contained<T> {
    outcome: Rc<Outcome<T>>,
    id: u32,
}

impl<T> Future for Contained<T> {
    type Output = Result<T, Panicked>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.outcome.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                self.outcome.waiting.set(Some(context.waker().clone()));
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Contained<T> {
    fn drop(&mut self) {
        remove(self.id);
    }
}

struct Outcome<T> {
    value: Cell<Option<Result<T, Panicked>>>,
    waiting: Cell<Option<Waker>>,
}

impl<T> Outcome<T> {
    fn settle(&self, value: Result<T, Panicked>) {
        self.value.set(Some(value));
        if let Some(waiting) = self.waiting.take() {
            waiting.wake();
        }
    }
}

struct Task {
    /// Absent while it is polled; so a task whose poll trapped has none, and later wakes find nothing to do.
    future: Option<Pin<Box<dyn Future<Output = ()>>>>,
    /// Tells the caller that the task is lost.
    lost: Box<dyn FnOnce()>,
    scheduled: bool,
}

/// A handful at a time, so a list is map enough, and much less code in the wasm.
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

// No code of ours runs while TASKS is borrowed: what leaves it is dropped, polled and called afterwards.

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
    /// `../entry.mjs` calls [`poll`] from a microtask of its own, so in the request that asks for it.
    #[wasm_bindgen(js_namespace = host)]
    fn schedule(task: u32);
}

#[wasm_bindgen(js_name = oncekeyPoll)]
#[expect(unreachable_pub, reason = "what JavaScript calls has to be pub")]
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
    // Absent when it was cancelled during its own poll; then it ends here.
    TASKS.with_borrow_mut(|tasks| {
        if let Some(task) = tasks.get_mut(id) {
            task.future = Some(future);
            None
        } else {
            Some(future)
        }
    });
}

/// The poll of this task trapped.
#[wasm_bindgen(js_name = oncekeyTrapped)]
#[expect(unreachable_pub, reason = "what JavaScript calls has to be pub")]
pub fn trapped(id: u32) {
    if let Some(task) = remove(id) {
        (task.lost)();
    }
}

/// Whether the trap just seen was a panic, which the hook has logged.
#[wasm_bindgen(js_name = oncekeyTookPanic)]
#[expect(unreachable_pub, reason = "what JavaScript calls has to be pub")]
pub fn took_panic() -> bool {
    PANICKED.take()
}

/// Logs where a panic happened. A literal message is shown, a formatted one is not: an `unwrap` or `expect`
/// formats the error it met, which may quote what a caller sent.
#[wasm_bindgen(js_name = oncekeyInstallPanicHook)]
#[expect(unreachable_pub, reason = "what JavaScript calls has to be pub")]
pub fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        PANICKED.set(true);
        let place = info.location().map(|place| format!("{}:{}", place.file(), place.line()));
        let message = info.payload().downcast_ref::<&str>().unwrap_or(&"(message withheld)");
        worker::console_error!("oncekey: panic at {}: {message}", place.as_deref().unwrap_or("?"));
    }));
}

/// Faults that tests ask for. Release builds have neither the feature nor its code.
#[cfg(feature = "test-faults")]
mod faults {
    use std::cell::RefCell;

    thread_local! {
        static ARMED: RefCell<Option<String>> = const { RefCell::new(None) };
    }

    /// Reads `Oncekey-Test-Panic: POINT`, `POINT:overflow` or `POINT:memory`; that point fails when it is next reached.
    pub(crate) fn arm(headers: &worker::Headers) {
        if let Ok(Some(wish)) = headers.get("Oncekey-Test-Panic") {
            ARMED.set(Some(wish));
        }
    }

    /// Fails if a request asked for it here.
    pub(crate) fn point(name: &str) {
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
    pub(crate) fn arm(_: &worker::Headers) {}
    pub(crate) fn point(_: &str) {}
}

pub(crate) use faults::{arm, point};
