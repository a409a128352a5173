//! What tabs share: `localStorage`, of which each tab has a copy that learns of the others' writes a little later.

/// How long a write of another tab takes to be seen.
const LAG: u64 = 60;

/// One name in it.
#[derive(Default)]
pub(super) struct Slot(Vec<Write>);

struct Write {
    at: u64,
    tab: usize,
    text: Option<String>,
}

impl Slot {
    /// What this tab finds.
    pub(super) fn read(&self, tab: usize, now: u64) -> Option<&str> {
        let is_seen = |write: &&Write| write.tab == tab || write.at + LAG <= now;
        self.0.iter().rev().find(is_seen)?.text.as_deref()
    }

    pub(super) fn write(&mut self, tab: usize, text: Option<String>, now: u64) {
        // Of what everybody has seen, only the last counts.
        if let Some(last) = self.0.iter().rposition(|write| write.at + LAG <= now) {
            self.0.drain(..last);
        }
        self.0.push(Write { at: now, tab, text });
    }
}
