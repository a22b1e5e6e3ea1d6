//! Who goes out with whom, and what becomes of callers that go away.

use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};

use super::*;

/// A gather whose runs go on one by one when the test lets them.
struct Gate {
    gather: Gather<u32, u32>,
    open: Arc<Semaphore>,
    runs: mpsc::UnboundedReceiver<Vec<u32>>,
}

impl Gate {
    fn new(bounds: Bounds) -> Self {
        let open = Arc::new(Semaphore::new(0));
        let (sent, runs) = mpsc::unbounded_channel();
        let gather = Gather::new(bounds, |item| *item as usize, {
            let open = Arc::clone(&open);
            move |items: Vec<u32>| {
                let (open, sent) = (Arc::clone(&open), sent.clone());
                async move {
                    sent.send(items.clone()).expect("the test listens");
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
        Self { gather, open, runs }
    }

    /// Calls without waiting for the answer; it stands in line when this returns.
    async fn call(&self, items: &[u32]) -> tokio::task::JoinHandle<Result<Vec<u32>>> {
        let (gather, items) = (self.gather.clone(), items.to_vec());
        let call = tokio::spawn(async move { gather.call(items).await });
        tokio::task::yield_now().await;
        call
    }

    async fn run(&mut self) -> Vec<u32> {
        soon(self.runs.recv()).await.expect("a run")
    }

    fn go_on(&self) {
        self.open.add_permits(1);
    }
}

async fn answer(call: tokio::task::JoinHandle<Result<Vec<u32>>>) -> Vec<u32> {
    soon(call).await.expect("no panic").expect("answered")
}

/// Whoever is stalled fails, and does not hang.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future)
        .await
        .expect("nobody stalls")
}

#[tokio::test]
async fn who_comes_alone_goes_out_at_once_and_who_comes_later_goes_together() {
    let mut gate = Gate::new(Bounds::default());
    let first = gate.call(&[1]).await;
    assert_eq!(gate.run().await, [1]);
    let second = gate.call(&[2, 3]).await;
    let third = gate.call(&[4]).await;
    assert!(gate.runs.try_recv().is_err(), "one run at a time");
    gate.go_on();
    assert_eq!(answer(first).await, [10]);
    assert_eq!(gate.run().await, [2, 3, 4]);
    gate.go_on();
    assert_eq!(answer(second).await, [20, 30]);
    assert_eq!(answer(third).await, [40]);
    assert_eq!(gate.gather.call(Vec::new()).await.expect("nothing"), []);
}

#[tokio::test]
async fn a_run_is_bounded_in_items_and_in_weight() {
    let mut gate = Gate::new(Bounds {
        items: 3,
        weight: 100,
        runs: 1,
    });
    let mut calls = vec![gate.call(&[1]).await];
    assert_eq!(gate.run().await, [1]);
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
    for run in [
        &[1, 1][..],
        &[2, 2],
        &[99],
        &[2],
        &[1, 1, 1, 1],
        &[500],
        &[1],
    ] {
        gate.go_on();
        // What fits goes together; what is too much for one run goes alone.
        let together = gate.run().await;
        assert!(together.starts_with(run), "{together:?} {run:?}");
        assert!(together.len() == run.len() || together.iter().sum::<u32>() <= 100);
    }
    gate.go_on();
    for call in calls {
        answer(call).await;
    }
}

#[tokio::test]
async fn several_runs_may_be_under_way() {
    let mut gate = Gate::new(Bounds {
        runs: 2,
        ..Bounds::default()
    });
    let calls = [
        gate.call(&[1]).await,
        gate.call(&[2]).await,
        gate.call(&[3]).await,
        gate.call(&[4]).await,
    ];
    assert_eq!(gate.run().await, [1]);
    assert_eq!(gate.run().await, [2]);
    assert!(gate.runs.try_recv().is_err());
    gate.go_on();
    assert_eq!(gate.run().await, [3, 4]);
    gate.go_on();
    gate.go_on();
    for call in calls {
        answer(call).await;
    }
}

#[tokio::test]
async fn an_error_goes_to_everybody_in_the_run_and_to_nobody_else() {
    let mut gate = Gate::new(Bounds::default());
    let first = gate.call(&[1]).await;
    gate.run().await;
    let failing = [gate.call(&[13]).await, gate.call(&[2]).await];
    gate.go_on();
    gate.run().await;
    let later = gate.call(&[3]).await;
    gate.go_on();
    gate.run().await;
    gate.go_on();
    answer(first).await;
    for call in failing {
        let error = soon(call).await.expect("no panic").expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::StoreFull);
        assert_eq!((error.to_string().as_str(), error.help()), ("full", "wait"));
    }
    assert_eq!(answer(later).await, [30]);
}

#[tokio::test]
async fn a_run_that_breaks_stalls_nobody() {
    for broken in [14, 15] {
        let mut gate = Gate::new(Bounds::default());
        let first = gate.call(&[broken]).await;
        gate.run().await;
        let later = gate.call(&[3]).await;
        gate.go_on();
        gate.run().await;
        gate.go_on();
        soon(first).await.expect("no panic").expect_err("broken");
        assert_eq!(answer(later).await, [30]);
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_stalls_nobody() {
    let mut gate = Gate::new(Bounds::default());
    let first = gate.call(&[1]).await;
    assert_eq!(gate.run().await, [1]);
    let second = gate.call(&[2]).await;
    let third = gate.call(&[3]).await;
    first.abort();
    second.abort();
    assert!(first.await.is_err() && second.await.is_err());
    gate.go_on();
    // What went out is carried on; what still waited is taken back.
    assert_eq!(gate.run().await, [3]);
    gate.go_on();
    assert_eq!(answer(third).await, [30]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_gets_its_own_answers_under_load() {
    let gather = Gather::new(
        Bounds {
            items: 50,
            weight: usize::MAX,
            runs: 2,
        },
        |_| 1,
        |items: Vec<u64>| async move {
            tokio::task::yield_now().await;
            Ok(items.iter().map(|item| item + 1).collect())
        },
    );
    let calls: Vec<_> = (0..200_u64)
        .map(|caller| {
            let gather = gather.clone();
            tokio::spawn(async move {
                for turn in 0..50 {
                    let items: Vec<u64> = (0..=turn % 3).map(|n| caller * 1000 + n).collect();
                    let answers = gather.call(items.clone()).await.expect("answered");
                    let expected: Vec<u64> = items.iter().map(|item| item + 1).collect();
                    assert_eq!(answers, expected);
                }
            })
        })
        .collect();
    for call in calls {
        soon(call).await.expect("no panic");
    }
}

#[tokio::test]
async fn a_caller_behind_a_run_that_hangs_is_told_in_its_own_time() {
    let mut gate = Gate::new(Bounds::default());
    let first = gate.call(&[1]).await;
    assert_eq!(gate.run().await, [1]);
    let patience = Duration::from_millis(50);
    let late = soon(gate.gather.call_within(patience, vec![2])).await;
    assert!(late.expect_err("it did not come to it").is_unknown());
    gate.go_on();
    assert_eq!(answer(first).await, [10]);
    // Nobody waits for it any more: it is taken back.
    let third = gate.call(&[3]).await;
    assert_eq!(gate.run().await, [3]);
    gate.go_on();
    assert_eq!(answer(third).await, [30]);
}
