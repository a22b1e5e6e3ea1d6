//! Permissions of a caller: scopes, and the queues they apply to.

pub use windlass_api::Scope;
use windlass_core::{Error, QueueName, Result};

fn scope(name: &str) -> Result<Scope> {
    let found = Scope::GRANTED.iter().find(|scope| scope.as_str() == name);
    found.copied().ok_or_else(|| {
        let help = "use read, enqueue, work, operate or admin, separated by commas";
        Error::invalid("scope", "unknown name", help)
    })
}

/// The permissions of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    scopes: Vec<Scope>,
    queues: Vec<Pattern>,
}

impl Grant {
    /// Grants every scope on every queue.
    pub fn all() -> Self {
        Self {
            scopes: vec![Scope::Admin],
            queues: vec![Pattern("*".to_owned())],
        }
    }

    /// Grants nothing.
    pub(crate) const fn none() -> Self {
        Self {
            scopes: Vec::new(),
            queues: Vec::new(),
        }
    }

    /// Parses comma-separated scopes and comma-separated queue patterns.
    pub fn parse(scopes: &str, queues: &str) -> Result<Self> {
        let scopes = scopes.split(',').map(scope);
        let queues = queues.split(',').map(Pattern::parse);
        Ok(Self {
            scopes: scopes.collect::<Result<_>>()?,
            queues: queues.collect::<Result<_>>()?,
        })
    }

    /// Returns whether the caller may use routes that require `scope`.
    pub fn has(&self, scope: Scope) -> bool {
        matches!(scope, Scope::Open | Scope::Any)
            || self.scopes.contains(&scope)
            || self.scopes.contains(&Scope::Admin)
    }

    /// Returns whether the caller may access the queue.
    pub fn allows_queue(&self, queue: &QueueName) -> bool {
        self.allows_name(queue.as_str())
    }

    /// Returns whether the caller may access the queue of this name.
    pub(crate) fn allows_name(&self, queue: &str) -> bool {
        let mut patterns = self.queues.iter();
        patterns.any(|pattern| pattern.matches(queue))
    }

    /// Returns whether the caller may access a worker with these queues. One without queues may serve
    /// any queue.
    pub fn allows_worker<'a>(&self, queues: impl ExactSizeIterator<Item = &'a str>) -> bool {
        let is_any = queues.len() == 0;
        self.allows_all_queues() || !is_any && { queues }.all(|queue| self.allows_name(queue))
    }

    /// Returns whether the caller may access every queue.
    pub fn allows_all_queues(&self) -> bool {
        self.queues.iter().any(|pattern| pattern.0 == "*")
    }
}

/// A queue name in which `*` matches any characters. It must match the complete name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern(String);

impl Pattern {
    fn parse(text: &str) -> Result<Self> {
        let plain = text.replace('*', "a");
        QueueName::new(&plain).map_err(|_| {
            let help = "use a queue name, with * for any characters, such as mail-*";
            Error::invalid("queue pattern", "it cannot match any queue name", help)
        })?;
        Ok(Self(text.to_owned()))
    }

    fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else {
            return false;
        };
        let mut parts: Vec<_> = parts.collect();
        let Some(last) = parts.pop() else {
            return rest.is_empty();
        };
        for part in parts {
            let Some(at) = rest.find(part) else {
                return false;
            };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_from_end_to_end_or_not_at_all() {
        for (pattern, name, is_match) in [
            ("mail", "mail", true),
            ("mail", "mail2", false),
            ("mail", "xmail", false),
            ("a*", "abc", true),
            ("a*", "ba", false),
            ("*a", "ba", true),
            ("*a", "ab", false),
            ("a*b", "ab", true),
            ("a*b", "a", false),
            ("a*a", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("me.x", "me.x.evil", false),
            ("*", "anything", true),
        ] {
            let pattern = Pattern::parse(pattern).unwrap();
            assert_eq!(pattern.matches(name), is_match, "{pattern:?} {name}");
        }
        for bad in ["", "a b", "a{b", "é"] {
            assert!(Pattern::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_not_granted_is_refused() {
        let grant = Grant::parse("read,work", "mail-*").unwrap();
        assert!(grant.has(Scope::Read) && grant.has(Scope::Work) && grant.has(Scope::Any));
        assert!(!grant.has(Scope::Enqueue) && !grant.has(Scope::Operate));
        assert!(!grant.has(Scope::Admin) && !grant.allows_all_queues());
        assert!(Grant::all().has(Scope::Operate) && Grant::all().allows_all_queues());
        assert!(Grant::parse("root", "*").is_err());
    }
}
