//! The log of operator actions.

use std::sync::Arc;

use tokio::task::JoinSet;
use windlass_core::Result;
use windlass_core::action::{ACTIONS_MAX, Action};

use crate::fixture::{Fixture, secs};

fn action(target: &str) -> Action {
    Action {
        who: "ann".to_owned(),
        interface: "cli".to_owned(),
        op: "retry".to_owned(),
        target: target.to_owned(),
        ..Action::default()
    }
}

/// The targets of all logged actions, in pages of `limit`.
async fn targets(fixture: &Fixture, limit: usize) -> Result<Vec<String>> {
    let (mut targets, mut from) = (Vec::new(), None);
    loop {
        let page = fixture.store.actions(from, limit).await?;
        assert!(
            page.items.len() <= limit,
            "a page has at most `limit` actions"
        );
        targets.extend(page.items.into_iter().map(|record| record.action.target));
        from = page.next;
        if from.is_none() {
            return Ok(targets);
        }
    }
}

pub async fn actions_are_listed_newest_first_each_once(fixture: &Fixture) -> Result<()> {
    for n in 0..7 {
        fixture.store.log_action(action(&n.to_string())).await?;
    }

    for limit in [1, 3, 7, 100] {
        let listed = targets(fixture, limit).await?;
        assert_eq!(
            listed,
            ["6", "5", "4", "3", "2", "1", "0"],
            "pages of {limit}"
        );
    }
    Ok(())
}

pub async fn an_action_is_read_as_it_was_logged(fixture: &Fixture) -> Result<()> {
    let full = Action {
        queue: Some(fixture.queue.clone()),
        request: Some("r-1".to_owned()),
        ..action("state=dead text='50%\" é'")
    };
    fixture.store.log_action(action("a\tb\nc")).await?;
    fixture.advance(secs(60));
    fixture.store.log_action(full.clone()).await?;

    let listed = fixture.store.actions(None, 10).await?.items;

    assert_eq!(listed[0].action, full);
    assert_eq!(listed[1].action, action("a b c"), "one line");
    assert_eq!(listed[0].at, fixture.now());
    assert_eq!(listed[0].at.since(listed[1].at), secs(60));
    Ok(())
}

pub async fn an_action_logged_while_paging_moves_nothing(fixture: &Fixture) -> Result<()> {
    for n in 0..4 {
        fixture.store.log_action(action(&n.to_string())).await?;
    }
    let first = fixture.store.actions(None, 2).await?;
    fixture.store.log_action(action("new")).await?;
    let rest = fixture.store.actions(first.next, 2).await?.items;

    let rest: Vec<_> = rest
        .iter()
        .map(|record| record.action.target.as_str())
        .collect();
    assert_eq!(rest, ["1", "0"]);
    Ok(())
}

pub async fn logging_an_action_touches_no_queue(fixture: &Fixture) -> Result<()> {
    let named = Action {
        queue: Some(fixture.queue.clone()),
        ..action("x")
    };
    fixture.store.log_action(named.clone()).await?;
    assert!(fixture.store.queues().await?.is_empty(), "creates no queue");
    fixture.fill(&["a"]).await?;
    let before = fixture.snapshot().await?;

    fixture.store.log_action(named).await?;

    assert_eq!(fixture.snapshot().await?, before);
    Ok(())
}

pub async fn the_log_of_actions_is_bounded(fixture: &Fixture) -> Result<()> {
    fixture.store.log_action(action("first")).await?;
    let mut calls = JoinSet::new();
    for n in 0..ACTIONS_MAX {
        let store = Arc::clone(&fixture.store);
        calls.spawn(async move { store.log_action(action(&n.to_string())).await });
        if calls.len() == 200 {
            calls
                .join_next()
                .await
                .expect("a call runs")
                .expect("it does not panic")?;
        }
    }
    calls.join_all().await.into_iter().collect::<Result<()>>()?;

    let listed = targets(fixture, 500).await?;

    assert_eq!(listed.len(), ACTIONS_MAX);
    assert!(!listed.iter().any(|target| target == "first"));
    Ok(())
}
