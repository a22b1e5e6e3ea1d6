//! The last step of an audit: every ready job stands in its ready list once, and every stale entry
//! is known.
//!
//! A list cannot be searched, only walked, and others go on working meanwhile. So three looks are
//! taken. The first walks the lists, then the jobs: a ready job that was not met, or twice, is
//! doubted. The second walks the lists again, since most such jobs have only moved. What is still
//! doubted gets a mark that every move of it wipes away, and the lists are walked a third time: a
//! job with its mark still on has not moved since before that walk, so it stands exactly where the
//! walk met it, or nowhere. Only such jobs are mended. Whatever moves is healthy: it was met by
//! whoever moved it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;
use windlass_core::{Priority, Repair, Result};

use super::page::Page;
use crate::partition::{Part, number, words};
use crate::script::Script;

/// How many jobs, and how many records of stale entries, one look doubts at most.
const DOUBTS_MAX: usize = 10_000;

/// How many are marked or settled in one step.
const BATCH: usize = 100;

/// How many counts go from page to page of the jobs.
const COUNTS: usize = 15;

/// Where an entry stands: the priority of its list, and its position there for life.
type Spot = (usize, i64);

/// An entry that a walk meets.
enum Met<'a> {
    /// Its job is ready and in this lane.
    Own(&'a str),
    /// Its job has left the list.
    Stale(&'a str),
}

/// What is doubted: jobs, and ids with stale entries.
#[derive(Debug, Default)]
struct Doubts {
    jobs: BTreeSet<String>,
    ghosts: BTreeSet<String>,
    has_more: bool,
}

impl Doubts {
    fn job(&mut self, id: &str) {
        add(&mut self.jobs, id, &mut self.has_more);
    }

    fn ghost(&mut self, id: &str) {
        add(&mut self.ghosts, id, &mut self.has_more);
    }

    fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.ghosts.is_empty()
    }
}

fn add(doubts: &mut BTreeSet<String>, id: &str, has_more: &mut bool) {
    if doubts.len() < DOUBTS_MAX {
        doubts.insert(id.to_owned());
    } else if !doubts.contains(id) {
        *has_more = true;
    }
}

impl Part {
    /// Takes the looks: what was mended, and whether there is more to look for.
    pub(super) async fn audit_look(&self) -> Result<(Vec<Repair>, bool)> {
        let mut look = Look {
            part: self,
            nonce: Bytes::from(format!("{:016x}", fastrand::u64(..))),
            repairs: Vec::new(),
        };
        let mut doubts = look.first().await?;
        let before = look.repairs.len();
        if !doubts.jobs.is_empty() {
            look.second(&mut doubts).await?;
        }
        if !doubts.is_empty() {
            look.third(doubts.jobs, doubts.ghosts).await?;
        }
        let has_more = doubts.has_more && look.repairs.len() > before;
        let end = vec![look.nonce.clone()];
        look.page(&self.scripts().audit_end, end).await?;
        Ok((look.repairs, has_more))
    }
}

struct Look<'a> {
    part: &'a Part,
    nonce: Bytes,
    repairs: Vec<Repair>,
}

impl Look<'_> {
    async fn page(&mut self, script: &'static Script, args: Vec<Bytes>) -> Result<Page> {
        let mut page = self.part.audit_page(script, args).await?;
        self.repairs.append(&mut page.repairs);
        Ok(page)
    }

    /// Walks every list from its head to where its tail was when the walk came to it.
    async fn walk(&mut self, mut meet: impl FnMut(Spot, Met<'_>) + Send) -> Result<()> {
        let script = &self.part.scripts().audit_ready_list;
        for priority in 0..Priority::COUNT {
            let mut next = String::new();
            let mut end = None;
            loop {
                let args = vec![number(priority), words(&next)];
                let mut page = self.page(script, args).await?;
                let mut position = page.rest.int()?;
                let end = *end.get_or_insert(page.rest.int()?);
                while !page.rest.is_empty() {
                    let entry = page.rest.text()?;
                    if let Some(id) = entry.strip_prefix('+') {
                        meet((priority, position), Met::Own(id));
                    } else if let Some(id) = entry.strip_prefix('-') {
                        meet((priority, position), Met::Stale(id));
                    }
                    position += 1;
                }
                if page.next.is_empty() || position >= end {
                    break;
                }
                next = page.next;
            }
        }
        Ok(())
    }

    /// Who should have been met and was not, or was met twice; figures are mended on the way.
    async fn first(&mut self) -> Result<Doubts> {
        let hasher = RandomState::new();
        let mut seen = HashSet::new();
        let mut stale: HashMap<String, u64> = HashMap::new();
        let mut doubts = Doubts::default();
        self.walk(|_, met| match met {
            Met::Own(id) => {
                if !seen.insert(hasher.hash_one(id)) {
                    doubts.job(id);
                }
            }
            Met::Stale(id) => *stale.entry(id.to_owned()).or_default() += 1,
        })
        .await?;
        self.count(|id| {
            if !seen.contains(&hasher.hash_one(id)) {
                doubts.job(id);
            }
        })
        .await?;
        self.ghosts(|id, count| {
            if stale.get(id).copied().unwrap_or_default() != count {
                doubts.ghost(id);
            }
        })
        .await?;
        Ok(doubts)
    }

    /// Counts all jobs, and meets those that must stand in a ready list.
    async fn count(&mut self, mut meet: impl FnMut(&str) + Send) -> Result<()> {
        let script = &self.part.scripts().audit_count;
        let mut args = vec![number(0), Bytes::new()];
        args.resize(2 + COUNTS, number(0));
        loop {
            let mut page = self.page(script, args.clone()).await?;
            for arg in &mut args[1..] {
                *arg = page.rest.bytes()?;
            }
            while !page.rest.is_empty() {
                meet(&page.rest.text()?);
            }
            if page.next.is_empty() {
                return Ok(());
            }
            args[0] = words(&page.next);
        }
    }

    /// Meets the records of stale entries, each with its count.
    async fn ghosts(&mut self, mut meet: impl FnMut(&str, u64) + Send) -> Result<()> {
        let script = &self.part.scripts().audit_stale;
        let mut args = vec![number(0), Bytes::new(), number(0)];
        loop {
            let mut page = self.page(script, args).await?;
            let (stamp, sum) = (page.rest.bytes()?, page.rest.bytes()?);
            while !page.rest.is_empty() {
                let id = page.rest.text()?;
                meet(&id, page.rest.count()?);
            }
            if page.next.is_empty() {
                return Ok(());
            }
            args = vec![words(&page.next), stamp, sum];
        }
    }

    /// Leaves those in doubt that are still not met exactly once.
    async fn second(&mut self, doubts: &mut Doubts) -> Result<()> {
        let met = self.places_of(&doubts.jobs).await?;
        doubts
            .jobs
            .retain(|id| met.get(id).is_none_or(|spots| spots.len() != 1));
        Ok(())
    }

    async fn places_of(&mut self, jobs: &BTreeSet<String>) -> Result<BTreeMap<String, Vec<Spot>>> {
        let mut places: BTreeMap<String, Vec<Spot>> = BTreeMap::new();
        self.walk(|spot, met| {
            if let Met::Own(id) = met
                && jobs.contains(id)
            {
                places.entry(id.to_owned()).or_default().push(spot);
            }
        })
        .await?;
        Ok(places)
    }

    /// Marks, walks, and settles what did not move meanwhile.
    async fn third(&mut self, jobs: BTreeSet<String>, ghosts: BTreeSet<String>) -> Result<()> {
        let jobs = self.mark("jobs", jobs, true).await?;
        let ghosts = self.mark("ghosts", ghosts, false).await?;
        let mut places: BTreeMap<&str, Vec<Spot>> =
            jobs.iter().map(|id| (&**id, Vec::new())).collect();
        let mut counts: BTreeMap<&str, u64> = ghosts.iter().map(|id| (&**id, 0)).collect();
        self.walk(|spot, met| match met {
            Met::Own(id) => {
                if let Some(spots) = places.get_mut(id) {
                    spots.push(spot);
                }
            }
            Met::Stale(id) => {
                if let Some(count) = counts.get_mut(id) {
                    *count += 1;
                }
            }
        })
        .await?;
        let places = places.iter().map(|(id, spots)| (*id, written(spots)));
        self.settle("jobs", places.collect()).await?;
        let counts = counts.iter().map(|(id, count)| (*id, count.to_string()));
        self.settle("ghosts", counts.collect()).await
    }

    /// Marks what is doubted: those that could be.
    async fn mark(
        &mut self,
        what: &'static str,
        doubted: BTreeSet<String>,
        mut is_first: bool,
    ) -> Result<BTreeSet<String>> {
        let script = &self.part.scripts().audit_mark;
        let doubted: Vec<String> = doubted.into_iter().collect();
        let mut marked = BTreeSet::new();
        // The first page says whose marks these are, even where it marks nothing.
        let pages = doubted
            .chunks(BATCH)
            .chain(doubted.is_empty().then_some(&[][..]));
        for page in pages {
            let mut args = vec![
                self.nonce.clone(),
                number(u8::from(is_first)),
                words(what),
                number(page.len()),
            ];
            args.extend(page.iter().map(|id| words(id)));
            is_first = false;
            let mut reply = self.page(script, args).await?.rest;
            while !reply.is_empty() {
                marked.insert(reply.text()?);
            }
        }
        Ok(marked)
    }

    async fn settle(&mut self, what: &'static str, met: Vec<(&str, String)>) -> Result<()> {
        let script = &self.part.scripts().audit_verify;
        for page in met.chunks(BATCH) {
            let mut args = vec![self.nonce.clone(), words(what), number(page.len())];
            args.extend(page.iter().flat_map(|(id, met)| [words(id), words(met)]));
            self.page(script, args).await?;
        }
        Ok(())
    }
}

/// Where a job was met, as the script reads it: `PRIORITY:POSITION,…`.
fn written(spots: &[Spot]) -> String {
    spots
        .iter()
        .fold(String::new(), |mut text, (priority, position)| {
            let _ = write!(text, "{priority}:{position},");
            text
        })
}
