//! The demo pages, the operators' console and the list of errors: static files of the Worker, sent with
//! a strict policy.
//!
//! The list of errors is at `/_oncekey/errors`, where the `Link` of each error leads. The demo is under
//! `/_oncekey/demo/`, and the checkout page also at `/` if the sandbox is the API. The console is under
//! `/_oncekey/console` if there is an `ADMIN_TOKEN`. It contains no data, so it is served without the
//! token. A path without a file is handled as if there were no pages.

use crate::config::Upstream;
use crate::http::context::Caller;
use crate::http::request::HttpRequest;
use crate::http::response::{Body, HttpResponse};
use oncekey::error::ERRORS_PAGE;
use worker::{Headers, Method, RequestInit, Response, ResponseBody};

const DEMO: &str = "/_oncekey/demo";
const CONSOLE: &str = "/_oncekey/console";

/// The policy of a page: it loads only from its own origin. Wasm is allowed separately.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'";

/// The policy of the console, which has no wasm and sends no form: a token that is typed into a form
/// must not get into a URL.
const CONSOLE_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; script-src 'self'";

/// A file, by its folder and name.
struct PageFile<'a> {
    is_console: bool,
    file: &'a str,
}

/// Returns the file of the pages that a request asks for, if there is one.
pub(crate) async fn serve(caller: &Caller, request: &HttpRequest) -> Option<HttpResponse> {
    if !matches!(request.method.as_str(), "GET" | "HEAD") {
        return None;
    }
    let has_root = matches!(caller.config.upstream, Upstream::Sandbox);
    let page_file = find_file(&request.path, has_root)?;
    if page_file.is_console && caller.config.admin_token.is_none() {
        return None;
    }
    let response = fetch(caller, request, &page_file).await.ok()?;
    if !matches!(response.status_code(), 200 | 304) {
        return None;
    }
    Some(with_policy(response, &page_file, is_strict(request)))
}

/// Returns the file that a path names. All files of one kind are in one folder, so a name contains no
/// slash, and no other character that could be read in two ways.
fn find_file(path: &str, has_root: bool) -> Option<PageFile<'_>> {
    let (is_console, file) = match path {
        "/" if has_root => (false, ""),
        ERRORS_PAGE => (false, "/errors.html"),
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
    (is_plain && !file.starts_with('.')).then_some(PageFile { is_console, file })
}

async fn fetch(
    caller: &Caller,
    request: &HttpRequest,
    page_file: &PageFile<'_>,
) -> worker::Result<Response> {
    let headers = Headers::new();
    if let Some(known) = request.header("if-none-match") {
        headers.set("if-none-match", known)?;
    }
    let mut init = RequestInit::new();
    init.with_headers(headers);
    init.with_method(if request.method == "HEAD" { Method::Head } else { Method::Get });
    // Only the path of this URL matters.
    let folder = if page_file.is_console { "console/" } else { "" };
    let url = ["https://demo.invalid/", folder, page_file.file].concat();
    caller.env().assets("ASSETS")?.fetch(url, Some(init)).await
}

/// Returns whether `?csp=strict` asks for a policy that forbids wasm.
fn is_strict(request: &HttpRequest) -> bool {
    let query = request.query.as_deref().unwrap_or_default();
    query.split('&').any(|parameter| parameter == "csp=strict")
}

fn with_policy(response: Response, page_file: &PageFile<'_>, strict: bool) -> HttpResponse {
    let status = response.status_code();
    let headers = response.headers().entries().collect();
    let body = match response.into_parts().1 {
        ResponseBody::Stream(stream) => Body::Stream(stream),
        ResponseBody::Body(bytes) => Body::Bytes(bytes),
        ResponseBody::Empty => Body::Bytes(Vec::new()),
    };
    let mut response = HttpResponse::new(status, headers, body);
    response.set("x-content-type-options", "nosniff");
    response.set("referrer-policy", "no-referrer");
    if page_file.is_console {
        response.set("content-security-policy", CONSOLE_POLICY);
        response.set("cache-control", "no-store");
        // A page of the API behind the gateway has the same origin. It must not open the console and
        // read it.
        response.set("cross-origin-opener-policy", "same-origin");
        return response;
    }
    let policy = if strict { POLICY.to_owned() } else { [POLICY, " 'wasm-unsafe-eval'"].concat() };
    response.set("content-security-policy", &policy);
    if page_file.file.ends_with(".html") {
        response.set("cache-control", "no-cache");
    }
    response
}
