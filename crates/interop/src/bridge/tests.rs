//! A bridge on a scripted source.

use async_trait::async_trait;
use windlass_core::JobId;
use windlass_store_redis::{Options, RedisStore};

use super::*;

/// Returns these results in order, then `Empty`.
#[derive(Debug)]
struct ScriptedSource(VecDeque<TakeResult>);

#[async_trait]
impl SourceWorker for ScriptedSource {
    async fn take(&mut self, _: Duration) -> Result<TakeResult> {
        Ok(self.0.pop_front().unwrap_or(TakeResult::Empty))
    }

    async fn holds(&mut self, _: &SourceItem) -> Result<bool> {
        Ok(true)
    }

    async fn finish(&mut self, _: &SourceItem) -> Result<()> {
        Ok(())
    }

    async fn clean(&mut self) -> Result<()> {
        Ok(())
    }

    async fn leave(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn items_returned_while_a_batch_was_taken_are_not_migrated() -> Result<()> {
    let one = |id: &str| TakeResult::Item(SourceItem::new(id.to_owned(), "data".into()));
    let server = windlass_testkit::redis::Server::start();
    let store: Arc<dyn Store> =
        Arc::new(RedisStore::open(&server.url(), Options::default()).await?);
    let queue = QueueName::new("new")?;
    let mut bridge = Bridge {
        worker: Box::new(ScriptedSource(
            [one("before"), TakeResult::Rejoined, one("after")].into(),
        )),
        source: BridgeSource::Worqr {
            queue: "old".to_owned(),
            settings: crate::worqr::WorqrSettings::default(),
        },
        store: Arc::clone(&store),
        queue: queue.clone(),
        taken: VecDeque::new(),
        enqueued: VecDeque::new(),
        report: BridgeReport::default(),
        cleaned_at: None,
    };

    bridge.drain().await?;

    assert_eq!(bridge.report().migrated, 1);
    let before = store.get(&queue, &JobId::new("before")?).await?;
    assert_eq!(before, None);
    Ok(())
}
