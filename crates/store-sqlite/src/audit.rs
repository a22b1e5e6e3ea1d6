//! audit: finds and mends what a crash could not leave but a hand in the database might.
//!
//! One row per job rules out most faults by construction. What remains, each walked in pages: held
//! jobs that no open claim or lease stands behind, claims that miscount, payloads without a job,
//! and at the end figures that disagree with the rows.

use rusqlite::{Connection, params};
use windlass_core::limits::{CLAIM_MAX, SCAN_PAGE};
use windlass_core::{Audited, Cursor, Filter, JobState, Owner, QueueName, Repair};

use crate::fault::Db;
use crate::figures::Figures;
use crate::look::{self, bad_cursor};
use crate::reap::ClaimRow;
use crate::row::{Brief, state_of};
use crate::step::{QueueRow, Step};

/// Claims on one page: as many jobs as on any page.
const CLAIMS_PAGE: usize = SCAN_PAGE / CLAIM_MAX;

/// What a page of the audit looks at.
#[derive(Debug)]
pub(crate) enum Part {
    Jobs(Option<Cursor>),
    /// Open claims after this number.
    Claims(u64),
    /// Large payloads after this key.
    Payloads(i64),
    Figures,
}

impl Part {
    pub(crate) fn read(cursor: Option<&Cursor>) -> Db<Self> {
        let Some(Cursor(text)) = cursor else {
            return Ok(Self::Jobs(None));
        };
        let (part, rest) = text.split_once(':').ok_or_else(bad_cursor)?;
        match part {
            "jobs" => Ok(Self::Jobs(Some(Cursor(rest.to_owned())))),
            "claims" => rest.parse().map(Self::Claims).map_err(|_| bad_cursor()),
            "payloads" => rest.parse().map(Self::Payloads).map_err(|_| bad_cursor()),
            "figures" => Ok(Self::Figures),
            _ => Err(bad_cursor()),
        }
    }

    fn write(&self) -> Cursor {
        Cursor(match self {
            Self::Jobs(place) => {
                format!("jobs:{}", place.as_ref().map_or("", |Cursor(text)| text))
            }
            Self::Claims(number) => format!("claims:{number}"),
            Self::Payloads(key) => format!("payloads:{key}"),
            Self::Figures => "figures:".to_owned(),
        })
    }
}

impl Step<'_> {
    /// Audits one page of everything but the figures.
    pub(crate) fn audit(&mut self, part: &Part) -> Db<Audited> {
        let mut audited = Audited::default();
        let next = match part {
            Part::Jobs(from) => self.audit_jobs(from.as_ref(), &mut audited)?,
            Part::Claims(after) => self.audit_claims(*after, &mut audited.repairs)?,
            Part::Payloads(after) => self.audit_payloads(*after, &mut audited.repairs)?,
            Part::Figures => return Ok(audited),
        };
        if !audited.repairs.is_empty() {
            self.changed();
        }
        audited.next = Some(next.write());
        Ok(audited)
    }

    fn audit_jobs(&mut self, from: Option<&Cursor>, audited: &mut Audited) -> Db<Part> {
        let page = look::page(self.db, self.queue, &Filter::default(), from, SCAN_PAGE)?;
        for id in &page.items {
            if let Some(job) = Brief::find(self.db, self.queue.key, id.as_str())? {
                audited.repairs.extend(self.audit_job(&job)?);
            }
        }
        audited.checked = page.items.len() as u64;
        Ok(page
            .next
            .map_or(Part::Claims(0), |next| Part::Jobs(Some(next))))
    }

    fn audit_job(&mut self, job: &Brief) -> Db<Option<Repair>> {
        let claim = job
            .token
            .map(|token| self.owner_of(token))
            .transpose()?
            .flatten();
        let is_leased = match claim {
            Some((owner, true)) => self.has_lease(&owner)?,
            _ => false,
        };
        match job.state {
            JobState::Running if is_leased => Ok(None),
            JobState::Running => {
                self.give_back(vec![job.clone()])?;
                Ok(Some(repair(
                    "running_without_lease",
                    Some(job),
                    "it was put back",
                )))
            }
            _ if job.token.is_none() => Ok(None),
            _ => {
                self.db
                    .prepare_cached(
                        "UPDATE job SET token_number = NULL, token_nonce = NULL WHERE key = ?1",
                    )?
                    .execute([job.key])?;
                let what = "its token was taken away";
                Ok(Some(repair("held_but_not_running", Some(job), what)))
            }
        }
    }

    fn has_lease(&self, owner: &Owner) -> Db<bool> {
        let mut statement = self
            .db
            .prepare_cached("SELECT 1 FROM lease WHERE queue = ?1 AND owner = ?2")?;
        Ok(statement.exists(params![self.queue.key, owner.as_str()])?)
    }

    /// Open claims must hold as many jobs as they say; one that holds none is finished.
    fn audit_claims(&mut self, after: u64, repairs: &mut Vec<Repair>) -> Db<Part> {
        let claims = ClaimRow::open_after(self, after, CLAIMS_PAGE)?;
        for claim in &claims {
            let held = self.held_of(claim)?.len() as u64;
            if held != claim.remaining {
                self.db
                    .prepare_cached(
                        "UPDATE claim SET remaining = ?3, finished_at = iif(?3 = 0, ?4, NULL)
                         WHERE queue = ?1 AND number = ?2",
                    )?
                    .execute(params![
                        self.queue.key,
                        claim.token.number,
                        held,
                        self.now_ms()
                    ])?;
                let what = format!(
                    "claim {} said {}, holds {held}",
                    claim.token, claim.remaining
                );
                repairs.push(repair("claim_miscounted", None, &what));
            }
        }
        let last = claims.last().filter(|_| claims.len() == CLAIMS_PAGE);
        Ok(last.map_or(Part::Payloads(0), |claim| Part::Claims(claim.token.number)))
    }

    fn audit_payloads(&mut self, after: i64, repairs: &mut Vec<Repair>) -> Db<Part> {
        let mut statement = self.db.prepare_cached(
            "SELECT job, EXISTS (SELECT 1 FROM job WHERE key = large_payload.job)
             FROM large_payload WHERE job > ?1 ORDER BY job LIMIT ?2",
        )?;
        let rows = statement.query_map(params![after, SCAN_PAGE], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?))
        })?;
        let seen: Vec<(i64, bool)> = rows.collect::<Result<_, _>>()?;
        for (key, _) in seen.iter().filter(|(_, has_job)| !has_job) {
            self.drop_large_payload(*key)?;
            repairs.push(repair(
                "payload_without_job",
                None,
                &format!("payload {key} was removed"),
            ));
        }
        let last = seen.last().filter(|_| seen.len() == SCAN_PAGE);
        Ok(last.map_or(Part::Figures, |(key, _)| Part::Payloads(*key)))
    }

    /// Adds what the figures were found to be off by; they may have moved on since.
    pub(crate) fn mend_figures(&mut self, found: &Miscount) {
        self.queue.figures.mend(&found.stored, &found.counted);
        self.changed();
    }
}

/// Figures and rows of one moment that disagree.
#[derive(Debug)]
pub(crate) struct Miscount {
    stored: Figures,
    counted: Figures,
}

impl Miscount {
    /// Counts all jobs of a queue, on a snapshot: a long look that nobody waits for.
    pub(crate) fn find(db: &Connection, name: &QueueName) -> Db<Option<Self>> {
        let Some(queue) = QueueRow::find(db, name)? else {
            return Ok(None);
        };
        let counted = count(db, &queue)?;
        let stored = queue.figures;
        Ok((stored != counted).then_some(Self { stored, counted }))
    }

    pub(crate) fn repair() -> Repair {
        repair("figures_wrong", None, "all jobs were counted again")
    }
}

/// The figures as the rows say; totals over a lifetime cannot be counted again.
fn count(db: &Connection, queue: &QueueRow) -> Db<Figures> {
    let mut figures = Figures {
        total: queue.figures.total,
        enqueued: queue.figures.enqueued,
        ended: queue.figures.ended,
        ..Figures::default()
    };
    let mut statement = db.prepare_cached(
        "SELECT state, priority, count(*), sum(payload_bytes + ifnull(octet_length(error), 0)
             + ifnull(octet_length(result), 0))
         FROM job WHERE queue = ?1 GROUP BY state, priority",
    )?;
    let mut rows = statement.query([queue.key])?;
    while let Some(row) = rows.next()? {
        let state = state_of(row.get(0)?)?;
        let (priority, count, bytes): (usize, u64, u64) = (row.get(1)?, row.get(2)?, row.get(3)?);
        figures.bytes += bytes;
        match state {
            JobState::Ready => figures.ready[priority.min(9)] += count,
            JobState::Scheduled => figures.scheduled += count,
            JobState::Running => figures.running += count,
            _ => {
                let kept = figures.kept(state);
                kept.count += count;
                kept.bytes += bytes;
            }
        }
    }
    figures.tombstones = db
        .prepare_cached("SELECT count(*) FROM tombstone WHERE queue = ?1")?
        .query_row([queue.key], |row| row.get(0))?;
    Ok(figures)
}

fn repair(fault: &'static str, job: Option<&Brief>, what: &str) -> Repair {
    Repair {
        code: fault,
        id: job.map(|job| job.id.clone()),
        message: what.to_owned(),
    }
}
