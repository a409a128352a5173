//! The demo pages, the operators' console and the list of errors: static files of the Worker, sent with
//! a strict policy.
//!
//! The list of errors is at `/_oncekey/errors`, where the `Link` of each error leads. The demo is under
//! `/_oncekey/demo/`, and the checkout page also at `/` if the sandbox is the API. The console is under
//! `/_oncekey/console` if there is an `ADMIN_TOKEN`. It contains no data, so it is served without the
//! token. A path without a file is handled as if there were no pages.

use crate::config::Upstream;
use crate::http::context::Caller;
use crate::http::headers;
use crate::http::request::HttpRequest;
use crate::http::response::{Body, HttpResponse};
use oncekey::error::ERRORS_PAGE;
use wasm_bindgen::JsCast;

const DEMO: &str = "/_oncekey/demo";
const CONSOLE: &str = "/_oncekey/console";

/// What every page may load: files of its own origin. A page adds from where its scripts and wasm may
/// come, and where its forms may go.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; ";

/// Returns the file of the pages that a request asks for, if there is one.
pub(crate) async fn serve(caller: &Caller, request: &HttpRequest) -> Option<HttpResponse> {
    // The assets of a Worker with oncekey inside are its own.
    if caller.config.is_inside() || !matches!(request.method.as_str(), "GET" | "HEAD") {
        return None;
    }
    let has_root = matches!(caller.config.upstream, Upstream::Sandbox);
    let file = find_file(&request.path, has_root)?;
    let is_console = file.starts_with("console/");
    if is_console && caller.config.admin_token.is_none() {
        return None;
    }
    let mut response = fetch(caller, request, &file).await?;
    response.set("x-content-type-options", "nosniff");
    response.set("referrer-policy", "no-referrer");
    // `?csp=strict` asks for a policy that forbids wasm.
    let query = request.query.as_deref().unwrap_or_default();
    let is_strict = query.split('&').any(|parameter| parameter == "csp=strict");
    let policy = match is_console {
        // The console has no form to send, so that a token that is typed into one cannot get into a URL.
        true => "form-action 'none'; script-src 'self'",
        false if is_strict => "form-action 'self'; script-src 'self'",
        false => "form-action 'self'; script-src 'self' 'wasm-unsafe-eval'",
    };
    response.set("content-security-policy", &[POLICY, policy].concat());
    if is_console {
        response.set("cache-control", "no-store");
        // A page of the API behind the gateway has the same origin. It must not open the console and
        // read it.
        response.set("cross-origin-opener-policy", "same-origin");
    } else if file.ends_with(".html") {
        response.set("cache-control", "no-cache");
    }
    Some(response)
}

/// Returns the file that a path names. All files of one kind are in one folder, so a name contains no
/// slash, and no other character that could be read in two ways.
fn find_file(path: &str, has_root: bool) -> Option<String> {
    let (folder, name) = match path {
        "/" if has_root => ("", ""),
        ERRORS_PAGE => ("", "/errors.html"),
        path => match path.strip_prefix(CONSOLE) {
            Some(name) => ("console/", name),
            None => ("", path.strip_prefix(DEMO)?),
        },
    };
    let name = match name {
        "" | "/" => "index.html",
        name => name.strip_prefix('/')?,
    };
    let is_plain =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
    (is_plain && !name.starts_with('.')).then(|| [folder, name].concat())
}

/// Fetches a file. Returns `None` if there is none.
async fn fetch(caller: &Caller, request: &HttpRequest, file: &str) -> Option<HttpResponse> {
    let reply = caller.bridge.asset(file, &request.method, request.header("if-none-match")).await;
    if !matches!(reply.status, 200 | 304) {
        return None;
    }
    let headers = headers::read(reply.text.split('\n'));
    let body = match reply.object.is_object() {
        true => Body::Stream(reply.object.unchecked_into()),
        false => Body::Bytes(Vec::new()),
    };
    Some(HttpResponse::new(reply.status, headers, body))
}
