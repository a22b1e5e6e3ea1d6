//! Dealing jobs out over the parts, and gathering calls while a round trip is under way.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_core::{Completion, Enqueued, Error, NewJob, OutcomeStatus, Result};

use super::{Answer, BATCH_BYTES, BATCH_MAX, Member, Queue, disagreement, done_in_part, graver};
use crate::batcher::{Bounds, Gather};
use crate::enqueue::Stored;
use crate::partition::{Part, runs};

/// How often a batch is dealt out anew because the queue grew meanwhile.
const DEALS_MAX: usize = 20;

impl Queue {
    pub(crate) async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<Vec<Enqueued>> {
        if jobs.is_empty() {
            self.first().make().await?;
            return Ok(Vec::new());
        }
        let mut answers: Vec<Option<Enqueued>> = vec![None; jobs.len()];
        let mut waiting: Vec<(usize, NewJob)> = jobs.into_iter().enumerate().collect();
        for deal in 0..DEALS_MAX {
            // What comes back may have been stored by a call that was not heard.
            waiting = match self.deal(waiting, deal > 0, &mut answers).await {
                Ok(waiting) => waiting,
                Err(failure) => return Err(after(answers.iter().flatten(), failure)),
            };
            if waiting.is_empty() {
                break;
            }
        }
        if !waiting.is_empty() {
            return Err(after(answers.iter().flatten(), disagreement()));
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Sends jobs to their parts; those whose part has moved come back.
    async fn deal(
        &self,
        jobs: Vec<(usize, NewJob)>,
        is_again: bool,
        answers: &mut [Option<Enqueued>],
    ) -> Result<Vec<(usize, NewJob)>> {
        let parts = self.parts();
        let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let mut hands: Vec<Vec<(usize, NewJob)>> = parts.iter().map(|_| Vec::new()).collect();
        let earlier = self.earlier(&jobs, count, is_again).await?;
        for ((at, job), first) in jobs.into_iter().zip(earlier) {
            if first.is_some() {
                answers[at] = first;
            } else {
                hands[part_of(&job, count)].push((at, job));
            }
        }
        let (back, most) = self.send(hands, count, answers).await?;
        if !back.is_empty() {
            self.agree(count, most).await?;
        }
        for member in parts.iter() {
            // The answers do not wait for it: jobs go on coming in meanwhile.
            if member.part.is_large.swap(false, Ordering::Relaxed)
                && let Some(queue) = self.itself()
            {
                Self::grow_aside(queue);
            }
        }
        Ok(back)
    }

    /// Sends each part what it has in hand. What comes back: jobs whose part has moved, and the highest
    /// number of parts that was told.
    async fn send(
        &self,
        hands: Vec<Vec<(usize, NewJob)>>,
        count: u32,
        answers: &mut [Option<Enqueued>],
    ) -> Result<(Vec<(usize, NewJob)>, u32)> {
        let patience = self.patience();
        let hands = hands.into_iter().enumerate();
        let hands = hands.filter(|(_, hand)| !hand.is_empty()).collect();
        let told = self.in_parts(hands, move |member, hand| async move {
            Ok(enqueue_hand(&member, hand, count, patience).await)
        });
        let (mut back, mut most, mut failed) = (Vec::new(), count, None);
        for (told, failure) in told.await.into_iter().flatten() {
            for (at, answer) in told {
                match answer {
                    Answer::Enqueued(enqueued) => answers[at] = Some(enqueued),
                    Answer::Moved(job, told) => {
                        most = most.max(told);
                        back.push((at, *job));
                    }
                }
            }
            if let Some(failure) = failure {
                failed = Some(graver(failed, failure));
            }
        }
        failed.map_or(Ok((back, most)), Err)
    }
}

/// What one part answered, page after page until one failed, and that failure.
async fn enqueue_hand(
    member: &Member,
    hand: Vec<(usize, NewJob)>,
    count: u32,
    patience: Duration,
) -> (Vec<(usize, Answer)>, Option<Error>) {
    let mut answers = Vec::with_capacity(hand.len());
    for page in pages(hand) {
        let (places, sent): (Vec<_>, Vec<_>) =
            page.into_iter().map(|(at, job)| (at, (count, job))).unzip();
        match member.enqueues.call_within(patience, sent).await {
            Ok(told) => answers.extend(places.into_iter().zip(told)),
            Err(error) => return (answers, Some(error)),
        }
    }
    (answers, None)
}

/// A failure after some jobs of the call were stored is not one that did nothing.
fn after<'a>(mut told: impl Iterator<Item = &'a Enqueued>, failure: Error) -> Error {
    if failure.is_unknown() || told.all(Enqueued::is_duplicate) {
        return failure;
    }
    done_in_part(failure)
}

/// Which part a job belongs to: equal keys, and equal ids, always to the same.
pub(super) fn part_of(job: &NewJob, count: u32) -> usize {
    if count == 1 {
        return 0;
    }
    part_of_text(key_of(job), count)
}

/// What decides which part a job belongs to.
pub(super) fn key_of(job: &NewJob) -> &str {
    let key = job.unique_key.as_ref().map(|key| key.as_str());
    key.unwrap_or(job.id.as_str())
}

/// A hash that is the same in every process and version.
pub(super) fn part_of_text(text: &str, count: u32) -> usize {
    // FNV-1a, then mixed: the low bits of FNV alone are poor for texts that differ at the end.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^= hash >> 32;
    usize::try_from(hash % u64::from(count)).unwrap_or_default()
}

/// Cuts a hand into what one script call takes.
fn pages(hand: Vec<(usize, NewJob)>) -> Vec<Vec<(usize, NewJob)>> {
    let mut pages = Vec::new();
    let (mut page, mut bytes) = (Vec::new(), 0);
    for (at, job) in hand {
        let weight = job.payload.len() + job.headers.bytes();
        if !page.is_empty() && (page.len() == BATCH_MAX || bytes + weight > BATCH_BYTES) {
            pages.push(std::mem::take(&mut page));
            bytes = 0;
        }
        bytes += weight;
        page.push((at, job));
    }
    if !page.is_empty() {
        pages.push(page);
    }
    pages
}

pub(super) fn gathered_enqueues(part: Arc<Part>) -> Gather<(u32, NewJob), Answer> {
    let weight = |(_, job): &(u32, NewJob)| job.payload.len() + job.headers.bytes();
    Gather::new(bounds(), weight, move |jobs| {
        let part = Arc::clone(&part);
        Box::pin(async move { enqueue_gathered(&part, jobs).await })
    })
}

/// Callers that believe in different numbers of parts are told of the difference: those who know of
/// most by the script, the others here.
async fn enqueue_gathered(part: &Part, jobs: Vec<(u32, NewJob)>) -> Result<Vec<Answer>> {
    let count = jobs.iter().map(|(count, _)| *count).max().unwrap_or(1);
    let mut current = Vec::with_capacity(jobs.len());
    let mut moved = Vec::with_capacity(jobs.len());
    for (known, job) in jobs {
        if known == count {
            current.push(job);
            moved.push(None);
        } else {
            moved.push(Some(Answer::Moved(Box::new(job), count)));
        }
    }
    let told: Vec<Answer> = match enqueue_runs(part, &current, count).await? {
        Stored::Moved(count) => current
            .into_iter()
            .map(|job| Answer::Moved(Box::new(job), count))
            .collect(),
        Stored::Answered(answers, is_large) => {
            part.is_large.fetch_or(is_large, Ordering::Relaxed);
            answers.into_iter().map(Answer::Enqueued).collect()
        }
    };
    let mut told = told.into_iter();
    let answers = moved
        .into_iter()
        .filter_map(|moved| moved.or_else(|| told.next()));
    Ok(answers.collect())
}

/// Callers may have sent one id twice: the second is a duplicate of the first.
async fn enqueue_runs(part: &Part, jobs: &[NewJob], count: u32) -> Result<Stored> {
    let (mut answers, mut is_large) = (Vec::with_capacity(jobs.len()), false);
    for run in runs(jobs.iter().map(|job| job.id.as_str())) {
        match part.enqueue(&jobs[run], count).await {
            Err(failure) => return Err(after(answers.iter(), failure)),
            // What an earlier run stored will be a duplicate of itself in its new part.
            Ok(Stored::Moved(count)) => return Ok(Stored::Moved(count)),
            Ok(Stored::Answered(told, large)) => {
                answers.extend(told);
                is_large |= large;
            }
        }
    }
    Ok(Stored::Answered(answers, is_large))
}

pub(super) fn gathered_completes(part: Arc<Part>) -> Gather<Completion, OutcomeStatus> {
    let weight = |item: &Completion| item.result.as_ref().map_or(0, bytes::Bytes::len);
    Gather::new(bounds(), weight, move |completions| {
        let part = Arc::clone(&part);
        Box::pin(async move { Ok(part.complete(&completions, None).await?.statuses) })
    })
}

fn bounds() -> Bounds {
    Bounds {
        items: BATCH_MAX,
        weight: BATCH_BYTES,
        // While one run is answered the next is on its way: the server never waits for us.
        runs: 2,
    }
}
