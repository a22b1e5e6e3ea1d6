//! Connections to the server: TCP or TLS, kept open between calls.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;
use windlass_core::{Error, ErrorKind, Result};

use crate::address::HttpAddress;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection is kept without use. The server closes it after a minute, and a request must not
/// meet that.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// How many unused connections are kept.
const IDLE_COUNT_MAX: usize = 32;

/// Sends requests on one connection.
pub(crate) type Sender = SendRequest<Full<Bytes>>;

/// The connections to one server.
#[derive(Debug)]
pub(crate) struct Connections {
    address: HttpAddress,
    tls: Option<Arc<ClientConfig>>,
    idle: Mutex<Vec<(Sender, Instant)>>,
}

impl Connections {
    pub(crate) fn new(address: HttpAddress) -> Result<Self> {
        let tls = address.is_tls.then(|| tls_config(&address)).transpose()?;
        Ok(Self {
            address,
            tls,
            idle: Mutex::default(),
        })
    }

    /// Returns an open connection, and whether it was used before.
    pub(crate) async fn get(&self) -> Result<(Sender, bool)> {
        loop {
            let kept = self.idle().pop();
            match kept {
                Some((sender, since)) if since.elapsed() < IDLE_MAX && !sender.is_closed() => {
                    return Ok((sender, true));
                }
                Some(_) => {}
                None => return Ok((self.connect().await?, false)),
            }
        }
    }

    /// Keeps a connection whose reply was read to its end.
    pub(crate) fn keep(&self, sender: Sender) {
        let mut idle = self.idle();
        if !sender.is_closed() && idle.len() < IDLE_COUNT_MAX {
            idle.push((sender, Instant::now()));
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(Sender, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection.
    pub(crate) async fn connect(&self) -> Result<Sender> {
        let address = &self.address;
        let unreachable = |why: &dyn std::fmt::Display| {
            let what = format!("cannot connect to {address}: {why}");
            let help = "check the address, and that the server is running: `windlass serve`";
            Error::new(ErrorKind::StoreUnreachable, what, help)
        };
        let connecting = async {
            let target = (address.host.as_str(), address.port);
            let stream = TcpStream::connect(target)
                .await
                .map_err(|error| unreachable(&error))?;
            let _ = stream.set_nodelay(true);
            let Some(tls) = &self.tls else {
                return start(stream).await.map_err(|error| unreachable(&error));
            };
            let name = ServerName::try_from(address.host.clone());
            let name = name.map_err(|error| unreachable(&error))?;
            let tls = TlsConnector::from(Arc::clone(tls));
            let stream = tls.connect(name, stream).await;
            let stream = stream.map_err(|error| no_tls(address, &error))?;
            start(stream).await.map_err(|error| unreachable(&error))
        };
        match timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(result) => result,
            Err(_) => Err(unreachable(&format_args!(
                "timed out ({CONNECT_TIMEOUT:?})"
            ))),
        }
    }
}

fn no_tls(address: &HttpAddress, error: &std::io::Error) -> Error {
    let tls = error.get_ref().and_then(|error| error.downcast_ref());
    if matches!(tls, Some(rustls::Error::InvalidMessage(_))) {
        let what = format!("{} answers without TLS", address.authority());
        let help = "write http:// instead of https://";
        return Error::new(ErrorKind::StoreUnreachable, what, help);
    }
    let what = format!("cannot connect to {address} with TLS: {error}");
    let help = "check that the certificate is valid for this host, and that its issuer is trusted (?ca=FILE)";
    Error::new(ErrorKind::StoreUnreachable, what, help)
}

async fn start<S>(stream: S) -> hyper::Result<Sender>
where
    TokioIo<S>: Read + Write + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // Ends with the sender. Its error also reaches the call that waits for a reply.
    tokio::spawn(connection);
    Ok(sender)
}

/// Trusts the authorities of the option `ca`, or those of the system.
fn tls_config(address: &HttpAddress) -> Result<Arc<ClientConfig>> {
    // Fails if the process has already installed a provider, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut roots = RootCertStore::empty();
    match &address.ca {
        None => {
            // If a part of them cannot be read, the others are still trusted.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        Some(path) => {
            let bad = |error: &dyn std::fmt::Display| {
                let what = format!("cannot use the TLS file {}: {error}", path.display());
                Error::new(ErrorKind::Invalid, what, "correct ca in the store URL")
            };
            let pem = std::fs::read(path).map_err(|error| bad(&error))?;
            for certificate in CertificateDer::pem_slice_iter(&pem) {
                let certificate = certificate.map_err(|error| bad(&error))?;
                roots.add(certificate).map_err(|error| bad(&error))?;
            }
            if roots.is_empty() {
                return Err(bad(&"it has no certificate"));
            }
        }
    }
    let config = ClientConfig::builder().with_root_certificates(roots);
    Ok(Arc::new(config.with_no_client_auth()))
}
