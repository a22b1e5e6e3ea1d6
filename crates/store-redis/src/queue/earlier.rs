//! Whether a job was there before: looked for where earlier numbers of parts had put it.

use bytes::Bytes;
use windlass_core::{Enqueued, Level, NewJob, Result};

use super::deal::{key_of, part_of_text};
use super::{BATCH_MAX, Queue};
use crate::enqueue::duplicate;
use crate::part::{Part, number};

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
    ) -> Result<Vec<Option<Enqueued>>> {
        let may_repeat = |job: &NewJob| job.is_named || job.unique_key.is_some();
        if count == 1 || !jobs.iter().any(|(_, job)| may_repeat(job)) {
            return Ok(vec![None; jobs.len()]);
        }
        self.refresh().await?;
        if let Some(found) = self.look_earlier(jobs, count).await? {
            return Ok(found);
        }
        // A part that was not told of the new ones takes jobs as before until it is.
        self.agree(count, count).await?;
        let found = self.look_earlier(jobs, count).await?;
        found.ok_or_else(|| crate::reply::short("the parts of the queue do not agree"))
    }

    /// Asks all parts in question at once; nothing when one of them is behind.
    async fn look_earlier(
        &self,
        jobs: &[(usize, NewJob)],
        count: u32,
    ) -> Result<Option<Vec<Option<Enqueued>>>> {
        let hands = self.places(jobs, count);
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
    fn places(&self, jobs: &[(usize, NewJob)], count: u32) -> Vec<Vec<usize>> {
        let mut hands = vec![Vec::new(); self.parts().len()];
        // The number that the first part names is one of them: whoever adds parts tells it last.
        let numbers = self.known.numbers();
        for (at, (_, job)) in jobs.iter().enumerate() {
            if !(job.is_named || job.unique_key.is_some()) {
                continue;
            }
            let text = key_of(job);
            let mut seen = vec![part_of_text(text, count)];
            for number in &numbers {
                let place = part_of_text(text, *number);
                if !seen.contains(&place) {
                    seen.push(place);
                    hands[place].push(at);
                }
            }
        }
        hands
    }
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
                let first = (!word.is_empty()).then(|| duplicate(&word, Level::Memory));
                found.push(first.transpose()?);
            }
        }
        Ok(Some(found))
    }
}
