//! The TLS settings of a link: which certificates are trusted, and who we are.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use windlass_core::{Error, ErrorKind, Result};

use crate::address::Tls;

/// Reads the certificates that the store URL names; without `ca` the system's authorities are trusted.
pub(super) fn config(tls: &Tls) -> Result<Arc<ClientConfig>> {
    // Fails if the process has already installed a provider, which is then used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = ClientConfig::builder().with_root_certificates(match &tls.ca {
        Some(path) => authorities(path)?,
        None => system_authorities(),
    });
    let Some((cert, key)) = &tls.identity else {
        return Ok(Arc::new(config.with_no_client_auth()));
    };
    let chain = certificates(cert)?;
    let private = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| bad(key, &error))?;
    let config = config.with_client_auth_cert(chain, private);
    config.map(Arc::new).map_err(|error| bad(cert, &error))
}

fn authorities(path: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| bad(path, &error))?;
    }
    Ok(roots)
}

/// If a part of them cannot be read, the others are still trusted.
fn system_authorities() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let found = CertificateDer::pem_slice_iter(&read(path)?).collect::<Result<Vec<_>, _>>();
    match found.map_err(|error| bad(path, &error))? {
        empty if empty.is_empty() => Err(bad(path, &PemError::NoItemsFound)),
        found => Ok(found),
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| bad(path, &error))
}

fn bad(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Invalid,
        format!("cannot use the TLS file {}: {error}", path.display()),
        "correct ca, cert or key in the store URL",
    )
}
