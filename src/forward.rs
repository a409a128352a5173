//! How a gateway passes a request on to the origin.

/// Whether something between the gateway and the origin may send a request of this method a second
/// time when a connection breaks, as RFC 9110 §9.2.2 allows for idempotent methods. workerd's fetch
/// does so for a PUT or a DELETE without a body.
///
/// POST and PATCH are not idempotent, so nobody on the way may repeat them. Every other write needs
/// a body that cannot be sent twice.
pub fn may_be_repeated(method: &str) -> bool {
    !matches!(method, "POST" | "PATCH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_methods_that_are_not_idempotent_are_never_repeated() {
        for method in ["PUT", "DELETE", "MKCOL", "COPY", "PURGE", "post"] {
            assert!(may_be_repeated(method), "{method}");
        }
        assert!(!may_be_repeated("POST") && !may_be_repeated("PATCH"));
    }
}
