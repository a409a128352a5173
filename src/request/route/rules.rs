//! Settings for routes: lists of `METHOD:/path:ARGUMENT`.
//!
//! All settings that name routes have this syntax. Only the argument differs, so each setting brings a
//! parser for its own. An entry without a route applies to all routes, where the setting allows that.

use super::{Route, RouteError};
use crate::codec::list::entries;
use core::fmt;

/// The values of a setting, each with the route that it applies to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RouteRules<T> {
    /// The route of each value; `None` for all routes.
    routes: Vec<Option<Route>>,
    values: Vec<T>,
}

/// Why a list of rules cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleError<E> {
    /// An entry is not `METHOD:/path:ARGUMENT`.
    NotAnEntry,
    /// The route of an entry cannot be read.
    Route(RouteError),
    /// The argument of an entry cannot be read.
    Argument(E),
}

impl<T> RouteRules<T> {
    /// Reads a list `METHOD:/path:ARGUMENT,…`.
    pub fn parse<E>(
        list: &str,
        argument: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Self, RuleError<E>> {
        if entries(list).any(|entry| matches!(split(entry), Split::Argument)) {
            return Err(RuleError::NotAnEntry);
        }
        Self::parse_optional(list, argument)
    }

    /// Reads a list in which entries may leave out the route, as in `ARGUMENT,METHOD:/path:ARGUMENT`.
    pub fn parse_optional<E>(
        list: &str,
        argument: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Self, RuleError<E>> {
        let mut all = Self::default();
        for entry in entries(list) {
            let (route, text) = match split(entry) {
                Split::Route(route, rest) => {
                    (Some(Route::parse(route).map_err(RuleError::Route)?), rest)
                }
                Split::RouteAlone => return Err(RuleError::NotAnEntry),
                Split::Argument => (None, entry),
            };
            all.routes.push(route);
            all.values.push(argument(text).map_err(RuleError::Argument)?);
        }
        Ok(all)
    }

    /// Adds rules after these.
    pub fn append(&mut self, others: Self) {
        self.routes.extend(others.routes);
        self.values.extend(others.values);
    }

    /// Returns the rule for a request: the first one whose route [could match](Route::could_match). If
    /// that route does not match literally, a rule whose route has no wildcard and matches literally
    /// takes precedence.
    pub fn first(&self, method: &str, path: &str) -> Option<(&Route, &T)> {
        let (at, route) = first_of(&self.routes, method, path)?;
        Some((route, &self.values[at]))
    }

    /// Returns the values of all rules whose route matches a request, and of those for all routes. If no
    /// route matches literally, the rules count whose route [could match](Route::could_match).
    pub fn all(&self, method: &str, path: &str) -> Vec<&T> {
        all_of(&self.routes, method, path).into_iter().map(|at| &self.values[at]).collect()
    }

    /// Returns all values with their routes. The route is `None` for all routes.
    pub fn iter(&self) -> impl Iterator<Item = (Option<&Route>, &T)> {
        self.routes.iter().map(Option::as_ref).zip(&self.values)
    }
}

impl<T> Default for RouteRules<T> {
    fn default() -> Self {
        Self { routes: Vec::new(), values: Vec::new() }
    }
}

fn first_of<'r>(
    routes: &'r [Option<Route>],
    method: &str,
    path: &str,
) -> Option<(usize, &'r Route)> {
    let routes = || routes.iter().enumerate().filter_map(|(at, route)| Some((at, route.as_ref()?)));
    let first = routes().find(|(_, route)| route.could_match(method, path))?;
    let is_exact = |route: &Route| route.has_no_wildcard() && route.matches(method, path);
    let exact = routes().find(|(_, route)| is_exact(route));
    Some(exact.filter(|_| !first.1.matches(method, path)).unwrap_or(first))
}

fn all_of(routes: &[Option<Route>], method: &str, path: &str) -> Vec<usize> {
    let of = |matches_route: &dyn Fn(&Route) -> bool| -> Vec<usize> {
        let is_for = |route: &Option<Route>| route.as_ref().is_none_or(matches_route);
        (0..routes.len()).filter(|at| is_for(&routes[*at])).collect()
    };
    let literal = of(&|route| route.matches(method, path));
    if literal.iter().any(|at| routes[*at].is_some()) {
        literal
    } else {
        of(&|route| route.could_match(method, path))
    }
}

/// An entry, split after the path. The path has no colon; the argument may have one.
enum Split<'a> {
    Route(&'a str, &'a str),
    /// A route without an argument.
    RouteAlone,
    /// The entry does not begin like a route.
    Argument,
}

fn split(entry: &str) -> Split<'_> {
    let Some((method, rest)) = entry.split_once(':') else {
        return Split::Argument;
    };
    // Arguments begin with a slash, a digit or the name of a header, and have no colon before that.
    if method.starts_with('/') {
        return Split::Argument;
    }
    match rest.find(':') {
        None => Split::RouteAlone,
        Some(end) => {
            let end = method.len() + 1 + end;
            Split::Route(&entry[..end], &entry[end + 1..])
        }
    }
}

impl<E: fmt::Display> fmt::Display for RuleError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnEntry => {
                f.write_str("each entry must begin with its route, as in POST:/v1/orders:VALUE")
            }
            Self::Route(error) => error.fmt(f),
            Self::Argument(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> core::error::Error for RuleError<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<u8, &'static str> {
        text.parse().map_err(|_| "no number")
    }

    #[test]
    fn the_first_matching_rule_applies_unless_a_later_rule_matches_exactly() {
        for (list, path, one, all) in [
            ("POST:/a:0,POST:/*:1", "/a", Some(0), &[0, 1][..]),
            ("POST:/*:0,POST:/a:1", "/a", Some(0), &[0, 1]),
            ("POST:/a:0,POST:/*:1", "/a/", Some(0), &[1]),
            ("POST:/a:0,POST:/a.json:1", "/a.json", Some(1), &[1]),
            ("POST:/a:0,POST:/a.json:1", "/A.json", Some(0), &[0, 1]),
            ("POST:/a:0,POST:/A:1", "/A", Some(1), &[1]),
            ("POST:/a:0", "/b", None, &[]),
        ] {
            let rules = RouteRules::parse(list, number).unwrap();
            assert_eq!(rules.first("POST", path).map(|rule| *rule.1), one, "{list} {path}");
            let found: Vec<u8> = rules.all("POST", path).into_iter().copied().collect();
            assert_eq!(found, all, "{list} {path}");
        }
    }

    #[test]
    fn an_entry_without_a_route_is_for_all_routes_where_that_is_allowed() {
        let rules = RouteRules::parse_optional("7,POST:/a:8", number).unwrap();
        assert_eq!(rules.all("POST", "/a"), [&7, &8]);
        assert_eq!(rules.all("PUT", "/"), [&7]);
        assert_eq!(rules.first("PUT", "/"), None);
        assert_eq!(RouteRules::parse("7", number), Err(RuleError::NotAnEntry));
    }

    #[test]
    fn the_error_of_an_invalid_rule_says_what_is_wrong() {
        for (list, error) in [
            ("POST:/a", RuleError::NotAnEntry),
            ("POST:7", RuleError::NotAnEntry),
            ("post:/a:7", RuleError::Route(RouteError::BadMethod)),
            ("POST:a:7", RuleError::Route(RouteError::NotARoute)),
            ("POST:/a*:7", RuleError::Route(RouteError::BadWildcard)),
            ("POST:/a:x", RuleError::Argument("no number")),
            ("POST:/a:7,x", RuleError::NotAnEntry),
        ] {
            assert_eq!(RouteRules::parse(list, number), Err(error), "{list}");
        }
    }
}
