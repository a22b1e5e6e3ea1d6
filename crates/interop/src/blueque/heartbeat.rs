//! Sends heartbeats in the background.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use windlass_core::ErrorKind;

use super::listener::HEARTBEATS;
use super::{BluequeListener, BluequeQueue};

/// Keeps a listener alive until it is dropped.
#[derive(Debug)]
pub struct ListenerHeartbeat {
    task: JoinHandle<()>,
    lost: watch::Receiver<bool>,
}

impl BluequeListener {
    /// Starts sending heartbeats in the background.
    ///
    /// # Panics
    ///
    /// Panics if called outside of a Tokio runtime.
    pub fn start_heartbeat(&self) -> ListenerHeartbeat {
        let (lost_sender, lost) = watch::channel(false);
        let queue = self.queue.clone();
        let (name, args, alive) = (self.name.clone(), self.heartbeat_args(), self.alive());
        let task = tokio::spawn(async move {
            keep_alive(&queue, &name, &args, alive).await;
            // The receiver may be gone.
            let _ = lost_sender.send(true);
        });
        ListenerHeartbeat { task, lost }
    }
}

impl ListenerHeartbeat {
    /// Waits until the listener is lost: declared lost by a cleaner, or without a successful heartbeat
    /// for so long that it may be. Stop its tasks then, because other listeners may start them.
    pub async fn lost(&mut self) {
        // A dropped sender counts as lost too.
        let _ = self.lost.wait_for(|lost| *lost).await;
    }
}

impl Drop for ListenerHeartbeat {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns when the listener is lost.
async fn keep_alive(queue: &BluequeQueue, name: &str, args: &[Bytes], alive: Duration) {
    let mut confirmed_at = Instant::now();
    while confirmed_at.elapsed() < alive {
        let sent_at = Instant::now();
        match queue.send_heartbeat(name, args.to_vec()).await {
            Ok(()) => confirmed_at = sent_at,
            Err(error) if error.kind() == ErrorKind::Conflict => return,
            // No cleaner declares a listener lost while the server is unreachable.
            Err(_) => {}
        }
        sleep(alive / HEARTBEATS).await;
    }
}
