//! What the lifecycle costs natively: `cargo bench --bench lifecycle`.
//!
//! Each figure is the fastest tenth of many rounds, which is stable even on a busy machine. If a line
//! has a rival, both ran in turns in the same process. Compare the ratio, which is similar on other
//! machines.

#![allow(clippy::disallowed_methods, reason = "a bench has to look at a clock; the core has none")]

use oncekey::fingerprint::RequestParts;
use oncekey::{
    Attempt, AttemptToken, Completion, Decision, ExpiredKey, FingerprintSecrets, Fingerprints,
    Millis, Policy, Record, RecordState, RecordUpdate, StoredResponse, Transition, UnixMillis,
    UnknownOutcome, lifecycle,
};
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::time::Instant;

const NOW: UnixMillis = UnixMillis::new(1_764_000_000_000);
const TOKEN: AttemptToken = AttemptToken::new([7; 16]);
const POLICY: Policy = Policy {
    retention: Millis::from_days(1),
    lease: Millis::from_seconds(15),
    unknown_outcome: UnknownOutcome::Hold,
    expired_key: ExpiredKey::Forget,
};

/// A record as many servers store it: JSON with the body as text.
#[derive(Serialize, Deserialize)]
struct JsonRecord {
    fingerprint: String,
    state: String,
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    request_id: String,
    attempts: u32,
    maybe_executed: bool,
    retention: u64,
    lease: u64,
    created_at: u64,
    completed_at: u64,
}

fn main() {
    // `cargo test --benches` runs this too. Then once is enough.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let bench =
        Bench { rounds: if is_bench { 401 } else { 1 }, calls: if is_bench { 500 } else { 1 } };

    let body = json_body(1024);
    let fingerprints = fingerprints(body.as_bytes());
    let attempt =
        Attempt { fingerprints: &fingerprints, token: TOKEN, minted_at: None, policy: &POLICY };
    let headers = || {
        ["application/json", "W/\"3f80f-1b6-3e1cb03b\""]
            .map(|value| (if value.starts_with('W') { "etag" } else { "content-type" }, value))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let response =
        StoredResponse::keep(201, headers(), body.clone().into_bytes(), "req_01890a5d", 1 << 20).0;
    let completed = completed(&attempt, &response);
    let stored = completed.encode();
    let json = json_record(&completed, &response);
    let json_stored = serde_json::to_vec(&json).expect("a record is JSON");

    println!("a record with a body of {} bytes; {} bytes stored", body.len(), stored.len());
    println!();

    let begin_and_complete = || {
        let begun = written(lifecycle::begin(None, &attempt, NOW));
        written(lifecycle::complete(Some(begun), TOKEN, response.clone(), NOW))
    };
    let mut begin_and_complete_in_a_store = || {
        let begun = written(lifecycle::begin(None, &attempt, NOW)).encode();
        let begun = Record::decode(black_box(&begun)).expect("a record");
        written(lifecycle::complete(Some(begun), TOKEN, response.clone(), NOW)).encode()
    };
    let mut begin_and_complete_once = begin_and_complete;
    bench.line("begin + complete", &mut begin_and_complete_once);
    bench.line("begin + complete, encoded and decoded between", &mut begin_and_complete_in_a_store);
    bench.line("replay: decode + begin", &mut || {
        let record = Record::decode(black_box(&stored)).expect("a record");
        let step = lifecycle::begin(Some(record), &attempt, NOW);
        assert!(matches!(step.decision, Decision::Replay(_)));
        step
    });
    println!();
    bench.rivals(
        ("encode", &mut || black_box(&completed).encode()),
        ("serde_json::to_vec", &mut || serde_json::to_vec(black_box(&json)).expect("JSON")),
    );
    bench.rivals(
        ("decode", &mut || Record::decode(black_box(&stored)).expect("a record")),
        ("serde_json::from_slice", &mut || {
            serde_json::from_slice::<JsonRecord>(black_box(&json_stored)).expect("JSON")
        }),
    );
}

struct Bench {
    rounds: usize,
    calls: u32,
}

impl Bench {
    fn line<T>(&self, name: &str, call: &mut dyn FnMut() -> T) {
        let mut times: Vec<_> = (0..self.rounds).map(|_| self.round(call)).collect();
        println!("{name:<46} {:>7.0} ns", fast(&mut times));
    }

    fn rivals<T, U>(
        &self,
        (name, call): (&str, &mut dyn FnMut() -> T),
        (rival, rival_call): (&str, &mut dyn FnMut() -> U),
    ) {
        let (mut times, mut rival_times) = (Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            times.push(self.round(call));
            rival_times.push(self.round(rival_call));
        }
        let (time, rival_time) = (fast(&mut times), fast(&mut rival_times));
        println!(
            "{name:<20} {time:>7.0} ns    {rival:<24} {rival_time:>7.0} ns    {:>5.1} times as fast",
            rival_time / time
        );
    }

    /// Nanoseconds for one call.
    fn round<T>(&self, call: &mut dyn FnMut() -> T) -> f64 {
        let start = Instant::now();
        for _ in 0..self.calls {
            black_box(call());
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(self.calls)
    }
}

fn fast(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 10]
}

fn json_body(length: usize) -> String {
    let items = (0..).map(|n| format!(r#"{{"id":"itm_{n:04}","amount":1299,"currency":"EUR"}}"#));
    let mut body = r#"{"data":["#.to_owned();
    for item in items.take_while(|item| item.len() < length) {
        if body.len() + item.len() + 3 > length {
            break;
        }
        body.push_str(&item);
        body.push(',');
    }
    body.pop();
    body.push_str("]}");
    body
}

fn fingerprints(body: &[u8]) -> Fingerprints {
    let request = RequestParts {
        method: "POST",
        path: "/v1/orders",
        query: None,
        content_encoding: None,
        content_type: Some("application/json"),
        body,
        ignore: &[],
    };
    Fingerprints::compute(&request, &FingerprintSecrets::none())
}

fn completed(attempt: &Attempt<'_>, response: &StoredResponse) -> Record {
    let begun = written(lifecycle::begin(None, attempt, NOW));
    let step = lifecycle::complete(Some(begun), TOKEN, response.clone(), NOW);
    assert_eq!(step.decision, Completion::Recorded);
    written(step)
}

fn written<D>(step: Transition<D>) -> Record {
    match step.next {
        RecordUpdate::Write(record) => *record,
        _ => unreachable!("the step writes"),
    }
}

fn json_record(record: &Record, response: &StoredResponse) -> JsonRecord {
    let RecordState::Completed { completed_at, .. } = &record.state else { unreachable!() };
    let body = response.body().expect("a kept body");
    JsonRecord {
        fingerprint: record.fingerprint.as_ref().map(|f| f.digest_hex()).unwrap_or_default(),
        state: "completed".to_owned(),
        status: response.status,
        headers: response.headers.clone().into_iter().collect(),
        body: String::from_utf8(body.to_vec()).expect("JSON is text"),
        request_id: response.request_id.clone(),
        attempts: record.attempts,
        maybe_executed: record.maybe_executed,
        retention: record.policy.retention.as_u64(),
        lease: record.policy.lease.as_u64(),
        created_at: record.created_at.as_u64(),
        completed_at: completed_at.as_u64(),
    }
}
