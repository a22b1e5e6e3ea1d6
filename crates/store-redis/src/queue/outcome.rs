//! Outcomes: sent to the partition that issued the token.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use redis::Value;
use tokio::time::Instant;
use windlass_core::store::{Completed, Completion, Fraction, LeaseStatus, Owner, Requeue};
use windlass_core::time::as_ms;
use windlass_core::{BootId, ClaimRequest, JobLease, OutcomeStatus, Result, Token};

use super::{BATCH_MAX, Queue, after_some, all, all_done};
use crate::outcome::{EncodedOutcome, lease_args};
use crate::partition::{Partition, count_of, number_arg};
use crate::script::Script;

/// The outcomes of one call.
#[derive(Debug)]
pub(crate) enum Outcomes {
    Complete(Vec<Completion>),
    /// Of fail, release or snooze, with its script.
    Encoded(&'static Script, Vec<EncodedOutcome>),
}

impl Outcomes {
    fn len(&self) -> usize {
        match self {
            Self::Complete(items) => items.len(),
            Self::Encoded(_, items) => items.len(),
        }
    }

    fn token(&self, at: usize) -> Token {
        match self {
            Self::Complete(items) => items[at].lease.token,
            Self::Encoded(_, items) => items[at].token,
        }
    }

    fn pick(&self, page: &[usize]) -> Self {
        match self {
            Self::Complete(items) => Self::Complete(pick(items, page)),
            Self::Encoded(script, items) => Self::Encoded(script, pick(items, page)),
        }
    }

    async fn run(self, partition: &Partition, until: Instant) -> Result<Vec<OutcomeStatus>> {
        match self {
            Self::Complete(items) => partition.completes.call_until(until, items).await,
            Self::Encoded(script, items) => partition.report(script, &items).await,
        }
    }
}

impl Queue {
    pub(crate) async fn complete(
        &self,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> Result<Completed> {
        let partitions = self.partitions();
        let Some(request) = next else {
            let statuses = self.report(Outcomes::Complete(completions)).await?;
            return Ok(Completed {
                statuses,
                next: None,
            });
        };
        if partitions.len() == 1 && completions.len() <= BATCH_MAX {
            let mut completed = partitions[0].complete(&completions, Some(&request)).await?;
            let outcomes = Outcomes::Complete(completions);
            self.report_elsewhere(&outcomes, 1, &mut completed.statuses)
                .await
                .map_err(after_some)?;
            return Ok(completed);
        }
        partitions[0].check_mode(request.mode).await?;
        let statuses = self.report(Outcomes::Complete(completions)).await?;
        let next = self.claim(&request).await.map_err(after_some)?;
        Ok(Completed { statuses, next })
    }

    /// Reports each outcome to the partition of its token; what that does not know is tried in others.
    pub(crate) async fn report(&self, outcomes: Outcomes) -> Result<Vec<OutcomeStatus>> {
        let mut statuses = vec![OutcomeStatus::Gone; outcomes.len()];
        match self.report_everywhere(&outcomes, &mut statuses).await {
            Ok(()) => Ok(statuses),
            Err(failure) if statuses.iter().all(|status| *status == OutcomeStatus::Gone) => {
                Err(failure)
            }
            Err(failure) => Err(after_some(failure)),
        }
    }

    async fn report_everywhere(
        &self,
        outcomes: &Outcomes,
        statuses: &mut [OutcomeStatus],
    ) -> Result<()> {
        let partitions = self.partitions();
        let mut batches = vec![Vec::new(); partitions.len()];
        for at in 0..outcomes.len() {
            batches[partition_of_token(outcomes.token(at), partitions.len())].push(at);
        }
        self.report_batches(outcomes, batches, statuses).await?;
        for number in 0..partitions.len() {
            let named = |at: usize| partition_of_token(outcomes.token(at), partitions.len());
            let unknown = (0..outcomes.len())
                .filter(|at| statuses[*at] == OutcomeStatus::Gone && named(*at) != number)
                .collect();
            self.report_in(number, outcomes, unknown, statuses).await?;
        }
        self.report_elsewhere(outcomes, partitions.len(), statuses)
            .await
    }

    /// Reports the batch of each partition, concurrently.
    async fn report_batches(
        &self,
        outcomes: &Outcomes,
        batches: Vec<Vec<usize>>,
        statuses: &mut [OutcomeStatus],
    ) -> Result<()> {
        let until = self.until();
        let mut paged = Vec::new();
        for (number, batch) in batches.into_iter().enumerate() {
            if batch.is_empty() {
                continue;
            }
            let pages = self.pages_of(outcomes, batch).await?;
            let picked: Vec<_> = pages.iter().map(|page| outcomes.pick(page)).collect();
            paged.push((number, (picked, pages.concat())));
        }
        let replies = self.in_partitions(paged, move |partition, (pages, batch)| async move {
            let (mut replies, mut failed) = (Vec::with_capacity(batch.len()), Ok(()));
            for page in pages {
                match page.run(&partition, until).await {
                    Ok(page) => replies.extend(page),
                    Err(failure) => {
                        failed = Err(failure);
                        break;
                    }
                }
            }
            Ok((batch, replies, failed))
        });
        let mut errors = Vec::new();
        for (batch, replies, failed) in all(replies.await)? {
            set_statuses(&batch, replies, statuses);
            errors.push(failed);
        }
        all(errors).map(drop)
    }

    /// The pages of a batch, in the order to send them. Released jobs must end up in claim order: a page
    /// holds whole claims, and of those that go to the front the newest are sent first.
    async fn pages_of(
        &self,
        outcomes: &Outcomes,
        mut batch: Vec<usize>,
    ) -> Result<Vec<Vec<usize>>> {
        // A snooze may return jobs like a release.
        let returning = [&self.shared.scripts.release, &self.shared.scripts.snooze];
        let may_return = matches!(outcomes, Outcomes::Encoded(script, _)
            if returning.iter().any(|returning| std::ptr::eq(*script, *returning)));
        if !may_return || batch.len() <= BATCH_MAX {
            return Ok(batch.chunks(BATCH_MAX).map(<[usize]>::to_vec).collect());
        }
        batch.sort_by_key(|at| outcomes.token(*at));
        let mut pages: Vec<Vec<usize>> = Vec::new();
        for claim in batch.chunk_by(|a, b| outcomes.token(*a) == outcomes.token(*b)) {
            for part in claim.chunks(BATCH_MAX) {
                match pages.last_mut() {
                    Some(page) if page.len() + part.len() <= BATCH_MAX => page.extend(part),
                    _ => pages.push(part.to_vec()),
                }
            }
        }
        if self.settings().await?.requeue == Requeue::Front {
            pages.reverse();
        }
        Ok(pages)
    }

    /// Tries unknown outcomes in partitions that this process did not know of, before it reports them as
    /// gone.
    async fn report_elsewhere(
        &self,
        outcomes: &Outcomes,
        known: usize,
        statuses: &mut [OutcomeStatus],
    ) -> Result<()> {
        if !statuses.contains(&OutcomeStatus::Gone) {
            return Ok(());
        }
        self.refresh().await?;
        for number in known..self.partitions().len() {
            let unknown = (0..outcomes.len())
                .filter(|at| statuses[*at] == OutcomeStatus::Gone)
                .collect();
            self.report_in(number, outcomes, unknown, statuses).await?;
        }
        Ok(())
    }

    async fn report_in(
        &self,
        number: usize,
        outcomes: &Outcomes,
        unknown: Vec<usize>,
        statuses: &mut [OutcomeStatus],
    ) -> Result<()> {
        let partition = &self.partitions()[number];
        for page in self.pages_of(outcomes, unknown).await? {
            let replies = outcomes.pick(&page).run(partition, self.until()).await?;
            set_statuses(&page, replies, statuses);
        }
        Ok(())
    }

    /// Runs a verb about one lease: of the known partitions first in the one that the token names, then in
    /// those that were unknown, until one has the lease and replies with 1.
    async fn with_lease<F>(
        &self,
        token: Token,
        verb: impl Fn(Arc<Partition>) -> F,
    ) -> Result<LeaseStatus>
    where
        F: Future<Output = Result<Value>>,
    {
        let (known, mut tried) = (self.partitions().len(), 0);
        let named = usize::try_from(token.nonce >> 24).unwrap_or_default();
        loop {
            let at = if tried < known {
                (named % known + tried) % known
            } else {
                self.refresh().await?;
                tried
            };
            let Some(partition) = self.partitions().get(at).cloned() else {
                return Ok(LeaseStatus::Lost);
            };
            if count_of(&verb(partition).await?)? == 1 {
                return Ok(LeaseStatus::Valid);
            }
            tried += 1;
        }
    }

    pub(crate) async fn accept(
        &self,
        job_lease: &JobLease,
        lease: Duration,
    ) -> Result<LeaseStatus> {
        let args = lease_args(job_lease, [number_arg(as_ms(lease))]);
        let accepted = self.with_lease(job_lease.token, |partition| {
            let args = args.clone();
            async move {
                let script = &partition.scripts().accept;
                partition.run_confirmed(script, args).await
            }
        });
        accepted.await
    }

    pub(crate) async fn progress(
        &self,
        lease: &JobLease,
        fraction: Fraction,
        message: Option<&str>,
    ) -> Result<LeaseStatus> {
        let message = message.map_or_else(Bytes::new, |text| Bytes::from(format!("\t{text}")));
        // Rust prints a number so that it is read back exactly.
        let fraction = number_arg(fraction.get());
        let args = lease_args(lease, [fraction, message]);
        let recorded = self.with_lease(lease.token, |partition| {
            let args = args.clone();
            async move { partition.run(&partition.scripts().progress, args).await }
        });
        recorded.await
    }

    /// Requeues the jobs under a worker's lease.
    pub(crate) async fn take_back_lease(&self, boot: &BootId, is_lost: bool) -> Result<u64> {
        let owner = Owner::boot(boot);
        let taken = self.in_every(move |partition| {
            let owner = owner.clone();
            async move { partition.take_back(&owner, is_lost).await }
        });
        Ok(all_done(taken.await)?.into_iter().sum())
    }

    /// Requeues the jobs of single claims made for a worker.
    pub(crate) async fn take_back_singles(&self, boot: &BootId, is_lost: bool) -> Result<u64> {
        let boot = boot.clone();
        let taken = self.in_every(move |partition| {
            let boot = boot.clone();
            async move { partition.take_back_singles(&boot, is_lost).await }
        });
        Ok(all_done(taken.await)?.into_iter().sum())
    }
}

/// The partition that a token names. A token issued before the queue had two may name any.
pub(super) fn partition_of_token(token: Token, partitions: usize) -> usize {
    let named = usize::try_from(token.nonce >> 24).unwrap_or(usize::MAX);
    if named < partitions { named } else { 0 }
}

fn set_statuses(page: &[usize], replies: Vec<OutcomeStatus>, statuses: &mut [OutcomeStatus]) {
    for (at, status) in page.iter().zip(replies) {
        statuses[*at] = status;
    }
}

fn pick<T: Clone>(items: &[T], page: &[usize]) -> Vec<T> {
    page.iter().map(|at| items[*at].clone()).collect()
}
