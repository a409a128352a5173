//! Which requests a setting is about: a method and a path pattern.

use crate::path;
use core::fmt;

/// A method and a path pattern, as in `POST:/v1/orders/*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    method: String,
    segments: Vec<String>,
}

/// Why a text is no route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RouteError {
    /// It is not `METHOD:/path`.
    NotARoute,
    /// The method is not in capital letters.
    BadMethod,
    /// A `*` stands beside other characters of a segment.
    BadWildcard,
}

impl Route {
    /// Reads `METHOD:/path`. A segment `*` stands for one segment, and as the last one for all that
    /// follow, at least one. The method may be `*` too.
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

    /// Whether a request is meant. Paths are compared as they stand, without the query.
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

    /// Whether an origin that is careless with paths could take a request for one that is meant: with
    /// escapes, capitals, slashes to spare or parameters. For rules that must not be gone past by
    /// another spelling; the path by the letter is among them.
    pub fn could_match(&self, method: &str, path: &str) -> bool {
        let in_small_letters = Self {
            segments: self.segments.iter().map(|one| one.to_ascii_lowercase()).collect(),
            ..self.clone()
        };
        self.matches(method, path)
            || path::careless(path).any(|path| in_small_letters.matches(method, &path))
    }
}

impl fmt::Display for RouteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotARoute => "a route is METHOD:/path, for example POST:/v1/orders",
            Self::BadMethod => "a route's method is in capital letters, or * for all",
            Self::BadWildcard => "in a route's path * stands for a whole segment",
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
    fn a_star_is_one_segment_and_at_the_end_all_that_follow() {
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
    fn another_spelling_could_match() {
        let route = Route::parse("POST:/V1/orders").unwrap();
        for path in ["/V1/orders", "/v1/Orders/", "//v1//orders", "/v1;x/%6frders", "/v1%2forders"]
        {
            assert!(route.could_match("POST", path), "{path}");
            assert!(!route.could_match("GET", path), "{path}");
        }
        for path in ["/v1/orders/x", "/v1/order", "/", "/v2/orders"] {
            assert!(!route.could_match("POST", path), "{path}");
        }
    }

    #[test]
    fn what_is_no_route_says_why() {
        assert_eq!(Route::parse("/v1"), Err(RouteError::NotARoute));
        assert_eq!(Route::parse("POST:v1"), Err(RouteError::NotARoute));
        assert_eq!(Route::parse("post:/v1"), Err(RouteError::BadMethod));
        assert_eq!(Route::parse(":/v1"), Err(RouteError::BadMethod));
        assert_eq!(Route::parse("POST:/v1/a*"), Err(RouteError::BadWildcard));
    }
}
