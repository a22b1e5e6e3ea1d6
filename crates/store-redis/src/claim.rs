//! claim, accept, renew, progress: claims jobs and keeps their leases.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use windlass_core::store::{ClaimedJob, Claimer, Owner, Renewed};
use windlass_core::time::as_ms;
use windlass_core::{
    Claim, ClaimRequest, Error, JobLease, Mode, Renewal, Result, Timestamp, Token,
};
use windlass_redis_link::reply::Reply;

use crate::codec::job::{claimed, opts_of};
use crate::codec::names::{
    AT_MOST_ONCE, CLAIM_AGAIN, DISPATCH, NEXT_DUE, NOTHING_FOUND, VALUES_ONLY,
};
use crate::codec::opts::Opts;
use crate::codec::{inline, job_id};
use crate::outcome::{EncodedOutcome, outcome_args};
use crate::partition::{Partition, number_arg, text_arg};

/// How often a claim that read only stale entries, or reaped a part of a lease, is repeated.
const AGAIN_MAX: usize = 10_000;

#[derive(Debug)]
pub(crate) enum Found {
    Jobs {
        claim: Claim,
        /// The number of ready jobs left, for a waiter.
        left: u64,
    },
    Nothing {
        /// The time until the earliest scheduled job is due, if a waiter was registered.
        next_due: Option<Duration>,
        /// How long a waiter was registered, if one was.
        registered_for: Option<Duration>,
    },
    /// Only stale entries were read, or a lease was reaped in part: claim again.
    Again,
}

/// The waiter to register if a claim finds nothing: for `short`, or for `long` if enough others ask
/// the partition again within `short`.
#[derive(Debug)]
pub(crate) struct Waiter<'a> {
    pub(crate) name: &'a str,
    pub(crate) short: Duration,
    pub(crate) long: Duration,
}

impl Partition {
    pub(crate) async fn claim(&self, request: &ClaimRequest) -> Result<Option<Claim>> {
        for _ in 0..AGAIN_MAX {
            let (_, handed_out) = self
                .hand_out(claim_only(request, None), request, true)
                .await?;
            match self.read_claim(request, handed_out).await? {
                Found::Jobs { claim, .. } => return Ok(Some(claim)),
                Found::Nothing { .. } => return Ok(None),
                Found::Again => {}
            }
        }
        Ok(None)
    }

    /// Releases the jobs of a claim that is not handed out, because too few replicas confirmed it: a lease
    /// that expires would be counted as a lost worker. A worker repeats its claim, and at most once
    /// nothing is given back. If it fails, the lease expires.
    async fn give_back(&self, request: &ClaimRequest, claim: &Claim) {
        if matches!(request.claimer, Claimer::Single { .. }) && request.mode != Mode::AtMostOnce {
            let jobs = claim.jobs.iter();
            let leases = jobs.map(|job| JobLease::new(job.id.clone(), claim.token));
            let leases: Vec<_> = leases
                .map(|lease| EncodedOutcome::release(&lease))
                .collect();
            let _ = self
                .run(&self.scripts().release, outcome_args(&leases))
                .await;
        }
    }

    /// Decodes the reply to a claim, and updates the number of partitions. Jobs of a claim that too few
    /// replicas confirmed are given back.
    pub(crate) async fn read_claim(
        &self,
        request: &ClaimRequest,
        (reply, unconfirmed): (Reply, Option<Error>),
    ) -> Result<Found> {
        let found = read_claim(reply, &self.partitions_seen)?;
        if let Found::Jobs { claim, .. } = &found {
            let has_group = claim.jobs.iter().any(|job| job.group.is_some());
            self.mode.seen(has_group);
        }
        match (found, unconfirmed) {
            (Found::Jobs { claim, .. }, Some(error)) => {
                self.give_back(request, &claim).await;
                Err(error)
            }
            (Found::Again, Some(error)) => Err(error),
            (found, _) => Ok(found),
        }
    }

    pub(crate) async fn renew(&self, renewal: &Renewal, lease: Duration) -> Result<Renewed> {
        let reply = self.run_confirmed(&self.scripts().renew, renew_args(renewal, lease));
        read_renewed(Reply::list(reply.await?)?)
    }
}

/// The arguments of the script `complete` for a claim alone.
pub(crate) fn claim_only(request: &ClaimRequest, waiter: Option<&Waiter<'_>>) -> Vec<Bytes> {
    let nothing = Bytes::from_static(b"0");
    let mut args = vec![nothing.clone(), nothing];
    args.extend(claim_args(request, waiter));
    args
}

pub(crate) fn claim_args(request: &ClaimRequest, waiter: Option<&Waiter<'_>>) -> Vec<Bytes> {
    let (owner, worker) = match &request.claimer {
        Claimer::Worker { boot, .. } => (text_arg(Owner::boot(boot).as_str()), Bytes::new()),
        Claimer::Single { worker } => {
            let worker = worker.as_ref().map(|worker| text_arg(worker.as_str()));
            (Bytes::new(), worker.unwrap_or_default())
        }
    };
    let mode = match request.mode {
        Mode::AtLeastOnce => "",
        Mode::AtMostOnce => AT_MOST_ONCE,
        Mode::Dispatch => DISPATCH,
    };
    vec![
        owner,
        number_arg(request.claimer.seq()),
        Bytes::from(format!("{:08x}", request.nonce)),
        number_arg(request.max),
        number_arg(as_ms(request.lease.get())),
        Bytes::from_static(mode.as_bytes()),
        worker,
        waiter.map_or_else(Bytes::new, |Waiter { name, short, long }| {
            Bytes::from(format!("{name}\t{}\t{}", as_ms(*short), as_ms(*long)))
        }),
    ]
}

fn read_claim(mut reply: Reply, partitions: &AtomicU32) -> Result<Found> {
    let token = reply.text()?;
    let until = reply.count()?;
    let next = reply.int()?;
    let count = u32::try_from(reply.count()?).unwrap_or(1);
    partitions.fetch_max(count, Ordering::Relaxed);
    if token.is_empty() {
        let due = || Duration::from_millis(u64::try_from(NEXT_DUE - next).unwrap_or_default());
        return Ok(match next {
            CLAIM_AGAIN => Found::Again,
            next => Found::Nothing {
                next_due: (next != NOTHING_FOUND).then(due),
                registered_for: (until > 0).then(|| Duration::from_millis(until)),
            },
        });
    }
    let jobs = read_jobs(reply)?;
    Ok(Found::Jobs {
        claim: Claim {
            token: token.parse::<Token>()?,
            until: Timestamp::from_ms(until),
            jobs,
        },
        left: u64::try_from(next).unwrap_or_default(),
    })
}

/// Decodes the jobs of a claim: the ids in one text, then the values, each with its entry in `opts` if
/// there is any.
fn read_jobs(mut reply: Reply) -> Result<Vec<ClaimedJob>> {
    let ids = reply.text()?;
    let has_entries = reply.count()? != VALUES_ONLY;
    // The opts of the job before: usually all are the same.
    let mut latest = (Bytes::new(), Opts::default());
    let mut jobs = Vec::with_capacity(reply.len());
    for id in ids.lines() {
        let id = job_id("claim", id.as_bytes())?;
        let (mut text, payload) = inline::split(reply.bytes()?);
        if has_entries {
            let entry = reply.bytes()?;
            text = if entry.is_empty() { text } else { entry };
        }
        if text != latest.0 {
            let opts = opts_of(&id, &text)?;
            latest = (text, opts);
        }
        jobs.push(claimed(id, payload, latest.1.clone())?);
    }
    Ok(jobs)
}

fn renew_args(renewal: &Renewal, lease: Duration) -> Vec<Bytes> {
    let (owner, settled, tokens) = match renewal {
        Renewal::Worker {
            boot,
            tokens,
            settled,
        } => (
            text_arg(Owner::boot(boot).as_str()),
            *settled,
            tokens.as_slice(),
        ),
        Renewal::Single { token } => (Bytes::new(), 0, std::slice::from_ref(token)),
    };
    let mut args = vec![
        owner,
        number_arg(as_ms(lease)),
        number_arg(settled),
        number_arg(tokens.len()),
    ];
    args.extend(tokens.iter().map(number_arg));
    args
}

fn read_renewed(mut reply: Reply) -> Result<Renewed> {
    let until = reply.count()?;
    let mut renewed = Renewed {
        until: (until > 0).then_some(Timestamp::from_ms(until)),
        ..Renewed::default()
    };
    for _ in 0..reply.count()? {
        renewed.lost.push(reply.text()?.parse()?);
    }
    while !reply.is_empty() {
        renewed.cancel.push(job_id("renewal", &reply.bytes()?)?);
    }
    Ok(renewed)
}
