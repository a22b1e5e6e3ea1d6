//! Routes: how an op is called over HTTP. The server, its `OpenAPI` document and the client of a remote
//! store use the same rows, which are in the table of ops ([`dispatch`](mod@crate::dispatch)).

use schemars::{JsonSchema, Schema, SchemaGenerator};

/// The HTTP method of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    /// Returns the name of the method.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }

    /// Returns whether fields are sent in the body instead of the query.
    pub const fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put)
    }
}

/// The permission a route requires. A token has one or more scopes; `admin` includes all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// No token required; for health checks.
    Open,
    /// Any token.
    Any,
    /// Read queues, jobs and workers.
    Read,
    /// Enqueue jobs.
    Enqueue,
    /// Claim jobs and report their outcomes.
    Work,
    /// Operate queues: cancel, retry, pause and so on.
    Operate,
    /// Change settings, purge queues, run audits.
    Admin,
}

impl Scope {
    /// The scopes a token may have.
    pub const GRANTED: [Self; 5] = [
        Self::Read,
        Self::Enqueue,
        Self::Work,
        Self::Operate,
        Self::Admin,
    ];

    /// Returns the name of the scope.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Any => "any",
            Self::Read => "read",
            Self::Enqueue => "enqueue",
            Self::Work => "work",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }
}

/// Generates the schema of a request or a reply.
pub type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// One route.
#[derive(Debug, Clone, Copy)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with parameters in braces. Each is a field of the request.
    pub path: &'static str,
    /// The scope that a token needs.
    pub scope: Scope,
    /// The op, or a name for a route without one.
    pub op: &'static str,
    /// What it does, for documents.
    pub summary: &'static str,
    /// The schema of the request.
    pub request: Option<SchemaFn>,
    /// The schema of the reply.
    pub reply: Option<SchemaFn>,
}

impl Route {
    /// Creates a route without schemas.
    pub const fn new(
        method: Method,
        path: &'static str,
        scope: Scope,
        op: &'static str,
        summary: &'static str,
    ) -> Self {
        Self {
            method,
            path,
            scope,
            op,
            summary,
            request: None,
            reply: None,
        }
    }

    /// Sets the type of the request.
    #[must_use]
    pub const fn with_request<R: JsonSchema>(mut self) -> Self {
        self.request = Some(R::json_schema);
        self
    }

    /// Sets the type of the reply.
    #[must_use]
    pub const fn with_reply<R: JsonSchema>(mut self) -> Self {
        self.reply = Some(SchemaGenerator::subschema_for::<R>);
        self
    }

    /// Returns the names of the path parameters.
    pub fn path_fields(&self) -> impl Iterator<Item = &'static str> {
        let parts = self.path.split('/');
        parts.filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }
}
