//! Counts the bytes that the code reads, in tests only. So a test can check that time is linear without
//! measuring time.

#[cfg(not(test))]
#[inline(always)]
pub(crate) fn spent(_bytes: usize) {}

#[cfg(test)]
pub(crate) use counted::{measure, spent};

#[cfg(test)]
mod counted {
    use std::cell::Cell;

    thread_local! {
        static SPENT: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn spent(bytes: usize) {
        SPENT.set(SPENT.get() + bytes);
    }

    pub(crate) fn measure<T>(run: impl FnOnce() -> T) -> (T, usize) {
        let before = SPENT.get();
        let result = run();
        (result, SPENT.get() - before)
    }
}
