//! A bridge whose older system answers by a script.

use async_trait::async_trait;
use windlass_core::JobId;
use windlass_store_redis::{Options, RedisStore};

use super::*;

/// Answers what it was told to, in turn, and then that there is nothing.
#[derive(Debug)]
struct Script(VecDeque<Took>);

#[async_trait]
impl Origin for Script {
    async fn take(&mut self, _: Duration) -> Result<Took> {
        Ok(self.0.pop_front().unwrap_or(Took::Nothing))
    }

    async fn holds(&mut self, _: &Taken) -> Result<bool> {
        Ok(true)
    }

    async fn done(&mut self, _: &Taken) -> Result<()> {
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
async fn what_went_back_while_a_batch_was_taken_is_not_carried_over() -> Result<()> {
    let one = |id: &str| {
        Took::One(Taken {
            id: id.to_owned(),
            data: "data".into(),
        })
    };
    let server = windlass_testkit::redis::Server::start();
    let store: Arc<dyn Store> =
        Arc::new(RedisStore::open(&server.url(), Options::default()).await?);
    let queue = QueueName::new("new")?;
    let mut bridge = Bridge {
        origin: Box::new(Script([one("before"), Took::Anew, one("after")].into())),
        from: From::Worqr {
            queue: "old".to_owned(),
            settings: crate::worqr::Settings::default(),
        },
        store: Arc::clone(&store),
        queue: queue.clone(),
        taken: VecDeque::new(),
        carried: VecDeque::new(),
        done: Carried::default(),
        cleaned: None,
    };

    bridge.drain().await?;

    assert_eq!(bridge.carried().carried, 1);
    let before = store.get(&queue, &JobId::new("before")?).await?;
    assert_eq!(before, None);
    Ok(())
}
