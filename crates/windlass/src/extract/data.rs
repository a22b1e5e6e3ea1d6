//! Data shared by all jobs of a worker, by type.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::FromContext;
use crate::context::Context;
use crate::job_error::JobError;

/// Data shared by all jobs of a worker: added with [`Worker::data`](crate::Worker::data), extracted by
/// type. A worker does not start if a handler takes data that was not added.
///
/// ```
/// use std::sync::Mutex;
/// use windlass::{Bytes, Client, Data, JobError, Worker};
///
/// async fn keep(payload: Bytes, seen: Data<Mutex<Vec<Bytes>>>) -> Result<(), JobError> {
///     seen.lock().map_err(|_| JobError::new("a handler panicked here"))?.push(payload);
///     Ok(())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::connect("memory:").await?;
/// let worker = Worker::new(client).queue("mail").fallback(keep).burst();
/// let error = worker.run().await.unwrap_err();
/// assert!(error.help().contains("add it with Worker::data"));
/// # Ok(())
/// # }
/// ```
pub struct Data<T>(Arc<T>);

impl<T> Data<T> {
    /// Returns the shared value, to keep it longer than the handler runs.
    pub fn into_inner(self) -> Arc<T> {
        self.0
    }
}

impl<T> Clone for Data<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Data<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for Data<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Send + Sync + 'static> FromContext for Data<T> {
    fn from_context(context: &Context) -> Result<Self, JobError> {
        // Workers check this before they start, unless a custom extractor does not declare its data.
        let missing = || {
            JobError::new(format!(
                "this worker has no data of type {}",
                type_name::<T>()
            ))
        };
        context.data().get::<T>().map(Self).ok_or_else(missing)
    }

    fn needs(needs: &mut Needs) {
        needs.data::<T>();
    }
}

/// The shared data that the arguments of a handler need. A custom extractor that uses shared data
/// declares it:
///
/// ```
/// use windlass::extract::{FromContext, Needs};
/// use windlass::{Context, Data, JobError};
///
/// # struct Pool;
/// struct Database(Data<Pool>);
///
/// impl FromContext for Database {
///     fn from_context(context: &Context) -> Result<Self, JobError> {
///         Data::from_context(context).map(Self)
///     }
///
///     fn needs(needs: &mut Needs) {
///         needs.data::<Pool>();
///     }
/// }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Needs(Vec<(TypeId, &'static str)>);

impl Needs {
    /// Declares that data of this type is needed.
    pub fn data<T: 'static>(&mut self) {
        self.0.push((TypeId::of::<T>(), type_name::<T>()));
    }

    /// Returns the type of the first data that is needed and missing.
    pub(crate) fn missing(&self, data: &DataMap) -> Option<&'static str> {
        let is_missing = |(id, _): &&(TypeId, &str)| !data.0.contains_key(id);
        self.0.iter().find(is_missing).map(|(_, name)| *name)
    }
}

/// Data by type.
#[derive(Clone, Default)]
pub(crate) struct DataMap(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl DataMap {
    /// Inserts data; returns false if there already was data of this type.
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, data: T) -> bool {
        self.0.insert(TypeId::of::<T>(), Arc::new(data)).is_none()
    }

    fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let data = Arc::clone(self.0.get(&TypeId::of::<T>())?);
        data.downcast().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_data_is_named() {
        let mut data = DataMap::default();
        let mut needs = Needs::default();
        Data::<u8>::needs(&mut needs);
        Data::<Vec<String>>::needs(&mut needs);

        assert!(data.insert(7_u8));
        assert_eq!(needs.missing(&data), Some(type_name::<Vec<String>>()));
        assert!(data.insert(vec![String::new()]));
        assert_eq!(needs.missing(&data), None);
        assert!(!data.insert(8_u8));
        assert_eq!(data.get::<u8>().as_deref(), Some(&8));
    }
}
