//! Which URLs webhooks may be sent to. A caller chooses the URL and the server sends to it, so without
//! a rule a caller could make the server send requests to hosts that only the server can reach (SSRF).
//!
//! The rule lists what is allowed, not what is forbidden: `https`, and a host name in ASCII letters,
//! digits and hyphens with at least one dot, whose last label is not used in private networks. Every
//! IP address is refused, even a public one, because a webhook's host has a name in its certificate.
//! A URL that parsers may read differently is refused, so the host that was checked is the host that
//! gets the request.
//!
//! A public name may still resolve to a private address, now or later (DNS rebinding). Only a resolver
//! can notice that; this module does not resolve names.

use core::fmt;

/// Which hosts webhooks may be sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Public host names, over TLS.
    Public,
    /// Any host, with or without TLS: for local development only.
    Local,
}

/// Why a URL is refused. Its text completes a sentence that begins with the URL's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TargetError {
    /// The URL has another form, or is too long.
    NotAnUrl,
    /// The scheme is not `https`.
    NotHttps,
    /// The host is an IP address, or URL parsers would read it as one.
    Address,
    /// The host name belongs to a private network.
    PrivateName,
}

/// The length of the longest URL, in bytes.
const MAX_LENGTH: usize = 2048;

/// Last labels of names that exist only in private networks or not at all: those of RFC 6761, 6762,
/// 7686, 8375 and 9476, ICANN's `internal`, labels that routers and companies use without a
/// registration, and labels of services in Kubernetes (also those that its search path completes, as
/// in `payments.default`), Consul, Mesos, Nomad and similar systems. None is a top-level domain.
const PRIVATE_ENDS: [&str; 53] = [
    "localhost",
    "local",
    "localdomain",
    "internal",
    "intranet",
    "intra",
    "private",
    "corp",
    "home",
    "lan",
    "wan",
    "arpa",
    "onion",
    "i2p",
    "test",
    "invalid",
    "alt",
    "domain",
    "workgroup",
    "router",
    "gateway",
    "vpn",
    "server",
    "svc",
    "pod",
    "cluster",
    "k8s",
    "kube",
    "kubernetes",
    "default",
    "namespace",
    "ns",
    "consul",
    "nomad",
    "mesos",
    "marathon",
    "dcos",
    "docker",
    "container",
    "containers",
    "swarm",
    "rancher",
    "openshift",
    "mesh",
    "istio",
    "linkerd",
    "weave",
    "flycast",
    "node",
    "service",
    "production",
    "staging",
    "prod",
];

/// Labels in the middle of names of services and pods in a cluster, whatever its domain, as in
/// `payments.shop.svc.cluster.example`.
const CLUSTER_LABELS: [&str; 2] = ["svc", "pod"];

/// Checks a URL before webhooks are sent to it.
///
/// # Errors
///
/// Returns an error if `reach` does not allow the URL.
pub fn check_target(url: &str, reach: Reach) -> Result<(), TargetError> {
    // Some parsers read a backslash as a slash. A fragment is never sent.
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'#');
    if url.len() > MAX_LENGTH || !url.bytes().all(is_plain) {
        return Err(TargetError::NotAnUrl);
    }
    let rest = match (url.strip_prefix("https://"), url.strip_prefix("http://")) {
        (Some(rest), _) => rest,
        (None, Some(rest)) if reach == Reach::Local => rest,
        (None, Some(_)) => return Err(TargetError::NotHttps),
        (None, None) => return Err(TargetError::NotAnUrl),
    };
    let authority = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
    if reach == Reach::Local {
        let is_harmless = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte);
        let fits = !authority.is_empty() && authority.bytes().all(is_harmless);
        return if fits { Ok(()) } else { Err(TargetError::NotAnUrl) };
    }
    if authority.starts_with('[') {
        return Err(TargetError::Address);
    }
    let (host, port) = authority.split_once(':').unwrap_or((authority, "443"));
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if !is_port || !matches!(port.parse::<u16>(), Ok(1..)) {
        return Err(TargetError::NotAnUrl);
    }
    check_name(&host.to_ascii_lowercase())
}

/// Checks a host name in lower case.
fn check_name(host: &str) -> Result<(), TargetError> {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if host.len() > 253 || !host.split('.').all(is_label) {
        return Err(TargetError::NotAnUrl);
    }
    // URL parsers read every host that ends in a number as an IPv4 address, such as 127.1, 0x7f000001
    // and 017700000001. No top-level domain begins with a digit.
    let last = host.rsplit('.').next().unwrap_or(host);
    if last.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(TargetError::Address);
    }
    // A top-level domain has no hyphen, except in the ASCII form of other scripts. `kube-system` has one.
    let is_domain = !last.contains('-') || last.starts_with("xn--");
    let is_in_cluster = host.split('.').skip(2).any(|label| CLUSTER_LABELS.contains(&label));
    if last == host || !is_domain || PRIVATE_ENDS.contains(&last) || is_in_cluster {
        return Err(TargetError::PrivateName);
    }
    Ok(())
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAnUrl => {
                "must be a URL of at most 2048 visible ASCII characters, such as \
                 https://shop.example/hooks, without user, backslash or fragment"
            }
            Self::NotHttps => "must be an https URL",
            Self::Address => "must have a host name, not an IP address",
            Self::PrivateName => "must have a public host name, not a name in a private network",
        })
    }
}

impl core::error::Error for TargetError {}
