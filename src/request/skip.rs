//! The setting `SKIP`: writes that the gateway passes through without looking at a key.
//!
//! A route that needs protection must not become reachable by another spelling of a skipped path. So a
//! skipped route matches literally. If it has a wildcard, the part of the path that the wildcard matches
//! must have one reading only, and routes that are protected take precedence.

use super::path::has_one_reading;
use super::route::{Route, RouteError};
use crate::codec::list::entries;
use core::fmt;

/// The routes whose writes are passed through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SkippedRoutes(Vec<Route>);

/// A setting that protects a route lists it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProtectedRoute;

impl SkippedRoutes {
    /// Reads a list `METHOD:/path,…`.
    pub fn parse(list: &str) -> Result<Self, RouteError> {
        entries(list).map(Route::parse).collect::<Result<_, _>>().map(Self)
    }

    /// Checks that no route is skipped and protected. A route without a wildcard is an exception from
    /// a route with one. Other routes must not overlap.
    pub fn check<'a>(
        &self,
        mut protected: impl Iterator<Item = &'a Route>,
    ) -> Result<(), ProtectedRoute> {
        let conflicts = protected.any(|protected| {
            self.0.iter().any(|skipped| {
                skipped.has_no_wildcard() == protected.has_no_wildcard()
                    && skipped.overlaps(protected)
            })
        });
        if conflicts { Err(ProtectedRoute) } else { Ok(()) }
    }

    /// Returns whether a request is passed through. `is_protected` says whether another setting protects
    /// its route, in any spelling.
    pub fn skip(&self, method: &str, path: &str, is_protected: impl Fn() -> bool) -> bool {
        self.0.iter().any(|route| {
            route.matches(method, path)
                && (route.has_no_wildcard() || (has_one_reading(path) && !is_protected()))
        })
    }
}

impl fmt::Display for ProtectedRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "must not list a route that KEY_REQUIRED or BUSINESS_KEYS lists too. Only a route without * may be an exception from a route with *",
        )
    }
}

impl core::error::Error for ProtectedRoute {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_route_is_matched_literally() {
        let skipped = SkippedRoutes::parse("POST:/v1/search,POST:/v1/reports/*").unwrap();
        let skips = |path: &str| skipped.skip("POST", path, || false);
        for path in ["/v1/search", "/v1/reports/a", "/v1/reports/a/b-c_d.e~f"] {
            assert!(skips(path), "{path}");
            assert!(!skipped.skip("PUT", path, || false), "{path}");
        }
        for path in [
            "/v1/search/",
            "/v1/Search",
            "/v1//search",
            "/v1/search;a",
            "/v1/search.json",
            "/v1/search%2f",
            "/v1/reports/..%2forders",
            "/v1/reports/..;/orders",
            "/v1/reports/a%00",
            "/v1/reports/a\\b",
            "/v1/reports/a//b",
            "/v1/reports/../orders",
            "/v1/reports/",
            "/v1/orders",
        ] {
            assert!(!skips(path), "{path}");
        }
    }

    #[test]
    fn a_protected_route_takes_precedence_over_a_wildcard() {
        let skipped = SkippedRoutes::parse("POST:/v1/*,POST:/v2/search").unwrap();
        assert!(!skipped.skip("POST", "/v1/orders", || true));
        assert!(skipped.skip("POST", "/v2/search", || true));
    }

    #[test]
    fn a_route_is_not_skipped_and_protected() {
        for (skipped, protected, fits) in [
            ("POST:/v1/search", "POST:/v1/search", false),
            ("POST:/v1/search", "*:/V1/Search", false),
            ("POST:/v1/search.json", "POST:/v1/search", false),
            ("POST:/v1/search/", "POST:/v1/search", false),
            ("*:/v1/search", "POST:/v1/search", false),
            ("POST:/v1/*", "POST:/v1/orders/*", false),
            ("POST:/v1/*/search", "POST:/*/a/search", false),
            ("POST:/v1/*", "POST:/*", false),
            ("POST:/v1/search", "POST:/v1/*", true),
            ("POST:/v1/*", "POST:/v1/orders", true),
            ("POST:/v1/search", "PUT:/v1/search", true),
            ("POST:/v1/search", "POST:/v1/orders", true),
            ("POST:/v1/*/a", "POST:/v1/*/b", true),
            ("POST:/v1/*", "POST:/v2/*", true),
        ] {
            let skipped = SkippedRoutes::parse(skipped).unwrap();
            let protected = Route::parse(protected).unwrap();
            assert_eq!(
                skipped.check([&protected].into_iter()).is_ok(),
                fits,
                "{skipped:?} {protected:?}"
            );
        }
    }
}
