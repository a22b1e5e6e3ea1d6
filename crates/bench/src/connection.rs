//! A plain connection to one Redis server, for the bare engine and for statistics.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use windlass::{Result, StoreUrl};

use crate::error;

/// Longer than any call takes on a busy machine.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);

/// Connects to the server of a store; `None` if it is a file, a Cluster, or uses Sentinels or TLS.
pub(crate) async fn connect(url: &StoreUrl) -> Result<Option<MultiplexedConnection>> {
    let StoreUrl::Redis { url, .. } = url else {
        return Ok(None);
    };
    let Some(address) = plain(url) else {
        return Ok(None);
    };
    let client = redis::Client::open(address).map_err(error::bare_engine)?;
    let config = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(Some(REPLY_TIMEOUT))
        .set_response_timeout(Some(REPLY_TIMEOUT));
    let connection = client.get_multiplexed_async_connection_with_config(&config);
    connection.await.map(Some).map_err(error::bare_engine)
}

/// The URL without options that only Windlass knows.
fn plain(url: &str) -> Option<String> {
    let (address, options) = url.split_once('?').unwrap_or((url, ""));
    if address.starts_with("redis://") {
        return Some(address.to_owned());
    }
    let path = address.strip_prefix("redis+unix:")?;
    let kept = options.split('&').filter(|option| {
        let name = option.split('=').next().unwrap_or_default();
        ["db", "user", "pass"].contains(&name)
    });
    let kept: Vec<&str> = kept.collect();
    let mark = if kept.is_empty() { "" } else { "?" };
    Some(format!("redis+unix:{path}{mark}{}", kept.join("&")))
}

/// The key prefix of a store.
pub(crate) fn prefix(url: &StoreUrl) -> String {
    let url = url.to_secret_string();
    let options = url.split_once('?').map_or("", |(_, options)| options);
    let prefix = options
        .split('&')
        .find_map(|option| option.strip_prefix("prefix="));
    prefix.unwrap_or("windlass").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_plain_server_is_used_without_windlass_options() {
        let url = "redis://user:pw@host:1/2?prefix=a&timeout=5s";
        assert_eq!(plain(url).unwrap(), "redis://user:pw@host:1/2");
        let socket = "redis+unix:///run/r.sock?db=2&prefix=a";
        assert_eq!(plain(socket).unwrap(), "redis+unix:///run/r.sock?db=2");
        assert_eq!(plain("redis-cluster://a:1,b:2"), None);
        assert_eq!(plain("rediss://host"), None);
        assert_eq!(prefix(&url.parse().unwrap()), "a");
    }
}
