//! What concerns a queue as a whole: looked for in every part, done in every part.

use windlass_core::{
    Changed, ChangedJob, Changes, Cursor, Error, Filter, Job, JobId, Maintained, Page, Result,
    Setting, Settings, Stats, Target,
};

use super::{Queue, all, all_done};
use crate::script::Script;

impl Queue {
    pub(crate) async fn get(&self, id: &JobId) -> Result<Option<Job>> {
        self.refresh().await?;
        for member in self.parts().iter() {
            if let Some(job) = member.part.get(id).await? {
                return Ok(Some(job));
            }
        }
        Ok(None)
    }

    pub(crate) async fn change(
        &self,
        script: &'static Script,
        target: &Target,
        from: Option<&Cursor>,
    ) -> Result<Changes> {
        self.refresh().await?;
        match target {
            Target::Ids(ids) => self.change_ids(script, ids).await,
            Target::UniqueKey(_) => self.change_holder(script, target).await,
            Target::Payload(_) => self.change_page(script, target, None, from).await,
            Target::Filter(filter) => self.change_page(script, target, Some(filter), from).await,
        }
    }

    /// Every id in every part, until one knows it.
    async fn change_ids(&self, script: &'static Script, ids: &[JobId]) -> Result<Changes> {
        let parts = self.parts();
        let mut items = Vec::with_capacity(ids.len());
        for page in ids.chunks(super::BATCH_MAX) {
            let mut found: Vec<Option<ChangedJob>> = vec![None; page.len()];
            for member in parts.iter() {
                let open: Vec<usize> = (0..page.len())
                    .filter(|at| is_not_found(found[*at].as_ref()))
                    .collect();
                if open.is_empty() {
                    break;
                }
                let ids = open.iter().map(|at| page[*at].clone()).collect();
                let told = member.part.change(script, &Target::Ids(ids), None).await?;
                for (at, item) in open.into_iter().zip(told.items) {
                    found[at] = Some(item);
                }
            }
            items.extend(found.into_iter().flatten());
        }
        Ok(Page { items, next: None })
    }

    async fn change_holder(&self, script: &'static Script, target: &Target) -> Result<Changes> {
        let mut told = Page {
            items: Vec::new(),
            next: None,
        };
        for member in self.parts().iter() {
            told = member.part.change(script, target, None).await?;
            if !told.items.iter().all(|item| is_not_found(Some(item))) {
                break;
            }
        }
        Ok(told)
    }

    async fn change_page(
        &self,
        script: &'static Script,
        target: &Target,
        filter: Option<&Filter>,
        from: Option<&Cursor>,
    ) -> Result<Changes> {
        let parts = self.parts();
        let mut place = Place::read(from, filter, parts.len())?;
        let page = parts[place.part]
            .part
            .change(script, target, place.within.as_deref())
            .await?;
        Ok(Page {
            next: place.advance(page.next, filter, parts.len()),
            items: page.items,
        })
    }

    pub(crate) async fn list(
        &self,
        filter: &Filter,
        from: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<Job>> {
        self.refresh().await?;
        let parts = self.parts();
        let mut place = Place::read(from, Some(filter), parts.len())?;
        let page = parts[place.part]
            .part
            .list_page(filter, place.within.as_deref(), limit)
            .await?;
        Ok(Page {
            next: place.advance(page.next, Some(filter), parts.len()),
            items: page.items,
        })
    }

    pub(crate) async fn purge(&self) -> Result<u64> {
        self.refresh().await?;
        for member in self.parts().iter() {
            let removed = member.part.purge().await?;
            if removed > 0 {
                return Ok(removed);
            }
        }
        Ok(0)
    }

    pub(crate) async fn maintain(&self, limit: usize) -> Result<Maintained> {
        let mut done = Maintained::default();
        let told = self.in_every(move |part| async move { part.maintain(limit).await });
        all_done(told.await)?
            .into_iter()
            .for_each(|part| done.add(part));
        Ok(done)
    }

    pub(crate) async fn set_paused(&self, is_paused: bool) -> Result<()> {
        let told = self.in_every(move |part| async move { part.set_paused(is_paused).await });
        all_done(told.await)?;
        Ok(())
    }

    pub(crate) async fn settings(&self) -> Result<Settings> {
        self.first().settings().await
    }

    /// The first part last: what it says is so everywhere.
    pub(crate) async fn set(&self, settings: &[Setting]) -> Result<Settings> {
        self.refresh().await?;
        let parts = self.parts();
        for member in parts.iter().skip(1) {
            member.part.set(settings).await?;
        }
        let settings = parts[0].part.set(settings).await?;
        self.grow_to(settings.partitions).await?;
        Ok(settings)
    }

    pub(crate) async fn stats(&self) -> Result<Option<Stats>> {
        let told = self.in_every(|part| async move { part.stats().await });
        let mut sum: Option<Stats> = None;
        for stats in all(told.await)?.iter().flatten() {
            sum.get_or_insert_default().add(stats);
        }
        Ok(sum)
    }
}

fn is_not_found(item: Option<&ChangedJob>) -> bool {
    item.is_none_or(|item| item.changed == Changed::NotFound)
}

/// A place in a listing: a part, and where in it. Written `PART,…`, with commas for the tabs that
/// the scripts use.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) part: usize,
    pub(crate) within: Option<String>,
}

impl Place {
    pub(crate) fn read(
        from: Option<&Cursor>,
        filter: Option<&Filter>,
        parts: usize,
    ) -> Result<Self> {
        let Some(Cursor(text)) = from else {
            return Ok(Self {
                part: 0,
                within: None,
            });
        };
        let bad = || {
            let why = "it is not one this store gave out";
            Error::invalid("cursor", why, "begin with the first page")
        };
        let (part, rest) = text.split_once(',').ok_or_else(bad)?;
        let part: usize = part.parse().map_err(|_| bad())?;
        let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        if part >= parts || !(rest.is_empty() || is_number(rest) && rest.contains(',')) {
            return Err(bad());
        }
        let within = rest.replacen(',', "\t", tabs(filter));
        Ok(Self {
            part,
            within: (!within.is_empty()).then_some(within),
        })
    }

    /// The cursor behind a page of this part, which goes on at `within` or with the next part.
    pub(crate) fn advance(
        &mut self,
        within: Option<Cursor>,
        filter: Option<&Filter>,
        parts: usize,
    ) -> Option<Cursor> {
        match within {
            Some(Cursor(text)) => {
                let text = text.replacen('\t', ",", tabs(filter));
                Some(Cursor(format!("{},{text}", self.part)))
            }
            None if self.part + 1 < parts => Some(Cursor(format!("{},", self.part + 1))),
            None => None,
        }
    }
}

/// How many tabs a cursor of a script may have: one, and one more where it names the state.
fn tabs(filter: Option<&Filter>) -> usize {
    match filter {
        Some(Filter { state: Some(_), .. }) => 1,
        _ => 2,
    }
}
