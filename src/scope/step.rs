//! From a request to its scope, in one step or with a question in between.

use super::Scope;
use super::aliases::ScopeAliases;
use super::credential::ScopePart;
use super::error::ScopeError;
use super::jwt::{Token, TokenRefused, TokenRules};
use super::name::Part;
use super::origin::OriginScope;
use super::sources::{ScopeSource, ScopeSources};
use crate::time::UnixMillis;

/// What is known about the scope of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScopeStep {
    /// The request alone determines its scope.
    Known(Scope),
    /// The signature of a JWT must be checked first.
    Verify(JwtScope),
    /// The origin must be asked first.
    Ask(OriginScope),
}

/// A scope that claims of a JWT determine, once its signature was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JwtScope {
    token: Token,
    claims: Vec<String>,
    /// The sources that are joined with the claims.
    others: Vec<Part>,
}

impl Scope {
    /// Derives the scope of a request from the source, or the joined sources, that it contains.
    /// `headers` are the request's headers, with names in lower case.
    ///
    /// Returns an error if the request contains no source or more than one alternative, or a credential
    /// that changes or can be read in more than one way. If the scope also depends on a signature or on the
    /// origin, use [`Scope::step`].
    ///
    /// ```
    /// # use oncekey::{Scope, ScopeAliases, ScopeError, ScopeSources};
    /// let sources = ScopeSources::parse("header:X-Api-Key,header:Authorization").unwrap();
    /// let derive = |headers: &[(&'static str, &'static str)]| {
    ///     Scope::derive(&sources, &ScopeAliases::default(), headers.iter().copied())
    /// };
    /// assert_eq!(derive(&[("authorization", "Bearer t1")]), derive(&[("authorization", "bearer t1")]));
    /// assert!(matches!(derive(&[]), Err(ScopeError::Missing(_))));
    /// ```
    pub fn derive<'a>(
        sources: &ScopeSources,
        aliases: &ScopeAliases,
        headers: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Result<Self, ScopeError> {
        match Self::step(sources, aliases, headers)? {
            ScopeStep::Known(scope) => Ok(scope),
            ScopeStep::Verify(_) | ScopeStep::Ask(_) => Err(ScopeError::Unchecked),
        }
    }

    /// Derives the scope of a request, as far as the request alone determines it. `headers` are the
    /// request's headers, with names in lower case. The errors are those of [`Scope::derive`].
    pub fn step<'a>(
        sources: &ScopeSources,
        aliases: &ScopeAliases,
        headers: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Result<ScopeStep, ScopeError> {
        if let Some(question) = sources.question(headers.clone())? {
            return Ok(ScopeStep::Ask(question));
        }
        let (mut parts, mut claims, mut authorization) = (Vec::new(), Vec::new(), None);
        for (source, value) in sources.read(headers)? {
            if let ScopeSource::Claim(name) = source {
                claims.push(name.clone());
                authorization = Some(value);
            } else {
                parts.push((source, ScopePart::read(source, &value, aliases)?));
            }
        }
        if let Some(authorization) = authorization {
            let token = Token::parse(&authorization).map_err(ScopeError::Token)?;
            let others = parts.into_iter().map(|(source, part)| part.of(source)).collect();
            return Ok(ScopeStep::Verify(JwtScope { token, claims, others }));
        }
        Ok(ScopeStep::Known(match &parts[..] {
            [(_, ScopePart::Tenant(tenant))] => Self::of_tenant(tenant),
            [(source, ScopePart::Credential(value))] => {
                let [kind, name] = source.parts();
                Self::hash(&[kind, name, value].map(str::as_bytes))
            }
            _ => Self::of_parts(parts.into_iter().map(|(source, part)| part.of(source))),
        }))
    }
}

impl JwtScope {
    /// Returns the token whose signature must be checked.
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// Returns the scope. `is_signed` is whether the signature was found to be valid.
    pub fn decide(
        self,
        is_signed: bool,
        rules: &TokenRules,
        now: UnixMillis,
    ) -> Result<Scope, ScopeError> {
        let values = rules.check(&self.token, is_signed, &self.claims, now);
        let values = values.map_err(|refused| match refused {
            TokenRefused::Token(error) => ScopeError::Token(error),
            TokenRefused::NoClaim(claim) => ScopeError::NoClaim(claim),
        })?;
        // No other source has the kinds of these parts, so no other source has this scope.
        let issuer = ["issuer".to_owned(), String::new(), rules.issuer.clone()];
        let claims = self.claims.into_iter().zip(values);
        let claims = claims.map(|(claim, value)| value.part("jwt", claim));
        Ok(Scope::of_parts(self.others.into_iter().chain([issuer]).chain(claims)))
    }
}

impl ScopePart {
    /// Returns what is hashed if the source is joined with others.
    fn of(self, source: &ScopeSource) -> Part {
        let [kind, name] = source.parts();
        let (kind, value) = match self {
            Self::Tenant(tenant) => ("tenant", tenant),
            Self::Credential(value) => (kind, value),
        };
        [kind.to_owned(), name.to_owned(), value]
    }
}
