//! Renewals: of one token in the partition that issued it, of a worker in all partitions.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::store::Renewed;
use windlass_core::{BootId, Renewal, Result, Token};
use windlass_redis_link::deadline;

use super::outcome::partition_of_token;
use super::{Queue, worse};
use crate::partition::Partition;

impl Queue {
    pub(crate) async fn renew(&self, renewal: Renewal, lease: Duration) -> Result<Renewed> {
        let known = self.partitions().len();
        let renewed = self.renew_in_known(&renewal, lease).await?;
        if renewed.lost.is_empty() {
            return Ok(renewed);
        }
        self.refresh().await?;
        if self.partitions().len() == known {
            return Ok(renewed);
        }
        // A renewal is idempotent.
        self.renew_in_known(&renewal, lease).await
    }

    async fn renew_in_known(&self, renewal: &Renewal, lease: Duration) -> Result<Renewed> {
        let partitions = self.partitions();
        if partitions.len() == 1 {
            return partitions[0].renew(renewal, lease).await;
        }
        match renewal {
            Renewal::Single { token } => self.renew_single(*token, lease).await,
            Renewal::Worker {
                boot,
                tokens,
                settled,
            } => self.renew_worker(boot, tokens, *settled, lease).await,
        }
    }

    async fn renew_single(&self, token: Token, lease: Duration) -> Result<Renewed> {
        let partitions = self.partitions();
        let first = partition_of_token(token, partitions.len());
        let mut renewed = Renewed::default();
        for at in 0..partitions.len() {
            let partition = &partitions[(first + at) % partitions.len()];
            renewed = partition.renew(&Renewal::Single { token }, lease).await?;
            if renewed.lost.is_empty() {
                break;
            }
        }
        Ok(renewed)
    }

    /// Renews a worker's lease in each partition and returns the earliest end. A token is lost if no
    /// partition knows it, and those that may have it were reached. Fails if none was reached.
    async fn renew_worker(
        &self,
        boot: &BootId,
        tokens: &[Token],
        settled: u64,
        lease: Duration,
    ) -> Result<Renewed> {
        let renewal = Arc::new(Renewal::Worker {
            boot: boot.clone(),
            tokens: tokens.to_vec(),
            settled,
        });
        let renew = move |partition: Arc<Partition>| {
            let renewal = Arc::clone(&renewal);
            async move { Ok((partition.number, partition.renew(&renewal, lease).await?)) }
        };
        let replies = self.in_range(0..self.partitions().len(), &renew);
        // A worker waits for a third of the lease: a server that hangs must not delay the others longer.
        let timeout = self.shared.link.address().timeout.min(lease / 4);
        let replies = deadline::within(timeout, 0, replies).await;
        let (mut merged, mut lost) = (Renewed::default(), tokens.to_vec());
        let (known, mut reached, mut failed) = (replies.len(), Vec::new(), None);
        for reply in replies {
            let (number, renewed) = match reply {
                Ok(reply) => reply,
                Err(error) => {
                    failed = Some(worse(failed, error));
                    continue;
                }
            };
            reached.push(number as usize);
            merged.until = match (merged.until, renewed.until) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            lost.retain(|token| renewed.lost.contains(token));
            merged.cancel.extend(renewed.cancel);
        }
        merged.cancel.sort();
        let Some(error) = failed else {
            merged.lost = lost;
            return Ok(merged);
        };
        if reached.is_empty() {
            return Err(error);
        }
        tracing::debug!(target: "windlass", queue = %self.name, code = error.code(),
            help = error.help(), "a lease was not renewed in every partition: {error}");
        let is_certain = |token: &Token| {
            reached.contains(&0) && reached.contains(&partition_of_token(*token, known))
        };
        let (lost, unreached) = lost.into_iter().partition(is_certain);
        (merged.lost, merged.unreached) = (lost, Some(unreached));
        Ok(merged)
    }
}
