//! Hints for queue names that no job or setting has used: most of them are typing errors.

use windlass::{QueueName, Store};

use crate::session::Session;

/// Notes each queue that does not exist. Errors are ignored: the command itself will report them.
pub(super) async fn note_unused(store: &dyn Store, queues: &[QueueName], session: &mut Session) {
    if session.global.json {
        return;
    }
    for queue in queues {
        if let Ok(None) = store.stats(queue).await {
            let note = unused(store, queue).await;
            session.output.note(&note);
        }
    }
}

/// Describes a queue that does not exist.
pub(super) async fn unused(store: &dyn Store, queue: &QueueName) -> String {
    let hint = typing_error(store, queue).await;
    hint.unwrap_or_else(|| {
        format!("queue {queue} does not exist yet; the first enqueue creates it")
    })
}

/// Returns a hint if another queue has a similar name: "new queue mial; did you mean mail?"
pub(super) async fn typing_error(store: &dyn Store, queue: &QueueName) -> Option<String> {
    let queues = store.queues().await.unwrap_or_default();
    let other = similar(queue.as_str(), queues.iter().map(|name| name.as_str()))?;
    Some(format!("new queue {queue}; did you mean {other}?"))
}

/// Returns the name that is most similar, if any is similar enough: one typing error in a short name, two in a
/// longer one, none in one or two letters.
fn similar<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let errors_max = match name.len() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    let distance = |other: &'a str| (strsim::osa_distance(name, other), other);
    names
        .filter(|other| *other != name)
        .map(distance)
        .filter(|(errors, _)| *errors <= errors_max)
        .min()
        .map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_similar_names_are_suggested() {
        let names = ["mail", "mails", "reports", "b"];
        let similar = |name| similar(name, names.into_iter());
        assert_eq!(similar("mial"), Some("mail"));
        assert_eq!(similar("Mail"), Some("mail"));
        assert_eq!(similar("raports"), Some("reports"));
        assert_eq!(similar("reprot"), Some("reports"));
        assert_eq!(similar("letters"), None);
        assert_eq!(similar("mail"), Some("mails"));
        assert_eq!(similar("a"), None);
    }
}
