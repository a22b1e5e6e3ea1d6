//! Blocks on a list and then runs a script, in one pipeline on a dedicated connection.

use std::time::Duration;

use bytes::Bytes;
use redis::{Cmd, Value};
use tokio::time::Instant;
use windlass_core::Result;
use windlass_core::store::DurabilityLevel;

use super::call::Call;
use super::durability::{Confirmation, Scripts};
use super::request::Request;
use super::retry::{CallRetry, Resend, Route};
use super::{Inner, slot_of};
use crate::error::{CallError, Recovery};

/// How late a reply may be before the connection counts as dead: this, or half the timeout of a call
/// if that is longer.
const GRACE: Duration = Duration::from_secs(1);

/// A timeout of 0 would make Redis block forever.
const MIN_WAIT: Duration = Duration::from_millis(1);

/// The list to block on.
#[derive(Debug, Clone, Copy)]
pub enum WaitOn<'a> {
    /// Pops the first element (BLPOP). If the reply is lost, so is the element.
    Pop(&'a [u8]),
    /// Leaves the element in the list (BLMOVE onto itself), so that no lost reply can lose it.
    Peek(&'a [u8]),
}

impl WaitOn<'_> {
    fn list(&self) -> &[u8] {
        match self {
            Self::Pop(list) | Self::Peek(list) => list,
        }
    }

    fn command(&self, wait: Duration) -> Cmd {
        let seconds = wait.max(MIN_WAIT).as_secs_f64();
        let mut cmd = Cmd::new();
        match self {
            Self::Pop(list) => cmd.arg("BLPOP").arg(list),
            Self::Peek(list) => {
                let cmd = cmd.arg("BLMOVE").arg(list).arg(list);
                cmd.arg("RIGHT").arg("RIGHT")
            }
        };
        cmd.arg(seconds);
        cmd
    }
}

/// Blocks until the list has an element or `wait` elapses, then runs `then`. If the caller is
/// cancelled, the connection is dropped, because the blocked command cannot be withdrawn.
pub(super) async fn wait_then_run(
    inner: &Inner,
    on: WaitOn<'_>,
    wait: Duration,
    then: &Call,
    confirmation: Option<Confirmation>,
) -> Result<(Value, DurabilityLevel)> {
    let timeout = inner.address.timeout;
    let slot = slot_of(on.list());
    let mut retry =
        CallRetry::new(inner, slot, wait + timeout, Resend::Never).attempt_timeout(timeout * 3 / 4);
    loop {
        let route = retry.route().await?;
        match wait_at(&route, on, wait, then, confirmation, &retry).await {
            Ok(reply) => return Ok(reply),
            Err(error) => retry.wait_after(error).await?,
        }
    }
}

/// Blocks until one of the lists has an element or `wait` elapses, and pops it. Returns the list. All
/// lists must be on one server, and in one slot of a Cluster.
pub(super) async fn pop(inner: &Inner, lists: &[Bytes], wait: Duration) -> Result<Option<usize>> {
    let timeout = inner.address.timeout;
    let slot = lists.first().map_or(0, |list| slot_of(list));
    let mut retry = CallRetry::new(inner, slot, wait + timeout, Resend::Never);
    let mut cmd = redis::cmd("BLPOP");
    cmd.arg(lists.iter().map(|list| &list[..]).collect::<Vec<_>>());
    cmd.arg(wait.max(MIN_WAIT).as_secs_f64());
    loop {
        // A slot that is being migrated redirects until it is settled.
        let route = retry.route().await?;
        match pop_at(&route, &cmd, wait, timeout).await {
            Ok(Value::Array(popped)) => {
                let Some(Value::BulkString(list)) = popped.first() else {
                    return Ok(None);
                };
                return Ok(lists.iter().position(|known| *known == *list));
            }
            Ok(_) => return Ok(None),
            Err(error) => retry.wait_after(error).await?,
        }
    }
}

async fn pop_at(
    route: &Route,
    cmd: &Cmd,
    wait: Duration,
    timeout: Duration,
) -> Result<Value, CallError> {
    let conn = route.node.dedicated(Instant::now() + timeout).await?;
    let reply = conn.call(cmd, late(wait, timeout)).await;
    route.give_back(conn, &reply);
    reply
}

/// When a reply to a command that blocks for `wait` is so late that the connection counts as dead.
fn late(wait: Duration, timeout: Duration) -> Instant {
    Instant::now() + wait + GRACE.max(timeout / 2)
}

async fn wait_at(
    route: &Route,
    on: WaitOn<'_>,
    wait: Duration,
    then: &Call,
    confirmation: Option<Confirmation>,
    retry: &CallRetry<'_>,
) -> Result<(Value, DurabilityLevel), CallError> {
    let timeout = retry.timeout();
    let conn = route.node.dedicated(Instant::now() + timeout).await?;
    let scripts = |is_asking| Scripts {
        calls: std::slice::from_ref(then),
        is_asking,
        is_by_source: true,
    };
    let mut replies = Vec::new();
    if route.is_asking {
        // Do not block on a slot that is being migrated.
        let level = scripts(true).run_on(&conn, confirmation, retry, &mut replies);
        let level = level.await?;
        route.node.give_back(conn);
        return Ok((replies.pop().unwrap_or(Value::Nil), level));
    }
    let block = on.command(wait);
    let mut requests: Vec<&dyn Request> = vec![&block, then];
    let mut until = late(wait, timeout);
    let confirm = confirmation.map(|confirmation| confirmation.command(timeout / 2));
    if let Some(confirm) = &confirm {
        requests.push(confirm);
        until += timeout / 2;
    }
    let mut received = conn.calls(&requests, until).await?.into_iter();
    let mut next = || received.next().unwrap_or(Value::Nil);
    let waited = CallError::check_reply(conn.server(), next());
    let reply = CallError::check_reply(conn.server(), next());
    let level = confirmation.map_or(DurabilityLevel::Memory, |confirmation| {
        confirmation.level(&next())
    });
    let mut reply = reply.map(|reply| (reply, level));
    if let Err(error) = &reply
        && error.is_no_script
    {
        let level = scripts(false).run_on(&conn, confirmation, retry, &mut replies);
        let level = level.await;
        reply = level.map(|level| (replies.pop().unwrap_or(Value::Nil), level));
    }
    route.give_back(conn, &reply);
    match waited {
        // The wait itself failed and always will: report it, so that the caller does not spin.
        Err(error) if error.recovery == Recovery::Fatal => Err(error),
        _ => reply,
    }
}
