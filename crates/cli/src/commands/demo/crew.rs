//! The demo's worker processes: started, one of them killed, the others dismissed.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use windlass::{QueueName, StoreUrl};

use crate::exit::{Failure, Result};
use crate::settings::STORE_VARIABLE;

/// The line a worker prints when it holds a job and waits to be killed.
pub(super) const HOLDING: &str = "holding";

/// The processes of one run. They end with this one, whatever happens to it: their standard
/// input closes.
#[derive(Debug, Default)]
pub(super) struct Crew {
    workers: Vec<Child>,
    holding: Option<mpsc::UnboundedReceiver<u32>>,
}

impl Crew {
    pub(super) fn start(&mut self, count: u32, url: &StoreUrl, queue: &QueueName) -> Result<()> {
        let (heard, holding) = mpsc::unbounded_channel();
        self.holding = Some(holding);
        for _ in 0..count {
            self.workers.push(start_one(url, queue, heard.clone())?);
        }
        Ok(())
    }

    /// The next worker that holds a job; waits until there is one.
    pub(super) async fn next_holding(&mut self) -> Result<u32> {
        let heard = match &mut self.holding {
            Some(holding) => holding.recv().await,
            None => None,
        };
        heard.ok_or_else(|| Failure::internal("all worker processes have ended"))
    }

    /// Kills a worker as a crash would: at once, with SIGKILL.
    pub(super) fn kill(&mut self, pid: u32) -> Result<u32> {
        let victim = self
            .workers
            .iter_mut()
            .find(|worker| worker.id() == Some(pid));
        let victim = victim.ok_or_else(|| Failure::internal("the worker to kill is gone"))?;
        victim
            .start_kill()
            .map_err(|error| Failure::internal(format!("kill -9: {error}")))?;
        Ok(pid)
    }

    /// Lets the workers finish, and waits for them.
    pub(super) async fn dismiss(&mut self) -> Result<()> {
        for worker in &mut self.workers {
            drop(worker.stdin.take());
        }
        for worker in &mut self.workers {
            let ended = worker.wait().await;
            ended.map_err(|error| Failure::internal(format!("a worker process: {error}")))?;
        }
        Ok(())
    }

    /// Ends the workers that are left, and waits for them: nobody uses the store any more.
    pub(super) async fn end(mut self) {
        for worker in &mut self.workers {
            // One that has ended already cannot be killed.
            let _ = worker.kill().await;
        }
    }
}

fn start_one(
    url: &StoreUrl,
    queue: &QueueName,
    heard: mpsc::UnboundedSender<u32>,
) -> Result<Child> {
    let failed = |error: std::io::Error| Failure::internal(format!("no worker starts: {error}"));
    let program = std::env::current_exe().map_err(failed)?;
    let mut child = Command::new(program)
        .args(["demo-worker", queue.as_str()])
        // Everybody on the machine may read the arguments of a process; the URL may hold a secret.
        .env(STORE_VARIABLE, url.to_secret_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    if let (Some(pid), Some(stdout)) = (child.id(), child.stdout.take()) {
        tokio::spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if line == HOLDING && heard.send(pid).is_err() {
                    return;
                }
            }
        });
    }
    Ok(child)
}
