//! Opens the store, and reads replies that several of its methods share.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use windlass_api::request::{OutcomesReply, QueueRequest};
use windlass_api::{ClaimReply, Code};
use windlass_core::store::{Completed, LeaseStatus};
use windlass_core::{Error, ErrorKind, QueueName, Result};

use crate::address::{BearerToken, HttpAddress};
use crate::call::{Client, Failed};

/// A store on another machine, through the HTTP API of `windlass serve`.
pub struct RemoteStore(pub(crate) Arc<Client>);

impl fmt::Debug for RemoteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RemoteStore").field(&self.0.address).finish()
    }
}

impl RemoteStore {
    /// Opens the store at `http://HOST:PORT` or `https://HOST:PORT`, with the token of the file that the
    /// URL names, or of the environment. Connects with the first call.
    pub fn open(url: &str) -> Result<Self> {
        let address: HttpAddress = url.parse()?;
        let token = address.token()?;
        Ok(Self(Arc::new(Client::new(address, token)?)))
    }

    /// Opens the store with this token.
    pub fn with_token(url: &str, token: &str) -> Result<Self> {
        let client = Client::new(url.parse()?, Some(BearerToken::new(token)?))?;
        Ok(Self(Arc::new(client)))
    }

    pub(crate) async fn call<R: QueueRequest>(
        &self,
        queue: &QueueName,
        request: R,
    ) -> Result<R::Reply, Failed> {
        self.0.queue(queue, request, Duration::ZERO).await
    }

    pub(crate) async fn outcomes<R>(&self, queue: &QueueName, request: R) -> Result<Completed>
    where
        R: QueueRequest<Reply = OutcomesReply>,
    {
        let OutcomesReply::Many { jobs, claimed } = self.call(queue, request).await? else {
            return Err(unsupported());
        };
        let claim = ClaimReply::into_claim(claimed.unwrap_or_default())?;
        Ok(Completed {
            statuses: jobs.iter().map(|job| job.status()).collect::<Result<_>>()?,
            next: claim.map(|(claim, _)| claim),
        })
    }
}

/// The error for a server that replies in an older form.
pub(crate) fn unsupported() -> Error {
    let what = "the server replied in a form that this version does not know";
    let help = "update the server to the version of this program";
    Error::new(ErrorKind::StoreUnsupported, what, help)
}

/// Turns a refusal with a code that means "no such thing" into `None`.
pub(crate) fn found<T>(reply: Result<T, Failed>) -> Result<Option<T>> {
    match reply {
        Ok(reply) => Ok(Some(reply)),
        Err(Failed::Refused(error)) if error.code == Code::NotFound => Ok(None),
        Err(failed) => Err(failed.into()),
    }
}

pub(crate) fn lease_status<T>(reply: Result<T, Failed>) -> Result<LeaseStatus> {
    match reply {
        Ok(_) => Ok(LeaseStatus::Valid),
        Err(Failed::Refused(error)) if error.code == Code::LeaseLost => Ok(LeaseStatus::Lost),
        Err(failed) => Err(failed.into()),
    }
}
