//! Waiting for something in a list with a script right behind it, on a connection of its own.

use std::time::Duration;

use redis::{Cmd, Pipeline, Value};
use tokio::time::Instant;
use windlass_core::Result;

use super::call::Call;
use super::retry::{Repeat, Route, Tries};
use super::{Inner, slot_of};
use crate::error::{Course, Fault};

/// How much later than asked a server may answer, at the least, before the line counts as dead. A
/// longer timeout gives it as long as one try of any call that may be repeated.
const GRACE: Duration = Duration::from_secs(1);

/// Redis waits for ever when it is asked to wait for no time.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// What is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Awaited<'a> {
    /// A marker in this list, which is taken out.
    Marker(&'a [u8]),
    /// Anything in this list, which stays in its place: it may be lost with no answer.
    Item(&'a [u8]),
}

impl Awaited<'_> {
    fn list(&self) -> &[u8] {
        match self {
            Self::Marker(list) | Self::Item(list) => list,
        }
    }

    fn command(&self, wait: Duration) -> Cmd {
        let seconds = wait.max(SHORTEST_WAIT).as_secs_f64();
        let mut cmd = Cmd::new();
        match self {
            Self::Marker(list) => cmd.arg("BLPOP").arg(list),
            // From an end to the same end.
            Self::Item(list) => {
                let cmd = cmd.arg("BLMOVE").arg(list).arg(list);
                cmd.arg("RIGHT").arg("RIGHT")
            }
        };
        cmd.arg(seconds);
        cmd
    }
}

/// Waits until there is what is awaited, or `wait` is over, then runs `then`. A caller that goes
/// away takes the connection with it: nobody else finds a wait on it.
pub(super) async fn park(
    inner: &Inner,
    awaited: Awaited<'_>,
    wait: Duration,
    then: &Call,
) -> Result<Value> {
    let timeout = inner.address.timeout;
    let slot = slot_of(awaited.list());
    let mut tries = Tries::new(inner, slot, wait + timeout, Repeat::Never);
    loop {
        let fault = match tries.route().await {
            Ok(route) => match wait_at(&route, awaited, wait, then, timeout).await {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            },
            Err(fault) => fault,
        };
        tries.after(fault).await?;
    }
}

async fn wait_at(
    route: &Route,
    awaited: Awaited<'_>,
    wait: Duration,
    then: &Call,
    timeout: Duration,
) -> Result<Value, Fault> {
    let until = Instant::now() + timeout;
    if route.is_asking {
        // A slot on its way to another node is not the place to wait.
        return route.send(&then.by_text(), until).await;
    }
    let conn = route.node.own(until).await?;
    let mut cmds = Pipeline::with_capacity(2);
    cmds.add_command(awaited.command(wait));
    cmds.add_command(then.by_sha());
    let grace = GRACE.max(timeout / 2);
    let answers = conn.calls(&cmds, Instant::now() + wait + grace).await?;
    let mut answers = answers.into_iter();
    let mut next = || Fault::in_value(conn.server(), answers.next().unwrap_or(Value::Nil));
    let marker = next();
    let mut answer = next();
    if let Err(fault) = &answer
        && fault.is_no_script
    {
        answer = conn.call(&then.by_text(), Instant::now() + timeout).await;
    }
    let is_whole = !matches!(&answer, Err(fault) if fault.course == Course::Unknown);
    if is_whole {
        route.node.give_back(conn);
    }
    match marker {
        // Nothing was waited for, and never will be: the caller must not come back at once.
        Err(fault) if fault.course == Course::Fatal => Err(fault),
        _ => answer,
    }
}
