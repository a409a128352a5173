//! The settings `OUTCOMES` and `NOT_FINAL`: what certain responses of a route prove, if that differs from
//! what their status alone proves.
//!
//! | entry | a response of the route |
//! |---|---|
//! | `409=final` | with this status |
//! | `302@/login=released` | with this status whose `Location` leads to this path |
//! | `/errors=unknown` | that is final by its status, and has content at this pointer in its JSON |
//!
//! An entry of `NOT_FINAL` is the condition alone, and its outcome is `unknown`.
//!
//! A rule must not make a request look safe to repeat that may have been executed. So a member of the body
//! proves at most that the outcome is unknown: a GraphQL response with `errors` may have executed a part.
//! A success and a 5xx never prove that nothing was executed. Rules that say `unknown` apply to every
//! spelling of their route, the others only to the literal one.

use super::ResponseClass;
use crate::canonical::json::Document;
use crate::canonical::{JsonPointer, MediaType};
use crate::request::route::{Route, RouteRules, RuleError};
use crate::response::StoredResponse;
use core::fmt;

/// The rules of all routes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OutcomeRules(RouteRules<OutcomeRule>);

/// The rules for one request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ResponseRules(Vec<OutcomeRule>);

/// What a kind of response proves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OutcomeRule {
    condition: Condition,
    class: ResponseClass,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Condition {
    Status(u16),
    /// A redirect to a path.
    Redirect(u16, Route),
    /// A member of a JSON body.
    Member(JsonPointer),
}

/// Why an entry cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutcomeError {
    /// The entry is not `CONDITION=OUTCOME`.
    NotAnEntry,
    /// The condition is not a status, a redirect or a JSON pointer.
    BadCondition,
    /// A member of the body can prove only that the outcome is unknown.
    MemberProvesNothing,
    /// The status never proves that nothing was executed.
    NeverReleased,
}

impl OutcomeRules {
    /// Reads a list `METHOD:/path:CONDITION=OUTCOME,…`. An entry without a route applies to all routes.
    pub fn parse(list: &str) -> Result<Self, RuleError<OutcomeError>> {
        RouteRules::parse_optional(list, OutcomeRule::parse).map(Self)
    }

    /// Reads a list `METHOD:/path:CONDITION,…` of responses that leave the outcome unknown.
    pub fn parse_not_final(list: &str) -> Result<Self, RuleError<OutcomeError>> {
        let unknown = |text: &str| {
            let condition = Condition::parse(text).ok_or(OutcomeError::BadCondition)?;
            Ok(OutcomeRule { condition, class: ResponseClass::Unknown })
        };
        RouteRules::parse_optional(list, unknown).map(Self)
    }

    /// Adds rules, which count after these.
    pub fn and(mut self, others: Self) -> Self {
        self.0.append(others.0);
        self
    }

    /// Returns the rules for a request.
    pub fn of(&self, method: &str, path: &str) -> ResponseRules {
        let applies = |route: Option<&Route>, rule: &OutcomeRule| {
            route.is_none_or(|route| match rule.class {
                ResponseClass::Unknown => route.could_match(method, path),
                _ => route.matches(method, path),
            })
        };
        let rules = self.0.iter().filter(|(route, rule)| applies(*route, rule));
        ResponseRules(rules.map(|(_, rule)| rule.clone()).collect())
    }
}

impl ResponseRules {
    /// Returns what a response proves by the rules; `None` if no rule applies to it. Of several rules for
    /// a status, the first counts. A member of the body counts if the response would be final.
    ///
    /// A body that was not kept, or that is not JSON that all parsers read alike, has no members. The
    /// status counts then: with the policy `retry`, an outcome that is unknown is executed again.
    pub fn class_of(&self, response: &StoredResponse) -> Option<ResponseClass> {
        let by_status = self.0.iter().find(|rule| rule.condition.is_met_by_head_of(response));
        let by_status = by_status.map(|rule| rule.class);
        let class = by_status.unwrap_or_else(|| ResponseClass::of_status(response.status));
        if class == ResponseClass::Final && self.has_member(response) {
            return Some(ResponseClass::Unknown);
        }
        by_status
    }

    fn has_member(&self, response: &StoredResponse) -> bool {
        let mut pointers = self.0.iter().filter_map(|rule| match &rule.condition {
            Condition::Member(pointer) => Some(pointer),
            _ => None,
        });
        let Some(first) = pointers.next() else { return false };
        let document = json_of(response);
        document.is_some_and(|document| {
            let has = |pointer: &JsonPointer| {
                document.find(pointer.steps()).is_some_and(|value| !value.is_blank())
            };
            has(first) || pointers.any(has)
        })
    }
}

/// Returns the body of a response as JSON.
fn json_of(response: &StoredResponse) -> Option<Document<'_>> {
    let header = |name| response.headers.get(name);
    let media_type = MediaType::parse(header("content-type"));
    let is_json = media_type.essence().is_empty() || media_type.is_json();
    let coding = header("content-encoding").unwrap_or_default().trim();
    let is_plain = coding.is_empty() || coding.eq_ignore_ascii_case("identity");
    if is_json && is_plain { Document::parse(response.body()?) } else { None }
}

impl OutcomeRule {
    fn parse(text: &str) -> Result<Self, OutcomeError> {
        let (condition, outcome) = text.rsplit_once('=').ok_or(OutcomeError::NotAnEntry)?;
        let class = match outcome {
            "final" => ResponseClass::Final,
            "unknown" => ResponseClass::Unknown,
            "released" => ResponseClass::NotExecuted,
            _ => return Err(OutcomeError::NotAnEntry),
        };
        let condition = Condition::parse(condition).ok_or(OutcomeError::BadCondition)?;
        match (&condition, class) {
            (_, ResponseClass::Unknown) => {}
            (Condition::Member(_), _) => return Err(OutcomeError::MemberProvesNothing),
            (Condition::Status(200..400 | 500..), ResponseClass::NotExecuted) => {
                return Err(OutcomeError::NeverReleased);
            }
            _ => {}
        }
        Ok(Self { condition, class })
    }
}

impl Condition {
    fn parse(text: &str) -> Option<Self> {
        if text.starts_with('/') {
            return JsonPointer::parse(text).ok().map(Self::Member);
        }
        let (status, target) = match text.split_once('@') {
            None => (text, None),
            Some((status, target)) => (status, Some(target)),
        };
        let is_number = status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit());
        let status = status.parse().ok().filter(|_| is_number)?;
        match (status, target) {
            (301..=303, Some(path)) => {
                Route::parse(&format!("*:{path}")).ok().map(|path| Self::Redirect(status, path))
            }
            // A 307 or 308 makes the caller repeat the request elsewhere.
            (200..=306 | 309..=599, None) => Some(Self::Status(status)),
            _ => None,
        }
    }

    fn is_met_by_head_of(&self, response: &StoredResponse) -> bool {
        match self {
            Self::Status(status) => *status == response.status,
            Self::Redirect(status, path) => {
                let target = response.headers.get("location").and_then(path_of);
                *status == response.status && target.is_some_and(|target| path.matches("", target))
            }
            Self::Member(_) => false,
        }
    }
}

/// Returns the path of an absolute URL, or of a URL that begins with a path.
fn path_of(url: &str) -> Option<&str> {
    let url = &url[..url.find(['?', '#']).unwrap_or(url.len())];
    if url.starts_with('/') && !url.starts_with("//") {
        return Some(url);
    }
    let host = url.find("//")? + 2;
    url[host..].find('/').map(|path| &url[host + path..])
}

impl fmt::Display for OutcomeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAnEntry => {
                "each entry must be METHOD:/path:CONDITION=OUTCOME with the outcome final, unknown or released, as in POST:/v1/orders:409=final"
            }
            Self::BadCondition => {
                "each condition must be a status from 200 to 599 except 307 and 308, a redirect such as 302@/login, or a JSON pointer such as /errors"
            }
            Self::MemberProvesNothing => {
                "the outcome of a JSON pointer must be unknown, because the request may have been executed in part"
            }
            Self::NeverReleased => {
                "only a status from 400 to 499, or a redirect with its path such as 302@/login, can be released"
            }
        })
    }
}

impl core::error::Error for OutcomeError {}

#[cfg(test)]
mod tests {
    use super::*;
    use ResponseClass::{Final, NotExecuted, Unknown};

    fn response(status: u16, headers: &[(&str, &str)], body: &str) -> StoredResponse {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        StoredResponse::keep(status, headers, body.as_bytes().to_vec(), "req", 9999).0
    }

    fn json(status: u16, body: &str) -> StoredResponse {
        response(status, &[("content-type", "application/json")], body)
    }

    fn rules(list: &str) -> ResponseRules {
        OutcomeRules::parse(list).unwrap().of("POST", "/v1/x")
    }

    #[test]
    fn a_status_proves_what_its_rule_says() {
        let rules =
            rules("POST:/v1/x:409=final,404=unknown,422=released,503=final,POST:/v1/y:402=unknown");
        for (status, class) in [
            (409, Some(Final)),
            (404, Some(Unknown)),
            (422, Some(NotExecuted)),
            (503, Some(Final)),
            (402, None),
            (201, None),
            (500, None),
        ] {
            assert_eq!(rules.class_of(&json(status, "{}")), class, "{status}");
        }
    }

    #[test]
    fn content_at_a_pointer_makes_a_final_response_unknown() {
        let rules = rules("/errors=unknown,/error/code=unknown,409=final");
        for body in [
            r#"{"errors":[{}]}"#,
            r#"{"data":{"id":1},"errors":"x"}"#,
            r#"{"errors":true}"#,
            r#"{"errors":7}"#,
            r#"{"error":{"code":"x"}}"#,
        ] {
            assert_eq!(rules.class_of(&json(200, body)), Some(Unknown), "{body}");
            assert_eq!(rules.class_of(&json(409, body)), Some(Unknown), "{body}");
            assert_eq!(rules.class_of(&json(429, body)), None, "the key is released");
        }
        for body in [
            "{}",
            r#"{"errors":[]}"#,
            r#"{"errors":{}}"#,
            r#"{"errors":null,"error":{"code":0}}"#,
            r#"{"errors":""}"#,
            r#"{"errors":false}"#,
            r#"{"data":{"errors":["x"]}}"#,
            "",
            "[",
        ] {
            assert_eq!(rules.class_of(&json(200, body)), None, "{body}");
        }
        let body = r#"{"errors":["x"]}"#;
        let graphql = [("content-type", "application/graphql-response+json; charset=utf-8")];
        assert_eq!(rules.class_of(&response(200, &graphql, body)), Some(Unknown));
        assert_eq!(rules.class_of(&response(200, &[], body)), Some(Unknown));
        for head in [("content-type", "text/html"), ("content-encoding", "zstd")] {
            assert_eq!(rules.class_of(&response(200, &[head], body)), None, "{head:?}");
        }
        let not_kept = StoredResponse::without_body(200, [], "req");
        assert_eq!(rules.class_of(&not_kept), None);
    }

    #[test]
    fn a_redirect_to_the_log_in_page_is_like_a_401() {
        let rules = rules("302@/login=released,303@/auth/*=released");
        let class = |status, target| rules.class_of(&response(status, &[("location", target)], ""));
        for (status, target) in [
            (302, "/login"),
            (302, "/login?next=%2Fv1%2Fx"),
            (302, "https://sso.example/login#a"),
            (302, "//sso.example/login"),
            (303, "/auth/a/b"),
        ] {
            assert_eq!(class(status, target), Some(NotExecuted), "{status} {target}");
        }
        for (status, target) in [
            (303, "/login"),
            (302, "/login/"),
            (302, "/orders/login"),
            (302, "login"),
            (302, "/orders/7?next=/login"),
            (302, "https://sso.example"),
            (201, "/login"),
        ] {
            assert_eq!(class(status, target), None, "{status} {target}");
        }
    }

    #[test]
    fn only_rules_that_protect_apply_to_other_spellings() {
        let all = OutcomeRules::parse("POST:/v1/x:409=final,POST:/v1/x:404=unknown").unwrap();
        let class = |path: &str, status| all.of("POST", path).class_of(&json(status, ""));
        assert_eq!((class("/v1/x", 409), class("/v1/x", 404)), (Some(Final), Some(Unknown)));
        assert_eq!((class("/V1/x/", 409), class("/V1/x/", 404)), (None, Some(Unknown)));
        assert_eq!((class("/v1/y", 409), class("/v1/y", 404)), (None, None));
    }

    #[test]
    fn a_condition_of_not_final_leaves_the_outcome_unknown() {
        let not_final = OutcomeRules::parse_not_final("POST:/v1/x:/errors,404,POST:/v1/x:409");
        let all = OutcomeRules::parse("POST:/v1/x:409=final").unwrap().and(not_final.unwrap());
        let rules = all.of("POST", "/v1/x");
        let body = r#"{"errors":["x"]}"#;
        assert_eq!(rules.class_of(&json(200, body)), Some(Unknown));
        assert_eq!(rules.class_of(&json(404, "{}")), Some(Unknown));
        assert_eq!(rules.class_of(&json(409, "{}")), Some(Final), "OUTCOMES counts first");
        assert_eq!(all.of("POST", "/v1/y").class_of(&json(200, body)), None);
        for list in ["404=unknown", "errors", "307"] {
            let error = Err(RuleError::Argument(OutcomeError::BadCondition));
            assert_eq!(OutcomeRules::parse_not_final(list), error, "{list}");
        }
    }

    #[test]
    fn the_error_of_an_invalid_rule_says_what_is_wrong() {
        for (list, error) in [
            ("POST:/v1/x:409", RuleError::Argument(OutcomeError::NotAnEntry)),
            ("409=Final", RuleError::Argument(OutcomeError::NotAnEntry)),
            ("409", RuleError::Argument(OutcomeError::NotAnEntry)),
            ("POST:/v1/x", RuleError::NotAnEntry),
            ("99=final", RuleError::Argument(OutcomeError::BadCondition)),
            ("600=final", RuleError::Argument(OutcomeError::BadCondition)),
            ("307=final", RuleError::Argument(OutcomeError::BadCondition)),
            ("+40=final", RuleError::Argument(OutcomeError::BadCondition)),
            ("4xx=final", RuleError::Argument(OutcomeError::BadCondition)),
            ("200@/login=unknown", RuleError::Argument(OutcomeError::BadCondition)),
            ("302@login=released", RuleError::Argument(OutcomeError::BadCondition)),
            ("/~2=unknown", RuleError::Argument(OutcomeError::BadCondition)),
            ("/errors=released", RuleError::Argument(OutcomeError::MemberProvesNothing)),
            ("/ok=final", RuleError::Argument(OutcomeError::MemberProvesNothing)),
            ("200=released", RuleError::Argument(OutcomeError::NeverReleased)),
            ("302=released", RuleError::Argument(OutcomeError::NeverReleased)),
            ("500=released", RuleError::Argument(OutcomeError::NeverReleased)),
            (
                "post:/v1/x:409=final",
                RuleError::Route(crate::request::route::RouteError::BadMethod),
            ),
        ] {
            assert_eq!(OutcomeRules::parse(list), Err(error), "{list}");
        }
    }
}
