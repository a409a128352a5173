//! The demo pages and the operators' console: static files that lie beside the Worker, sent with a
//! strict policy.
//!
//! The demo lives under `/_oncekey/demo/`. Where the sandbox is the API, nobody else owns `/`, and
//! the checkout page is there too. The console lives under `/_oncekey/console`, where there is an
//! `ADMIN_TOKEN`; it holds no data, so it is shown without the token. What is no file, or a Worker
//! without its files, is answered as if there were no pages.

use crate::config::Upstream;
use crate::http::context::Caller;
use crate::http::request::Incoming;
use crate::http::response::{Answer, Body};
use worker::{Headers, Method, RequestInit, Response, ResponseBody};

const DEMO: &str = "/_oncekey/demo";
const CONSOLE: &str = "/_oncekey/console";

/// What a page may do: load from here alone. The one thing that may differ is wasm.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'";

/// The same for the console, which has no wasm and no form that is sent: a token that is typed into
/// one must reach no URL.
const CONSOLE_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'";

/// A file, by its folder and name.
struct Asked<'a> {
    is_console: bool,
    file: &'a str,
}

/// A file of the pages, where one is asked for.
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

/// The file that a path means. Those of one kind lie in one folder, so a name has no slash; nor has
/// it anything else that could be read in two ways.
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
    // Of this URL only the path counts.
    let folder = if asked.is_console { "console/" } else { "" };
    let url = ["https://demo.invalid/", folder, asked.file].concat();
    caller.env.assets("ASSETS")?.fetch(url, Some(init)).await
}

/// `?csp=strict` shows the pages under a policy that forbids wasm.
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
        // A page of the API behind the gateway has the same origin: it must not open this one and
        // look inside.
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
