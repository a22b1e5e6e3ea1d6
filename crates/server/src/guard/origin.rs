//! Host and Origin checks, against DNS rebinding and cross-site requests.

use std::net::{Ipv4Addr, Ipv6Addr};

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use windlass_api::Code;

use crate::error::HttpError;

/// Rejects unknown host names: an attacker can point a name at this server. IP addresses and
/// `localhost` are always accepted.
pub(super) fn check_host(hosts: &[String], request: &Request) -> Result<(), HttpError> {
    let mut values = request.headers().get_all(header::HOST).iter();
    let host = values.next().and_then(|host| host.to_str().ok());
    let is_single = values.next().is_none();
    let name = host.filter(|_| is_single).and_then(host_name);
    let is_known = name.is_some_and(|name| {
        is_address(name)
            || name.eq_ignore_ascii_case("localhost")
            || hosts.iter().any(|known| name.eq_ignore_ascii_case(known))
    });
    // A request line with another authority, as sent to proxies, is not for this server.
    let is_ours = request
        .uri()
        .authority()
        .is_none_or(|authority| Some(authority.as_str()) == host);
    if is_known && is_ours {
        return Ok(());
    }
    let why = "unknown host name in the request";
    let help = "use the IP address of the server, or start it with --host NAME";
    Err(HttpError::new(Code::WrongHost, why, help))
}

/// Returns a host without its port, or `None` if it is malformed.
fn host_name(host: &str) -> Option<&str> {
    if host.starts_with('[') {
        let end = host.find(']')?;
        let port = &host[end + 1..];
        return is_port(port).then(|| &host[..=end]);
    }
    let (name, port) = host.find(':').map_or((host, ""), |at| host.split_at(at));
    (is_port(port) && !name.is_empty()).then_some(name)
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':')
        .map_or(text.is_empty(), |port| port.parse::<u16>().is_ok())
}

fn is_address(name: &str) -> bool {
    let inner = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    inner.map_or_else(
        || name.parse::<Ipv4Addr>().is_ok(),
        |inner| inner.parse::<Ipv6Addr>().is_ok(),
    )
}

/// Rejects requests that a browser sends for a page of another site. Other programs send neither
/// header.
pub(super) fn check_origin(headers: &HeaderMap) -> Result<(), HttpError> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    let is_ours = match (text("sec-fetch-site"), text("origin")) {
        (Some(site), _) => matches!(site, "same-origin" | "none"),
        (None, Some(origin)) => {
            let host = text("host").unwrap_or("");
            let of = |scheme| origin.strip_prefix(scheme).is_some_and(|it| it == host);
            of("http://") || of("https://")
        }
        (None, None) => true,
    };
    if is_ours {
        return Ok(());
    }
    let why = "the request comes from a page of another site";
    let help = "call the API from a program, or from a page served by this server";
    Err(HttpError::new(Code::Forbidden, why, help))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn host(text: &str) -> bool {
        let request = Request::builder().uri("/").header("host", text);
        let request = request.body(Body::empty()).unwrap();
        check_host(&["jobs.example".to_owned()], &request).is_ok()
    }

    #[test]
    fn only_addresses_localhost_and_given_names_are_our_host() {
        for ours in [
            "localhost",
            "LOCALHOST:7700",
            "127.0.0.1:7700",
            "[::1]:7700",
            "10.0.0.7",
            "jobs.example:80",
        ] {
            assert!(host(ours), "{ours}");
        }
        for other in [
            "evil",
            "evil:7700",
            "localhost.evil",
            "jobs.example.evil",
            "",
            ":80",
            "localhost:",
            "localhost:x",
            "[::1",
            "127.0.0.1.evil",
            "::1",
            "a@localhost",
        ] {
            assert!(!host(other), "{other}");
        }
        let twice = Request::builder()
            .header("host", "localhost")
            .header("host", "evil");
        assert!(check_host(&[], &twice.body(Body::empty()).unwrap()).is_err());
        let none = Request::builder().body(Body::empty()).unwrap();
        assert!(check_host(&[], &none).is_err());
    }

    #[test]
    fn a_page_of_another_site_is_rejected() {
        let check = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            headers.insert("host", "localhost:7700".parse().unwrap());
            for (name, value) in pairs {
                headers.insert(*name, value.parse().unwrap());
            }
            check_origin(&headers).is_ok()
        };
        for ours in [
            &[][..],
            &[("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "none")],
            &[("origin", "http://localhost:7700")],
        ] {
            assert!(check(ours), "{ours:?}");
        }
        for other in [
            &[("sec-fetch-site", "same-site")][..],
            &[
                ("sec-fetch-site", "cross-site"),
                ("origin", "http://localhost:7700"),
            ],
            &[("origin", "null")],
            &[("origin", "http://evil")],
            &[("origin", "http://localhost:7700.evil")],
            &[("origin", "http://localhost")],
        ] {
            assert!(!check(other), "{other:?}");
        }
    }
}
