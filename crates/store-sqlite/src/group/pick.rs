//! Picks jobs for a claim in a queue with groups: one per turn, from the group whose first job has the most urgent
//! priority, then from the one with the fewest slots in use, then from the one whose last turn was longest ago. Jobs
//! without a group are one more group.
//!
//! Groups are read by an index, in the order of their turns. Those that this claim has read are in memory; jobs are
//! marked as running one by one, so the first ready job of a line is always the next one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rusqlite::params;
use windlass_core::limits::{CLAIM_BYTES_MAX, GROUPS_PER_CLAIM, PAGE, SUSPECT_AFTER};
use windlass_core::store::GroupName;
use windlass_core::{ClaimRequest, JobState, Mode, Priority};

use super::row::{FirstJob, GroupRow};
use crate::claim::{START_ONE, Start};
use crate::error::TxResult;
use crate::lane::{self, HOLDER};
use crate::pick::Picked;
use crate::sql::Sql;
use crate::transaction::QueueTx;

/// Marks a job of an ordered lane as running: it holds a slot from now on.
const START_HOLDER: &str = "UPDATE job SET state = 2, token_number = ?2, token_nonce = ?3, \
    worker = ?4, started_at = ?5, accepted_at = ?6, lane = 0 WHERE key = ?1";

/// The order of groups: priority of the first job, slots in use, and turn.
type Order = (u8, u64, u64);

/// What a claim knows of the groups of a queue.
#[derive(Debug)]
struct Turns<'a> {
    start: Start<'a>,
    mode: Mode,
    may_pick_suspect: bool,
    /// The next groups by the index, which this claim has not read yet.
    unread: VecDeque<GroupRow>,
    /// The last group that was read by the index, or `None` if it has no more.
    after: Option<Order>,
    /// Groups in memory that may start their first job.
    open: BTreeSet<(Order, GroupName)>,
    /// The first jobs of lines that were read, by group; `None` for the jobs without a group.
    lines: BTreeMap<Option<GroupName>, Line>,
    /// Groups that this claim cannot use.
    unusable: usize,
}

/// The first jobs of a line.
#[derive(Debug, Default)]
struct Line {
    jobs: VecDeque<Picked>,
    /// How many jobs were read at once. Twice as many are read the next time.
    page: usize,
}

impl QueueTx<'_> {
    pub(crate) fn pick_in_turn(
        &mut self,
        request: &ClaimRequest,
        max: usize,
        may_pick_suspect: bool,
    ) -> TxResult<Vec<Picked>> {
        self.open_groups()?;
        let mut turns = Turns {
            start: Start::new(request, self.next_token(request)),
            mode: request.mode,
            may_pick_suspect,
            unread: VecDeque::new(),
            after: Some((0, 0, 0)),
            open: BTreeSet::new(),
            lines: BTreeMap::new(),
            unusable: 0,
        };
        let mut picked: Vec<Picked> = Vec::new();
        let (mut expired, mut bytes) = (0, 0);
        while expired < PAGE
            && picked.len() < max
            && let Some((group, next)) = self.next_in_turn(&mut turns, max - picked.len())?
        {
            let is_suspect = next.job.expiries >= SUSPECT_AFTER;
            if is_suspect && !picked.is_empty() {
                break;
            }
            if self.end_if_expired(&next)? {
                expired += 1;
                self.follow_end(&mut turns)?;
                continue;
            }
            bytes += next.job.payload.len();
            if bytes > CLAIM_BYTES_MAX && !picked.is_empty() {
                break;
            }
            picked.push(self.start_in_turn(&mut turns, group.as_ref(), next)?);
            if is_suspect {
                break;
            }
        }
        Ok(picked)
    }

    /// Writes what this verb changed, and lets groups take turns whose rest is over or whose rate is open.
    fn open_groups(&mut self) -> TxResult<()> {
        self.forget_groups(self.now.us)?;
        let sql = "UPDATE job_group SET opens_us = NULL WHERE queue = ?1 AND opens_us <= ?2";
        self.db.run(sql, params![self.queue.key, self.now.us])?;
        Ok(())
    }

    /// The job whose turn is next, with its group. `limit` is the number of jobs that may still be picked.
    fn next_in_turn(
        &mut self,
        turns: &mut Turns<'_>,
        limit: usize,
    ) -> TxResult<Option<(Option<GroupName>, Picked)>> {
        loop {
            self.read_turns(turns, limit)?;
            let unread = turns.unread.front().and_then(order);
            let open = turns.open.first().map(|(order, _)| *order);
            let ungrouped = self.ungrouped_order(turns, limit)?;
            let orders = [unread, open, ungrouped];
            let Some(next) = orders.into_iter().flatten().min() else {
                return Ok(None);
            };
            if Some(next) == ungrouped {
                return Ok(turns.pop(None));
            }
            if Some(next) == open {
                let Some((_, name)) = turns.open.pop_first() else {
                    return Ok(None);
                };
                return Ok(turns.pop(Some(name)));
            }
            if let Some(group) = turns.unread.pop_front() {
                let name = group.name.clone();
                self.groups.insert(name.clone(), group);
                if !self.enter_turn(turns, &name)? {
                    turns.unusable += 1;
                    if turns.unusable >= GROUPS_PER_CLAIM {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Reads the next groups by the index, without those in memory.
    fn read_turns(&mut self, turns: &mut Turns<'_>, limit: usize) -> TxResult<()> {
        loop {
            while let Some(group) = turns.unread.front() {
                if !self.groups.contains_key(&group.name) {
                    return Ok(());
                }
                turns.unread.pop_front();
            }
            let Some((priority, slots, turn)) = turns.after else {
                return Ok(());
            };
            let page = "queue = ?1 AND may_start = 1 AND opens_us IS NULL
                AND (priority, slots, turn) > (?2, ?3, ?4) ORDER BY priority, slots, turn LIMIT ?5";
            let params = params![self.queue.key, priority, slots, turn, limit];
            let page = GroupRow::select(self.db, page, params)?;
            let last = page.last().filter(|_| page.len() == limit);
            turns.after = last.and_then(order);
            turns.unread = page.into();
        }
    }

    /// Where the jobs without a group are in the order of turns, if one may be picked.
    fn ungrouped_order(&self, turns: &mut Turns<'_>, limit: usize) -> TxResult<Option<Order>> {
        let counters = &self.queue.counters;
        let (slots, turn) = (
            counters.running.saturating_sub(counters.grouped_running),
            counters.ungrouped_turn,
        );
        let line = turns.lines.entry(None).or_insert_with(|| Line {
            page: 1,
            ..Line::default()
        });
        let is_unread = counters.ready.iter().sum::<u64>() > counters.grouped_ready;
        if line.jobs.is_empty() && is_unread {
            let limit = line.next_page(limit);
            line.jobs = self.ungrouped(turns.may_pick_suspect, limit)?.into();
        }
        let first = line.jobs.front();
        Ok(first.map(|first| (first.job.priority.level(), slots, turn)))
    }

    /// The first ready jobs without a group.
    fn ungrouped(&self, may_pick_suspect: bool, limit: usize) -> TxResult<Vec<Picked>> {
        let counted = self.queue.counters.ready.iter();
        let counted = Priority::all()
            .zip(counted)
            .filter(|(_, ready)| **ready > 0);
        for (priority, _) in counted {
            let [suspects, others] = lane::lanes(priority);
            let position = if may_pick_suspect { i64::MIN } else { i64::MAX };
            let jobs = self.lanes((suspects, position), others, limit)?;
            if !jobs.is_empty() {
                return Ok(jobs);
            }
        }
        Ok(Vec::new())
    }

    /// Adds a group in memory to those that may start their first job. Returns whether it may.
    fn enter_turn(&mut self, turns: &mut Turns<'_>, name: &GroupName) -> TxResult<bool> {
        let (settings, key) = (&self.queue.settings, self.queue.key);
        let Some(group) = self.groups.get(name) else {
            return Ok(false);
        };
        let limit = usize::try_from(group.ready).unwrap_or(usize::MAX);
        let may_claim = group.is_countable(settings, turns.mode);
        if limit == 0 || !may_claim {
            return Ok(false);
        }
        let line = turns.lines.entry(Some(name.clone())).or_default();
        if line.jobs.is_empty() {
            let limit = line.next_page(limit);
            let first =
                "queue = ?1 AND state = 1 AND group_name = ?2 ORDER BY lane, position LIMIT ?3";
            let params = params![key, name.as_str(), limit];
            line.jobs = self.claimable(first, params)?.into();
        }
        let Some(first) = line.jobs.front() else {
            return Ok(false);
        };
        let holds_slot = settings.group_slot.is_lane() && first.lane == HOLDER;
        let priority = first.job.priority.level();
        let may_pick = turns.may_pick_suspect || first.job.expiries < SUSPECT_AFTER;
        let is_open = may_pick && group.may_start(settings, self.now, turns.mode, holds_slot);
        if is_open {
            let order = (priority, group.slots, group.turn);
            turns.open.insert((order, name.clone()));
        }
        if let Some(group) = self.groups.get_mut(name) {
            group.first = FirstJob::Known {
                priority,
                holds_slot,
            };
        }
        Ok(is_open)
    }

    /// Reads the lines again after a job ended: that may have made other jobs ready.
    fn follow_end(&mut self, turns: &mut Turns<'_>) -> TxResult<()> {
        turns.lines.clear();
        turns.open.clear();
        let names: Vec<_> = self.groups.keys().cloned().collect();
        for name in &names {
            self.enter_turn(turns, name)?;
        }
        Ok(())
    }

    /// Marks a job as running, and counts it as a turn of its group.
    fn start_in_turn(
        &mut self,
        turns: &mut Turns<'_>,
        name: Option<&GroupName>,
        mut picked: Picked,
    ) -> TxResult<Picked> {
        let start = &turns.start;
        let is_lane = name.is_some() && self.queue.settings.group_slot.is_lane();
        let sql = if is_lane { START_HOLDER } else { START_ONE };
        self.db.run(
            sql,
            params![
                picked.key,
                start.token.number,
                start.token.nonce,
                start.worker,
                start.started_at,
                start.accepted_at,
            ],
        )?;
        picked.is_started = true;
        let job = &picked.job;
        self.count_move(&job.id, job.priority, JobState::Ready, JobState::Running);
        let counters = &mut self.queue.counters;
        counters.turn += 1;
        let turn = counters.turn;
        let Some(name) = name else {
            counters.ungrouped_turn = turn;
            return Ok(picked);
        };
        counters.grouped_ready = counters.grouped_ready.saturating_sub(1);
        counters.grouped_running += 1;
        let holds_slot = is_lane && picked.lane == HOLDER;
        if let Some(group) = self.groups.get_mut(name) {
            group.is_changed = true;
            group.remove();
            group.turn = turn;
            group.slots += u64::from(!holds_slot);
            if let Some(limit) = group.limits.rate_limit(&self.queue.settings) {
                group.rate_next_us = limit.hand_out(group.rate_next_us, self.now.us, 1);
            }
        }
        self.enter_turn(turns, name)?;
        Ok(picked)
    }
}

impl Turns<'_> {
    /// Takes the first job of a line.
    fn pop(&mut self, group: Option<GroupName>) -> Option<(Option<GroupName>, Picked)> {
        let line = self.lines.get_mut(&group)?;
        let first = line.jobs.pop_front()?;
        Some((group, first))
    }
}

impl Line {
    /// How many jobs to read: more each time, and two at first, since the next one decides the next turn.
    fn next_page(&mut self, limit: usize) -> usize {
        self.page = (self.page * 2).max(2);
        self.page.min(limit)
    }
}

fn order(group: &GroupRow) -> Option<Order> {
    match group.first {
        FirstJob::Known { priority, .. } => Some((priority, group.slots, group.turn)),
        FirstJob::Missing | FirstJob::Unknown => None,
    }
}
