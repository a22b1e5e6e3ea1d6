//! watch: notifications that scripts publish. They publish only while a queue is watched.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};
use windlass_core::store::{Notification, Watch};
use windlass_core::{JobId, JobState, QueueName, Result};
use windlass_redis_link::{ChannelKind, Subscriber, SubscriberEvent};

use crate::codec::names::{NOTIFY_CANCEL, NOTIFY_WORK};
use crate::partition::{Partition, number_arg};

/// How long scripts publish after a call of `watch`, and how often it is repeated.
const WATCH_FOR: Duration = Duration::from_secs(30);
const RENEW_EVERY: Duration = Duration::from_secs(10);

impl Partition {
    /// Makes scripts publish notifications for this long.
    async fn watch_for(&self, duration: Duration) -> Result<()> {
        let args = vec![number_arg(duration.as_millis())];
        self.run(&self.scripts().watch, args).await?;
        Ok(())
    }
}

/// A stream of notifications about some queues.
#[derive(Debug)]
pub(crate) struct Notifier {
    listener: Subscriber,
    queues: HashMap<Bytes, QueueName>,
    pending: std::collections::VecDeque<Notification>,
    renewal: Option<JoinHandle<()>>,
}

impl Notifier {
    /// Subscribes to all notifications of these partitions; returns once subscribed.
    pub(crate) async fn new(partitions: Vec<Arc<Partition>>) -> Result<Self> {
        let mut notifier = Self::of_cancels(partitions.clone()).await?;
        for partition in &partitions {
            partition.watch_for(WATCH_FOR).await?;
        }
        notifier.renewal = Some(tokio::spawn(keep_watching(partitions)));
        Ok(notifier)
    }

    /// Subscribes without making scripts publish: gets cancellations, which are always published.
    pub(crate) async fn of_cancels(partitions: Vec<Arc<Partition>>) -> Result<Self> {
        let channels: HashMap<Bytes, QueueName> = partitions
            .iter()
            .map(|partition| (partition.keys.one("hints"), partition.queue.clone()))
            .collect();
        let Some(first) = partitions.first() else {
            return Err(windlass_core::Error::invalid(
                "watch",
                "no queue is given",
                "name at least one queue",
            ));
        };
        let listener = first
            .link()
            .subscribe(ChannelKind::Sharded, channels.keys().cloned().collect())
            .await?;
        Ok(Self {
            listener,
            queues: channels,
            pending: std::collections::VecDeque::new(),
            renewal: None,
        })
    }
}

/// Keeps the partitions watched. After an error notifications are lost, never jobs.
async fn keep_watching(partitions: Vec<Arc<Partition>>) {
    let mut ticks = interval(RENEW_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for partition in &partitions {
            let _ = partition.watch_for(WATCH_FOR).await;
        }
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        if let Some(renewal) = &self.renewal {
            renewal.abort();
        }
    }
}

#[async_trait]
impl Watch for Notifier {
    async fn next(&mut self) -> Option<Notification> {
        loop {
            if let Some(notification) = self.pending.pop_front() {
                return Some(notification);
            }
            match self.listener.next().await {
                SubscriberEvent::Gap => return Some(Notification::Resync),
                SubscriberEvent::Message { channel, bytes } => {
                    if let Some(queue) = self.queues.get(&channel) {
                        let text = String::from_utf8_lossy(&bytes);
                        self.pending
                            .extend(text.lines().filter_map(|line| read(queue, line)));
                    }
                }
            }
        }
    }
}

/// Decodes one line of a message: `NOTIFY_WORK`, `NOTIFY_CANCEL ID` or `STATE ID`.
fn read(queue: &QueueName, line: &str) -> Option<Notification> {
    let Some((event, id)) = line.split_once(' ') else {
        return (line == NOTIFY_WORK).then(|| Notification::Work(queue.clone()));
    };
    let id = JobId::new(id).ok()?;
    match event {
        NOTIFY_CANCEL => Some(Notification::Cancel(queue.clone(), id)),
        state => Some(Notification::Event(
            queue.clone(),
            id,
            JobState::from_text(state)?,
        )),
    }
}
