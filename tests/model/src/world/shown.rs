//! The world in words, for stories.

use super::network::Message;
use super::object::ObjectOperation;
use super::{Action, World};
use crate::config::Scene;
use oncekey::write_flow::Event as FlowEvent;
use oncekey::{Record, RecordState};

impl World {
    /// Describes an action.
    pub fn describe(&self, scene: &Scene, action: Action) -> String {
        match action {
            Action::Send { caller, gateway } => {
                let c = &scene.config.callers[usize::from(caller)];
                format!(
                    "caller {caller} (tenant {}, key {:?}, business key {:?}, content {}) sends its request to gateway {gateway}",
                    c.tenant, c.key, c.business_key, c.content
                )
            }
            Action::Deliver { message, gateway, fate } => match self.message(message) {
                Some(it @ Message::Request { .. }) => {
                    format!("gateway {gateway} gets {}", show(it))
                }
                Some(it @ Message::ToOrigin { .. }) => {
                    format!("the origin gets {}: {fate:?}", show(it))
                }
                Some(it) => format!("arrives: {}", show(it)),
                None => "nothing arrives".to_owned(),
            },
            Action::Intercept(message, response) => {
                format!("an intermediary responds to {}: {response:?}", self.shown(message))
            }
            Action::Lose(message) => format!("lost: {}", self.shown(message)),
            Action::Double(message) => format!("doubled: {}", self.shown(message)),
            Action::GiveUp(at) => format!("{} stops waiting", self.write(at)),
            Action::ReplicaReplies { running, copy } => {
                format!("{} gets from the replica: copy {copy:?}", self.write(running))
            }
            Action::LookUp { running, finds } => {
                format!(
                    "{} is looked up; the origin {}",
                    self.write(running),
                    if finds { "returns what it has" } else { "finds nothing" }
                )
            }
            Action::Crash(at) => format!("the gateway of {} crashes", self.write(at)),
            Action::Evict(shelf) => format!("the object of record {shelf} is evicted"),
            Action::Pass(tick) => format!("time passes: {tick:?}"),
            Action::Jump(jump) => {
                let (clock, millis) = scene.config.jumps[usize::from(jump)];
                format!("the clock of {clock:?} jumps by {} s", millis / 1000)
            }
            Action::Rotate(gateway) => format!("gateway {gateway} gets the next list of secrets"),
            Action::Sweep(shelf) => format!("the sweep looks at record {shelf}"),
            Action::Settle(shelf) => format!("an operator settles record {shelf}"),
            Action::Void(caller) => format!("caller {caller} voids its key"),
            Action::Submit(submit) => match &scene.config.page {
                Some(page) => {
                    let (tab, payload) = page.submits[usize::from(submit)];
                    format!("payload {payload} is submitted in tab {tab}")
                }
                None => "nothing is submitted".to_owned(),
            },
            Action::GoOn(tab) => format!("tab {tab} has waited"),
            Action::StoreLate(tab) => format!("tab {tab} stores its entry, late"),
            Action::TimeOut(tab) => format!("tab {tab} gets no response in time"),
            Action::Reload(tab) => format!("tab {tab} is reloaded"),
            Action::GiveUpIntent(tab) => format!("tab {tab} gives up the intent"),
        }
    }

    /// Describes each record, the storage of the page, and the step of each write.
    pub fn records(&self, scene: &Scene) -> Vec<String> {
        let mut lines = Vec::new();
        for (at, shelf) in self.shelves.iter().enumerate() {
            let now = self.shelf_time(scene, shelf);
            let state = shelf.record.as_deref().map_or("absent".to_owned(), |r| state(r, now));
            lines.push(format!("record {at}: {state}"));
        }
        for running in &self.running {
            lines.push(format!("write {}: {}", running.number, doing(running.doing())));
        }
        if let Some(browser) = &self.browser {
            lines.push(format!("storage: {}", browser.store.as_deref().unwrap_or("nothing")));
        }
        lines
    }

    fn message(&self, at: u8) -> Option<&Message> {
        self.net.get(usize::from(at))
    }

    fn shown(&self, at: u8) -> String {
        self.message(at).map_or_else(|| "nothing".to_owned(), show)
    }

    fn write(&self, at: u8) -> String {
        let running = self.running.get(usize::from(at));
        running.map_or_else(|| "no write".to_owned(), |running| format!("write {}", running.number))
    }
}

fn show(message: &Message) -> String {
    match message {
        Message::Request { to, key, payload } => {
            format!(
                "tab {}'s request, attempt {}, key {}, payload {payload}",
                to.tab,
                to.attempt,
                key.as_str()
            )
        }
        Message::KeyCall { tab, tenant, voids, .. } => {
            let action = if *voids { "voids" } else { "asks for the state of" };
            format!("tab {tab} {action} its key, as tenant {tenant}")
        }
        Message::Call(call) => {
            let what = match &call.what {
                ObjectOperation::Complete(response) => format!("complete with {}", response.status),
                ObjectOperation::Fail(cause) => format!("fail, {cause:?}"),
                what => format!("{what:?}").to_lowercase(),
            };
            format!("write {} at record {}: {what}", call.running, call.shelf)
        }
        Message::Reply { running, event, .. } => {
            format!("write {running} gets {}", show_event(event))
        }
        Message::ToOrigin { running, .. } => format!("write {running}'s request"),
        Message::Copy { shelf, .. } => format!("a copy of record {shelf} at the replica"),
        Message::Response { to, seen } => {
            format!("tab {}'s response to attempt {}: {seen:?}", to.tab, to.attempt)
        }
        Message::KeyReply { tab, report, .. } => format!("tab {tab} gets {report:?}"),
    }
}

fn show_event(event: &FlowEvent) -> String {
    match event {
        FlowEvent::Begun(Ok((decision, _))) => format!("{decision:?}"),
        FlowEvent::Ended(Some((completion, _))) => format!("{completion:?}"),
        event => format!("{event:?}"),
    }
}

fn doing(step: &oncekey::write_flow::Action) -> String {
    format!("{step:?}").chars().take(90).collect()
}

fn state(record: &Record, now: oncekey::UnixMillis) -> String {
    let shown = match &record.state {
        RecordState::InFlight { lease_until, .. } if *lease_until <= now => {
            "in flight, its lease has expired".to_owned()
        }
        RecordState::InFlight { token, .. } => format!("in flight, {token:?}"),
        RecordState::Completed { response, .. } => {
            let body = response.body().map(String::from_utf8_lossy).unwrap_or_default();
            format!("completed, {} {body}", response.status)
        }
        RecordState::Unknown { cause, .. } => format!("unknown, {cause:?}"),
        RecordState::Released { cause, .. } => format!("released, {cause:?}"),
        RecordState::Voided { .. } => "voided".to_owned(),
        RecordState::Expired { .. } => "a tombstone".to_owned(),
    };
    let may = if record.maybe_executed { ", may have been executed" } else { "" };
    format!("{shown}, {} attempts{may}", record.attempts)
}
