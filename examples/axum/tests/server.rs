//! Starts servers with handlers that are slow, fail, panic or are killed, and sends requests to them.

use axum::{Json, Router, http::StatusCode, routing::post};
use oncekey::{Millis, Policy};
use oncekey_axum_example::{SqliteStore, protect};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

const LEASE: Millis = Millis::new(1_000);

/// A running server, and what its handler did.
#[derive(Default)]
struct Handled {
    executions: AtomicU32,
    started: Notify,
    may_go_on: Notify,
}

async fn create_order(handled: Arc<Handled>, order: Value) -> (StatusCode, Json<Value>) {
    let id = handled.executions.fetch_add(1, Ordering::SeqCst) + 1;
    handled.started.notify_one();
    match order["do"].as_str() {
        Some("wait") => handled.may_go_on.notified().await,
        Some("panic") => panic!("the handler fails"),
        Some("fail") => return (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({}))),
        _ => {}
    }
    (StatusCode::CREATED, Json(json!({ "id": id })))
}

/// Starts a server and returns its address.
async fn serve(records: &Path, handled: &Arc<Handled>) -> String {
    let handled = Arc::clone(handled);
    let handler = move |Json(order)| create_order(handled.clone(), order);
    let policy = Policy { lease: LEASE, ..Policy::default() };
    let store = SqliteStore::open(records).expect("a database");
    let app = protect(Router::new().route("/orders", post(handler)), store, policy);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async { axum::serve(listener, app).await });
    address
}

/// A new database for each test.
fn records(test: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("oncekey-{}-{test}.db", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

struct Reply {
    status: u16,
    head: String,
    body: Value,
}

async fn send(address: &str, key: Option<&str>, body: &str) -> Reply {
    let key = key.map(|key| format!("Idempotency-Key: {key}\r\n")).unwrap_or_default();
    let request = format!(
        "POST /orders HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nX-Api-Key: me\r\n{key}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request.as_bytes()).await.expect("the request leaves");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.expect("a response");
    let (head, body) = reply.split_once("\r\n\r\n").expect("a head and a body");
    let status = head[9..12].parse().expect("a status");
    let body = serde_json::from_str(body).unwrap_or_default();
    Reply { status, head: head.to_ascii_lowercase(), body }
}

#[tokio::test]
async fn a_repeated_request_is_executed_once_and_another_body_is_refused() {
    let handled = Arc::default();
    let address = serve(&records("repeated"), &handled).await;
    let first = send(&address, Some("k"), r#"{"amount":1}"#).await;
    let second = send(&address, Some("k"), r#"{ "amount": 1.0 }"#).await;
    assert_eq!((first.status, second.status), (201, 201));
    assert_eq!(first.body, second.body);
    assert!(!first.head.contains("idempotent-replayed"));
    assert!(second.head.contains("idempotent-replayed: true"));
    assert_eq!(handled.executions.load(Ordering::SeqCst), 1);

    let other = send(&address, Some("k"), r#"{"amount":2}"#).await;
    assert_eq!((other.status, &other.body["code"]), (422, &json!("idempotency_error")));
    let no_key = send(&address, None, "{}").await;
    assert_eq!((no_key.status, &no_key.body["code"]), (400, &json!("idempotency_key_missing")));
    let other_key = send(&address, Some("l"), r#"{"amount":2}"#).await;
    assert_eq!((other_key.status, &other_key.body["id"]), (201, &json!(2)));
}

#[tokio::test]
async fn a_slow_handler_keeps_its_key_and_goes_on_without_its_caller() {
    let handled = Arc::<Handled>::default();
    let address = serve(&records("slow"), &handled).await;
    let body = r#"{"do":"wait"}"#;
    let caller = tokio::spawn({
        let address = address.clone();
        async move { send(&address, Some("k"), body).await.status }
    });
    handled.started.notified().await;
    caller.abort();
    // The lease would be over twice by now, had it not been renewed.
    tokio::time::sleep(Duration::from_millis(2 * LEASE.as_u64())).await;
    let retry = send(&address, Some("k"), body).await;
    assert_eq!((retry.status, &retry.body["code"]), (409, &json!("idempotency_in_progress")));
    assert!(retry.head.contains("retry-after"));

    handled.may_go_on.notify_one();
    let replayed = until(&address, body, |reply| reply.status != 409).await;
    assert_eq!((replayed.status, &replayed.body["id"]), (201, &json!(1)));
    assert_eq!(handled.executions.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn after_a_panic_or_a_500_the_outcome_is_unknown() {
    for (fault, status) in [("panic", 502), ("fail", 500)] {
        let handled = Arc::<Handled>::default();
        let address = serve(&records(fault), &handled).await;
        let body = format!(r#"{{"do":"{fault}"}}"#);
        assert_eq!(send(&address, Some("k"), &body).await.status, status, "{fault}");
        let retry = send(&address, Some("k"), &body).await;
        let unknown = json!("idempotency_outcome_unknown");
        assert_eq!((retry.status, &retry.body["code"]), (409, &unknown), "{fault}");
        assert_eq!(handled.executions.load(Ordering::SeqCst), 1, "{fault}");
    }
}

#[test]
fn after_the_server_was_killed_the_outcome_is_unknown() {
    let (records, handled) = (records("killed"), Arc::<Handled>::default());
    let body = r#"{"do":"wait"}"#;
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let address = serve(&records, &handled).await;
        tokio::spawn(async move { send(&address, Some("k"), body).await });
        handled.started.notified().await;
    });
    // Nothing of the server runs any more: neither the handler nor the renewals.
    runtime.shutdown_background();

    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let address = serve(&records, &handled).await;
        let in_progress = json!("idempotency_in_progress");
        let retry = until(&address, body, |reply| reply.body["code"] != in_progress).await;
        assert_eq!(retry.body["code"], "idempotency_outcome_unknown");
        assert_eq!((retry.status, handled.executions.load(Ordering::SeqCst)), (409, 1));
    });
}

#[tokio::test]
async fn a_response_whose_record_is_gone_is_marked() {
    let (records, handled) = (records("gone"), Arc::<Handled>::default());
    let address = serve(&records, &handled).await;
    let caller = tokio::spawn(async move { send(&address, Some("k"), r#"{"do":"wait"}"#).await });
    handled.started.notified().await;
    let connection = rusqlite::Connection::open(&records).expect("the database");
    connection.busy_timeout(Duration::from_secs(60)).expect("a setting");
    connection.execute("DELETE FROM records", []).expect("the record is removed");
    handled.may_go_on.notify_one();
    let reply = caller.await.expect("a response");
    assert_eq!((reply.status, &reply.body["id"]), (201, &json!(1)));
    assert!(reply.head.contains("idempotency-stored: false"), "{}", reply.head);
}

/// Sends the request with the key `k` again until a reply is the wanted one.
async fn until(address: &str, body: &str, is_wanted: impl Fn(&Reply) -> bool) -> Reply {
    loop {
        let reply = send(address, Some("k"), body).await;
        if is_wanted(&reply) {
            return reply;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
