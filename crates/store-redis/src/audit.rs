//! audit: the deep clean. Finds and mends what no script leaves, but a lost key, a foreign tool or a
//! hand in the database might.
//!
//! Each part of a queue is seen in stages, key after key, a page at a time; every page is one script
//! and so decides on the state of one moment, whoever works meanwhile. [`start`] looks whether there
//! is a queue that can be read at all, the walks of [`STAGES`] look at what each key holds, and at
//! last [`ready_lists`] compares the ready lists with the jobs that must stand there. [`page`] is what every
//! page replies, [`repair`] the words for what was found.
//!
//! Figures that take a walk over all jobs (bytes, ready jobs by priority) are mended only where
//! nothing moved between the first page of that walk and its last; else nothing is said of them, but
//! for what can be proven at once: a lane has no more ready jobs than entries, and no fewer than
//! entries that are not stale. Without stale entries that is exact.

mod page;
mod ready_lists;
mod repair;
mod start;
#[cfg(test)]
mod tests;

use windlass_core::{Audited, Cursor, Error, Result};

use crate::partition::{Part, words};
use crate::queue::Queue;
use crate::script::{Script, Scripts};
use page::Page;
use start::Start;

/// A walk over one key.
#[derive(Debug)]
struct Stage {
    /// The key.
    name: &'static str,
    /// The script that looks at a page of it.
    script: fn(&'static Scripts) -> &'static Script,
    /// Whether the script looks at several keys and is told which.
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

/// All walks in their order. Claims come before jobs, since whether a job runs is up to its claim;
/// what jobs have beside their place comes after them. What scripts read when they place a job comes
/// first of all.
const STAGES: [Stage; 25] = [
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
    stage("errors", |scripts| &scripts.audit_orphans),
    stage("results", |scripts| &scripts.audit_orphans),
    stage("expiring", |scripts| &scripts.audit_orphans),
    stage("unique", |scripts| &scripts.audit_orphans),
    stage("stopping", |scripts| &scripts.audit_orphans),
    stage("progress", |scripts| &scripts.audit_orphans),
    stage("tombstones", |scripts| &scripts.audit_tombstones),
    stage("forgetting", |scripts| &scripts.audit_tombstones),
];

/// The walk that meets every job once.
const JOBS: &str = "jobs";

/// Where an audit goes on: `PART,STAGE,POSITION`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    part: usize,
    step: Step,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Start,
    /// A walk by its number, and Redis' own cursor within it.
    Walk(usize, u64),
    Look,
}

impl Place {
    const FIRST: Self = Self {
        part: 0,
        step: Step::Start,
    };

    fn read(from: Option<&Cursor>) -> Result<Self> {
        let Some(Cursor(text)) = from else {
            return Ok(Self::FIRST);
        };
        Self::parse(text).ok_or_else(bad_cursor)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ',');
        let part = parts.next()?.parse().ok()?;
        let (name, position) = (parts.next()?, parts.next()?.parse().ok()?);
        let step = match name {
            "start" => Step::Start,
            "look" => Step::Look,
            name => {
                let walk = STAGES.iter().position(|stage| stage.name == name)?;
                Step::Walk(walk, position)
            }
        };
        Some(Self { part, step })
    }

    fn write(&self) -> Cursor {
        let (name, position) = match self.step {
            Step::Start => ("start", 0),
            Step::Walk(walk, position) => (STAGES[walk].name, position),
            Step::Look => ("look", 0),
        };
        Cursor(format!("{},{name},{position}", self.part))
    }

    /// The step behind this one, where this one is done.
    fn behind(&self) -> Step {
        match self.step {
            Step::Start => Step::Walk(0, 0),
            Step::Walk(walk, _) if walk + 1 < STAGES.len() => Step::Walk(walk + 1, 0),
            _ => Step::Look,
        }
    }
}

fn bad_cursor() -> Error {
    let why = "it is not one this store gave out";
    Error::invalid("cursor", why, "begin with the first page")
}

impl Queue {
    pub(crate) async fn audit(&self, from: Option<&Cursor>) -> Result<Audited> {
        let place = Place::read(from)?;
        // The start comes before anything else: other scripts fail on what it finds.
        if place != Place::FIRST {
            self.refresh().await?;
        }
        let mut audited = Audited::default();
        let next = self.audit_step(&place, &mut audited).await?;
        if place == Place::FIRST {
            self.refresh().await?;
        }
        let next = match next {
            Some(step) => Some(Place { step, ..place }),
            None if place.part + 1 < self.parts().len() => Some(Place {
                part: place.part + 1,
                step: Step::Start,
            }),
            None => None,
        };
        audited.next = next.map(|place| place.write());
        Ok(audited)
    }

    /// Does one step: what comes next in this part, if anything.
    async fn audit_step(&self, place: &Place, audited: &mut Audited) -> Result<Option<Step>> {
        let parts = self.parts();
        let part = &parts.get(place.part).ok_or_else(bad_cursor)?.part;
        match place.step {
            Step::Start => match self.start_audit(part).await? {
                Start::Absent => Ok(None),
                Start::Sound(repairs) => {
                    audited.repairs = repairs;
                    Ok(Some(place.behind()))
                }
            },
            Step::Walk(walk, position) => {
                let page = part.audit_walk(&STAGES[walk], position).await?;
                if STAGES[walk].name == JOBS {
                    audited.checked = page.looked;
                }
                audited.repairs = page.repairs;
                let on = page.next.parse().map(|position| Step::Walk(walk, position));
                Ok(Some(on.unwrap_or_else(|_| place.behind())))
            }
            Step::Look => {
                let (repairs, has_more) = part.audit_look().await?;
                audited.repairs = repairs;
                Ok(has_more.then_some(Step::Look))
            }
        }
    }
}

impl Part {
    async fn audit_walk(&self, stage: &Stage, position: u64) -> Result<Page> {
        let mut args = Vec::with_capacity(2);
        if stage.is_named {
            args.push(words(stage.name));
        }
        args.push(words(&position.to_string()));
        self.audit_page((stage.script)(self.scripts()), args).await
    }

    async fn audit_page(&self, script: &'static Script, args: Vec<bytes::Bytes>) -> Result<Page> {
        Page::read(self.list(script, args).await?)
    }
}
