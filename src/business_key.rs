//! Business numbers: a member of a request's body as a second, permanent key.
//!
//! A merchant's order number names one order for ever, whatever key its request comes with. So on
//! the routes that [`BusinessKeys`] names, the number has a record too, with the same lifecycle
//! under [`Policy::of_business_keys`](crate::Policy::of_business_keys).
//!
//! # Two records, one attempt
//!
//! ```text
//! begin key → begin number → origin → complete number → complete key
//! ```
//!
//! An attempt that owns its key asks for the number, and [`pair`] says what becomes of it:
//!
//! | the number's `begin` | the attempt | its key | the caller gets |
//! |---|---|---|---|
//! | Execute | calls the origin | – | the origin's answer |
//! | Replay | ends | completed with that answer | that answer, as a replay |
//! | InProgress | ends | released | in progress |
//! | Mismatch | ends | released | an error that names the number |
//! | OutcomeUnknown | looks it up, or ends | completed with what was found, or released | what was found, or outcome unknown |
//! | NotReplayable, same content | looks it up, or ends | completed with what was found, or released | what was found, or not replayable |
//! | anything else | ends | released | that |
//!
//! Where an attempt died between the two completions, the number has its answer and the key is
//! unknown. With `retry` the next attempt meets the number's Replay. With `hold` nobody may begin,
//! so the number is [peeked at](crate::lifecycle::peek), and [`held`] says what becomes of the key:
//!
//! | the number, peeked at | what becomes of the key |
//! |---|---|
//! | Replay | settled with that answer |
//! | InProgress | nothing: come again |
//! | Mismatch, or not to be compared | nothing: somebody has to find out |
//! | OutcomeUnknown, or it would execute | looked up; settled with what was found |
//! | NotReplayable, same content | looked up; settled with what was found, else told so |
//!
//! When the origin has answered, the number is completed first, and [`end_of_key`] says what its
//! key is completed with:
//!
//! | the number's `complete` | what becomes of the key |
//! |---|---|
//! | Recorded, RecordGone | completed with the attempt's answer |
//! | LeaseLost, and the number has an answer | completed with the number's answer |
//! | LeaseLost else, the attempt's answer is final | unknown: the number will tell |
//! | LeaseLost else, it is not | completed with the attempt's answer |

mod fields;
mod reading;

pub use reading::BusinessKeyUnreadable;
pub(crate) use reading::text_in;

use crate::canonical::{JsonPointer, PointerError};
use crate::codec::list::entries;
use crate::decision::{Completion, Decision, Execution};
use crate::policy::ResponseClass;
use crate::request::route::{Route, RouteError, rule_for};
use crate::response::StoredResponse;
use core::fmt;
use reading::{is_fit, name_of};

/// Which members of which requests are business keys.
#[derive(Clone, Debug, Default)]
pub struct BusinessKeys(Vec<(Route, BusinessKeyRule)>);

#[derive(Clone, Debug)]
struct BusinessKeyRule {
    pointer: JsonPointer,
    is_required: bool,
}

/// A business key: of which route, which member, and what stands in it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BusinessKey {
    method: String,
    /// In the [one spelling](Route::one_spelling) that the path has on the rule's route.
    path: String,
    pointer: JsonPointer,
    value: String,
}

/// Why a list is none of business keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BusinessKeyError {
    /// An entry is not `METHOD:/path:/pointer`.
    NotAnEntry,
    /// The route of an entry is none.
    Route(RouteError),
    /// The pointer of an entry is none.
    Pointer(PointerError),
}

/// What becomes of an attempt that owns its key, or of a key that is held.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pairing {
    /// The attempt may call the origin, with both leases in its hands.
    Dispatch(Execution),
    /// The number has its answer: it becomes the key's, and the caller gets it as a replay.
    Adopt(StoredResponse),
    /// A look-up may find the answer. Where there is none, or it finds nothing, the caller is told
    /// this.
    LookUp(Decision),
    /// The attempt ends, if there is one, and the caller is told this.
    End(Decision),
}

/// What becomes of the key when the number's part of an attempt is over.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyEnd {
    /// It is completed with the attempt's own answer.
    Own,
    /// It is completed with the number's answer, which the caller gets as a replay.
    Adopt(StoredResponse),
    /// Its outcome is unknown, and the caller is told how the number stands.
    Unknown(Decision),
}

impl BusinessKeys {
    /// Reads `METHOD:/path:/pointer,…`. Of several that fit a request, the first counts. An entry that
    /// ends in `!` makes its business key compulsory.
    pub fn parse(list: &str) -> Result<Self, BusinessKeyError> {
        let parse = |entry| {
            let (route, member) = split_entry(entry).ok_or(BusinessKeyError::NotAnEntry)?;
            let route = Route::parse(route).map_err(BusinessKeyError::Route)?;
            let pointer = member.strip_suffix('!').unwrap_or(member);
            let is_required = pointer.len() < member.len();
            let pointer = JsonPointer::parse(pointer).map_err(BusinessKeyError::Pointer)?;
            Ok((route, BusinessKeyRule { pointer, is_required }))
        };
        entries(list).map(parse).collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether a request may have a business key, by its head alone. Its body has to be read
    /// then, whatever its type: many an origin decodes JSON of any type.
    pub fn may_name(&self, method: &str, path: &str) -> bool {
        rule_for(&self.0, method, path).is_some()
    }

    /// Returns whether a request has to have a business key.
    pub fn requires(&self, method: &str, path: &str) -> bool {
        rule_for(&self.0, method, path).is_some_and(|(_, rule)| rule.is_required)
    }

    /// Returns the business key of a request: a JSON string of 1 to 255 characters without controls, a
    /// number in its canonical spelling, or the field of a form. The string `"7"`, the number `7.0` and
    /// the field `7` are one. Where the member is missing or anything else, there is none, and the origin will judge the request, unless
    /// the route requires one. A body that two programs could read in two ways is refused.
    pub fn read(
        &self,
        method: &str,
        path: &str,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<Option<BusinessKey>, BusinessKeyUnreadable> {
        let Some((route, rule)) = rule_for(&self.0, method, path) else {
            return Ok(None);
        };
        match reading::text_in(&rule.pointer, content_type, body)? {
            None if rule.is_required => Err(BusinessKeyUnreadable::Missing(name_of(&rule.pointer))),
            value => Ok(value.and_then(|value| BusinessKey::new(route, rule, method, path, value))),
        }
    }

    /// Returns the business key with this value on a route, for a caller that has no request.
    pub fn with_value(&self, method: &str, path: &str, value: &str) -> Option<BusinessKey> {
        let (route, rule) = rule_for(&self.0, method, path)?;
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
        let path = route.one_spelling(method, path)?;
        Some(Self { method: method.to_owned(), path, pointer: rule.pointer.clone(), value })
    }

    /// The parts that tell it from others of the same caller: method, path, pointer and value.
    pub(crate) fn parts(&self) -> [String; 4] {
        let pointer = self.pointer.to_string();
        [self.method.clone(), self.path.clone(), pointer, self.value.clone()]
    }

    /// Where it stands in the body.
    pub fn pointer(&self) -> &JsonPointer {
        &self.pointer
    }

    /// What stands there.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The member's name, as errors tell it.
    pub(crate) fn param(&self) -> String {
        name_of(&self.pointer)
    }
}

/// What becomes of an attempt that owns its key, by what its number's `begin` was told.
pub fn pair(key: Execution, number: Decision) -> Pairing {
    match number {
        Decision::Execute(number) => {
            Pairing::Dispatch(Execution { lease: key.lease.min(number.lease), ..key })
        }
        other => alone(other),
    }
}

/// What becomes of a request without a key, by what its number's `begin` was told.
pub fn alone(number: Decision) -> Pairing {
    match number {
        Decision::Execute(execution) => Pairing::Dispatch(execution),
        Decision::Replay(response) => Pairing::Adopt(response),
        // Without a status it cannot be compared: the object may be another request's.
        Decision::OutcomeUnknown | Decision::NotReplayable { http_status: Some(_), .. } => {
            Pairing::LookUp(number)
        }
        other => Pairing::End(other),
    }
}

/// What becomes of a key that is held, by what its number was when it was
/// [peeked at](crate::lifecycle::peek). A key without a number counts as one whose number would
/// execute.
pub fn held(number: Option<Decision>) -> Pairing {
    match number.map(alone) {
        None | Some(Pairing::Dispatch(_)) => Pairing::LookUp(Decision::OutcomeUnknown),
        Some(Pairing::End(Decision::InProgress)) => Pairing::End(Decision::InProgress),
        Some(Pairing::End(_)) => Pairing::End(Decision::OutcomeUnknown),
        Some(pairing) => pairing,
    }
}

/// What becomes of the key, by what became of the number and what the attempt has brought.
pub fn end_of_key(number: Completion, own: &StoredResponse) -> KeyEnd {
    match number {
        Completion::Recorded | Completion::RecordGone => KeyEnd::Own,
        Completion::LeaseLost(stands) => match *stands {
            Decision::Replay(response) => KeyEnd::Adopt(response),
            // Another attempt may bring another answer: this one must not read as the last word.
            stands if ResponseClass::of_status(own.status) == ResponseClass::Final => {
                KeyEnd::Unknown(stands)
            }
            _ => KeyEnd::Own,
        },
    }
}

/// Parts `METHOD:/path:REST`. A path holds no colon here; what follows may.
pub(crate) fn split_entry(entry: &str) -> Option<(&str, &str)> {
    let path = entry.find(':')? + 1;
    let rest = path + entry[path..].find(':')?;
    Some((&entry[..rest], &entry[rest + 1..]))
}

impl fmt::Display for BusinessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} \"{}\"", self.param(), self.value)
    }
}

impl fmt::Debug for BusinessKey {
    /// The value belongs in no log.
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
