//! Requests to a server that is not a store, such as a collector of telemetry.

use std::path::PathBuf;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper::header::{CONTENT_TYPE, HOST};
use windlass_core::{Error, ErrorKind, Result};

use crate::address::HttpAddress;
use crate::connection::Connections;

/// Sends JSON with `POST`, with or without TLS.
#[derive(Debug)]
pub struct JsonPoster {
    address: HttpAddress,
    connections: Connections,
}

impl JsonPoster {
    /// Parses `http://HOST:PORT` or `https://HOST:PORT`. With TLS, trusts the authorities of the file `ca`, or
    /// else those of the system.
    pub fn new(url: &str, ca: Option<PathBuf>) -> Result<Self> {
        let mut address: HttpAddress = url.parse()?;
        address.ca = ca;
        Ok(Self {
            connections: Connections::new(address.clone())?,
            address,
        })
    }

    /// Sends a body to a path, on a connection of its own. Returns the status of the response.
    pub async fn post(
        &self,
        path: &str,
        headers: &[(String, String)],
        json: String,
    ) -> Result<u16> {
        let mut request = Request::post(path)
            .header(HOST, self.address.authority())
            .header(CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(json))).map_err(|_| {
            let why = "the path or a header contains invalid characters";
            Error::invalid("request", why, "use visible ASCII characters")
        })?;
        let mut sender = self.connections.connect().await?;
        let response = sender.send_request(request).await.map_err(|error| {
            let what = format!("no reply from {}: {error}", self.address);
            Error::new(ErrorKind::StoreUnreachable, what, "try again")
        })?;
        Ok(response.status().as_u16())
    }
}
