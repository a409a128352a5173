//! The demo pages: static files that lie beside the Worker, sent with a strict policy.
//!
//! They live under `/_oncekey/demo/`. Where the sandbox is the API, nobody else owns `/`, and the
//! checkout page is there too. What is no file, or a Worker without its files, is answered as if
//! there were no demo.

use crate::answer::{Answer, Body, Caller};
use crate::config::Upstream;
use crate::incoming::Incoming;
use worker::{Env, Headers, Method, RequestInit, Response, ResponseBody};

const FOLDER: &str = "/_oncekey/demo";

/// What a page may do: load from here alone. The one thing that may differ is wasm.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'";

/// A file of the demo, where one is asked for.
pub(crate) async fn answer(env: &Env, caller: &Caller, incoming: &Incoming) -> Option<Answer> {
    if !matches!(incoming.method.as_str(), "GET" | "HEAD") {
        return None;
    }
    let has_root = matches!(caller.config.upstream, Upstream::Sandbox);
    let file = file_of(&incoming.path, has_root)?;
    let response = fetch(env, incoming, file).await.ok()?;
    if !matches!(response.status_code(), 200 | 304) {
        return None;
    }
    Some(with_policy(response, file, is_strict(incoming)))
}

/// The file that a path means. All of them lie in one folder, so a name has no slash; nor has it
/// anything else that could be read in two ways.
fn file_of(path: &str, has_root: bool) -> Option<&str> {
    let file = match path {
        "/" if has_root => "",
        path => path.strip_prefix(FOLDER)?,
    };
    let name = match file {
        "" | "/" => "index.html",
        file => file.strip_prefix('/')?,
    };
    let is_plain =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    (is_plain && !name.starts_with('.')).then_some(name)
}

async fn fetch(env: &Env, incoming: &Incoming, file: &str) -> worker::Result<Response> {
    let headers = Headers::new();
    if let Some(known) = incoming.header("if-none-match") {
        headers.set("if-none-match", known)?;
    }
    let mut init = RequestInit::new();
    init.with_headers(headers);
    init.with_method(if incoming.method == "HEAD" { Method::Head } else { Method::Get });
    // Of this URL only the path counts.
    env.assets("ASSETS")?.fetch(format!("https://demo.invalid/{file}"), Some(init)).await
}

/// `?csp=strict` shows the pages under a policy that forbids wasm.
fn is_strict(incoming: &Incoming) -> bool {
    let query = incoming.query.as_deref().unwrap_or_default();
    query.split('&').any(|parameter| parameter == "csp=strict")
}

fn with_policy(response: Response, file: &str, strict: bool) -> Answer {
    let status = response.status_code();
    let headers = response.headers().entries().collect();
    let body = match response.into_parts().1 {
        ResponseBody::Stream(stream) => Body::Stream(stream),
        ResponseBody::Body(bytes) => Body::Bytes(bytes),
        ResponseBody::Empty => Body::Bytes(Vec::new()),
    };
    let mut answer = Answer { status, headers, body };
    let policy = if strict { POLICY.to_owned() } else { format!("{POLICY} 'wasm-unsafe-eval'") };
    answer.set("content-security-policy", &policy);
    answer.set("x-content-type-options", "nosniff");
    answer.set("referrer-policy", "no-referrer");
    if file.ends_with(".html") {
        answer.set("cache-control", "no-cache");
    }
    answer
}
