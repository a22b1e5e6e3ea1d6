//! Examples of requests and replies, which a test sends to a server.

#[cfg(test)]
mod tests;

use windlass_api::Route;

use crate::table::routes;

/// Lines of requests (`> `) and of their replies (`< `), in an order in which they can be sent.
const EXAMPLES: &str = include_str!("examples.txt");

/// One request with its reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Example {
    pub(super) method: &'static str,
    /// The path and the query.
    pub(super) target: &'static str,
    /// The body, possibly empty.
    pub(super) body: String,
    pub(super) status: &'static str,
    pub(super) reply: String,
}

impl Example {
    fn is_of(&self, route: &Route) -> bool {
        let path = self.target.split('?').next().unwrap_or_default();
        let (mut path, mut pattern) = (path.split('/'), route.path.split('/'));
        let is_same = loop {
            match (path.next(), pattern.next()) {
                (None, None) => break true,
                (Some(part), Some(name)) if part == name || name.starts_with('{') => {}
                _ => break false,
            }
        };
        is_same && self.method == route.method.as_str()
    }

    /// Returns the route. `/jobs/export` is not a job: of several the one with fewer parameters.
    fn route(&self) -> Option<&'static Route> {
        let all = routes().map(|(_, route)| route);
        let matching = all.filter(|route| self.is_of(route));
        matching.min_by_key(|route| route.path_fields().count())
    }
}

/// Returns the example of a route.
pub(super) fn of(route: &Route) -> Option<Example> {
    let key = |route: &Route| (route.method.as_str(), route.path);
    let mut examples = all().into_iter();
    examples.find(|example| example.route().is_some_and(|of| key(of) == key(route)))
}

/// Returns all examples, in order.
fn all() -> Vec<Example> {
    parse(EXAMPLES)
}

fn parse(text: &'static str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut is_reply = true;
    for line in text.lines() {
        let (is_request, line) = match line.split_at_checked(1) {
            Some((">", line)) => (true, line.strip_prefix(' ').unwrap_or(line)),
            Some(("<", line)) => (false, line.strip_prefix(' ').unwrap_or(line)),
            _ => continue,
        };
        if is_request && is_reply {
            let (method, target) = line.split_once(' ').unwrap_or((line, ""));
            examples.push(Example {
                method,
                target,
                body: String::new(),
                status: "",
                reply: String::new(),
            });
        } else if let Some(example) = examples.last_mut() {
            match (is_request, is_reply) {
                (true, _) => example.body.extend([line, "\n"]),
                (false, false) => example.status = line,
                (false, true) => example.reply.extend([line, "\n"]),
            }
        }
        is_reply = !is_request;
    }
    examples
}
