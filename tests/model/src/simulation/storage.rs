//! The `localStorage` that tabs share. A tab sees a write of another tab a little later.

/// How long it takes until a tab sees the write of another tab.
const LAG: u64 = 60;

/// The text under one name.
#[derive(Default)]
pub(super) struct Slot(Vec<Write>);

struct Write {
    at: u64,
    tab: usize,
    text: Option<String>,
}

impl Slot {
    /// Returns the text that this tab sees.
    pub(super) fn read(&self, tab: usize, now: u64) -> Option<&str> {
        let is_seen = |write: &&Write| write.tab == tab || write.at + LAG <= now;
        self.0.iter().rev().find(is_seen)?.text.as_deref()
    }

    pub(super) fn write(&mut self, tab: usize, text: Option<String>, now: u64) {
        // Once all tabs have seen a write, earlier writes no longer count.
        if let Some(last) = self.0.iter().rposition(|write| write.at + LAG <= now) {
            self.0.drain(..last);
        }
        self.0.push(Write { at: now, tab, text });
    }
}
