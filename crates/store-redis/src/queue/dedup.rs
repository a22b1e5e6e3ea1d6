//! Whether a job was there before: looked for where earlier numbers of parts had put it.

use bytes::Bytes;
use windlass_core::{Clock, DurabilityLevel, Enqueued, NewJob, Result, SystemClock};

use super::enqueue::{key_of, part_of_text};
use super::{BATCH_MAX, Queue, disagreement};
use crate::codec::opts;
use crate::enqueue::duplicate;
use crate::partition::{Part, number};

/// A generated id that is not older was made for this call.
const FRESH_MS: u64 = 1000;

/// What one part says of the jobs it was asked about; nothing when it believes in fewer parts than
/// the caller.
type Told = Option<Vec<Option<Enqueued>>>;

impl Queue {
    /// For each job the one that was there first in a part where an earlier number of parts had put
    /// it. From the moment that this says that there is none, no caller who believes in such a number
    /// puts one there.
    pub(super) async fn earlier(
        &self,
        jobs: &[(usize, NewJob)],
        count: u32,
        is_again: bool,
    ) -> Result<Vec<Option<Enqueued>>> {
        if count == 1 {
            return Ok(vec![None; jobs.len()]);
        }
        let meant = meant(jobs, is_again);
        if meant.is_empty() {
            return Ok(vec![None; jobs.len()]);
        }
        self.refresh().await?;
        if let Some(found) = self.look_earlier(jobs, &meant, count).await? {
            return Ok(found);
        }
        // A part that was not told of the new ones takes jobs as before until it is.
        self.agree(count, count).await?;
        let found = self.look_earlier(jobs, &meant, count).await?;
        found.ok_or_else(disagreement)
    }

    /// Asks all parts in question at once; nothing when one of them is behind.
    async fn look_earlier(
        &self,
        jobs: &[(usize, NewJob)],
        meant: &[usize],
        count: u32,
    ) -> Result<Option<Vec<Option<Enqueued>>>> {
        let hands = self.places(jobs, meant, count);
        let asked = hands.into_iter().enumerate();
        let asked = asked
            .filter(|(_, hand)| !hand.is_empty())
            .map(|(number, hand)| (number, (question(jobs, &hand), hand)));
        let told = self.in_parts(asked.collect(), move |member, (words, hand)| async move {
            Ok((hand, member.part.find(words, count).await?))
        });
        let mut found = vec![None; jobs.len()];
        for told in told.await {
            let (hand, told): (Vec<usize>, Told) = told?;
            let Some(told) = told else { return Ok(None) };
            for (at, first) in hand.into_iter().zip(told) {
                found[at] = found[at].take().or(first);
            }
        }
        Ok(Some(found))
    }

    /// For each part the jobs that some number of parts before had put there, but not this one.
    fn places(&self, jobs: &[(usize, NewJob)], meant: &[usize], count: u32) -> Vec<Vec<usize>> {
        // The number that the first part names is one of them: whoever adds parts tells it last. Parts
        // are learnt of before their number is: there are as many as any of these says.
        let numbers = self.known.numbers();
        let mut hands = vec![Vec::new(); self.parts().len()];
        for at in meant {
            let text = key_of(&jobs[*at].1);
            let mut seen = vec![part_of_text(text, count)];
            for number in &numbers {
                let place = part_of_text(text, *number);
                if !seen.contains(&place) {
                    seen.push(place);
                    hands[place].push(*at);
                }
            }
        }
        hands
    }
}

/// Jobs that may have been there before: those with a name or a key of their own, and generated ids
/// that are sent again or were made so long ago that they may be.
fn meant(jobs: &[(usize, NewJob)], is_again: bool) -> Vec<usize> {
    let now = SystemClock.now_us() / 1000;
    let is_fresh = |job: &NewJob| {
        let made = opts::ulid_ms(&job.id, false).unwrap_or_default();
        now.abs_diff(made) < FRESH_MS
    };
    let may_repeat = |job: &NewJob| job.is_named || job.unique_key.is_some() || !is_fresh(job);
    let meant = jobs.iter().enumerate();
    let meant = meant.filter(|(_, (_, job))| is_again || may_repeat(job));
    meant.map(|(at, _)| at).collect()
}

/// Id and unique key of each job in question.
fn question(jobs: &[(usize, NewJob)], hand: &[usize]) -> Vec<Bytes> {
    let mut words = Vec::with_capacity(hand.len() * 2);
    for at in hand {
        let job = &jobs[*at].1;
        let key = job.unique_key.as_ref().map_or("", |key| key.as_str());
        words.push(Bytes::copy_from_slice(job.id.as_str().as_bytes()));
        words.push(Bytes::copy_from_slice(key.as_bytes()));
    }
    words
}

impl Part {
    /// The jobs that enqueues of these would be duplicates of; nothing is stored.
    async fn find(&self, words: Vec<Bytes>, count: u32) -> Result<Told> {
        let mut found = Vec::with_capacity(words.len() / 2);
        for page in words.chunks(BATCH_MAX * 2) {
            let mut args = vec![number(count)];
            args.extend_from_slice(page);
            let mut reply = self.list(&self.scripts().find, args).await?;
            if reply.is_empty() {
                return Ok(None);
            }
            while !reply.is_empty() {
                let word = reply.text()?;
                let first = (!word.is_empty()).then(|| duplicate(&word, DurabilityLevel::Memory));
                found.push(first.transpose()?);
            }
        }
        Ok(Some(found))
    }
}
