//! audit: finds and mends what a crash could not leave but a hand in the database might.
//!
//! One row per job rules out most faults by construction. What remains: running jobs that no open
//! claim or lease stands behind, claims that miscount, payloads without a job and figures that
//! disagree with the rows. Each page checks some jobs; the last one checks the rest.

use rusqlite::params;
use windlass_core::limits::SCAN_PAGE;
use windlass_core::{Audited, Cursor, Filter, JobState, Owner, Repair};

use crate::fault::Db;
use crate::figures::{Figures, Kept};
use crate::hold::End;
use crate::look;
use crate::row::{Brief, state_number};
use crate::step::Step;

impl Step<'_> {
    pub(crate) fn audit(&mut self, from: Option<&Cursor>) -> Db<Audited> {
        let page = look::page(self.db, self.queue, &Filter::default(), from, SCAN_PAGE)?;
        let mut audited = Audited {
            checked: page.items.len() as u64,
            repairs: Vec::new(),
            next: page.next,
        };
        for id in &page.items {
            if let Some(job) = Brief::find(self.db, self.queue.key, id.as_str())? {
                self.audit_job(&job, &mut audited.repairs)?;
            }
        }
        if audited.next.is_none() {
            self.audit_claims(&mut audited.repairs)?;
            self.audit_payloads(&mut audited.repairs)?;
            self.audit_figures(&mut audited.repairs)?;
        }
        if !audited.repairs.is_empty() {
            self.changed();
        }
        Ok(audited)
    }

    fn audit_job(&mut self, job: &Brief, repairs: &mut Vec<Repair>) -> Db<()> {
        if job.state == JobState::Running {
            let claim = job
                .token
                .map(|token| self.owner_of(token))
                .transpose()?
                .flatten();
            let is_leased = match claim {
                Some((owner, true)) => self.has_lease(&owner)?,
                _ => false,
            };
            if !is_leased {
                self.place_ready(job, End::Front)?;
                repairs.push(repair(
                    "running_without_lease",
                    Some(job),
                    "put back to the front",
                ));
            }
        } else if job.token.is_some() {
            self.db.execute(
                "UPDATE job SET token_number = NULL, token_nonce = NULL WHERE key = ?1",
                [job.key],
            )?;
            repairs.push(repair(
                "held_but_not_running",
                Some(job),
                "its token was taken away",
            ));
        }
        Ok(())
    }

    fn has_lease(&self, owner: &Owner) -> Db<bool> {
        let mut statement = self
            .db
            .prepare_cached("SELECT 1 FROM lease WHERE queue = ?1 AND owner = ?2")?;
        Ok(statement.exists(params![self.queue.key, owner.as_str()])?)
    }

    /// Open claims must hold as many jobs as they say; one that holds none is finished.
    fn audit_claims(&mut self, repairs: &mut Vec<Repair>) -> Db<()> {
        let held = "(SELECT count(*) FROM job WHERE job.queue = claim.queue
                     AND state = 2 AND token_number = number AND token_nonce = nonce)";
        let wrong = self.db.execute(
            &format!(
                "UPDATE claim SET remaining = {held}, finished_at = iif({held} = 0, ?2, NULL)
                 WHERE queue = ?1 AND finished_at IS NULL AND remaining <> {held}"
            ),
            params![self.queue.key, self.now_ms()],
        )?;
        if wrong > 0 {
            let what = format!("{wrong} claims were counted again");
            repairs.push(repair("claim_miscounted", None, &what));
        }
        Ok(())
    }

    fn audit_payloads(&mut self, repairs: &mut Vec<Repair>) -> Db<()> {
        let orphans = self.db.execute(
            "DELETE FROM large_payload WHERE NOT EXISTS (SELECT 1 FROM job WHERE key = large_payload.job)",
            [],
        )?;
        if orphans > 0 {
            let what = format!("{orphans} payloads without a job were removed");
            repairs.push(repair("payload_without_job", None, &what));
        }
        Ok(())
    }

    fn audit_figures(&mut self, repairs: &mut Vec<Repair>) -> Db<()> {
        let counted = self.count()?;
        if counted != self.queue.figures {
            self.queue.figures = counted;
            repairs.push(repair("figures_wrong", None, "all jobs were counted again"));
        }
        Ok(())
    }

    /// The figures as the rows say; totals over a lifetime cannot be counted again.
    fn count(&self) -> Db<Figures> {
        let mut figures = Figures {
            total: self.queue.figures.total,
            enqueued: self.queue.figures.enqueued,
            ended: self.queue.figures.ended,
            ..Figures::default()
        };
        let mut statement = self.db.prepare(
            "SELECT state, priority, count(*), sum(payload_bytes + ifnull(octet_length(error), 0)
                 + ifnull(octet_length(result), 0))
             FROM job WHERE queue = ?1 GROUP BY state, priority",
        )?;
        let mut rows = statement.query([self.queue.key])?;
        while let Some(row) = rows.next()? {
            let state = crate::row::state_of(row.get(0)?)?;
            let (priority, count, bytes): (usize, u64, u64) =
                (row.get(1)?, row.get(2)?, row.get(3)?);
            figures.bytes += bytes;
            match state {
                JobState::Ready => figures.ready[priority.min(9)] += count,
                JobState::Scheduled => figures.scheduled += count,
                JobState::Running => figures.running += count,
                _ => {
                    let kept: &mut Kept = figures.kept(state);
                    kept.count += count;
                    kept.bytes += bytes;
                }
            }
        }
        figures.tombstones = self.db.query_row(
            "SELECT count(*) FROM tombstone WHERE queue = ?1",
            [self.queue.key],
            |row| row.get(0),
        )?;
        Ok(figures)
    }
}

fn repair(fault: &'static str, job: Option<&Brief>, what: &str) -> Repair {
    debug_assert!(
        state_number(JobState::Running) == 2,
        "the SQL above says so"
    );
    Repair {
        fault,
        id: job.map(|job| job.id.clone()),
        what: what.to_owned(),
    }
}
