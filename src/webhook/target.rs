//! Where webhooks may be sent. A caller chooses the URL and the server sends to it, so without a
//! rule the caller could have the server speak to what only the server can reach.
//!
//! The rule takes few spellings rather than knowing all bad ones: `https`, and a name in plain
//! letters with at least one dot, whose end is not one of those that private networks use. An IP
//! address is refused in every spelling, public ones too: a webhook has a name, since it has a
//! certificate. What is left out of an URL here is what URL parsers disagree on, so what was
//! checked is what is asked.
//!
//! A name may still lead to a private address, today or tomorrow (DNS rebinding). That is seen only
//! where names are looked up, which is not here.

use core::fmt;

/// How far webhooks may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// What anybody on the Internet can reach, by TLS.
    Public,
    /// Whatever there is: for local development alone.
    Local,
}

/// Why an URL is refused. Its text is the end of a sentence that begins with the URL's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TargetError {
    /// It is no URL of the plain kind that is taken.
    NotAnUrl,
    /// It is not `https`.
    NotHttps,
    /// Its host is an IP address, or would be read as one.
    Address,
    /// Its host is a name of private networks.
    PrivateName,
}

/// The longest URL, in bytes.
const MAX_LENGTH: usize = 2048;

/// Ends of names that only a private network, or nobody, has: RFC 6761, 6762, 7686, 8375 and 9476,
/// ICANN's `internal`, what routers and companies use without asking, and the names of services in
/// Kubernetes (also those that its search path completes, as in `payments.default`), Consul, Mesos,
/// Nomad and the like. None of them is a top-level domain.
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

/// Labels in the middle of names of services and pods in a cluster, whatever the cluster's own end:
/// `payments.shop.svc.cluster.example`.
const CLUSTER_LABELS: [&str; 2] = ["svc", "pod"];

/// Checks an URL that webhooks are to be sent to.
pub fn check_target(url: &str, reach: Reach) -> Result<(), TargetError> {
    // A backslash is a slash to some parsers, and a fragment is never sent.
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

/// `host` in lower case.
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
    // An URL parser reads every host with a number at its end as an IPv4 address: 127.1, 0x7f000001,
    // 017700000001 and the like. No top-level domain begins with a digit.
    let last = host.rsplit('.').next().unwrap_or(host);
    if last.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(TargetError::Address);
    }
    // Nor does one hold a hyphen, except in the ASCII form of other scripts: `kube-system` does.
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
