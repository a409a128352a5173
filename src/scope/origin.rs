//! Asking the origin who a caller is, and what its answer means.
//!
//! The origin gets a GET with the caller's credential and nothing else of the request. A 2xx whose JSON has
//! a name at the pointer identifies the caller. A 401 or 403 is the caller's answer. Everything else leaves
//! open who it is, and then nothing is executed and nothing is replayed.

use super::error::ScopeError;
use super::name::Name;
use super::sources::{ScopeSource, ScopeSources, USUAL_CREDENTIALS};
use super::{Scope, hash_parts};
use crate::canonical::JsonPointer;
use crate::header_list::HeaderList;
use crate::lookup::{has_content, json_of};

/// A question to the origin: who is the caller with this credential?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginScope {
    path: String,
    pointers: Vec<JsonPointer>,
    headers: Vec<String>,
    credential: [u8; 32],
}

/// What the origin said about a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginAnswer {
    /// The caller has this scope.
    Is(Scope),
    /// The credential does not hold. The origin's response is the caller's answer.
    Refused,
    /// The response says nothing.
    Unclear,
}

/// What a status says about a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginVerdict {
    /// The credential holds.
    Accepted,
    /// The credential does not hold. The origin's response is the caller's answer.
    Refused,
    /// The response says nothing.
    Unclear,
}

impl OriginVerdict {
    /// Returns what a status says about the credential that was sent.
    pub const fn of_status(status: u16) -> Self {
        match status {
            200..=299 => Self::Accepted,
            401 | 403 => Self::Refused,
            _ => Self::Unclear,
        }
    }
}

impl ScopeSources {
    /// Returns whether a header carries a credential: one that the sources name, or a usual one. `name` is
    /// in lower case.
    pub fn is_credential(&self, name: &str) -> bool {
        USUAL_CREDENTIALS.contains(&name) || self.has_header(name)
    }

    /// Returns the question to the origin, if the setting says to ask it. `headers` are the request's
    /// headers, with names in lower case.
    pub(super) fn question<'a>(
        &self,
        headers: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Result<Option<OriginScope>, ScopeError> {
        let is_answer = |source: &&ScopeSource| matches!(source, ScopeSource::Origin(..));
        let (answers, named): (Vec<_>, Vec<_>) = self.0.iter().flatten().partition(is_answer);
        let Some(ScopeSource::Origin(path, _)) = answers.first() else {
            return Ok(None);
        };
        let pointers = answers.iter().filter_map(|source| match source {
            ScopeSource::Origin(_, pointer) => Some(pointer.clone()),
            _ => None,
        });
        let mut found = Vec::new();
        for name in USUAL_CREDENTIALS.map(str::to_owned).into_iter().filter(|_| named.is_empty()) {
            let source = ScopeSource::Header(name.clone());
            found.extend(source.value(headers.clone())?.map(|value| (name, value)));
        }
        let mut present = found.len();
        for source in &named {
            present += usize::from(source.value(headers.clone())?.is_some());
            // Cookies go to the origin together.
            let name = source.header().to_owned();
            let whole = ScopeSource::Header(name.clone()).value(headers.clone())?;
            found.extend(whole.map(|value| (name, value)));
        }
        found.dedup();
        if present == 0 {
            return Err(ScopeError::Missing(self.clone()));
        }
        if present < named.len() {
            return Err(ScopeError::Incomplete(self.clone()));
        }
        // Two credentials whose bytes are replaced by the same character would be one.
        if found.iter().any(|(_, value)| value.contains(char::REPLACEMENT_CHARACTER)) {
            return Err(ScopeError::Unreadable);
        }
        let parts = found.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
        let credential = hash_parts(b"oncekey credential 1", &parts.collect::<Vec<_>>());
        let pointers = pointers.collect();
        let headers = found.into_iter().map(|(name, _)| name).collect();
        Ok(Some(OriginScope { path: path.clone(), pointers, headers, credential }))
    }
}

impl OriginScope {
    /// Returns the path and query to ask.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns whether a header is part of the credential. `name` is in lower case.
    pub fn is_credential(&self, name: &str) -> bool {
        self.headers.iter().any(|own| own == name)
    }

    /// Returns a hash of the credential, under which the answer may be kept.
    pub fn credential(&self) -> &[u8; 32] {
        &self.credential
    }

    /// Returns what a response of the origin means. `body` is `None` if it was too large.
    pub fn answered(&self, status: u16, headers: &HeaderList, body: Option<&[u8]>) -> OriginAnswer {
        match OriginVerdict::of_status(status) {
            OriginVerdict::Refused => OriginAnswer::Refused,
            OriginVerdict::Unclear => OriginAnswer::Unclear,
            OriginVerdict::Accepted => {
                let scope = body.and_then(|body| self.read(headers, body));
                scope.map_or(OriginAnswer::Unclear, OriginAnswer::Is)
            }
        }
    }

    fn read(&self, headers: &HeaderList, body: &[u8]) -> Option<Scope> {
        let document = json_of(headers, body)?;
        let part = |pointer: &JsonPointer| {
            let value = document.find_plainly(pointer.steps()).ok()??;
            let name = Name::read(value).filter(|_| has_content(value))?;
            Some(name.part("origin", format!("{}#{pointer}", self.path)))
        };
        let parts: Option<Vec<_>> = self.pointers.iter().map(part).collect();
        Some(Scope::of_parts(parts?.into_iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(scope: &str, headers: &[(&str, &str)]) -> Result<OriginScope, ScopeError> {
        let sources = ScopeSources::parse(scope).expect("sources");
        let question = sources.question(headers.iter().copied())?;
        Ok(question.expect("a question"))
    }

    const ME: &str = "origin:/v1/me#/account/id";

    #[test]
    fn the_credential_is_what_the_usual_headers_carry() {
        let all = [("authorization", "Bearer a"), ("x-api-key", "b"), ("cookie", "sid=c")];
        let asked = ask(ME, &all).expect("a question");
        assert_eq!((asked.path(), asked.headers.len()), ("/v1/me", 3));
        assert!(!asked.is_credential("x-other"));
        for (at, (name, _)) in all.into_iter().enumerate() {
            assert!(asked.is_credential(name), "{name}");
            let mut other = all;
            other[at].1 = "Bearer x";
            assert_ne!(ask(ME, &other).expect("a question").credential(), asked.credential());
        }
        let alone = ask(ME, &[("x-api-key", "a"), ("x-other", "b")]).expect("a question");
        assert_eq!(alone.headers, ["x-api-key"]);
        for none in [&[][..], &[("authorization", "Bearer"), ("cookie", "")]] {
            assert!(matches!(ask(ME, none), Err(ScopeError::Missing(_))), "{none:?}");
        }
        assert_eq!(ask(ME, &[("x-api-key", "\u{fffd}")]), Err(ScopeError::Unreadable));
        let twice = [("x-api-key", "a"), ("x_api_key", "b")];
        assert!(matches!(ask(ME, &twice), Err(ScopeError::Ambiguous(_))));
    }

    #[test]
    fn joined_sources_say_which_headers_carry_it() {
        let scope = "header:X-Token+cookie:sid+origin:/me#/id";
        let both = [("x-token", "a"), ("cookie", "sid=b; other=c"), ("authorization", "d")];
        let asked = ask(scope, &both).expect("a question");
        assert!(asked.is_credential("cookie") && !asked.is_credential("authorization"));
        assert!(matches!(ask(scope, &both[..1]), Err(ScopeError::Incomplete(_))));
        let other = [("x-token", "a"), ("cookie", "other=c")];
        assert!(matches!(ask(scope, &other), Err(ScopeError::Incomplete(_))));
        assert!(matches!(ask(scope, &both[2..]), Err(ScopeError::Missing(_))));
    }

    #[test]
    fn only_a_name_in_a_success_identifies_the_caller() {
        let asked = ask(ME, &[("x-api-key", "a")]).expect("a question");
        let json: HeaderList = [("content-type", "application/json")].into_iter().collect();
        let of = |status, body: &str| asked.answered(status, &json, Some(body.as_bytes()));
        let is = |body: &str| match of(200, body) {
            OriginAnswer::Is(scope) => scope,
            other => panic!("{body}: {other:?}"),
        };
        let ann = is(r#"{"account":{"id":"ann"}}"#);
        assert_eq!(is(r#" {"more":[1],"account":{"\u0069d":"ann","x":null}} "#), ann);
        for other in [r#"{"account":{"id":"bob"}}"#, r#"{"account":{"id":7}}"#] {
            assert_ne!(is(other), ann);
        }
        assert_ne!(is(r#"{"account":{"id":7}}"#), is(r#"{"account":{"id":"7"}}"#));
        for status in [401, 403] {
            assert_eq!(of(status, r#"{"account":{"id":"ann"}}"#), OriginAnswer::Refused);
        }
        for status in [100, 302, 304, 400, 404, 429, 500, 503] {
            assert_eq!(of(status, r#"{"account":{"id":"ann"}}"#), OriginAnswer::Unclear);
        }
        for body in [
            "",
            "{}",
            "[]",
            r#"{"account":null}"#,
            r#"{"account":{"id":""}}"#,
            r#"{"account":{"id":0}}"#,
            r#"{"account":{"id":1.5}}"#,
            r#"{"account":{"id":null}}"#,
            r#"{"account":{"id":["ann"]}}"#,
            r#"{"account":{"id":"ann","id":"ann"}}"#,
            r#"{"account":{"id":"ann","ID":"bob"}}"#,
            r#"{"account":{"id":"00000000-0000-0000-0000-000000000000"}}"#,
        ] {
            assert_eq!(of(200, body), OriginAnswer::Unclear, "{body}");
        }
        assert_eq!(asked.answered(200, &json, None), OriginAnswer::Unclear);
        let html: HeaderList = [("content-type", "text/html")].into_iter().collect();
        let body = br#"{"account":{"id":"ann"}}"#;
        assert_eq!(asked.answered(200, &html, Some(body)), OriginAnswer::Unclear);
    }
}
