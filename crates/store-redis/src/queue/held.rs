//! What is held: settled and renewed in the part whose token it is.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use windlass_core::{
    BootId, ClaimRequest, Completed, Completion, Failure, Held, Hold, Owner, Renewal, Renewed,
    Result, Settled, Snooze, Token,
};

use super::{BATCH_MAX, Queue};
use crate::part::Part;

/// A verb that settles holds in one part.
pub(crate) enum Settle<'a> {
    Fail(&'a [Failure]),
    Release(&'a [Hold]),
    Snooze(&'a [Snooze]),
    Complete(&'a [Completion]),
}

impl Settle<'_> {
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
            Self::Fail(items) => items[at].hold.token,
            Self::Release(items) => items[at].token,
            Self::Snooze(items) => items[at].hold.token,
            Self::Complete(items) => items[at].hold.token,
        }
    }
}

impl Queue {
    /// The part that a token names; tokens older than the second part may name any.
    fn part_of_token(&self, token: Token) -> usize {
        let named = usize::try_from(token.nonce >> 24).unwrap_or(usize::MAX);
        if named < self.parts().len() { named } else { 0 }
    }

    pub(crate) async fn complete(
        &self,
        completions: Vec<Completion>,
        next: Option<ClaimRequest>,
    ) -> Result<Completed> {
        let parts = self.parts();
        let Some(request) = next else {
            let settled = self.settle(&Settle::Complete(&completions)).await?;
            return Ok(Completed {
                settled,
                next: None,
            });
        };
        if parts.len() == 1 && completions.len() <= BATCH_MAX {
            let mut completed = parts[0].part.complete(&completions, Some(&request)).await?;
            let verb = Settle::Complete(&completions);
            self.settle_elsewhere(&verb, 1, &mut completed.settled)
                .await?;
            return Ok(completed);
        }
        let settled = self.settle(&Settle::Complete(&completions)).await?;
        let next = self.claim(&request).await?;
        Ok(Completed { settled, next })
    }

    /// Settles each hold in its part; what that part does not know may be another's.
    pub(crate) async fn settle(&self, verb: &Settle<'_>) -> Result<Vec<Settled>> {
        let parts = self.parts();
        let mut settled = vec![Settled::Gone; verb.len()];
        let mut hands = vec![Vec::new(); parts.len()];
        for at in 0..verb.len() {
            hands[self.part_of_token(verb.token(at))].push(at);
        }
        for (number, hand) in hands.iter().enumerate() {
            for page in hand.chunks(BATCH_MAX) {
                let told = self.settle_in(number, verb, page).await?;
                page.iter()
                    .zip(told)
                    .for_each(|(at, told)| settled[*at] = told);
            }
        }
        if parts.len() > 1 {
            for number in 0..parts.len() {
                let named = |at: usize| self.part_of_token(verb.token(at));
                let unknown = (0..verb.len())
                    .filter(|at| settled[*at] == Settled::Gone && named(*at) != number)
                    .collect();
                self.settle_unknown(number, verb, unknown, &mut settled)
                    .await?;
            }
        }
        self.settle_elsewhere(verb, parts.len(), &mut settled)
            .await?;
        Ok(settled)
    }

    /// Before something is called gone: a process that did not see the queue grow looks in the parts
    /// beyond those it knew.
    async fn settle_elsewhere(
        &self,
        verb: &Settle<'_>,
        known: usize,
        settled: &mut [Settled],
    ) -> Result<()> {
        if !settled.contains(&Settled::Gone) {
            return Ok(());
        }
        self.refresh().await?;
        for number in known..self.parts().len() {
            let unknown = (0..verb.len())
                .filter(|at| settled[*at] == Settled::Gone)
                .collect();
            self.settle_unknown(number, verb, unknown, settled).await?;
        }
        Ok(())
    }

    async fn settle_unknown(
        &self,
        number: usize,
        verb: &Settle<'_>,
        unknown: Vec<usize>,
        settled: &mut [Settled],
    ) -> Result<()> {
        for page in unknown.chunks(BATCH_MAX) {
            let told = self.settle_in(number, verb, page).await?;
            page.iter()
                .zip(told)
                .for_each(|(at, told)| settled[*at] = told);
        }
        Ok(())
    }

    async fn settle_in(
        &self,
        number: usize,
        verb: &Settle<'_>,
        page: &[usize],
    ) -> Result<Vec<Settled>> {
        let member = &self.parts()[number];
        match verb {
            Settle::Fail(items) => member.part.fail(&pick(items, page)).await,
            Settle::Release(items) => member.part.release(&pick(items, page)).await,
            Settle::Snooze(items) => member.part.snooze(&pick(items, page)).await,
            Settle::Complete(items) => {
                let completes = pick(items, page);
                member
                    .completes
                    .call_within(self.patience(), completes)
                    .await
            }
        }
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

    pub(crate) async fn accept(&self, hold: &Hold, lease: Duration) -> Result<Held> {
        let (known, mut tried) = (self.parts().len(), 0);
        while let Some(part) = self.search(hold.token, known, tried).await? {
            if part.accept(hold, lease).await? == Held::Yes {
                return Ok(Held::Yes);
            }
            tried += 1;
        }
        Ok(Held::Lost)
    }

    pub(crate) async fn progress(
        &self,
        hold: &Hold,
        fraction: f64,
        message: Option<&str>,
    ) -> Result<Held> {
        let (known, mut tried) = (self.parts().len(), 0);
        while let Some(part) = self.search(hold.token, known, tried).await? {
            if part.progress(hold, fraction, message).await? == Held::Yes {
                return Ok(Held::Yes);
            }
            tried += 1;
        }
        Ok(Held::Lost)
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
        let first = self.part_of_token(token);
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
        for renewed in self.renew_in_all(&renewal, lease).await? {
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

    /// All at once: a part whose server is away must not use up the time that the others have.
    async fn renew_in_all(&self, renewal: &Renewal, lease: Duration) -> Result<Vec<Renewed>> {
        let renewal = Arc::new(renewal.clone());
        let mut asked = JoinSet::new();
        for member in self.parts().iter() {
            let (part, renewal) = (Arc::clone(&member.part), Arc::clone(&renewal));
            asked.spawn(async move { part.renew(&renewal, lease).await });
        }
        // A failure is told when all have answered: returning earlier would drop the rest.
        let told = asked.join_all().await;
        told.into_iter().collect()
    }

    pub(crate) async fn take_back(&self, boot: &BootId, is_lost: bool) -> Result<u64> {
        let mut taken = 0;
        for member in self.parts().iter() {
            taken += member.part.take_back(&Owner::boot(boot), is_lost).await?;
        }
        Ok(taken)
    }
}

fn pick<T: Clone>(items: &[T], page: &[usize]) -> Vec<T> {
    page.iter().map(|at| items[*at].clone()).collect()
}
