//! Starts, kills and stops worker processes.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use windlass::Result;

use crate::error::internal;

/// The worker processes of one run. They exit with this process, however it ends, because their stdin
/// closes.
#[derive(Debug)]
pub struct WorkerProcesses {
    workers: Vec<Child>,
    sender: mpsc::UnboundedSender<(u32, String)>,
    lines: mpsc::UnboundedReceiver<(u32, String)>,
}

impl Default for WorkerProcesses {
    fn default() -> Self {
        let (sender, lines) = mpsc::unbounded_channel();
        Self {
            workers: Vec::new(),
            sender,
            lines,
        }
    }
}

impl WorkerProcesses {
    /// Starts a worker process. Returns its process id.
    pub fn start(&mut self, mut command: Command) -> Result<u32> {
        let failed =
            |error: std::io::Error| internal(format!("cannot start a worker process: {error}"));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let pid = child.id().unwrap_or_default();
        if let Some(stdout) = child.stdout.take() {
            let sender = self.sender.clone();
            tokio::spawn(async move {
                let mut lines = BufReader::new(stdout).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    if sender.send((pid, line)).is_err() {
                        return;
                    }
                }
            });
        }
        self.workers.push(child);
        Ok(pid)
    }

    /// Waits for the next line printed by a worker. Returns its process id and the line.
    pub async fn next_line(&mut self) -> (u32, String) {
        match self.lines.recv().await {
            Some(line) => line,
            // Unreachable: this value holds a sender.
            None => std::future::pending().await,
        }
    }

    /// The process ids of workers that were not killed.
    pub fn pids(&self) -> Vec<u32> {
        self.workers.iter().filter_map(Child::id).collect()
    }

    /// Kills a worker with SIGKILL, like a crash.
    pub async fn kill(&mut self, pid: u32) -> Result<()> {
        let index = self
            .workers
            .iter()
            .position(|worker| worker.id() == Some(pid));
        let index = index.ok_or_else(|| internal("the worker to kill is not running"))?;
        let mut victim = self.workers.swap_remove(index);
        let killed = victim.kill().await;
        killed.map_err(|error| internal(format!("kill -9: {error}")))
    }

    /// Asks the workers to finish, and waits for them.
    pub async fn stop(&mut self) -> Result<()> {
        for worker in &mut self.workers {
            drop(worker.stdin.take());
        }
        for worker in &mut self.workers {
            let ended = worker.wait().await;
            ended
                .map_err(|error| internal(format!("cannot wait for a worker process: {error}")))?;
        }
        self.workers.clear();
        Ok(())
    }

    /// Kills the remaining workers and waits for them, so that the store is no longer used.
    pub async fn kill_all(&mut self) {
        for worker in &mut self.workers {
            // It may have exited already.
            let _ = worker.kill().await;
        }
        self.workers.clear();
    }
}
