//! The demo pages and the operators' console: static files of the Worker, sent with a strict policy.
//!
//! The demo is under `/_oncekey/demo/`, and the checkout page also at `/` if the sandbox is the API. The
//! console is under `/_oncekey/console` if there is an `ADMIN_TOKEN`. It contains no data, so it is
//! served without the token. A path without a file is handled as if there were no pages.

use crate::config::Upstream;
use crate::http::context::Caller;
use crate::http::request::Incoming;
use crate::http::response::{Answer, Body};
use worker::{Headers, Method, RequestInit, Response, ResponseBody};

const DEMO: &str = "/_oncekey/demo";
const CONSOLE: &str = "/_oncekey/console";

/// The policy of a page: it loads only from its own origin. Wasm is allowed separately.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'";

/// The policy of the console, which has no wasm and sends no form: a token that is typed into a form
/// must not get into a URL.
const CONSOLE_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'";

/// A file, by its folder and name.
struct Asked<'a> {
    is_console: bool,
    file: &'a str,
}

/// Returns the file of the pages that a request asks for, if there is one.
pub(crate) async fn answer(caller: &Caller, incoming: &Incoming) -> Option<Answer> {
    if !matches!(incoming.method.as_str(), "GET" | "HEAD") {
        return None;
    }
    let has_root = matches!(caller.config.upstream, Upstream::Sandbox);
    let asked = asked(&incoming.path, has_root)?;
    if asked.is_console && caller.config.admin_token.is_none() {
        return None;
    }
    let response = fetch(caller, incoming, &asked).await.ok()?;
    if !matches!(response.status_code(), 200 | 304) {
        return None;
    }
    Some(with_policy(response, &asked, is_strict(incoming)))
}

/// Returns the file that a path names. All files of one kind are in one folder, so a name contains no
/// slash, and no other character that could be read in two ways.
fn asked(path: &str, has_root: bool) -> Option<Asked<'_>> {
    let (is_console, file) = match path {
        "/" if has_root => (false, ""),
        path => match path.strip_prefix(CONSOLE) {
            Some(file) => (true, file),
            None => (false, path.strip_prefix(DEMO)?),
        },
    };
    let file = match file {
        "" | "/" => "index.html",
        file => file.strip_prefix('/')?,
    };
    let is_plain =
        file.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    (is_plain && !file.starts_with('.')).then_some(Asked { is_console, file })
}

async fn fetch(
    caller: &Caller,
    incoming: &Incoming,
    asked: &Asked<'_>,
) -> worker::Result<Response> {
    let headers = Headers::new();
    if let Some(known) = incoming.header("if-none-match") {
        headers.set("if-none-match", known)?;
    }
    let mut init = RequestInit::new();
    init.with_headers(headers);
    init.with_method(if incoming.method == "HEAD" { Method::Head } else { Method::Get });
    // Only the path of this URL matters.
    let folder = if asked.is_console { "console/" } else { "" };
    let url = ["https://demo.invalid/", folder, asked.file].concat();
    caller.env.assets("ASSETS")?.fetch(url, Some(init)).await
}

/// Returns whether `?csp=strict` asks for a policy that forbids wasm.
fn is_strict(incoming: &Incoming) -> bool {
    let query = incoming.query.as_deref().unwrap_or_default();
    query.split('&').any(|parameter| parameter == "csp=strict")
}

fn with_policy(response: Response, asked: &Asked<'_>, strict: bool) -> Answer {
    let status = response.status_code();
    let headers = response.headers().entries().collect();
    let body = match response.into_parts().1 {
        ResponseBody::Stream(stream) => Body::Stream(stream),
        ResponseBody::Body(bytes) => Body::Bytes(bytes),
        ResponseBody::Empty => Body::Bytes(Vec::new()),
    };
    let mut answer = Answer::new(status, headers, body);
    answer.set("x-content-type-options", "nosniff");
    answer.set("referrer-policy", "no-referrer");
    if asked.is_console {
        answer.set("content-security-policy", CONSOLE_POLICY);
        answer.set("cache-control", "no-store");
        // A page of the API behind the gateway has the same origin. It must not open the console and
        // read it.
        answer.set("cross-origin-opener-policy", "same-origin");
        return answer;
    }
    let policy = if strict { POLICY.to_owned() } else { [POLICY, " 'wasm-unsafe-eval'"].concat() };
    answer.set("content-security-policy", &policy);
    if asked.file.ends_with(".html") {
        answer.set("cache-control", "no-cache");
    }
    answer
}
