//! Parses what an enqueue does with duplicates, and how long its job holds the unique key.

use windlass_core::store::{OnDuplicate, UniqueKey, UniqueUntil};
use windlass_core::{Error, NewJob, Result, duration};

use super::EnqueueRequest;

impl EnqueueRequest {
    /// Sets the unique key and the options of deduplication.
    pub(super) fn deduplicate(&self, job: &mut NewJob) -> Result<()> {
        let time = |name, text: &Option<String>| {
            let parse = |text: &String| duration::parse_named(name, text);
            text.as_ref().map(parse).transpose()
        };
        job.unique_key = self.unique_key.as_ref().map(UniqueKey::new).transpose()?;
        job.unique_for = time("unique_for", &self.unique_for)?;
        job.postpone_max = time("postpone_max", &self.postpone_max)?;
        if let Some(text) = &self.unique_until {
            job.unique_until = unique_until(text)?;
        }
        if let Some(text) = &self.on_duplicate {
            job.on_duplicate = on_duplicate(text)?;
        }
        Ok(())
    }
}

/// Parses when a job frees its unique key.
pub(crate) fn unique_until(text: &str) -> Result<UniqueUntil> {
    let names: Vec<_> = UniqueUntil::ALL
        .iter()
        .map(|until| until.as_str())
        .collect();
    UniqueUntil::from_text(text).ok_or_else(|| Error::unknown("unique_until", text, &names))
}

/// Parses the action. The order of two actions does not matter.
fn on_duplicate(text: &str) -> Result<OnDuplicate> {
    let canonical = match text {
        "postpone,replace" => OnDuplicate::ReplaceAndPostpone.as_str(),
        text => text,
    };
    OnDuplicate::from_text(canonical).ok_or_else(|| {
        let help = "use keep, replace, postpone, or both of the last two: replace,postpone";
        Error::invalid("on_duplicate", format!("unknown action {text:?}"), help)
    })
}
