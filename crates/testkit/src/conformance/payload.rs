//! Payloads: raw bytes, returned byte for byte, within a limit.

use bytes::Bytes;
use windlass_core::{ErrorKind, NewJob, Result};

use crate::fixture::{Fixture, id, lease_of};

const LIMIT: usize = 1024 * 1024;

async fn comes_back(fixture: &Fixture, payload: Bytes) -> Result<()> {
    fixture
        .enqueue(NewJob::new(payload.clone()).id(id("a")))
        .await?;

    assert!(fixture.job("a").await?.payload.as_ref() == Some(&payload));
    let claim = fixture.take(1).await?;
    assert!(claim.jobs[0].payload == payload);

    let completion = lease_of(&claim, 0).completion().result(payload.clone());
    fixture
        .store
        .complete(&fixture.queue, vec![completion], None)
        .await?;
    assert!(fixture.job("a").await?.result.as_ref() == Some(&payload));
    Ok(())
}

async fn is_refused(fixture: &Fixture, jobs: Vec<NewJob>) -> Result<()> {
    let refused = fixture.store.enqueue(&fixture.queue, jobs).await;

    assert_eq!(
        refused.map_err(|error| error.kind()),
        Err(ErrorKind::Invalid)
    );
    assert_eq!(
        fixture.dump().await?,
        None,
        "nothing of the batch is stored"
    );
    Ok(())
}

pub async fn every_byte_comes_back(fixture: &Fixture) -> Result<()> {
    let all: Vec<u8> = (0..=255).chain((0..=255).rev()).collect();
    comes_back(fixture, all.into()).await
}

pub async fn an_empty_payload_comes_back_empty(fixture: &Fixture) -> Result<()> {
    comes_back(fixture, Bytes::new()).await
}

pub async fn a_payload_at_the_limit_comes_back(fixture: &Fixture) -> Result<()> {
    let large: Vec<u8> = (0..=u8::MAX).cycle().take(LIMIT).collect();
    comes_back(fixture, large.into()).await
}

pub async fn a_payload_over_the_limit_is_refused(fixture: &Fixture) -> Result<()> {
    let jobs = vec![NewJob::new("small"), NewJob::new(vec![0; LIMIT + 1])];
    is_refused(fixture, jobs).await
}

pub async fn a_batch_over_the_limit_is_refused(fixture: &Fixture) -> Result<()> {
    let payload = Bytes::from(vec![0; LIMIT]);
    let jobs = (0..17).map(|_| NewJob::new(payload.clone())).collect();
    is_refused(fixture, jobs).await
}

pub async fn text_that_looks_like_a_query_is_only_bytes(fixture: &Fixture) -> Result<()> {
    let name = "'; DROP TABLE jobs; -- {\"$gt\": 0} \\ %s {}";
    fixture
        .enqueue(NewJob::new(name).id(id(name)).unique_key(name.parse()?))
        .await?;

    let job = fixture.job(name).await?;
    assert_eq!(job.payload.as_deref(), Some(name.as_bytes()));
    assert_eq!(fixture.next(1).await?, [name]);
    Ok(())
}
