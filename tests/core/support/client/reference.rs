//! The reference for the intent table. It remembers everything that was ever sent and received, also over reloads,
//! and derives from this what may be sent. It is slow.

use oncekey::client::intent::IntentState;
use oncekey::client::retry::Outcome;
use std::collections::BTreeMap;

#[derive(Default)]
struct KeyHistory {
    payload: u8,
    sent: u32,
    results: Vec<(u32, Outcome)>,
    proven_dead: bool,
    proven_done: bool,
}

#[derive(Default)]
pub(crate) struct History {
    keys: BTreeMap<String, KeyHistory>,
    /// The key and the payload that have succeeded.
    pub(crate) success: Option<(String, u8)>,
}

impl History {
    /// Records that this attempt is sent.
    pub(crate) fn note_sent(&mut self, key: &str, payload: u8, attempt: u32) {
        let open = self.open_keys();
        assert!(
            open.iter().all(|open| open == key),
            "a second key is sent while the outcome of another key is unknown: {open:?}"
        );
        if let Some((done, first)) = &self.success {
            assert_eq!((done.as_str(), *first), (key, payload), "sent after the intent's success");
        }
        let history = self.keys.entry(key.to_owned()).or_default();
        assert!(
            history.sent == 0 || history.payload == payload,
            "one key is sent with two payloads"
        );
        assert_eq!(attempt, history.sent + 1, "attempts are counted");
        assert!(!history.proven_dead, "a key is sent after it was given up");
        (history.payload, history.sent) = (payload, attempt);
    }

    pub(crate) fn note_result(&mut self, key: &str, attempt: u32, outcome: Outcome) {
        let history = self.keys.get_mut(key).expect("a result of a key that was sent");
        history.results.push((attempt, outcome));
        if let Outcome::Succeeded { .. } = outcome {
            self.note_success(key);
        }
    }

    /// Records the state that a key call proved.
    pub(crate) fn note_proven(&mut self, key: &str, state: IntentState) {
        match state {
            IntentState::Succeeded { .. } => self.note_success(key),
            IntentState::Refused { http_status } => {
                let history = self.keys.entry(key.to_owned()).or_default();
                history.results.push((history.sent, Outcome::Refused { http_status }));
            }
            _ => self.keys.entry(key.to_owned()).or_default().proven_dead = true,
        }
    }

    fn note_success(&mut self, key: &str) {
        let history = self.keys.get_mut(key).expect("a key that was sent");
        history.proven_done = true;
        self.success.get_or_insert((key.to_owned(), history.payload));
    }

    /// Returns the keys under which something was or may still be executed.
    pub(crate) fn open_keys(&self) -> Vec<String> {
        let open = self.keys.iter().filter(|(_, history)| history.is_open());
        open.map(|(key, _)| key.clone()).collect()
    }
}

impl KeyHistory {
    fn is_open(&self) -> bool {
        let is_refusal = |outcome: &Outcome| {
            matches!(
                outcome,
                Outcome::Refused { .. } | Outcome::KeyReused { .. } | Outcome::KeyVoided
            )
        };
        let untouched = |attempt: u32| {
            let mut results =
                self.results.iter().filter(|(number, _)| *number == attempt).peekable();
            results.peek().is_some()
                && results.all(|(_, outcome)| {
                    matches!(outcome, Outcome::NotExecuted { .. } | Outcome::KeyExpired)
                })
        };
        self.sent > 0
            && !self.proven_dead
            && !self.results.iter().any(|(_, outcome)| is_refusal(outcome))
            && !(1..=self.sent).all(untouched)
    }
}
