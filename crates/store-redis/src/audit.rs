//! audit: finds and repairs damage that no script causes, but a lost key, another tool or a manual
//! change in the database can.
//!
//! Each partition is checked in stages, key by key and page by page. Every page is one script call,
//! so it sees a consistent state while workers are active. [`start`] checks that the queue is readable
//! at all, the scans of [`STAGES`] check the values of each key, and [`ready_lists`] compares the
//! ready lists with the jobs that must be in them. [`page`] decodes the reply of a page, [`repair`] has
//! the messages.
//!
//! Stats that need a scan of all jobs (bytes, ready jobs by priority) are corrected only if nothing
//! moved during the scan. Otherwise only what can be proven is corrected: a lane has no more ready
//! jobs than entries, and no fewer than entries that are not stale. Without stale entries that is
//! exact.

mod page;
mod ready_lists;
mod repair;
mod start;
#[cfg(test)]
mod tests;

use windlass_core::store::{Audited, Cursor};
use windlass_core::{Error, Result};

use crate::partition::{Partition, text_arg};
use crate::queue::Queue;
use crate::script::{Script, Scripts};
use page::Page;
use start::Start;

/// The scan of one key.
#[derive(Debug)]
struct Stage {
    name: &'static str,
    /// The script that checks a page of it.
    script: fn(&'static Scripts) -> &'static Script,
    /// Whether the script checks several keys and takes the name as an argument.
    is_named: bool,
}

const fn stage(name: &'static str, script: fn(&'static Scripts) -> &'static Script) -> Stage {
    Stage {
        name,
        script,
        is_named: true,
    }
}

const fn single(name: &'static str, script: fn(&'static Scripts) -> &'static Script) -> Stage {
    Stage {
        is_named: false,
        ..stage(name, script)
    }
}

/// All scans, in order. First the records that scripts read when they add jobs to lists; claims before
/// jobs, since the claim decides whether a job is running; schedules and other values of jobs after
/// the jobs; the records of groups last, since they count what the stages before have corrected.
const STAGES: [Stage; 40] = [
    stage("ghosts", |scripts| &scripts.audit_tombstones),
    single("running", |scripts| &scripts.audit_running),
    single("open", |scripts| &scripts.audit_open_claims),
    stage("tokens", |scripts| &scripts.audit_claims),
    stage("claims", |scripts| &scripts.audit_claims),
    stage("left", |scripts| &scripts.audit_claims),
    stage("holds", |scripts| &scripts.audit_claims),
    stage("leases", |scripts| &scripts.audit_leases),
    stage("owners", |scripts| &scripts.audit_leases),
    stage("suspects", |scripts| &scripts.audit_orphans),
    stage("scheduled", |scripts| &scripts.audit_orphans),
    stage("final", |scripts| &scripts.audit_orphans),
    stage("succeeded", |scripts| &scripts.audit_orphans),
    stage("dead", |scripts| &scripts.audit_orphans),
    stage("cancelled", |scripts| &scripts.audit_orphans),
    stage("opts", |scripts| &scripts.audit_orphans),
    single(JOBS, |scripts| &scripts.audit_jobs),
    stage("schedules", |scripts| &scripts.audit_schedules),
    stage("plans", |scripts| &scripts.audit_schedules),
    stage("firing", |scripts| &scripts.audit_schedules),
    stage("refilling", |scripts| &scripts.audit_schedules),
    stage("names", |scripts| &scripts.audit_schedules),
    stage("pending", |scripts| &scripts.audit_schedules),
    stage("errors", |scripts| &scripts.audit_orphans),
    stage("error_groups", |scripts| &scripts.audit_orphans),
    stage("error_seen", |scripts| &scripts.audit_orphans),
    stage("results", |scripts| &scripts.audit_orphans),
    stage("expiring", |scripts| &scripts.audit_orphans),
    stage("unique", |scripts| &scripts.audit_orphans),
    stage("stopping", |scripts| &scripts.audit_orphans),
    stage("progress", |scripts| &scripts.audit_orphans),
    stage("tombstones", |scripts| &scripts.audit_tombstones),
    stage("forgetting", |scripts| &scripts.audit_tombstones),
    stage("lined", |scripts| &scripts.audit_groups),
    stage("working", |scripts| &scripts.audit_groups),
    stage("turns", |scripts| &scripts.audit_groups),
    stage("resting", |scripts| &scripts.audit_groups),
    stage("recheck", |scripts| &scripts.audit_groups),
    stage("group_names", |scripts| &scripts.audit_groups),
    single("groups", |scripts| &scripts.audit_group_records),
];

/// The scan that counts every job once.
const JOBS: &str = "jobs";

/// The position of an audit: `PARTITION,STAGE,CURSOR`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AuditCursor {
    partition: usize,
    phase: Phase,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    Start,
    /// The index of a stage, and the cursor of its scan.
    Scan(usize, u64),
    ReadyLists,
}

impl AuditCursor {
    const FIRST: Self = Self {
        partition: 0,
        phase: Phase::Start,
    };

    fn read(from: Option<&Cursor>) -> Result<Self> {
        let Some(Cursor(text)) = from else {
            return Ok(Self::FIRST);
        };
        Self::parse(text).ok_or_else(bad_cursor)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.splitn(3, ',');
        let partition = fields.next()?.parse().ok()?;
        let (name, position) = (fields.next()?, fields.next()?.parse().ok()?);
        let phase = match name {
            "start" => Phase::Start,
            "ready_lists" => Phase::ReadyLists,
            name => {
                let stage = STAGES.iter().position(|stage| stage.name == name)?;
                Phase::Scan(stage, position)
            }
        };
        Some(Self { partition, phase })
    }

    fn write(&self) -> Cursor {
        let (name, position) = match self.phase {
            Phase::Start => ("start", 0),
            Phase::Scan(stage, position) => (STAGES[stage].name, position),
            Phase::ReadyLists => ("ready_lists", 0),
        };
        Cursor(format!("{},{name},{position}", self.partition))
    }

    /// The phase after this one.
    fn next_phase(&self) -> Phase {
        match self.phase {
            Phase::Start => Phase::Scan(0, 0),
            Phase::Scan(stage, _) if stage + 1 < STAGES.len() => Phase::Scan(stage + 1, 0),
            _ => Phase::ReadyLists,
        }
    }
}

fn bad_cursor() -> Error {
    let why = "this store did not return it";
    Error::invalid("cursor", why, "start with the first page")
}

impl Queue {
    pub(crate) async fn audit(&self, from: Option<&Cursor>) -> Result<Audited> {
        let cursor = AuditCursor::read(from)?;
        // The start comes first: other scripts fail on what it repairs.
        if cursor != AuditCursor::FIRST {
            self.refresh().await?;
        }
        let mut audited = Audited::default();
        let next = self.audit_phase(&cursor, &mut audited).await?;
        if cursor == AuditCursor::FIRST {
            self.refresh().await?;
        }
        let next = match next {
            Some(phase) => Some(AuditCursor { phase, ..cursor }),
            None if cursor.partition + 1 < self.partitions().len() => Some(AuditCursor {
                partition: cursor.partition + 1,
                phase: Phase::Start,
            }),
            None => {
                for name in self.drop_schedule_copies().await? {
                    let repair = repair::repair("schedule_copied", "", name.as_str())?;
                    audited.repairs.push(repair);
                }
                None
            }
        };
        audited.next = next.map(|cursor| cursor.write());
        Ok(audited)
    }

    /// Checks one page. Returns the next phase in this partition, if any.
    async fn audit_phase(
        &self,
        cursor: &AuditCursor,
        audited: &mut Audited,
    ) -> Result<Option<Phase>> {
        let partitions = self.partitions();
        let partition = partitions.get(cursor.partition).ok_or_else(bad_cursor)?;
        match cursor.phase {
            Phase::Start => match self.start_audit(partition).await? {
                Start::Absent => Ok(None),
                Start::Valid(repairs) => {
                    audited.repairs = repairs;
                    Ok(Some(cursor.next_phase()))
                }
            },
            Phase::Scan(stage, position) => {
                let page = partition.audit_stage(&STAGES[stage], position).await?;
                if STAGES[stage].name == JOBS {
                    audited.checked = page.scanned;
                }
                audited.repairs = page.repairs;
                let next = page.next.parse();
                let next = next.map(|position| Phase::Scan(stage, position));
                Ok(Some(next.unwrap_or_else(|_| cursor.next_phase())))
            }
            Phase::ReadyLists => {
                let (repairs, has_more) = partition.audit_ready_lists().await?;
                audited.repairs = repairs;
                Ok(has_more.then_some(Phase::ReadyLists))
            }
        }
    }
}

impl Partition {
    async fn audit_stage(&self, stage: &Stage, position: u64) -> Result<Page> {
        let mut args = Vec::with_capacity(2);
        if stage.is_named {
            args.push(text_arg(stage.name));
        }
        args.push(text_arg(&position.to_string()));
        self.audit_page((stage.script)(self.scripts()), args).await
    }

    async fn audit_page(&self, script: &'static Script, args: Vec<bytes::Bytes>) -> Result<Page> {
        Page::read(self.run_list(script, args).await?)
    }
}
