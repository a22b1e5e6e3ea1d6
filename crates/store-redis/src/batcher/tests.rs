//! Which calls share a batch, and what happens to dropped callers.

use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};

use super::*;

const LIMITS: BatchLimits = BatchLimits {
    items: 500,
    weight: 4 * 1024 * 1024,
    in_flight: 1,
};

impl<T: Send + 'static, R: Send + 'static> Batcher<T, R> {
    /// A call whose deadline plays no part.
    async fn call(&self, items: Vec<T>) -> Result<Vec<R>> {
        let far = Instant::now() + Duration::from_secs(3_600);
        self.call_until(far, items).await
    }
}

impl<T, R> Clone for Batcher<T, R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// A batcher whose batches finish one by one when the test allows it.
struct Gate {
    batcher: Batcher<u32, u32>,
    open: Arc<Semaphore>,
    batches: mpsc::UnboundedReceiver<Vec<u32>>,
}

impl Gate {
    fn new(limits: BatchLimits) -> Self {
        let open = Arc::new(Semaphore::new(0));
        let (sent, batches) = mpsc::unbounded_channel();
        let batcher = Batcher::new(limits, LinkProgress::new(None), |item| *item as usize, {
            let open = Arc::clone(&open);
            move |items: Vec<u32>| {
                let (open, sent) = (Arc::clone(&open), sent.clone());
                async move {
                    sent.send(items.clone()).expect("the test receives");
                    open.acquire().await.expect("never closed").forget();
                    match items[0] {
                        13 => Err(Error::new(ErrorKind::StoreFull, "full", "wait")),
                        14 => panic!("planned"),
                        15 => Ok(Vec::new()),
                        _ => Ok(items.iter().map(|item| item * 10).collect()),
                    }
                }
            }
        });
        Self {
            batcher,
            open,
            batches,
        }
    }

    /// Calls without waiting for the result; the call is pending when this returns.
    async fn call(&self, items: &[u32]) -> tokio::task::JoinHandle<Result<Vec<u32>>> {
        let (batcher, items) = (self.batcher.clone(), items.to_vec());
        let call = tokio::spawn(async move { batcher.call(items).await });
        tokio::task::yield_now().await;
        call
    }

    async fn batch(&mut self) -> Vec<u32> {
        soon(self.batches.recv()).await.expect("a batch")
    }

    fn release(&self) {
        self.open.add_permits(1);
    }
}

async fn results(call: tokio::task::JoinHandle<Result<Vec<u32>>>) -> Vec<u32> {
    soon(call).await.expect("no panic").expect("it succeeds")
}

/// Fails a stalled test instead of hanging.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future)
        .await
        .expect("no call stalls")
}

#[tokio::test]
async fn a_lone_call_is_sent_at_once_and_later_calls_go_together() {
    let mut gate = Gate::new(LIMITS);
    let first = gate.call(&[1]).await;
    assert_eq!(gate.batch().await, [1]);
    let second = gate.call(&[2, 3]).await;
    let third = gate.call(&[4]).await;
    assert!(gate.batches.try_recv().is_err(), "one batch at a time");
    gate.release();
    assert_eq!(results(first).await, [10]);
    assert_eq!(gate.batch().await, [2, 3, 4]);
    gate.release();
    assert_eq!(results(second).await, [20, 30]);
    assert_eq!(results(third).await, [40]);
    let empty = gate.batcher.call(Vec::new()).await.expect("an empty call");
    assert!(empty.is_empty());
}

#[tokio::test]
async fn a_lone_call_spawns_no_task_and_sets_no_timer() {
    let run = |items: Vec<u32>| async move { Ok(items) };
    let batcher = Batcher::new(LIMITS, LinkProgress::new(None), |_| 1, run);
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let mut call = Box::pin(batcher.call(vec![1]));

    // Ready at the first poll: nothing else had to run in between.
    let polled = std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx))).await;

    assert!(matches!(polled, std::task::Poll::Ready(Ok(_))));
    assert_eq!(metrics.num_alive_tasks(), before);
}

#[tokio::test]
async fn a_batch_is_bounded_in_items_and_in_weight() {
    let mut gate = Gate::new(BatchLimits {
        items: 3,
        weight: 100,
        in_flight: 1,
    });
    let mut calls = vec![gate.call(&[1]).await];
    assert_eq!(gate.batch().await, [1]);
    for items in [
        &[1, 1][..],
        &[2, 2],
        &[99],
        &[2],
        &[1, 1, 1, 1],
        &[500],
        &[1],
    ] {
        calls.push(gate.call(items).await);
    }
    for batch in [
        &[1, 1][..],
        &[2, 2],
        &[99],
        &[2],
        &[1, 1, 1, 1],
        &[500],
        &[1],
    ] {
        gate.release();
        // What fits goes together; a call too large for a batch goes alone.
        let together = gate.batch().await;
        assert!(together.starts_with(batch), "{together:?} {batch:?}");
        assert!(together.len() == batch.len() || together.iter().sum::<u32>() <= 100);
    }
    gate.release();
    for call in calls {
        results(call).await;
    }
}

#[tokio::test]
async fn several_batches_may_be_in_flight() {
    let mut gate = Gate::new(BatchLimits {
        in_flight: 2,
        ..LIMITS
    });
    let calls = [
        gate.call(&[1]).await,
        gate.call(&[2]).await,
        gate.call(&[3]).await,
        gate.call(&[4]).await,
    ];
    assert_eq!(gate.batch().await, [1]);
    assert_eq!(gate.batch().await, [2]);
    assert!(gate.batches.try_recv().is_err());
    gate.release();
    assert_eq!(gate.batch().await, [3, 4]);
    gate.release();
    gate.release();
    for call in calls {
        results(call).await;
    }
}

#[tokio::test]
async fn an_error_goes_to_every_caller_of_the_batch_and_to_no_other() {
    let mut gate = Gate::new(LIMITS);
    let first = gate.call(&[1]).await;
    gate.batch().await;
    let failing = [gate.call(&[13]).await, gate.call(&[2]).await];
    gate.release();
    gate.batch().await;
    let later = gate.call(&[3]).await;
    gate.release();
    gate.batch().await;
    gate.release();
    results(first).await;
    for call in failing {
        let error = soon(call).await.expect("no panic").expect_err("it fails");
        assert_eq!(error.kind(), ErrorKind::StoreFull);
        assert_eq!((error.to_string().as_str(), error.help()), ("full", "wait"));
    }
    assert_eq!(results(later).await, [30]);
}

#[tokio::test]
async fn a_batch_that_panics_stalls_no_caller() {
    for broken in [14, 15] {
        let mut gate = Gate::new(LIMITS);
        let lone = gate.call(&[broken]).await;
        gate.batch().await;
        let batched = gate.call(&[broken]).await;
        gate.release();
        gate.batch().await;
        let later = gate.call(&[3]).await;
        gate.release();
        gate.batch().await;
        gate.release();
        // A lone call panics in the task of its caller.
        assert!(!matches!(soon(lone).await, Ok(Ok(_))));
        soon(batched).await.expect("no panic").expect_err("broken");
        assert_eq!(results(later).await, [30]);
    }
}

#[tokio::test]
async fn a_dropped_caller_stalls_no_other() {
    let mut gate = Gate::new(LIMITS);
    let first = gate.call(&[1]).await;
    assert_eq!(gate.batch().await, [1]);
    let second = gate.call(&[2]).await;
    let third = gate.call(&[3]).await;
    second.abort();
    assert!(second.await.is_err());
    first.abort();
    assert!(first.await.is_err());
    // The call in flight makes room; the pending one is not sent.
    assert_eq!(gate.batch().await, [3]);
    gate.release();
    assert_eq!(results(third).await, [30]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_gets_its_own_results_under_load() {
    let batcher = Batcher::new(
        BatchLimits {
            items: 50,
            weight: usize::MAX,
            in_flight: 2,
        },
        LinkProgress::new(None),
        |_| 1,
        |items: Vec<u64>| async move {
            tokio::task::yield_now().await;
            Ok(items.iter().map(|item| item + 1).collect())
        },
    );
    let calls: Vec<_> = (0..200_u64)
        .map(|caller| {
            let batcher = batcher.clone();
            tokio::spawn(async move {
                for turn in 0..50 {
                    let items: Vec<u64> = (0..=turn % 3).map(|n| caller * 1000 + n).collect();
                    let results = batcher.call(items.clone()).await.expect("it succeeds");
                    let expected: Vec<u64> = items.iter().map(|item| item + 1).collect();
                    assert_eq!(results, expected);
                }
            })
        })
        .collect();
    for call in calls {
        soon(call).await.expect("no panic");
    }
}

#[tokio::test]
async fn a_caller_behind_a_stalled_batch_times_out() {
    let mut gate = Gate::new(LIMITS);
    let first = gate.call(&[1]).await;
    assert_eq!(gate.batch().await, [1]);
    let until = Instant::now() + Duration::from_millis(50);
    let late = soon(gate.batcher.call_until(until, vec![2])).await;
    assert!(late.expect_err("it times out").is_unknown());
    gate.release();
    assert_eq!(results(first).await, [10]);
    // Its caller is gone: it is dropped.
    let third = gate.call(&[3]).await;
    assert_eq!(gate.batch().await, [3]);
    gate.release();
    assert_eq!(results(third).await, [30]);
}
