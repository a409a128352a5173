//! The URLs to which webhooks may be sent, as a table of spellings.

use oncekey::webhook::target::{Reach, TargetError, check_target};

#[test]
fn public_names_are_accepted() {
    for url in [
        "https://shop.example",
        "https://shop.example/",
        "https://hooks.shop.example/a/b?c=d&e=http://127.0.0.1/",
        "https://shop.example:8443/@127.0.0.1",
        "https://SHOP.Example/x",
        "https://xn--bcher-kva.example/",
        "https://127.0.0.1.nip.example/",
        "https://a-b.c1.example?x",
        "https://local.example/",
        "https://localhost.example/",
        "https://1.2.3.example/",
    ] {
        assert_eq!(check_target(url, Reach::Public), Ok(()), "{url}");
        assert_eq!(check_target(url, Reach::Local), Ok(()), "{url}");
    }
}

#[test]
fn the_longest_url_is_accepted_and_a_longer_one_refused() {
    let url = |length: usize| format!("https://shop.example/{:a>1$}", "", length - 21);
    // The longest name has 253 characters.
    let name = |last: usize| format!("https://{}{}.example", "a.".repeat(100), "a".repeat(last));
    for (fits, too_long) in [(url(2048), url(2049)), (name(45), name(46))] {
        assert_eq!(check_target(&fits, Reach::Public), Ok(()), "{fits}");
        assert_eq!(check_target(&too_long, Reach::Public), Err(TargetError::NotAnUrl));
    }
}

#[test]
fn addresses_are_refused_in_every_spelling() {
    for host in [
        // IPv4: loopback, private, link-local, shared, this network, broadcast, a public address
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "8.8.8.8",
        // one number, in decimal, octal and hexadecimal; several parts in each
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0X7F000001",
        "0x7f.1",
        "0177.0.0.01",
        "127.0.0.0x1",
        "1.2.3.09",
        "4294967296",
        "999.999.999.999",
        "127.0.0.1.0x",
        "shop.example.1",
        // IPv6: loopback, unspecified, ULA, link-local, IPv4 in several ways, with a zone
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[fc00::1]",
        "[fd12:3456:789a::1]",
        "[fe80::1]",
        "[fe80::1%25eth0]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[2606:4700:4700::1111]",
    ] {
        for url in [format!("https://{host}"), format!("https://{host}:8443/hooks")] {
            assert_eq!(check_target(&url, Reach::Public), Err(TargetError::Address), "{url}");
        }
    }
}

#[test]
fn private_names_are_refused() {
    for host in [
        "localhost",
        "LOCALHOST",
        "app.localhost",
        "printer.local",
        "a.localdomain",
        "metadata.google.internal",
        "ip-10-0-0-1.ec2.internal",
        "router.home.arpa",
        "1.0.0.127.in-addr.arpa",
        "nas.lan",
        "wiki.corp",
        "wiki.intranet",
        "hidden.onion",
        "a.test",
        "a.invalid",
        "db.service.consul",
        "metadata",
        "kubernetes",
        "payments.shop.svc",
        "payments.shop.SVC",
        "payments.shop.svc.cluster.local",
        "payments.shop.svc.cluster.example",
        "10-0-0-1.shop.pod.cluster.example",
        "svc.cluster.local",
        "payments.default",
        "dns.kube-system",
        "app.flycast",
        "web.marathon.mesos",
        "nas.local",
        "db.internal",
        "host.docker.internal",
    ] {
        let url = format!("https://{host}/hooks");
        assert_eq!(check_target(&url, Reach::Public), Err(TargetError::PrivateName), "{url}");
    }
}

#[test]
fn a_url_that_parsers_read_differently_is_refused() {
    let long_label = format!("https://{}.example", "a".repeat(64));
    let long_name = format!("https://{}example", "a.".repeat(130));
    let long_url = format!("https://shop.example/{}", "a".repeat(2048));
    for url in [
        "",
        "shop.example",
        "//shop.example",
        "https:/shop.example",
        "https:shop.example",
        "https:///shop.example",
        "https://",
        "https:///",
        "https://?x",
        "HTTPS://shop.example",
        "ftp://shop.example",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/plain,x",
        // a user, and a URL that seems to have one
        "https://user@shop.example/",
        "https://user:pass@127.0.0.1/",
        "https://shop.example@127.0.0.1/",
        "https://shop.example:443@127.0.0.1/",
        "https://127.0.0.1\\@shop.example/",
        "https://shop.example\\.evil.example/",
        "https://127.0.0.1#@shop.example/",
        "https://shop.example/#fragment",
        // white space and controls, which parsers strip
        " https://shop.example",
        "https://shop.example ",
        "https://shop.exam\tple/",
        "https://shop.exam\nple/",
        "https://shop.example/\u{0}",
        // escapes and other scripts, which some parsers fold to ASCII
        "https://%6cocalhost/",
        "https://127.0.0.%31/",
        "https://loc%61lhost/",
        "https://ⓛocalhost/",
        "https://１２７.0.0.1/",
        "https://127。0。0。1/",
        "https://bücher.example/",
        "https://shop.example/ü",
        // invalid names
        "https://localhost./",
        "https://127.0.0.1./",
        "https://shop.example./",
        "https://.shop.example/",
        "https://shop..example/",
        "https://-shop.example/",
        "https://shop-.example/",
        "https://sh_op.example/",
        "https://shop.example,127.0.0.1/",
        "https://shop.example;a/",
        "https://::1/",
        // ports
        "https://shop.example:/",
        "https://shop.example:0/",
        "https://shop.example:65536/",
        "https://shop.example:+443/",
        "https://shop.example:44a/",
        "https://shop.example:443:443/",
        &long_label,
        &long_name,
        &long_url,
    ] {
        assert_eq!(check_target(url, Reach::Public), Err(TargetError::NotAnUrl), "{url:?}");
    }
}

#[test]
fn http_is_accepted_only_in_local_development() {
    let url = "http://shop.example/";
    assert_eq!(check_target(url, Reach::Public), Err(TargetError::NotHttps));
    assert_eq!(check_target(url, Reach::Local), Ok(()));
    assert_eq!(check_target("http://127.0.0.1:1/", Reach::Public), Err(TargetError::NotHttps));
}

#[test]
fn local_development_accepts_any_host_but_only_valid_urls() {
    for url in [
        "http://127.0.0.1:9000/hooks",
        "http://localhost:9000/",
        "http://[::1]:9000/",
        "https://10.0.0.1/",
        "http://receiver",
    ] {
        assert_eq!(check_target(url, Reach::Local), Ok(()), "{url}");
    }
    for url in [
        "",
        "localhost:9000",
        "ftp://127.0.0.1/",
        "http://",
        "http:///",
        "http://user@127.0.0.1/",
        "http://127.0.0.1\\/",
        "http://127.0.0.1/#x",
        "http://127.0.0.1 /",
        "http://%31/",
    ] {
        assert_eq!(check_target(url, Reach::Local), Err(TargetError::NotAnUrl), "{url:?}");
    }
}

#[test]
fn no_text_causes_a_panic() {
    let url = "https://user@Shop.example:443/a?b#c";
    for start in 0..=url.len() {
        for end in start..=url.len() {
            for reach in [Reach::Public, Reach::Local] {
                let _ = check_target(&url[start..end], reach);
                let _ = check_target(&format!("https://{}é", &url[start..end]), reach);
                let _ = check_target(&format!("https://{}", &url[start..end]), reach);
            }
        }
    }
}
