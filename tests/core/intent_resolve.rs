//! How an unknown outcome is resolved, as a table; every cell is checked. The first line that fits
//! counts. `first` is the first step, `state` and `void` are the steps after the result of each key call.

use crate::support::client::names::state_name;
use crate::support::client::requests::NOW;
use crate::support::client::situations::{AGES, ALL, stored, word};
use crate::support::lifecycle::situations::product;
use crate::support::lifecycle::table::Table;
use oncekey::client::intent::{
    KeyCall, Means, Purpose, Report, ResolveStep, Stored, after_report, first_step,
};

const RESOLVE: &str = "
    stored | age | purpose | means | after | report => step | state
    succeeded/refused/voided | * | * | * | * | * => settled | same
    prepared | * | * | * | first | * => settled | same
    not_executed | * | resolve | * | first | * => settled | same
    * | * | * | calls/both | first | * => ask_state | same
    * | * | * | * | state/void | completed_201 => settled | succeeded
    * | * | * | * | state/void | completed_402 => settled | refused
    * | in_time | * | * | state/void | voided => settled | voided
    * | * | * | * | state/void | in_progress => ask_again | unknown
    * | * | * | * | state/void | no_response => still_unknown | same
    * | in_time | make_room | * | state | unknown => void | unknown
    * | in_time | make_room | * | state | * => void | same
    * | in_time | make_room | body/both | state/void | unknown => send_again | unknown
    * | * | * | * | state/void | unknown => still_unknown | unknown
    not_executed | * | make_room | * | * | * => settled | voided
    * | in_time | make_room | body/both | * | * => send_again | same
    * | * | * | * | * | * => still_unknown | same
";

#[test]
fn resolving_does_what_its_table_says() {
    let table = Table::parse(RESOLVE);
    let reports = [
        ("completed_201", Report::read(200, Some("completed"), Some(201))),
        ("completed_402", Report::read(200, Some("completed"), Some(402))),
        ("completed_500", Report::read(200, Some("completed"), Some(500))),
        ("in_progress", Report::read(200, Some("in_progress"), None)),
        ("unknown", Report::read(200, Some("unknown"), None)),
        ("released", Report::read(200, Some("released"), None)),
        ("voided", Report::read(200, Some("voided"), None)),
        ("expired", Report::read(200, Some("expired"), None)),
        ("absent", Report::read(404, None, None)),
        ("no_response", Report::read(200, None, None)),
    ];
    let names = reports.map(|(name, _)| name);
    for words in product(&[
        ("stored", &ALL[1..8]),
        ("age", AGES),
        ("purpose", &["resolve", "make_room"]),
        ("means", &["none", "calls", "body", "both"]),
        ("after", &["first", "state", "void"]),
        ("report", &names),
    ]) {
        let (name, after) = (word(&words, "stored"), word(&words, "after"));
        let is_covered = !matches!(name, "prepared" | "not_executed")
            || after == "first"
            || (name == "not_executed" && word(&words, "purpose") == "make_room");
        if !is_covered || (after == "first" && word(&words, "report") != "absent") {
            continue;
        }
        let maybe = if name == "sending" { "yes" } else { "no" };
        let before = stored(name, word(&words, "age"), maybe);
        let Stored::Entry(entry) = &before else { panic!() };
        let purpose = match word(&words, "purpose") {
            "resolve" => Purpose::Resolve,
            _ => Purpose::MakeRoom,
        };
        let has = |what| word(&words, "means") == what || word(&words, "means") == "both";
        let means = Means { key_calls: has("calls"), old_body: has("body") };
        let (_, report) = reports.iter().find(|(name, _)| *name == word(&words, "report")).unwrap();
        let (write, step) = match after {
            "first" => first_step(entry, purpose, means, NOW),
            "state" => after_report(entry, KeyCall::State, *report, purpose, means, NOW),
            _ => after_report(entry, KeyCall::Void, *report, purpose, means, NOW),
        };
        let step = match step {
            ResolveStep::AskState => "ask_state",
            ResolveStep::AskAgain => "ask_again",
            ResolveStep::Void => "void",
            ResolveStep::SendAgain => "send_again",
            ResolveStep::Settled => "settled",
            ResolveStep::StillUnknown => "still_unknown",
        };
        let expected = table.expect(&words);
        assert_eq!(step, expected[0].1, "{words:?}");
        let after = Stored::Entry(write.unwrap_or_else(|| entry.clone()));
        // An attempt in progress whose outcome was already unknown keeps its state.
        let state = match (expected[1].1, name) {
            ("same", _) | ("unknown", "sending") => state_name(&before),
            (state, _) => state.to_owned(),
        };
        assert_eq!(state_name(&after), state, "{words:?}");
        assert_eq!(Stored::read(Some(&encoded(&after))), after);
    }
    table.assert_every_line_counted();
}

fn encoded(stored: &Stored) -> String {
    match stored {
        Stored::Entry(entry) => entry.encode(),
        _ => panic!("no entry"),
    }
}
