//! The last phase of an audit: checks that every ready job is in its ready list exactly once, and
//! that every stale entry is recorded.
//!
//! A list cannot be searched, only scanned, and workers are active meanwhile. So the lists are scanned
//! three times. The first pass scans the lists, then the jobs: a ready job seen never, or twice, is
//! suspicious. The second scans the lists again, since most of these jobs have only moved. What is
//! still suspicious gets a mark that any move removes, and the lists are scanned a third time: a job
//! that still has its mark has not moved since, so it is exactly where the scan saw it, or nowhere.
//! Only such jobs are repaired. A job that moves is fine: the script that moved it found its entry.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};

use bytes::Bytes;
use windlass_core::store::Repair;
use windlass_core::{Priority, Result};

use super::page::Page;
use crate::codec::names::{CURRENT_ENTRY, STALE_ENTRY};
use crate::partition::{Partition, number_arg, text_arg};
use crate::script::Script;

/// Maximum number of suspicious jobs, and of suspicious stale entries, in one round.
const SUSPICIOUS_MAX: usize = 10_000;

/// Number of ids marked or verified in one script call.
const BATCH: usize = 100;

/// Number of counts passed from page to page of the jobs.
const COUNTS: usize = 26;

/// The position of an entry: the priority of its list, and its absolute position in it.
type Position = (usize, i64);

/// An entry seen by a scan.
enum Entry<'a> {
    /// Its job is ready and in this lane.
    Current(&'a str),
    /// Its job has left the list.
    Stale(&'a str),
}

/// Suspicious ids: of jobs, and of stale entries.
#[derive(Debug, Default)]
struct Suspicious {
    jobs: BTreeSet<String>,
    stale: BTreeSet<String>,
    has_more: bool,
}

impl Suspicious {
    fn add_job(&mut self, id: &str) {
        add(&mut self.jobs, id, &mut self.has_more);
    }

    fn add_stale(&mut self, id: &str) {
        add(&mut self.stale, id, &mut self.has_more);
    }

    fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.stale.is_empty()
    }
}

fn add(ids: &mut BTreeSet<String>, id: &str, has_more: &mut bool) {
    if ids.len() < SUSPICIOUS_MAX {
        ids.insert(id.to_owned());
    } else if !ids.contains(id) {
        *has_more = true;
    }
}

impl Partition {
    /// Checks the ready lists. Returns the repairs, and whether another round is needed.
    pub(super) async fn audit_ready_lists(&self) -> Result<(Vec<Repair>, bool)> {
        let mut check = ReadyListCheck {
            partition: self,
            nonce: Bytes::from(format!("{:016x}", fastrand::u64(..))),
            repairs: Vec::new(),
        };
        let mut found = check.first_pass().await?;
        let before = check.repairs.len();
        if !found.jobs.is_empty() {
            check.second_pass(&mut found).await?;
        }
        if !found.is_empty() {
            check.third_pass(found.jobs, found.stale).await?;
        }
        let has_more = found.has_more && check.repairs.len() > before;
        let end = vec![check.nonce.clone()];
        check.page(&self.scripts().audit_end, end).await?;
        Ok((check.repairs, has_more))
    }
}

struct ReadyListCheck<'a> {
    partition: &'a Partition,
    nonce: Bytes,
    repairs: Vec<Repair>,
}

impl ReadyListCheck<'_> {
    async fn page(&mut self, script: &'static Script, args: Vec<Bytes>) -> Result<Page> {
        let mut page = self.partition.audit_page(script, args).await?;
        self.repairs.append(&mut page.repairs);
        Ok(page)
    }

    /// Scans every list from its head to where its tail was when the scan reached it.
    async fn scan(&mut self, mut visit: impl FnMut(Position, Entry<'_>) + Send) -> Result<()> {
        let script = &self.partition.scripts().audit_ready_list;
        for priority in 0..Priority::COUNT {
            let mut next = String::new();
            let mut end = None;
            loop {
                let args = vec![number_arg(priority), text_arg(&next)];
                let mut page = self.page(script, args).await?;
                let mut position = page.rest.int()?;
                let end = *end.get_or_insert(page.rest.int()?);
                while !page.rest.is_empty() {
                    let entry = page.rest.text()?;
                    if let Some(id) = entry.strip_prefix(CURRENT_ENTRY) {
                        visit((priority, position), Entry::Current(id));
                    } else if let Some(id) = entry.strip_prefix(STALE_ENTRY) {
                        visit((priority, position), Entry::Stale(id));
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

    /// Finds jobs seen never or twice, and wrong counts of stale entries. Corrects stats on the way.
    async fn first_pass(&mut self) -> Result<Suspicious> {
        let hasher = RandomState::new();
        let mut seen = HashSet::new();
        let mut stale: HashMap<String, u64> = HashMap::new();
        let mut found = Suspicious::default();
        self.scan(|_, entry| match entry {
            Entry::Current(id) => {
                if !seen.insert(hasher.hash_one(id)) {
                    found.add_job(id);
                }
            }
            Entry::Stale(id) => *stale.entry(id.to_owned()).or_default() += 1,
        })
        .await?;
        self.count(|id| {
            if !seen.contains(&hasher.hash_one(id)) {
                found.add_job(id);
            }
        })
        .await?;
        self.stale_records(|id, count| {
            if stale.get(id).copied().unwrap_or_default() != count {
                found.add_stale(id);
            }
        })
        .await?;
        Ok(found)
    }

    /// Counts all jobs, and visits those that must be in a ready list.
    async fn count(&mut self, mut visit: impl FnMut(&str) + Send) -> Result<()> {
        let script = &self.partition.scripts().audit_count;
        let mut args = vec![number_arg(0), Bytes::new()];
        args.resize(2 + COUNTS, number_arg(0));
        loop {
            let mut page = self.page(script, args.clone()).await?;
            for arg in &mut args[1..] {
                *arg = page.rest.bytes()?;
            }
            while !page.rest.is_empty() {
                visit(&page.rest.text()?);
            }
            if page.next.is_empty() {
                return Ok(());
            }
            args[0] = text_arg(&page.next);
        }
    }

    /// Visits the records of stale entries, each with its count.
    async fn stale_records(&mut self, mut visit: impl FnMut(&str, u64) + Send) -> Result<()> {
        let script = &self.partition.scripts().audit_stale;
        let mut args = vec![number_arg(0), Bytes::new(), number_arg(0)];
        loop {
            let mut page = self.page(script, args).await?;
            let (fingerprint, sum) = (page.rest.bytes()?, page.rest.bytes()?);
            while !page.rest.is_empty() {
                let id = page.rest.text()?;
                visit(&id, page.rest.count()?);
            }
            if page.next.is_empty() {
                return Ok(());
            }
            args = vec![text_arg(&page.next), fingerprint, sum];
        }
    }

    /// Keeps jobs suspicious that are still not seen exactly once.
    async fn second_pass(&mut self, found: &mut Suspicious) -> Result<()> {
        let seen = self.positions_of(&found.jobs).await?;
        found
            .jobs
            .retain(|id| seen.get(id).is_none_or(|positions| positions.len() != 1));
        Ok(())
    }

    async fn positions_of(
        &mut self,
        jobs: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, Vec<Position>>> {
        let mut positions: BTreeMap<String, Vec<Position>> = BTreeMap::new();
        self.scan(|position, entry| {
            if let Entry::Current(id) = entry
                && jobs.contains(id)
            {
                positions.entry(id.to_owned()).or_default().push(position);
            }
        })
        .await?;
        Ok(positions)
    }

    /// Marks, scans, and repairs what did not move meanwhile.
    async fn third_pass(&mut self, jobs: BTreeSet<String>, stale: BTreeSet<String>) -> Result<()> {
        let jobs = self.mark("jobs", jobs, true).await?;
        let stale = self.mark("ghosts", stale, false).await?;
        let mut seen: BTreeMap<&str, Vec<Position>> =
            jobs.iter().map(|id| (&**id, Vec::new())).collect();
        let mut counts: BTreeMap<&str, u64> = stale.iter().map(|id| (&**id, 0)).collect();
        self.scan(|position, entry| match entry {
            Entry::Current(id) => {
                if let Some(positions) = seen.get_mut(id) {
                    positions.push(position);
                }
            }
            Entry::Stale(id) => {
                if let Some(count) = counts.get_mut(id) {
                    *count += 1;
                }
            }
        })
        .await?;
        let seen = seen.iter().map(|(id, positions)| (*id, encode(positions)));
        self.verify("jobs", seen.collect()).await?;
        let counts = counts.iter().map(|(id, count)| (*id, count.to_string()));
        self.verify("ghosts", counts.collect()).await
    }

    /// Marks suspicious ids. Returns those that were marked.
    async fn mark(
        &mut self,
        kind: &'static str,
        ids: BTreeSet<String>,
        mut is_first: bool,
    ) -> Result<BTreeSet<String>> {
        let script = &self.partition.scripts().audit_mark;
        let ids: Vec<String> = ids.into_iter().collect();
        let mut marked = BTreeSet::new();
        // The first page registers this audit, even if it marks nothing.
        let pages = ids.chunks(BATCH).chain(ids.is_empty().then_some(&[][..]));
        for page in pages {
            let mut args = vec![
                self.nonce.clone(),
                number_arg(u8::from(is_first)),
                text_arg(kind),
                number_arg(page.len()),
            ];
            args.extend(page.iter().map(|id| text_arg(id)));
            is_first = false;
            let mut reply = self.page(script, args).await?.rest;
            while !reply.is_empty() {
                marked.insert(reply.text()?);
            }
        }
        Ok(marked)
    }

    /// Repairs ids that still have their mark.
    async fn verify(&mut self, kind: &'static str, seen: Vec<(&str, String)>) -> Result<()> {
        let script = &self.partition.scripts().audit_verify;
        for page in seen.chunks(BATCH) {
            let mut args = vec![self.nonce.clone(), text_arg(kind), number_arg(page.len())];
            args.extend(
                page.iter()
                    .flat_map(|(id, seen)| [text_arg(id), text_arg(seen)]),
            );
            self.page(script, args).await?;
        }
        Ok(())
    }
}

/// Encodes positions as an argument: `PRIORITY:POSITION,…`.
fn encode(positions: &[Position]) -> String {
    positions
        .iter()
        .fold(String::new(), |mut text, (priority, position)| {
            let _ = write!(text, "{priority}:{position},");
            text
        })
}
