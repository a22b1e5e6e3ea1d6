//! Signs of life while a task runs.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use windlass_core::ErrorKind;

use super::listener::BEATS;
use super::{Listener, Queue};

/// Keeps a listener alive until this is dropped.
#[derive(Debug)]
pub struct Heartbeat {
    task: JoinHandle<()>,
    lost: watch::Receiver<bool>,
}

impl Listener {
    /// Gives signs of life by itself from now on, several in the time that one lasts. To be called
    /// in a runtime.
    pub fn heartbeat(&self) -> Heartbeat {
        let (said, lost) = watch::channel(false);
        let queue = self.queue.clone();
        let (name, signs, alive) = (self.name.clone(), self.signs(), self.alive());
        let task = tokio::spawn(async move {
            keep_alive(&queue, &name, &signs, alive).await;
            // Nobody may be there to hear it.
            let _ = said.send(true);
        });
        Heartbeat { task, lost }
    }
}

impl Heartbeat {
    /// Waits until the listener is lost: declared so by somebody, or unheard for so long that it
    /// may be. What it runs should end then, for others may begin.
    pub async fn lost(&mut self) {
        // An end of the sender without a word is a loss as well.
        let _ = self.lost.wait_for(|lost| *lost).await;
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Comes back when the listener is lost.
async fn keep_alive(queue: &Queue, name: &str, signs: &[Bytes], alive: Duration) {
    let mut heard_at = Instant::now();
    while heard_at.elapsed() < alive {
        let sent_at = Instant::now();
        match queue.send_beat(name, signs.to_vec()).await {
            Ok(()) => heard_at = sent_at,
            Err(error) if error.kind() == ErrorKind::Conflict => return,
            // A server that is away for a while declares nobody lost.
            Err(_) => {}
        }
        sleep(alive / BEATS).await;
    }
}
