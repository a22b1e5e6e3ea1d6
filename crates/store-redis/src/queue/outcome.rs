//! What is held: settled and renewed in the part whose token it is.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::{
    BootId, ClaimRequest, Completed, Completion, Failure, JobLease, LeaseStatus, OutcomeStatus,
    Owner, Renewal, Renewed, Result, Snooze, Token,
};

use super::{BATCH_MAX, Member, Queue, after_some, all, all_done};
use crate::partition::Part;

/// A verb that settles holds, and the holds.
#[derive(Debug)]
pub(crate) enum Settle {
    Fail(Vec<Failure>),
    Release(Vec<JobLease>),
    Snooze(Vec<Snooze>),
    Complete(Vec<Completion>),
}

impl Settle {
    fn len(&self) -> usize {
        match self {
            Self::Fail(items) => items.len(),
            Self::Release(items) => items.len(),
            Self::Snooze(items) => items.len(),
            Self::Complete(items) => items.len(),
        }
    }

    fn token(&self, at: usize) -> Token {
        match self {
            Self::Fail(items) => items[at].lease.token,
            Self::Release(items) => items[at].token,
            Self::Snooze(items) => items[at].lease.token,
            Self::Complete(items) => items[at].lease.token,
        }
    }

    /// The same verb on some of the holds.
    fn pick(&self, page: &[usize]) -> Self {
        match self {
            Self::Fail(items) => Self::Fail(pick(items, page)),
            Self::Release(items) => Self::Release(pick(items, page)),
            Self::Snooze(items) => Self::Snooze(pick(items, page)),
            Self::Complete(items) => Self::Complete(pick(items, page)),
        }
    }

    async fn run(self, member: &Member, patience: Duration) -> Result<Vec<OutcomeStatus>> {
        match self {
            Self::Fail(items) => member.part.fail(&items).await,
            Self::Release(items) => member.part.release(&items).await,
            Self::Snooze(items) => member.part.snooze(&items).await,
            Self::Complete(items) => member.completes.call_within(patience, items).await,
        }
    }
}

impl Queue {
    pub(crate) async fn complete(
        &self,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> Result<Completed> {
        let parts = self.parts();
        let Some(request) = next else {
            let settled = self.settle(Settle::Complete(completions)).await?;
            return Ok(Completed {
                statuses: settled,
                next: None,
            });
        };
        if parts.len() == 1 && completions.len() <= BATCH_MAX {
            let mut completed = parts[0].part.complete(&completions, Some(&request)).await?;
            let verb = Settle::Complete(completions);
            self.settle_elsewhere(&verb, 1, &mut completed.statuses)
                .await
                .map_err(after_some)?;
            return Ok(completed);
        }
        let settled = self.settle(Settle::Complete(completions)).await?;
        let next = self.claim(&request).await.map_err(after_some)?;
        Ok(Completed {
            statuses: settled,
            next,
        })
    }

    /// Settles each hold in its part; what that part does not know may be another's.
    pub(crate) async fn settle(&self, verb: Settle) -> Result<Vec<OutcomeStatus>> {
        let mut settled = vec![OutcomeStatus::Gone; verb.len()];
        match self.settle_everywhere(&verb, &mut settled).await {
            Ok(()) => Ok(settled),
            Err(failure) if settled.iter().all(|told| *told == OutcomeStatus::Gone) => Err(failure),
            Err(failure) => Err(after_some(failure)),
        }
    }

    async fn settle_everywhere(&self, verb: &Settle, settled: &mut [OutcomeStatus]) -> Result<()> {
        let parts = self.parts();
        let mut hands = vec![Vec::new(); parts.len()];
        for at in 0..verb.len() {
            hands[part_of_token(verb.token(at), parts.len())].push(at);
        }
        self.settle_hands(verb, hands, settled).await?;
        for number in 0..parts.len() {
            let named = |at: usize| part_of_token(verb.token(at), parts.len());
            let unknown = (0..verb.len())
                .filter(|at| settled[*at] == OutcomeStatus::Gone && named(*at) != number)
                .collect();
            self.settle_in(number, verb, unknown, settled).await?;
        }
        self.settle_elsewhere(verb, parts.len(), settled).await
    }

    /// What each part has in hand, in all of them at once.
    async fn settle_hands(
        &self,
        verb: &Settle,
        hands: Vec<Vec<usize>>,
        settled: &mut [OutcomeStatus],
    ) -> Result<()> {
        let patience = self.patience();
        let pages_of = |hand: &[usize]| -> Vec<Settle> {
            let pages = hand.chunks(BATCH_MAX);
            pages.map(|page| verb.pick(page)).collect()
        };
        let hands = hands.into_iter().enumerate();
        let hands = hands
            .filter(|(_, hand)| !hand.is_empty())
            .map(|(number, hand)| (number, (pages_of(&hand), hand)));
        let told = self.in_parts(hands.collect(), move |member, (pages, hand)| async move {
            let (mut told, mut failed) = (Vec::with_capacity(hand.len()), Ok(()));
            for page in pages {
                match page.run(&member, patience).await {
                    Ok(page) => told.extend(page),
                    Err(failure) => {
                        failed = Err(failure);
                        break;
                    }
                }
            }
            Ok((hand, told, failed))
        });
        let mut outcomes = Vec::new();
        for (hand, told, failed) in all(told.await)? {
            note(&hand, told, settled);
            outcomes.push(failed);
        }
        all(outcomes).map(drop)
    }

    /// Before something is called gone: a process that did not see the queue grow looks in the parts
    /// beyond those it knew.
    async fn settle_elsewhere(
        &self,
        verb: &Settle,
        known: usize,
        settled: &mut [OutcomeStatus],
    ) -> Result<()> {
        if !settled.contains(&OutcomeStatus::Gone) {
            return Ok(());
        }
        self.refresh().await?;
        for number in known..self.parts().len() {
            let unknown = (0..verb.len())
                .filter(|at| settled[*at] == OutcomeStatus::Gone)
                .collect();
            self.settle_in(number, verb, unknown, settled).await?;
        }
        Ok(())
    }

    async fn settle_in(
        &self,
        number: usize,
        verb: &Settle,
        unknown: Vec<usize>,
        settled: &mut [OutcomeStatus],
    ) -> Result<()> {
        let member = &self.parts()[number];
        for page in unknown.chunks(BATCH_MAX) {
            let told = verb.pick(page).run(member, self.patience()).await?;
            note(page, told, settled);
        }
        Ok(())
    }

    /// The part to look in for the holder of a token after `tried` others: of the `known` ones that
    /// which it names first, then those this process had not seen.
    async fn search(&self, token: Token, known: usize, tried: usize) -> Result<Option<Arc<Part>>> {
        let at = if tried < known {
            let named = usize::try_from(token.nonce >> 24).unwrap_or_default();
            (named % known + tried) % known
        } else {
            self.refresh().await?;
            tried
        };
        Ok(self.parts().get(at).map(|member| Arc::clone(&member.part)))
    }

    pub(crate) async fn accept(&self, hold: &JobLease, lease: Duration) -> Result<LeaseStatus> {
        let (known, mut tried) = (self.parts().len(), 0);
        while let Some(part) = self.search(hold.token, known, tried).await? {
            if part.accept(hold, lease).await? == LeaseStatus::Valid {
                return Ok(LeaseStatus::Valid);
            }
            tried += 1;
        }
        Ok(LeaseStatus::Lost)
    }

    pub(crate) async fn progress(
        &self,
        hold: &JobLease,
        fraction: f64,
        message: Option<&str>,
    ) -> Result<LeaseStatus> {
        let (known, mut tried) = (self.parts().len(), 0);
        while let Some(part) = self.search(hold.token, known, tried).await? {
            if part.progress(hold, fraction, message).await? == LeaseStatus::Valid {
                return Ok(LeaseStatus::Valid);
            }
            tried += 1;
        }
        Ok(LeaseStatus::Lost)
    }

    pub(crate) async fn renew(&self, renewal: Renewal, lease: Duration) -> Result<Renewed> {
        let known = self.parts().len();
        let renewed = self.renew_in_known(&renewal, lease).await?;
        if renewed.lost.is_empty() {
            return Ok(renewed);
        }
        self.refresh().await?;
        if self.parts().len() == known {
            return Ok(renewed);
        }
        // Repeating a renewal changes nothing where it was done.
        self.renew_in_known(&renewal, lease).await
    }

    async fn renew_in_known(&self, renewal: &Renewal, lease: Duration) -> Result<Renewed> {
        let parts = self.parts();
        if parts.len() == 1 {
            return parts[0].part.renew(renewal, lease).await;
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
        let parts = self.parts();
        let first = part_of_token(token, parts.len());
        let mut renewed = Renewed::default();
        for at in 0..parts.len() {
            let part = &parts[(first + at) % parts.len()].part;
            renewed = part.renew(&Renewal::Single { token }, lease).await?;
            if renewed.lost.is_empty() {
                break;
            }
        }
        Ok(renewed)
    }

    /// A worker's lease in each part; the earliest end is the one that counts. A token is lost when
    /// no part knows it.
    async fn renew_worker(
        &self,
        boot: &BootId,
        tokens: &[Token],
        settled: u64,
        lease: Duration,
    ) -> Result<Renewed> {
        let mut merged = Renewed::default();
        let mut lost: Vec<Token> = tokens.to_vec();
        let renewal = Renewal::Worker {
            boot: boot.clone(),
            tokens: tokens.to_vec(),
            settled,
        };
        let renewal = Arc::new(renewal);
        let told = self.in_all(move |part| {
            let renewal = Arc::clone(&renewal);
            async move { part.renew(&renewal, lease).await }
        });
        for renewed in all_done(told.await)? {
            merged.until = match (merged.until, renewed.until) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            lost.retain(|token| renewed.lost.contains(token));
            merged.cancel.extend(renewed.cancel);
        }
        merged.lost = lost;
        merged.cancel.sort();
        Ok(merged)
    }

    /// Takes back what is under a worker's lease.
    pub(crate) async fn take_back_lease(&self, boot: &BootId, is_lost: bool) -> Result<u64> {
        let owner = Owner::boot(boot);
        let taken = self.in_every(move |part| {
            let owner = owner.clone();
            async move { part.take_back(&owner, is_lost).await }
        });
        Ok(all_done(taken.await)?.into_iter().sum())
    }

    /// Takes back what single claims took for a worker.
    pub(crate) async fn take_back_singles(&self, boot: &BootId, is_lost: bool) -> Result<u64> {
        let boot = boot.clone();
        let taken = self.in_every(move |part| {
            let boot = boot.clone();
            async move { part.take_back_singles(&boot, is_lost).await }
        });
        Ok(all_done(taken.await)?.into_iter().sum())
    }
}

/// The part of so many that a token names; tokens older than the second part may name any.
fn part_of_token(token: Token, parts: usize) -> usize {
    let named = usize::try_from(token.nonce >> 24).unwrap_or(usize::MAX);
    if named < parts { named } else { 0 }
}

/// Writes down what a page of holds was told.
fn note(page: &[usize], told: Vec<OutcomeStatus>, settled: &mut [OutcomeStatus]) {
    for (at, told) in page.iter().zip(told) {
        settled[*at] = told;
    }
}

fn pick<T: Clone>(items: &[T], page: &[usize]) -> Vec<T> {
    page.iter().map(|at| items[*at].clone()).collect()
}
