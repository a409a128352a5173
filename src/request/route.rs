//! Routes: a method and a path pattern that say which requests a setting applies to.

mod ignored_parts;
mod rules;

pub use rules::{RouteRules, RuleError};

use crate::request::path;
use core::fmt;

/// A method and a path pattern, as in `POST:/v1/orders/*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    method: String,
    segments: Vec<String>,
}

/// Why a text is not a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RouteError {
    /// The text is not `METHOD:/path`.
    NotARoute,
    /// The method is not in upper case.
    BadMethod,
    /// A segment contains `*` together with other characters.
    BadWildcard,
}

impl Route {
    /// Parses `METHOD:/path`. A segment `*` matches one segment; as the last segment it matches one or
    /// more. The method may be `*` for all methods.
    pub fn parse(text: &str) -> Result<Self, RouteError> {
        let (method, path) = text.split_once(':').ok_or(RouteError::NotARoute)?;
        let path = path.strip_prefix('/').ok_or(RouteError::NotARoute)?;
        if method.is_empty() || !(method == "*" || method.bytes().all(|b| b.is_ascii_uppercase())) {
            return Err(RouteError::BadMethod);
        }
        let segments: Vec<String> = path.split('/').map(str::to_owned).collect();
        if segments.iter().any(|segment| segment.len() > 1 && segment.contains('*')) {
            return Err(RouteError::BadWildcard);
        }
        Ok(Self { method: method.to_owned(), segments })
    }

    /// Returns whether the route matches a request. Paths are compared byte by byte. `path` has no
    /// query.
    pub fn matches(&self, method: &str, path: &str) -> bool {
        if self.method != "*" && self.method != method {
            return false;
        }
        let Some(path) = path.strip_prefix('/') else {
            return false;
        };
        let mut segments = path.split('/');
        for (at, wanted) in self.segments.iter().enumerate() {
            let is_last = at + 1 == self.segments.len();
            match segments.next() {
                None => return false,
                Some("") if wanted == "*" => return false,
                Some(_) if wanted == "*" && is_last => return true,
                Some(_) if wanted == "*" => {}
                Some(segment) if segment == wanted => {}
                Some(_) => return false,
            }
        }
        segments.next().is_none()
    }

    /// Returns whether a lenient origin could read the path so that the route [matches](Self::matches)
    /// it. Such an origin ignores escapes, letter case, repeated slashes, parameters, the name of a
    /// front controller (`/index.php/v1/orders`) or a format (`/v1/orders.json`). Rules that must not be
    /// bypassed by another spelling use this check. A path that the route matches also passes it.
    pub fn could_match(&self, method: &str, path: &str) -> bool {
        self.canonical_path(method, path).is_some()
    }

    /// Returns the canonical form of a path on this route, or `None` if the route [cannot
    /// match](Self::could_match) the request. Paths that a lenient origin could read as the same path
    /// have the same canonical form.
    ///
    /// Segments that the route names are written as in the route. Segments that a wildcard matches are
    /// in lower case, without the parts that a lenient origin ignores. A path in lower case without
    /// dots, escapes and parameters is already canonical.
    pub fn canonical_path(&self, method: &str, path: &str) -> Option<String> {
        if self.method != "*" && self.method != method {
            return None;
        }
        let readings = path::lenient_readings(path);
        let found = readings.filter_map(|reading| {
            let steps: Vec<&str> = reading.split('/').filter(|step| !step.is_empty()).collect();
            ignored_parts::readings(&steps).iter().find_map(|steps| self.match_steps(steps))
        });
        // The shortest reading has none of the parts that an origin may ignore.
        let loosest = found.min_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
        loosest.or_else(|| self.matches(method, path).then(|| path.to_owned()))
    }

    /// Matches the steps of a lenient reading against the route and returns their path, with the
    /// spelling of the route where it names a segment.
    fn match_steps(&self, steps: &[&str]) -> Option<String> {
        let mut matched = String::new();
        let mut steps = steps.iter();
        let wanted = self.segments.iter().filter(|segment| !segment.is_empty());
        let mut wanted = wanted.map(String::as_str).peekable();
        while let Some(segment) = wanted.next() {
            let step = steps.next()?;
            let is_last = wanted.peek().is_none();
            if segment == "*" {
                matched.extend(["/", step]);
            } else if segment.eq_ignore_ascii_case(step)
                || (is_last
                    && ignored_parts::without_format(&segment.to_ascii_lowercase()) == *step)
            {
                matched.extend(["/", segment]);
            } else {
                return None;
            }
            if is_last && segment == "*" {
                for step in steps.by_ref() {
                    matched.extend(["/", step]);
                }
            }
        }
        if steps.next().is_some() {
            return None;
        }
        // A route without a wildcard has only one path: its own.
        Some(if self.has_no_wildcard() { format!("/{}", self.segments.join("/")) } else { matched })
    }

    pub(super) fn has_no_wildcard(&self) -> bool {
        !self.segments.iter().any(|segment| segment == "*")
    }

    /// Returns whether a request could match both routes.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        if self.method != other.method && self.method != "*" && other.method != "*" {
            return false;
        }
        if self.has_no_wildcard() && other.has_no_wildcard() {
            let path = |route: &Self| format!("/{}", route.segments.join("/"));
            let same_method = |route: &Self| Self { method: "*".to_owned(), ..route.clone() };
            return same_method(self).could_match("", &path(other))
                || same_method(other).could_match("", &path(self));
        }
        let steps = |route: &Self| -> Vec<String> {
            let steps = route.segments.iter().filter(|segment| !segment.is_empty());
            steps.map(|segment| segment.to_ascii_lowercase()).collect()
        };
        let (own, others) = (steps(self), steps(other));
        let mut pairs = own.iter().zip(&others).enumerate();
        let ends = |at: usize| {
            (own[at] == "*" && at + 1 == own.len()) || (others[at] == "*" && at + 1 == others.len())
        };
        let differ = |one: &String, other: &String| one != other && one != "*" && other != "*";
        match pairs.find(|(at, (one, other))| ends(*at) || differ(one, other)) {
            Some((at, _)) => ends(at),
            None => own.len() == others.len(),
        }
    }
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotARoute => "a route must be METHOD:/path, for example POST:/v1/orders",
            Self::BadMethod => {
                "the method of a route must be in capital letters, or * for all methods"
            }
            Self::BadWildcard => "in the path of a route, * must be a whole segment",
        })
    }
}

impl core::error::Error for RouteError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(route: &str, request: &str) -> bool {
        let (method, path) = request.split_once(' ').unwrap();
        Route::parse(route).unwrap().matches(method, path)
    }

    #[test]
    fn a_star_matches_one_segment_or_at_the_end_one_or_more() {
        assert!(matches("POST:/v1/orders", "POST /v1/orders"));
        assert!(!matches("POST:/v1/orders", "POST /v1/orders/"));
        assert!(matches("POST:/v1/orders/", "POST /v1/orders/"));
        assert!(matches("GET:/", "GET /"));
        assert!(!matches("POST:/v1/orders", "PUT /v1/orders"));
        assert!(!matches("POST:/v1/orders", "POST /v1/ordersx"));
        assert!(matches("POST:/v1/*", "POST /v1/orders/1/refund"));
        assert!(!matches("POST:/v1/*", "POST /v1"));
        assert!(!matches("POST:/v1/*", "POST /v1/"));
        assert!(matches("*:/v1/*/refund", "PATCH /v1/7/refund"));
        assert!(!matches("*:/v1/*/refund", "PATCH /v1/7/8/refund"));
        assert!(matches("*:/*", "DELETE /x"));
    }

    #[test]
    fn spellings_that_an_origin_may_route_in_the_same_way_are_found() {
        let route = Route::parse("POST:/V1/orders").unwrap();
        for path in [
            "/V1/orders",
            "/v1/Orders/",
            "//v1//orders",
            "/v1;x/%6frders",
            "/v1%2forders",
            "/v1/x/..;/orders",
            "/index.php/v1/orders",
            "/Index.PHP/v1/orders/",
            "/public/app.php/v1/orders",
            "/v1/api.cgi/orders",
            "/v1/orders.json",
            "/v1/orders.XML/",
            "/v1/orders.",
            "/v1/orders%20",
            "/v1/orders/index.php",
            "/v1/orders%3Fx=1",
            "/v1/orders%23x",
            "/v1/orders%00.json",
            "/v1/orders%253F/x",
        ] {
            assert!(route.could_match("POST", path), "{path}");
            assert!(!route.could_match("GET", path), "{path}");
        }
        for path in [
            "/v1/orders/x",
            "/v1/order",
            "/",
            "/v2/orders",
            "/v1/orders.json/x",
            "/v1/orders.a b",
            "/v1/.orders",
            "/v1/index.php",
            "/x/v1/orders",
            "/x.y/v1/orders",
            "/v1/orders/x.php",
        ] {
            assert!(!route.could_match("POST", path), "{path}");
        }
        assert!(!Route::parse("POST:/").unwrap().could_match("POST", "/v1/index.php"));
    }

    #[test]
    fn each_path_has_one_spelling_for_a_route() {
        for (route, path, spelt) in [
            ("POST:/V1/Orders", "/v1/orders.json", Some("/V1/Orders")),
            ("POST:/v1/orders/", "/v1/orders", Some("/v1/orders/")),
            ("POST:/v1/orders.json", "/v1/orders", Some("/v1/orders.json")),
            ("POST:/v1/orders.json", "/v1/orders.json", Some("/v1/orders.json")),
            ("POST:/index.php/v1/orders", "/index.php/v1/orders", Some("/index.php/v1/orders")),
            ("GET:/", "/", None),
            ("POST:/", "/", Some("/")),
            ("POST:/", "//", Some("/")),
            ("POST:/v1/*", "/v1/orders", Some("/v1/orders")),
            ("POST:/v1/*", "/v1/orders/7/pay", Some("/v1/orders/7/pay")),
            ("POST:/v1/*", "/V1/Orders.json", Some("/v1/orders")),
            ("POST:/v1/*", "/index.php/v1//Orders;x/", Some("/v1/orders")),
            ("POST:/v1/*", "/v1/a%2fb", Some("/v1/a/b")),
            ("POST:/v1/*", "/v1/%2561b", Some("/v1/ab")),
            ("POST:/v1/*", "/v1/index.php", Some("/v1/index")),
            ("POST:/*/Refund", "/7.5/refund", Some("/7.5/Refund")),
            ("POST:/v1/*", "/v1", None),
            ("POST:/v1/*", "/v1/", None),
        ] {
            let route = Route::parse(route).unwrap();
            assert_eq!(route.canonical_path("POST", path).as_deref(), spelt, "{path}");
        }
    }

    #[test]
    fn the_error_of_an_invalid_route_says_what_is_wrong() {
        assert_eq!(Route::parse("/v1"), Err(RouteError::NotARoute));
        assert_eq!(Route::parse("POST:v1"), Err(RouteError::NotARoute));
        assert_eq!(Route::parse("post:/v1"), Err(RouteError::BadMethod));
        assert_eq!(Route::parse(":/v1"), Err(RouteError::BadMethod));
        assert_eq!(Route::parse("POST:/v1/a*"), Err(RouteError::BadWildcard));
    }
}
