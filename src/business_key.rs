//! Business keys: a member of a request's body as a second, permanent key.
//!
//! A merchant's order number names one order permanently, whichever idempotency key its request has.
//! On the routes that [`BusinessKeys`] lists, the order number therefore has a record of its own, with
//! the same lifecycle under [`Policy::of_business_keys`](crate::Policy::of_business_keys).
//!
//! # Two records, one attempt
//!
//! ```text
//! begin key → begin business key → origin → complete business key → complete key
//! ```
//!
//! An attempt that owns its key calls the business key's `begin`. [`pair`] decides what follows:
//!
//! | the business key's `begin` | the attempt | its key | the caller gets |
//! |---|---|---|---|
//! | Execute | calls the origin | – | the origin's response |
//! | Replay | ends | completed with that response | that response, as a replay |
//! | InProgress | ends | released | in progress |
//! | Mismatch | ends | released | an error that names the business key |
//! | OutcomeUnknown | looks the outcome up, or ends | completed with the response found, or released | the response found, or outcome unknown |
//! | NotReplayable, same content | looks the response up, or ends | completed with the response found, or released | the response found, or not replayable |
//! | any other decision | ends | released | that decision |
//!
//! If an attempt died between the two completions, the business key has the response and the key's
//! outcome is unknown. With `retry`, the next attempt gets the business key's Replay. With `hold`, no
//! attempt may begin, so the gateway [peeks](crate::lifecycle::peek) at the business key, and
//! [`on_hold`] decides what happens to the key:
//!
//! | `peek` at the business key | the key |
//! |---|---|
//! | Replay | settled with that response |
//! | InProgress | unchanged; the caller must retry |
//! | Mismatch, or the fingerprint cannot be checked | unchanged; an operator has to settle it |
//! | OutcomeUnknown, or it would execute | looked up, and settled with the response found |
//! | NotReplayable, same content | looked up, and settled with the response found; else not replayable |
//!
//! When the origin has responded, the business key is completed first. [`end_of_key`] decides how the
//! key is completed:
//!
//! | the business key's `complete` | the key |
//! |---|---|
//! | Recorded, RecordGone | completed with the attempt's response |
//! | LeaseLost, and the business key has a response | completed with the business key's response |
//! | LeaseLost otherwise, and the attempt's response is final | unknown, until the business key has its response |
//! | LeaseLost otherwise, and the response is not final | completed with the attempt's response |

mod fields;
mod reading;

pub use reading::BusinessKeyUnreadable;
pub(crate) use reading::text_in;

use crate::canonical::{JsonPointer, PointerError};
use crate::decision::{Completion, Decision, Execution};
use crate::policy::ResponseClass;
use crate::request::route::{Route, RouteError, RouteRules, RuleError};
use crate::response::StoredResponse;
use core::fmt;
use reading::{is_fit, name_of};

/// The members of requests that are business keys, by route.
#[derive(Clone, Debug, Default)]
pub struct BusinessKeys(RouteRules<BusinessKeyRule>);

#[derive(Clone, Debug)]
struct BusinessKeyRule {
    pointer: JsonPointer,
    is_required: bool,
}

/// A business key: the route, the member and its value.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BusinessKey {
    method: String,
    /// The path in the [canonical form](Route::canonical_path) of its route.
    path: String,
    pointer: JsonPointer,
    value: String,
}

/// Why a list of business keys cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BusinessKeyError {
    /// An entry is not `METHOD:/path:/pointer`.
    NotAnEntry,
    /// The route of an entry cannot be read.
    Route(RouteError),
    /// The pointer of an entry cannot be read.
    Pointer(PointerError),
}

/// What an attempt that owns its key does next, or what happens to a key on hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pairing {
    /// The attempt owns every record and may call the origin.
    Dispatch(Execution),
    /// The business key has a response. It becomes the key's response, and the caller gets it as a
    /// replay.
    Adopt(StoredResponse),
    /// A look-up may find the response. If the route has no look-up, or it finds nothing, the caller
    /// gets this decision.
    LookUp(Decision),
    /// The attempt ends, if there is one, and the caller gets this decision.
    End(Decision),
}

/// How the key is completed after the business key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyEnd {
    /// The key is completed with the attempt's own response.
    Own,
    /// The key is completed with the business key's response, which the caller gets as a replay.
    Adopt(StoredResponse),
    /// The key's outcome is unknown, and the caller gets the business key's decision.
    Unknown(Decision),
}

impl BusinessKeys {
    /// Reads a list `METHOD:/path:/pointer,…`. If several entries match a request, the first counts. An
    /// entry that ends in `!` makes its business key required.
    ///
    /// # Errors
    ///
    /// Returns an error if an entry has another form, or its route or pointer cannot be read.
    ///
    /// ```
    /// # use oncekey::BusinessKeys;
    /// let keys = BusinessKeys::parse("POST:/v1/orders:/out_trade_no").unwrap();
    /// assert!(keys.may_name("POST", "/v1/orders"));
    /// assert!(!keys.may_name("POST", "/v1/refunds"));
    /// ```
    pub fn parse(list: &str) -> Result<Self, BusinessKeyError> {
        let rules = RouteRules::parse(list, |member| {
            let pointer = member.strip_suffix('!').unwrap_or(member);
            let is_required = pointer.len() < member.len();
            Ok(BusinessKeyRule { pointer: JsonPointer::parse(pointer)?, is_required })
        });
        rules.map(Self).map_err(|error| match error {
            RuleError::NotAnEntry => BusinessKeyError::NotAnEntry,
            RuleError::Route(error) => BusinessKeyError::Route(error),
            RuleError::Argument(error) => BusinessKeyError::Pointer(error),
        })
    }

    /// Returns whether a request may have a business key, by its method and path. The body of such a
    /// request must be read whatever its type, because many origins decode JSON of any type.
    pub fn may_name(&self, method: &str, path: &str) -> bool {
        self.0.first(method, path).is_some()
    }

    /// Returns the routes that are listed.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.0.iter().filter_map(|(route, _)| route)
    }

    /// Returns whether a request has to have a business key.
    pub fn requires(&self, method: &str, path: &str) -> bool {
        self.0.first(method, path).is_some_and(|(_, rule)| rule.is_required)
    }

    /// Returns the business key of a request: a JSON string of 1 to 255 characters without control
    /// characters, a JSON number in its canonical spelling, or the field of a form. The string `"7"`,
    /// the number `7.0` and the field `7` are the same business key.
    ///
    /// Returns `None` if the member is missing or has another type; the origin judges the request then.
    ///
    /// # Errors
    ///
    /// Returns an error if the route requires a business key and the request has none, or if two
    /// programs could read two different business keys from the body.
    pub fn read(
        &self,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<Option<BusinessKey>, BusinessKeyUnreadable> {
        let Some((route, rule)) = self.0.first(method, path) else {
            return Ok(None);
        };
        match reading::text_in(&rule.pointer, content_type, body)? {
            None if rule.is_required => Err(BusinessKeyUnreadable::Missing(name_of(&rule.pointer))),
            value => Ok(value.and_then(|value| BusinessKey::new(route, rule, method, path, value))),
        }
    }

    /// Returns the business key with this value on a route, for a caller that has no request.
    pub fn with_value(&self, method: &str, path: &str, value: &str) -> Option<BusinessKey> {
        let (route, rule) = self.0.first(method, path)?;
        is_fit(value).then(|| BusinessKey::new(route, rule, method, path, value.to_owned()))?
    }
}

impl BusinessKey {
    fn new(
        route: &Route,
        rule: &BusinessKeyRule,
        method: &str,
        path: &str,
        value: String,
    ) -> Option<Self> {
        let path = route.canonical_path(method, path)?;
        Some(Self { method: method.to_owned(), path, pointer: rule.pointer.clone(), value })
    }

    /// Returns the parts that identify the business key within a scope: method, path, pointer, value.
    pub(crate) fn parts(&self) -> [String; 4] {
        let pointer = self.pointer.to_string();
        [self.method.clone(), self.path.clone(), pointer, self.value.clone()]
    }

    /// Returns the pointer to the member in the body.
    pub fn pointer(&self) -> &JsonPointer {
        &self.pointer
    }

    /// Returns the value of the member.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the member's name, as errors show it.
    pub(crate) fn param(&self) -> String {
        name_of(&self.pointer)
    }
}

/// Decides for an attempt that owns its key, by the decision of the business key's `begin`.
pub fn pair(key: Execution, business_key: Decision) -> Pairing {
    match business_key {
        Decision::Execute(execution) => {
            Pairing::Dispatch(Execution { lease: key.lease.min(execution.lease), ..key })
        }
        other => alone(other),
    }
}

/// Decides for a request that has only a business key, by the decision of its `begin`.
pub fn alone(business_key: Decision) -> Pairing {
    match business_key {
        Decision::Execute(execution) => Pairing::Dispatch(execution),
        Decision::Replay(response) => Pairing::Adopt(response),
        // Without a status the requests were not compared: the resource may be another request's.
        Decision::OutcomeUnknown | Decision::NotReplayable { http_status: Some(_), .. } => {
            Pairing::LookUp(business_key)
        }
        other => Pairing::End(other),
    }
}

/// Decides for a key on hold, by a [`peek`](crate::lifecycle::peek) at its business key. `None` means
/// that the business key would execute, or that the request has no business key.
pub fn on_hold(business_key: Option<Decision>) -> Pairing {
    match business_key.map(alone) {
        None | Some(Pairing::Dispatch(_)) => Pairing::LookUp(Decision::OutcomeUnknown),
        Some(Pairing::End(Decision::InProgress)) => Pairing::End(Decision::InProgress),
        Some(Pairing::End(_)) => Pairing::End(Decision::OutcomeUnknown),
        Some(pairing) => pairing,
    }
}

/// Decides how the key is completed, by the business key's completion and what the attempt's own
/// response proves.
pub fn end_of_key(business_key: Completion, own: ResponseClass) -> KeyEnd {
    match business_key {
        Completion::Recorded | Completion::RecordGone => KeyEnd::Own,
        Completion::LeaseLost(current) => match *current {
            Decision::Replay(response) => KeyEnd::Adopt(response),
            // Another attempt may bring another response, so this one must not become final.
            current if own == ResponseClass::Final => KeyEnd::Unknown(current),
            _ => KeyEnd::Own,
        },
    }
}

impl fmt::Display for BusinessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} \"{}\"", self.param(), self.value)
    }
}

impl fmt::Debug for BusinessKey {
    /// Omits the value, which must not appear in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BusinessKey({})", self.pointer)
    }
}

impl fmt::Display for BusinessKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnEntry => f.write_str(
                "each entry must be METHOD:/path:/pointer, for example POST:/v1/orders:/out_trade_no; a ! at its end makes the business key required",
            ),
            Self::Route(error) => error.fmt(f),
            Self::Pointer(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for BusinessKeyError {}
