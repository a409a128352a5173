//! The settings: Worker vars and secrets, read once for each isolate and checked before anything is
//! served. While a setting is wrong, every path responds with what is wrong and what to set instead.

mod names;
mod options;
mod vars;

use crate::http::bridge::Bridge;
use crate::sandbox;
use js_sys::Reflect;
use oncekey::admin_token::AdminToken;
use oncekey::canonical::JsonPointer;
use oncekey::policy::OutcomeRules;
use oncekey::request::key_headers::KeyHeaders;
use oncekey::request::route::RouteRules;
use oncekey::request::skip::SkippedRoutes;
use oncekey::response::parse_not_replayed;
use oncekey::scope::jwt::TokenRules;
use oncekey::scope::parse_replay_authorization;
use oncekey::webhook::{Sources, is_inbound};
use oncekey::{
    BusinessKeys, Dialect, ExpiredKey, FailCause, FieldName, FingerprintSecrets, HeaderList,
    LookUps, Millis, Policy, Rejection, Route, ScopeAliases, ScopeSources, UnixMillis,
    UnknownOutcome,
};
use options::Options;
use platform::clock;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use vars::Vars;
use wasm_bindgen::JsValue;
use web_sys::Url;

/// The checked settings.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) upstream: Upstream,
    pub(crate) policy: Policy,
    pub(crate) origin_timeout: Millis,
    /// How an attempt ends if the connection breaks before a response begins (`CONNECT_FAILURE`).
    pub(crate) unreachable: FailCause,
    pub(crate) key_required: Vec<Route>,
    /// Writes that are passed through without a look at their keys.
    skip: SkippedRoutes,
    /// What responses prove by the operator's rules.
    pub(crate) outcomes: OutcomeRules,
    /// The retentions of routes. All others have the policy's.
    retention: RouteRules<Millis>,
    /// Headers of responses that are neither stored nor replayed.
    not_replayed: RouteRules<String>,
    /// The request headers that may contain the key.
    pub(crate) key_headers: KeyHeaders,
    /// The longest key, in characters.
    pub(crate) max_key_length: usize,
    /// Whether an empty key header counts as none (`BLANK_KEY`).
    pub(crate) ignores_blank_key: bool,
    /// The form field that may carry the key.
    pub(crate) key_field: Option<FieldName>,
    pub(crate) dialect: Dialect,
    pub(crate) scope: ScopeSources,
    pub(crate) scope_aliases: ScopeAliases,
    /// How long the origin's word on who a caller is counts.
    pub(crate) scope_cache: Millis,
    /// The path at which the origin says whether a credential still holds.
    pub(crate) replay_authorization: Option<String>,
    /// How JWTs are checked, if `SCOPE` names a claim.
    pub(crate) jwt: Option<JwtConfig>,
    /// Whether a function of this Worker names the caller, in place of `scope`.
    pub(crate) scope_function: bool,
    pub(crate) anonymous: bool,
    /// In bytes, headers included.
    pub(crate) max_replay: usize,
    /// How many bytes of responses an isolate keeps in its memory.
    pub(crate) replay_memory: usize,
    /// In bytes.
    pub(crate) max_request: u64,
    pub(crate) cors: CorsOrigins,
    pub(crate) business_keys: BusinessKeys,
    /// Where unknown outcomes are looked up.
    pub(crate) resolve: LookUps,
    /// Where business keys are looked up after their response is gone.
    pub(crate) resolve_business_keys: LookUps,
    fingerprint_ignore: RouteRules<JsonPointer>,
    pub(crate) fingerprint_secrets: FingerprintSecrets,
    /// Who may send webhooks.
    pub(crate) webhook_sources: Sources,
    pub(crate) admin_token: Option<AdminToken>,
    /// Whether Workers KV is bound, and Analytics Engine.
    pub(crate) has_replica: bool,
    pub(crate) has_metrics: bool,
    /// Warnings about vars whose names look like settings.
    pub(crate) warnings: Vec<String>,
}

/// How JWTs are checked.
#[derive(Debug)]
pub(crate) struct JwtConfig {
    /// The URL of the issuer's keys.
    pub(crate) keys: String,
    pub(crate) rules: TokenRules,
}

/// The API behind the gateway.
#[derive(Debug)]
pub(crate) enum Upstream {
    Sandbox,
    /// The Worker that the service binding `ORIGIN` names.
    Binding,
    /// The handler of the Worker in which the gateway is.
    Handler,
    /// A URL without a trailing slash, query or fragment. Paths are appended to it.
    Url(String),
}

/// The pages whose scripts may call.
#[derive(Debug)]
pub(crate) enum CorsOrigins {
    /// The gateway leaves CORS to the origin.
    Off,
    Any,
    These(Vec<String>),
}

const NO_UPSTREAM: &str = if sandbox::IS_INCLUDED {
    "UPSTREAM: is missing, and the sandbox is closed, because anybody could call it; \
        set it to the URL of your API, such as https://api.example.com, bind the Worker of your API as ORIGIN, \
        or try the sandbox with SANDBOX=open"
} else {
    "UPSTREAM: is missing, and this Worker was built without the sandbox; \
        set it to the URL of your API, such as https://api.example.com, or bind the Worker of your API as ORIGIN"
};

const NO_SHARDS: &str = "SHARDS: is missing; bind the Durable Object class Shard under this name";

/// A Worker that throws looks the same as one that cannot be called.
const RELEASED_WORKER: &str = "CONNECT_FAILURE: must be unknown if the API is a Worker, \
    because a call to a Worker that failed may have been executed";

/// 90 days.
const JOURNAL_RETENTION: Millis = Millis::from_days(90);

/// The sandbox's business keys, and where their objects are once the responses are gone.
const SANDBOX_BUSINESS_KEYS: &str = "POST:/v1/orders:/out_trade_no,POST:/v1/refunds:/out_refund_no";
const SANDBOX_LOOK_UPS: &str = "POST:/v1/orders:/v1/orders?out_trade_no={/out_trade_no}#/data/id,\
    POST:/v1/refunds:/v1/refunds?out_refund_no={/out_refund_no}#/data/id";

thread_local! {
    static CONFIG: OnceCell<Loaded> = const { OnceCell::new() };
    /// The settings by the options of a handler. Each route may have a handler and options of its own.
    static INSIDE: RefCell<Vec<(String, Loaded)>> = const { RefCell::new(Vec::new()) };
}

/// How many options of handlers are remembered. Only a Worker that computes them for each request has more.
const HANDLERS: usize = 64;

/// The settings, or what is wrong with them.
type Loaded = Result<Rc<Config>, String>;

/// Returns the isolate's settings, or those of the handler with these options, or what is wrong with them.
pub(crate) fn load(bridge: &Bridge, options: Option<&str>) -> Loaded {
    let Some(options) = options else {
        return CONFIG.with(|config| config.get_or_init(|| read(&bridge.env(), None)).clone());
    };
    INSIDE.with_borrow_mut(|known| {
        if let Some((_, config)) = known.iter().find(|(text, _)| *text == options) {
            return config.clone();
        }
        let config = read(&bridge.env(), Some(options));
        if known.len() == HANDLERS {
            known.clear();
        }
        known.push((options.to_owned(), config.clone()));
        config
    })
}

/// Returns how long an object keeps rows of the journal. Wrong settings let no request through, but
/// an alarm may still run.
pub(crate) fn journal_retention(env: &JsValue) -> Millis {
    Vars::new(&|name: &str| text_of(env, name)).journal_retention()
}

fn text_of(env: &JsValue, name: &str) -> Option<String> {
    Reflect::get(env, &name.into()).ok()?.as_string()
}

/// Reads the settings from vars, and from the options of a handler, which take precedence.
fn read(env: &JsValue, options: Option<&str>) -> Loaded {
    let is_bound =
        |name: &str| Reflect::get(env, &name.into()).is_ok_and(|bound| bound.is_object());
    if !is_bound("SHARDS") {
        return Err(NO_SHARDS.to_owned());
    }
    let is_inside = options.is_some();
    let worker = match is_inside {
        true => Some(Upstream::Handler),
        false => has_origin(env)?.then_some(Upstream::Binding),
    };
    let warnings = names::check(env, is_inside)?;
    let options = Options::parse(options.unwrap_or_default())?;
    let scope_function = options.has_scope_function();
    let var = |name: &str| match name {
        "SCOPE" if scope_function => None,
        _ => options.get(name).or_else(|| text_of(env, name)),
    };
    let (has_replica, has_metrics) = (is_bound("REPLICA"), is_bound("METRICS"));
    let mut config = Config::read(&var, worker).map_err(|error| options.name_in(error))?;
    config.scope_function = scope_function;
    config.has_replica = has_replica;
    config.has_metrics = has_metrics;
    config.warnings = warnings;
    Ok(Rc::new(config))
}

/// Returns whether the API is a Worker that is bound as `ORIGIN`.
fn has_origin(env: &JsValue) -> Result<bool, String> {
    let get = |object: &JsValue, name: &str| Reflect::get(object, &name.into()).unwrap_or_default();
    let origin = get(env, "ORIGIN");
    if origin.is_undefined() || get(&origin, "fetch").is_function() {
        return Ok(!origin.is_undefined());
    }
    Err("ORIGIN: must be a service binding to the Worker of your API; \
        to name your API by its URL, set UPSTREAM"
        .to_owned())
}

impl Config {
    /// Reads the settings through `var`. An empty setting counts as left out. `worker` is the API if it is a Worker.
    fn read(
        var: &dyn Fn(&str) -> Option<String>,
        worker: Option<Upstream>,
    ) -> Result<Self, String> {
        let vars = Vars::new(var);
        let is_open = vars.choice("SANDBOX", false, &[("closed", false), ("open", true)]);
        let is_worker = worker.is_some();
        let upstream = worker.or_else(|| vars.parse("UPSTREAM", parse_upstream));
        let upstream = upstream.unwrap_or_else(|| {
            if !(sandbox::IS_INCLUDED && is_open) {
                vars.refuse(NO_UPSTREAM.to_owned());
            }
            Upstream::Sandbox
        });
        let is_sandbox = matches!(upstream, Upstream::Sandbox);
        let unknown_outcome = if is_sandbox { UnknownOutcome::Retry } else { UnknownOutcome::Hold };
        let of_sandbox = |list| is_sandbox.then_some(list);
        let cors = if is_sandbox { CorsOrigins::Any } else { CorsOrigins::Off };
        // Checked here, read by the objects.
        vars.journal_retention();
        // Checked here, read by the sandbox (sandbox/src/merchant.rs).
        vars.choice("WEBHOOK_TARGETS", (), &[("public", ()), ("local", ())]);
        let unreachable = vars.choice(
            "CONNECT_FAILURE",
            FailCause::ConnectionLost,
            &[("unknown", FailCause::ConnectionLost), ("released", FailCause::NotDispatched)],
        );
        if is_worker && unreachable == FailCause::NotDispatched {
            vars.refuse(RELEASED_WORKER.to_owned());
        }
        let (default_retention, retention) =
            vars.seconds_by_route("RETENTION_SECONDS", 86_400, 1..=31_536_000);
        let policy = Policy {
            retention: default_retention,
            lease: vars.seconds("LEASE_SECONDS", 15, 1..=3600),
            unknown_outcome: vars.choice(
                "UNKNOWN_OUTCOME",
                unknown_outcome,
                &[("retry", UnknownOutcome::Retry), ("hold", UnknownOutcome::Hold)],
            ),
            expired_key: vars.choice(
                "EXPIRED_KEY",
                ExpiredKey::Forget,
                &[("forget", ExpiredKey::Forget), ("refuse", ExpiredKey::Refuse)],
            ),
        };
        let scope = vars.parse("SCOPE", ScopeSources::parse).unwrap_or_default();
        let key_required = vars.list("KEY_REQUIRED", Route::parse);
        let business_keys = vars.unless_none(
            "BUSINESS_KEYS",
            of_sandbox(SANDBOX_BUSINESS_KEYS),
            BusinessKeys::parse,
        );
        let skip = vars.parse("SKIP", SkippedRoutes::parse).unwrap_or_default();
        let protected = key_required.iter().chain(business_keys.routes());
        vars.checked(skip.check(protected).map_err(|error| format!("SKIP: {error}")));
        let config = Self {
            upstream,
            policy,
            // Work given to `wait_until` ends 30 s after the caller has gone. The response must have
            // arrived and been stored before that.
            origin_timeout: vars.seconds("ORIGIN_TIMEOUT_SECONDS", 25, 1..=29),
            unreachable,
            key_required,
            skip,
            outcomes: {
                let not_final = vars.parse("NOT_FINAL", OutcomeRules::parse_not_final);
                let outcomes = vars.parse("OUTCOMES", OutcomeRules::parse).unwrap_or_default();
                outcomes.and(not_final.unwrap_or_default())
            },
            retention,
            not_replayed: vars
                .parse("HEADERS_NOT_REPLAYED", |text| {
                    RouteRules::parse_optional(text, parse_not_replayed)
                })
                .unwrap_or_default(),
            key_headers: vars
                .parse("KEY_HEADERS", |text| KeyHeaders::parse(text, &scope))
                .unwrap_or_default(),
            max_key_length: vars.number("MAX_KEY_LENGTH", 255, 1..=255) as usize,
            ignores_blank_key: vars.choice(
                "BLANK_KEY",
                false,
                &[("refuse", false), ("ignore", true)],
            ),
            key_field: vars.parse("KEY_FIELD", FieldName::parse),
            dialect: vars.choice(
                "DIALECT",
                Dialect::Kukopay,
                &[
                    ("kukopay", Dialect::Kukopay),
                    ("flat", Dialect::Kukopay),
                    ("ietf", Dialect::Ietf),
                ],
            ),
            jwt: vars.checked(read_jwt(
                &scope,
                vars.parse("JWKS_URL", parse_key_url),
                vars.text("JWT_ISSUER"),
                vars.list("JWT_AUDIENCE", |name| Ok::<_, String>(name.to_owned())),
            )),
            scope_cache: vars.seconds("SCOPE_CACHE_SECONDS", 60, 0..=3600),
            replay_authorization: vars.parse("REPLAY_AUTHORIZATION", parse_replay_authorization),
            scope,
            scope_aliases: vars.parse("SCOPE_ALIASES", ScopeAliases::parse).unwrap_or_default(),
            scope_function: false,
            anonymous: vars.choice("ANONYMOUS", false, &[("refuse", false), ("allow", true)]),
            max_replay: vars.number("MAX_REPLAY_BYTES", 1 << 20, 0..=1_887_436) as usize,
            replay_memory: vars.number("REPLAY_MEMORY_BYTES", 4 << 20, 0..=8_388_608) as usize,
            max_request: vars.number("MAX_REQUEST_BYTES", 10 << 20, 0..=33_554_432),
            cors: vars.parse("CORS_ORIGINS", parse_cors).unwrap_or(cors),
            business_keys,
            resolve: vars.unless_none("RESOLVE", None, LookUps::parse),
            resolve_business_keys: vars.unless_none(
                "RESOLVE",
                of_sandbox(SANDBOX_LOOK_UPS),
                LookUps::parse,
            ),
            fingerprint_ignore: vars
                .parse("FINGERPRINT_IGNORE", |text| RouteRules::parse(text, JsonPointer::parse))
                .unwrap_or_default(),
            fingerprint_secrets: vars
                .parse("FINGERPRINT_SECRET", FingerprintSecrets::parse)
                .unwrap_or_default(),
            webhook_sources: vars.parse("WEBHOOK_SECRETS", Sources::parse).unwrap_or_default(),
            admin_token: vars.text("ADMIN_TOKEN").map(|token| AdminToken::new(&token)),
            has_replica: false,
            has_metrics: false,
            warnings: Vec::new(),
        };
        match vars.error() {
            None => Ok(config),
            Some(error) => Err(error),
        }
    }

    /// Returns whether the gateway is inside the Worker that is the API.
    pub(crate) fn is_inside(&self) -> bool {
        matches!(self.upstream, Upstream::Handler)
    }

    /// Returns whether the gateway receives webhooks at a path. Inside a Worker, the paths are the Worker's own until it
    /// has a source.
    pub(crate) fn receives(&self, path: &str) -> bool {
        is_inbound(path) && !(self.is_inside() && self.webhook_sources.is_empty())
    }

    /// Returns whether a request must carry a key. A path that some origins may read as a route that
    /// requires a key requires one too.
    pub(crate) fn requires_key(&self, method: &str, path: &str) -> bool {
        self.key_required.iter().any(|route| route.could_match(method, path))
    }

    /// Returns the error for a request that lacks a key.
    pub(crate) fn key_missing(&self) -> Rejection {
        Rejection::KeyMissing(self.key_headers.first().to_owned())
    }

    /// Returns the members that a route leaves out of the fingerprint.
    pub(crate) fn ignored(&self, method: &str, path: &str) -> Vec<JsonPointer> {
        self.fingerprint_ignore.all(method, path).into_iter().cloned().collect()
    }

    /// Returns whether a write is passed through without a look at its key.
    pub(crate) fn skips(&self, method: &str, path: &str) -> bool {
        self.skip.skip(method, path, || {
            self.requires_key(method, path) || self.business_keys.may_name(method, path)
        })
    }

    /// Returns the policy for keys of a route.
    pub(crate) fn policy_of(&self, method: &str, path: &str) -> Policy {
        let of_route = self.retention.first(method, path);
        let retention = of_route.map_or(self.policy.retention, |(_, retention)| *retention);
        Policy { retention, ..self.policy }
    }

    /// Returns the policy for a call that voids a key.
    pub(crate) fn policy_of_void(&self, minted_at: Option<UnixMillis>) -> Policy {
        let all = || self.retention.iter().map(|(_, retention)| *retention);
        let shortest = all().fold(self.policy.retention, Millis::min);
        let longest = all().fold(self.policy.retention, Millis::max);
        self.policy.of_void(shortest, longest, minted_at, clock::now())
    }

    /// Removes the headers of a response that are neither stored nor replayed.
    pub(crate) fn remove_not_replayed(&self, method: &str, path: &str, headers: &mut HeaderList) {
        let names = self.not_replayed.all(method, path);
        headers.retain(|name, _| !names.iter().any(|known| *known == name));
    }
}

impl Vars<'_> {
    fn journal_retention(&self) -> Millis {
        let default = JOURNAL_RETENTION.as_u64() / 1000;
        self.seconds("JOURNAL_RETENTION_SECONDS", default, 1..=315_360_000)
    }
}

fn parse_upstream(text: &str) -> Result<Upstream, String> {
    const MAY_BE: &str = "must be an http or https URL without user, query or fragment";
    // The platform's own parser accepts what `fetch` accepts.
    let url = Url::new(text).map_err(|_| MAY_BE)?;
    let plain = [url.username(), url.password(), url.search(), url.hash()];
    let is_http = matches!(url.protocol().as_str(), "http:" | "https:");
    if !is_http || plain.iter().any(|part| !part.is_empty()) || text.contains(['?', '#']) {
        return Err(MAY_BE.to_owned());
    }
    Ok(Upstream::Url(url.href().trim_end_matches('/').to_owned()))
}

/// Returns how JWTs are checked. The settings about JWTs are all compulsory if `SCOPE` names a claim, and
/// otherwise do nothing.
fn read_jwt(
    scope: &ScopeSources,
    keys: Option<String>,
    issuer: Option<String>,
    audiences: Vec<String>,
) -> Result<Option<JwtConfig>, String> {
    let settings = [
        (
            "JWKS_URL",
            keys.is_some(),
            "the URL of the issuer's keys, such as https://id.example/jwks.json",
        ),
        (
            "JWT_ISSUER",
            issuer.is_some(),
            "the claim iss of your tokens, such as https://id.example/",
        ),
        ("JWT_AUDIENCE", !audiences.is_empty(), "the claim aud of your tokens"),
    ];
    let is_wrong = |(_, is_set, _): &&(&str, bool, &str)| *is_set != scope.has_claims();
    match (settings.iter().find(is_wrong), keys.zip(issuer)) {
        (Some((name, true, _)), _) => Err(format!(
            "{name}: does nothing without a claim in SCOPE; set SCOPE=jwt:sub, or remove {name}"
        )),
        (Some((name, false, what)), _) => {
            Err(format!("{name}: is missing, and SCOPE names a claim of a JWT; set it to {what}"))
        }
        (None, Some((keys, issuer))) => {
            Ok(Some(JwtConfig { keys, rules: TokenRules { issuer, audiences } }))
        }
        (None, None) => Ok(None),
    }
}

fn parse_key_url(text: &str) -> Result<String, String> {
    const MAY_BE: &str = "must be an https URL without user or fragment, such as https://id.example/jwks.json; http only for a loopback host";
    let url = Url::new(text).map_err(|_| MAY_BE)?;
    let is_loopback = matches!(url.hostname().as_str(), "127.0.0.1" | "localhost" | "[::1]");
    let is_safe = url.protocol() == "https:" || (url.protocol() == "http:" && is_loopback);
    let plain = [url.username(), url.password(), url.hash()];
    if !is_safe || plain.iter().any(|part| !part.is_empty()) || text.contains('#') {
        return Err(MAY_BE.to_owned());
    }
    Ok(url.href())
}

fn parse_cors(text: &str) -> Result<CorsOrigins, String> {
    if text == "*" {
        return Ok(CorsOrigins::Any);
    }
    // The platform's parser takes a `*` for an ordinary character, so a pattern would match nothing.
    if text.contains('*') {
        return Err(
            "wildcards are not supported; list each origin, such as https://shop.example, or write * alone to allow all origins"
                .to_owned(),
        );
    }
    let origins = text.split(',').map(str::trim).map(|origin| {
        let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"))?;
        let is_plain =
            host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte));
        let is_origin = Url::new(origin).is_ok_and(|url| url.origin() == origin);
        (is_plain && is_origin).then(|| origin.to_owned())
    });
    origins.collect::<Option<_>>().map(CorsOrigins::These).ok_or_else(|| {
        "must be * or a list of origins as browsers send them, such as https://shop.example: in lower case, without a path, a slash at the end, or the default port".to_owned()
    })
}
