//! The fields of a filter, the same in every request that selects jobs.

/// Defines a request with the fields of a filter after its own, and converts them from and to a [`Filter`].
///
/// A macro, because serde does not combine `flatten` with `deny_unknown_fields`. `$conflict` is another argument of the
/// command line.
///
/// [`Filter`]: windlass_core::Filter
macro_rules! with_filter {
    (
        $(conflicts_with = $conflict:literal;)?
        $(#[$type_meta:meta])*
        pub struct $type:ident { $($(#[$meta:meta])* pub $field:ident: $field_type:ty,)* }
    ) => {
        $(#[$type_meta])*
        pub struct $type {
            $($(#[$meta])* pub $field: $field_type,)*
            /// Only jobs in this state: ready, pending, scheduled, running, succeeded, dead or cancelled
            #[arg(long, value_name = "S" $(, conflicts_with = $conflict)?)]
            pub state: Option<String>,
            /// Only jobs of this kind
            #[arg(long, value_name = "K", allow_hyphen_values = true $(, conflicts_with = $conflict)?)]
            pub kind: Option<String>,
            /// Only jobs with this text in the id, the payload or the error
            #[arg(long, value_name = "T", allow_hyphen_values = true $(, conflicts_with = $conflict)?)]
            pub text: Option<String>,
            /// Only jobs enqueued at least this long ago
            #[arg(long, value_name = "D", allow_hyphen_values = true $(, conflicts_with = $conflict)?)]
            pub older_than: Option<String>,
            /// Only jobs enqueued less than this long ago
            #[arg(long, value_name = "D", allow_hyphen_values = true $(, conflicts_with = $conflict)?)]
            pub newer_than: Option<String>,
            /// Only jobs that this worker runs
            #[arg(long, value_name = "W", allow_hyphen_values = true $(, conflicts_with = $conflict)?)]
            pub worker: Option<String>,
            /// Only jobs at this attempt or a later one
            #[arg(long, value_name = "N" $(, conflicts_with = $conflict)?)]
            #[arg(value_parser = crate::request::number::<u32>("min_attempt", "use a number of 1 or more"))]
            pub min_attempt: Option<u32>,
            /// Only jobs with this header: NAME, or NAME=VALUE
            #[arg(long, value_name = "H", allow_hyphen_values = true $(, conflicts_with = $conflict)?)]
            pub header: Option<String>,
            /// Only jobs of this group
            #[arg(long, value_name = "G", allow_hyphen_values = true $(, conflicts_with = $conflict)?)]
            pub group: Option<String>,
            /// Only jobs whose last error has this fingerprint
            #[arg(long, value_name = "F" $(, conflicts_with = $conflict)?)]
            pub error_group: Option<String>,
        }

        impl $type {
            /// Parses the filter.
            pub fn filter(&self) -> windlass_core::Result<windlass_core::Filter> {
                use windlass_core::duration::parse_named;
                use windlass_core::store::{BootId, GroupName, Kind};
                let age = |name, text: &Option<String>| {
                    text.as_ref().map(|text| parse_named(name, text)).transpose()
                };
                let filter = windlass_core::Filter {
                    state: self.state.as_deref().map(crate::job::job_state).transpose()?,
                    kind: self.kind.as_ref().map(Kind::new).transpose()?,
                    text: self.text.clone(),
                    older_than: age("older_than", &self.older_than)?,
                    newer_than: age("newer_than", &self.newer_than)?,
                    worker: self.worker.as_ref().map(BootId::new).transpose()?,
                    min_attempt: self.min_attempt,
                    header: self.header.as_ref().map(|text| text.parse()).transpose()?,
                    group: self.group.as_ref().map(GroupName::new).transpose()?,
                    error_group: self.error_group.as_ref().map(|text| text.parse()).transpose()?,
                };
                filter.check()?;
                Ok(filter)
            }

            /// Sets the fields of the filter.
            #[must_use]
            pub fn with_filter(mut self, filter: &windlass_core::Filter) -> Self {
                let age = |age: std::time::Duration| format!("{}ms", age.as_millis());
                self.state = filter.state.map(|state| state.as_str().to_owned());
                self.kind = filter.kind.as_ref().map(ToString::to_string);
                self.text = filter.text.clone();
                self.older_than = filter.older_than.map(age);
                self.newer_than = filter.newer_than.map(age);
                self.worker = filter.worker.as_ref().map(ToString::to_string);
                self.min_attempt = filter.min_attempt;
                self.header = filter.header.as_ref().map(ToString::to_string);
                self.group = filter.group.as_ref().map(ToString::to_string);
                self.error_group = filter.error_group.as_ref().map(ToString::to_string);
                self
            }
        }
    };
}

pub(crate) use with_filter;
