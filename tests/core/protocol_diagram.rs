//! Keeps `docs/protocol.md` and `docs/guide/errors.md` up to date: the state diagrams and the tables of
//! responses and errors are generated from the functions that decide. After a change of these functions,
//! `UPDATE_DOCS=1 cargo test --test core protocol_diagram` writes them again.

#![allow(clippy::disallowed_methods, reason = "a test reads a file; the core reads none")]

use crate::support::lifecycle::requests::response;
use crate::support::lifecycle::situations::{NOW, Situation, request_of, token_of};
use oncekey::{
    Attempt, FailCause, KeyState, Record, ResponseClass, Settlement, Transition, lifecycle,
};
use std::collections::{BTreeMap, BTreeSet};

mod errors;

/// Reads a file of the repository.
fn read(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The nodes in their order.
const NODES: [&str; 7] =
    ["[*]", "InFlight", "Unknown", "Released", "Completed", "Voided", "Expired"];

/// Returns the node of the current state of a record.
fn node(record: Option<&Record>) -> &'static str {
    match record.and_then(|record| record.status(NOW)).map(|status| status.state) {
        None => "[*]",
        Some(KeyState::InProgress) => "InFlight",
        Some(KeyState::Unknown) => "Unknown",
        Some(KeyState::Released) => "Released",
        Some(KeyState::Completed) => "Completed",
        Some(KeyState::Voided) => "Voided",
        Some(KeyState::Expired) => "Expired",
    }
}

fn after<D>(record: Option<Record>, transition: Transition<D>) -> Option<Record> {
    transition.next.applied_to(record)
}

type Call = Box<dyn Fn(&Situation) -> Option<Record>>;

fn calls(by_owner: bool) -> Vec<(&'static str, Call)> {
    let complete = |token: &'static str, status: u16| -> Call {
        Box::new(move |of| {
            let step = lifecycle::complete(of.record(), token_of(token), response(status, ""), NOW);
            after(of.record(), step)
        })
    };
    let fail = |cause: FailCause| -> Call {
        Box::new(move |of| {
            after(of.record(), lifecycle::fail(of.record(), token_of("owner"), cause, NOW))
        })
    };
    let settle = |settlement: Settlement| -> Call {
        Box::new(move |of| {
            after(of.record(), lifecycle::settle(of.record(), settlement.clone(), NOW))
        })
    };
    let owner: Vec<(&str, Call)> = vec![
        ("complete, success", complete("owner", 201)),
        ("complete, refusal", complete("owner", 402)),
        ("complete, not executed", complete("owner", 429)),
        ("complete, unknown", complete("owner", 503)),
        ("complete, repeat elsewhere", complete("owner", 307)),
        ("fail, not dispatched", fail(FailCause::NotDispatched)),
        ("fail, timed out", fail(FailCause::TimedOut)),
        ("fail, connection lost", fail(FailCause::ConnectionLost)),
        ("fail, not stored", fail(FailCause::NotStored)),
    ];
    let by_anyone: Vec<(&str, Call)> = vec![
        (
            "begin",
            Box::new(|of| {
                let attempt = Attempt {
                    fingerprints: request_of("same"),
                    token: token_of("new"),
                    minted_at: of.minted_at(),
                    policy: &of.policy_of_today(),
                };
                after(of.record(), lifecycle::begin(of.record(), &attempt, NOW))
            }),
        ),
        ("late success of an overtaken attempt", complete("overtaken", 200)),
        (
            "void",
            Box::new(|of| {
                let policy = of.policy_of_today();
                let step = lifecycle::void(of.record(), of.minted_at(), &policy, NOW);
                after(of.record(), step)
            }),
        ),
        ("settle, executed", settle(Settlement::Executed(response(201, "")))),
        ("settle, not executed", settle(Settlement::NotExecuted)),
    ];
    if by_owner { owner.into_iter().chain(by_anyone).collect() } else { by_anyone }
}

/// The situations in which a call leads from one node to another.
type Edges = BTreeMap<(usize, usize), BTreeMap<&'static str, Vec<Situation>>>;

fn note(edges: &mut Edges, from: &str, to: &str, what: &'static str, situation: &Situation) {
    let place = |name| NODES.iter().position(|node| *node == name).expect("a node");
    if from != to {
        let what = edges.entry((place(from), place(to))).or_default().entry(what).or_default();
        what.push(situation.clone());
    }
}

/// Returns the situations before anything has expired, one for each combination that may matter.
fn live() -> impl Iterator<Item = Situation> {
    let counts = |situation: &Situation| {
        matches!(situation.word("when"), "-" | "in_time")
            && situation.word("key") == "untimed"
            && situation.word("state") != "bodiless"
            // A released key was certainly not executed.
            && (situation.word("state"), situation.word("maybe")) != ("released", "yes")
    };
    Situation::all().into_iter().filter(counts)
}

fn edges() -> Edges {
    let mut edges = Edges::new();
    for situation in live().filter(|situation| situation.word("state") != "dead") {
        let record = situation.record();
        for (what, call) in calls(situation.word("state") == "in_flight") {
            note(
                &mut edges,
                node(record.as_ref()),
                node(call(&situation).as_ref()),
                what,
                &situation,
            );
        }
        let mut later = situation.clone();
        let (what, when, state) = match situation.word("state") {
            "in_flight" => ("the lease expires", "in_time", "dead"),
            "absent" => continue,
            "tombstone" => ("in time", "long_after", "tombstone"),
            state => ("in time", "after", state),
        };
        for (column, word) in &mut later.0 {
            match *column {
                "when" => *word = when,
                "state" => *word = state,
                _ => {}
            }
        }
        note(&mut edges, node(record.as_ref()), node(later.record().as_ref()), what, &situation);
    }
    edges
}

/// Returns the conditions of a transition: the words that not all of `all` have.
fn conditions(of: &[Situation], all: &[Situation]) -> String {
    let mut conditions = Vec::new();
    for column in ["unknown", "expired_key", "maybe"] {
        let words = |of: &[Situation]| -> BTreeSet<_> {
            of.iter().map(|situation| situation.word(column)).collect()
        };
        let (here, everywhere) = (words(of), words(all));
        if here != everywhere {
            conditions.extend(here.into_iter().map(|word| match (column, word) {
                ("maybe", "yes") => "after an attempt that may have executed",
                ("maybe", _) => "after no attempt that may have executed",
                (_, word) => word,
            }));
        }
    }
    if conditions.is_empty() { String::new() } else { format!(" ({})", conditions.join(", ")) }
}

/// Returns what changes a key during attempts, or what changes it otherwise: time, and calls by
/// callers and operators.
fn diagram(of_attempts: bool) -> String {
    let mut lines = vec!["```mermaid".to_owned(), "stateDiagram-v2".to_owned()];
    for ((from, to), whats) in edges() {
        let all: Vec<_> = live()
            .filter(|of| of.word("state") != "dead" && node(of.record().as_ref()) == NODES[from])
            .collect();
        // Calls with the same name and the same conditions share a line.
        let mut labels = BTreeMap::<(&str, String), Vec<&str>>::new();
        for (what, of) in whats {
            let (name, kind) = what.split_once(", ").unwrap_or((what, ""));
            if of_attempts != matches!(name, "settle" | "void" | "in time") {
                labels.entry((name, conditions(&of, &all))).or_default().push(kind);
            }
        }
        let labels = labels.into_iter().map(|((name, conditions), kinds)| {
            let kinds = kinds.join(" or ");
            let comma = if kinds.is_empty() { "" } else { ", " };
            format!("{name}{comma}{kinds}{conditions}")
        });
        let label = labels.collect::<Vec<_>>().join("<br/>");
        if !label.is_empty() {
            lines.push(format!("    {} --> {}: {label}", NODES[from], NODES[to]));
        }
    }
    lines.push("```".to_owned());
    lines.join("\n")
}

fn responses() -> String {
    let mut classes = BTreeMap::<&str, Vec<u16>>::new();
    for status in 200..=599 {
        let class = match ResponseClass::of_status(status) {
            ResponseClass::Final => "1 final: kept and replayed",
            ResponseClass::NotExecuted => "2 not executed: the key is released",
            ResponseClass::Unknown => "3 unknown: it may have been executed",
            ResponseClass::RepeatElsewhere => "4 repeat elsewhere: no record is left",
        };
        classes.entry(class).or_default().push(status);
    }
    let mut lines =
        vec!["| the origin's status | what it means |".to_owned(), "|---|---|".to_owned()];
    for (class, statuses) in classes.into_iter().rev() {
        let text = if class.starts_with('1') { "all others".to_owned() } else { ranges(&statuses) };
        lines.push(format!("| {text} | {} |", &class[2..]));
    }
    lines.join("\n")
}

/// `408, 409, 500–599`.
fn ranges(statuses: &[u16]) -> String {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for status in statuses {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *status => *last = *status,
            _ => ranges.push((*status, *status)),
        }
    }
    let range = |(first, last): (u16, u16)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}–{last}"),
    };
    ranges.into_iter().map(range).collect::<Vec<_>>().join(", ")
}

/// Returns the place of a generated part in the page.
fn block(page: &str, name: &str) -> std::ops::Range<usize> {
    let begin = format!("<!-- generated: {name} -->\n");
    let start = page.find(&begin).unwrap_or_else(|| panic!("no {begin}")) + begin.len();
    let length = page[start..].find("\n<!-- end -->").expect("an end of the generated part");
    start..start + length
}

/// Compares the generated parts of a page with what was made for them. With `UPDATE_DOCS`, writes them.
fn keep(path: &str, made: &[(&str, String)]) {
    let mut page = read(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        for (name, text) in made {
            page.replace_range(block(&page, name), text);
        }
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        std::fs::write(path, &page).expect("the page is written");
    }
    for (name, text) in made {
        let shown = &page[block(&page, name)];
        assert_eq!(shown, text, "{path}: the {name} are out of date: run with UPDATE_DOCS=1");
    }
}

#[test]
fn the_pages_show_what_the_functions_do() {
    let made = [
        ("attempts", diagram(true)),
        ("other changes", diagram(false)),
        ("responses", responses()),
        ("errors", errors::table()),
    ];
    keep("docs/protocol.md", &made);
    keep("docs/guide/errors.md", &[("codes", errors::codes())]);
}

/// Checks a statement of the page that the diagram does not show.
#[test]
fn another_attempt_sees_an_expired_lease_as_an_unknown_outcome() {
    for dead in live().filter(|situation| situation.word("state") == "dead") {
        let mut unknown = dead.clone();
        for (column, word) in &mut unknown.0 {
            match *column {
                "state" => *word = "unknown",
                "maybe" => *word = "yes",
                _ => {}
            }
        }
        for (what, call) in calls(false) {
            let [from_dead, from_unknown] = [&dead, &unknown].map(|of| node(call(of).as_ref()));
            assert_eq!(from_dead, from_unknown, "{what}");
        }
    }
}
