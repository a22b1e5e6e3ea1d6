//! The address to listen on: `127.0.0.1:7700`, `[::1]:7700` or `localhost:7700`.

use std::net::{SocketAddr, ToSocketAddrs};

use windlass::{Error, Result};

/// Parses an address. A host name stands for its first address, preferably of IPv4.
pub(in crate::commands) fn parse(text: &str) -> Result<SocketAddr> {
    let bad =
        |why: &str, help: String| Error::invalid("address", format!("{why} in {text:?}"), help);
    if let Some((_, address)) = text.split_once("://") {
        let address = address.trim_end_matches('/');
        return Err(bad("a URL", format!("write {address}")));
    }
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() => (host, port),
        _ => {
            let port = text.trim_start_matches(':');
            let help = match port.parse::<u16>() {
                Ok(_) => format!(
                    "write 127.0.0.1:{port} for this machine, 0.0.0.0:{port} for all addresses"
                ),
                Err(_) => format!("add a port: {text}:7700"),
            };
            let is_host = port == text && port.parse::<u16>().is_err();
            let why = if is_host { "no port" } else { "no host" };
            return Err(bad(why, help));
        }
    };
    if port.parse::<u16>().is_err() {
        return Err(bad(
            "no valid port",
            "use a port from 0 to 65535".to_owned(),
        ));
    }
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let found: Vec<_> = text
        .to_socket_addrs()
        .map_or_else(|_| Vec::new(), Iterator::collect);
    let first = found
        .iter()
        .find(|address| address.is_ipv4())
        .or(found.first());
    first.copied().ok_or_else(|| {
        let help = "use an address of this machine, such as 127.0.0.1:7700 or localhost:7700";
        bad(&format!("unknown host {host:?}"), help.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_or_a_host_name_with_a_port_is_accepted() {
        for (text, address) in [
            ("127.0.0.1:7700", "127.0.0.1:7700"),
            ("localhost:7700", "127.0.0.1:7700"),
            ("0.0.0.0:0", "0.0.0.0:0"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(parse(text).unwrap(), address.parse().unwrap(), "{text}");
        }
    }

    #[test]
    fn another_form_is_rejected_with_the_one_to_write() {
        for (text, help) in [
            ("7700", "127.0.0.1:7700"),
            (":7700", "0.0.0.0:7700"),
            ("127.0.0.1", "127.0.0.1:7700"),
            ("localhost", "localhost:7700"),
            ("http://127.0.0.1:7700/", "write 127.0.0.1:7700"),
            ("127.0.0.1:99999", "0 to 65535"),
            ("no-such-host.invalid:7700", "localhost:7700"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.help().contains(help), "{text}: {}", error.help());
        }
    }
}
