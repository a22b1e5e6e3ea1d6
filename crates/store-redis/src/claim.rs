//! claim, accept, renew, progress: taking jobs and holding on to them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use windlass_core::time::as_ms;
use windlass_core::{
    Claim, ClaimRequest, ClaimedJob, Claimer, JobLease, LeaseStatus, Mode, Owner, Renewal, Renewed,
    Result, Timestamp, Token,
};

use crate::codec::job::{claimed, opts_of};
use crate::codec::opts::Opts;
use crate::codec::{job_id, progress};
use crate::partition::{Part, counted, number, words};
use crate::reply::Reply;

/// How often a claim that met nothing but stale entries is made again.
const AGAIN_MAX: usize = 10_000;

/// What a claim found.
#[derive(Debug)]
pub(crate) enum Found {
    /// Jobs.
    Jobs(Claim),
    /// Nothing; the earliest scheduled job falls due after so long, where a sleeper asked.
    Nothing {
        /// How long until then.
        next_due: Option<Duration>,
    },
    /// Nothing yet: stale entries took up the whole step.
    Stale,
}

impl Part {
    pub(crate) async fn claim(&self, request: &ClaimRequest) -> Result<Option<Claim>> {
        for _ in 0..AGAIN_MAX {
            let args = claim_args(request, None);
            let reply = self
                .hand_out(&self.scripts().claim, args, &request.claimer)
                .await?;
            match self.read_claim(reply)? {
                Found::Jobs(claim) => return Ok(Some(claim)),
                Found::Nothing { .. } => return Ok(None),
                Found::Stale => {}
            }
        }
        Ok(None)
    }

    /// Reads what a claim replied, and how many parts the queue has by now.
    pub(crate) fn read_claim(&self, reply: Reply) -> Result<Found> {
        read_claim(reply, &self.parts_seen)
    }

    pub(crate) async fn accept(&self, hold: &JobLease, lease: Duration) -> Result<LeaseStatus> {
        let args = vec![
            words(hold.id.as_str()),
            number(hold.token),
            number(as_ms(lease)),
        ];
        let reply = self.run(&self.scripts().accept, args).await?;
        Ok(held(counted(&reply)?))
    }

    pub(crate) async fn progress(
        &self,
        hold: &JobLease,
        fraction: f64,
        message: Option<&str>,
    ) -> Result<LeaseStatus> {
        let args = vec![
            words(hold.id.as_str()),
            number(hold.token),
            Bytes::from(progress::fraction(fraction)),
            message.map_or_else(Bytes::new, |text| Bytes::from(format!("\t{text}"))),
        ];
        let reply = self.run(&self.scripts().progress, args).await?;
        Ok(held(counted(&reply)?))
    }

    pub(crate) async fn renew(&self, renewal: &Renewal, lease: Duration) -> Result<Renewed> {
        let reply = self.list(&self.scripts().renew, renew_args(renewal, lease));
        read_renewed(reply.await?)
    }
}

fn held(answer: u64) -> LeaseStatus {
    if answer == 1 {
        LeaseStatus::Valid
    } else {
        LeaseStatus::Lost
    }
}

/// A request as the scripts take it; `sleeper` is registered for so long when nothing is found.
pub(crate) fn claim_args(request: &ClaimRequest, sleeper: Option<(&str, Duration)>) -> Vec<Bytes> {
    let (owner, worker) = match &request.claimer {
        Claimer::Worker { boot, .. } => (words(Owner::boot(boot).as_str()), Bytes::new()),
        Claimer::Single { worker } => {
            let worker = worker.as_ref().map(|worker| words(worker.as_str()));
            (Bytes::new(), worker.unwrap_or_default())
        }
    };
    let mode = match request.mode {
        Mode::AtLeastOnce => "",
        Mode::AtMostOnce => "m",
        Mode::Dispatch => "d",
    };
    vec![
        owner,
        number(request.claimer.seq()),
        Bytes::from(format!("{:08x}", request.nonce)),
        number(request.max),
        number(as_ms(request.lease)),
        Bytes::from_static(mode.as_bytes()),
        worker,
        sleeper.map_or_else(Bytes::new, |(name, wait)| {
            Bytes::from(format!("{name}\t{}", as_ms(wait)))
        }),
    ]
}

fn read_claim(mut reply: Reply, parts: &AtomicU32) -> Result<Found> {
    let token = reply.text()?;
    let until = reply.count()?;
    let flag = reply.int()?;
    let count = u32::try_from(reply.count()?).unwrap_or(1);
    parts.fetch_max(count, Ordering::Relaxed);
    if token.is_empty() {
        return Ok(match flag {
            1 => Found::Stale,
            0 => Found::Nothing { next_due: None },
            ms => Found::Nothing {
                next_due: Some(Duration::from_millis(
                    u64::try_from(-1 - ms).unwrap_or_default(),
                )),
            },
        });
    }
    let jobs = read_jobs(reply)?;
    Ok(Found::Jobs(Claim {
        token: token.parse::<Token>()?,
        until: Timestamp::from_ms(until),
        jobs,
    }))
}

/// The ids in one text, then 1 and the payloads, 2 and payload and opts of each, or 3, the opts that
/// are the same for all, and the payloads.
fn read_jobs(mut reply: Reply) -> Result<Vec<ClaimedJob>> {
    let ids = reply.text()?;
    let ids = ids.lines().map(|id| job_id("claim", id.as_bytes()));
    let ids = ids.collect::<Result<Vec<_>>>()?;
    let same = match (reply.count()?, ids.first()) {
        (1, _) => Some(Opts::default()),
        (3, Some(first)) => Some(opts_of(first, &reply.bytes()?)?),
        _ => None,
    };
    let mut jobs = Vec::with_capacity(ids.len());
    for id in ids {
        let payload = reply.bytes()?;
        let opts = match &same {
            Some(same) => same.clone(),
            None => opts_of(&id, &reply.bytes()?)?,
        };
        jobs.push(claimed(id, payload, opts)?);
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
            words(Owner::boot(boot).as_str()),
            *settled,
            tokens.as_slice(),
        ),
        Renewal::Single { token } => (Bytes::new(), 0, std::slice::from_ref(token)),
    };
    let mut args = vec![
        owner,
        number(as_ms(lease)),
        number(settled),
        number(tokens.len()),
    ];
    args.extend(tokens.iter().map(number));
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
