//! Worker processes: started, killed as a crash would, dismissed.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use windlass::Result;

use crate::fault::internal;

/// The processes of one run. They end with this one, whatever happens to it: their standard input
/// closes.
#[derive(Debug)]
pub struct Crew {
    workers: Vec<Child>,
    tell: mpsc::UnboundedSender<(u32, String)>,
    told: mpsc::UnboundedReceiver<(u32, String)>,
}

impl Default for Crew {
    fn default() -> Self {
        let (tell, told) = mpsc::unbounded_channel();
        Self {
            workers: Vec::new(),
            tell,
            told,
        }
    }
}

impl Crew {
    /// Starts a worker process; answers its number.
    pub fn start(&mut self, mut command: Command) -> Result<u32> {
        let failed = |error: std::io::Error| internal(format!("no worker starts: {error}"));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let pid = child.id().unwrap_or_default();
        if let Some(stdout) = child.stdout.take() {
            let tell = self.tell.clone();
            tokio::spawn(async move {
                let mut lines = BufReader::new(stdout).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    if tell.send((pid, line)).is_err() {
                        return;
                    }
                }
            });
        }
        self.workers.push(child);
        Ok(pid)
    }

    /// The next line that a worker prints, and which one it is; waits until there is one.
    pub async fn next_line(&mut self) -> (u32, String) {
        match self.told.recv().await {
            Some(told) => told,
            // This value holds a sender itself.
            None => std::future::pending().await,
        }
    }

    /// The numbers of those that were started and not killed.
    pub fn pids(&self) -> Vec<u32> {
        self.workers.iter().filter_map(Child::id).collect()
    }

    /// Kills a worker as a crash would: at once, with SIGKILL.
    pub async fn kill(&mut self, pid: u32) -> Result<()> {
        let place = self
            .workers
            .iter()
            .position(|worker| worker.id() == Some(pid));
        let place = place.ok_or_else(|| internal("the worker to kill is gone"))?;
        let mut victim = self.workers.swap_remove(place);
        let killed = victim.kill().await;
        killed.map_err(|error| internal(format!("kill -9: {error}")))
    }

    /// Lets the workers finish, and waits for them.
    pub async fn dismiss(&mut self) -> Result<()> {
        for worker in &mut self.workers {
            drop(worker.stdin.take());
        }
        for worker in &mut self.workers {
            let ended = worker.wait().await;
            ended.map_err(|error| internal(format!("a worker process: {error}")))?;
        }
        self.workers.clear();
        Ok(())
    }

    /// Ends the workers that are left, and waits for them: nobody uses the store any more.
    pub async fn end(&mut self) {
        for worker in &mut self.workers {
            // One that has ended already cannot be killed.
            let _ = worker.kill().await;
        }
        self.workers.clear();
    }
}
