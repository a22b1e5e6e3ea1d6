//! What is queued: an id and data.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use windlass_core::{Error, Result};

use super::session::uuid;

/// An id and data, which may be any bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is known by; of two items with one id the second is a duplicate.
    pub id: String,
    /// What the work is about.
    pub data: Bytes,
}

/// An item as JSON.
#[derive(Deserialize)]
struct Written {
    id: Option<String>,
    data: String,
}

impl Item {
    /// An item with a random id.
    pub fn new(data: impl Into<Bytes>) -> Self {
        Self::with_id(uuid(), data)
    }

    /// An item with an id of the caller's.
    pub fn with_id(id: impl Into<String>, data: impl Into<Bytes>) -> Self {
        Self {
            id: id.into(),
            data: data.into(),
        }
    }

    /// An item with a random id whose data is this value as JSON, without spaces.
    pub fn from_json_data<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let data = serde_json::to_vec(value).map_err(|error| {
            let help = "maps of JSON have text as keys, and some types cannot be written at all";
            Error::invalid("data", "it cannot be written as JSON", help).caused_by(error)
        })?;
        Ok(Self::new(data))
    }

    /// Reads an item from JSON: an object with `data`, and `id` where it should not be random.
    pub fn parse(text: &str) -> Result<Self> {
        let written: Written = serde_json::from_str(text).map_err(|error| {
            let help = r#"write it as {"id":"…","data":"…"}; the id may be left out"#;
            Error::invalid("item", error.to_string(), help)
        })?;
        let id = written.id.unwrap_or_else(uuid);
        Ok(Self::with_id(id, written.data))
    }

    /// Reads the data as JSON.
    pub fn data_json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.data).map_err(|error| {
            let why = format!("the data of item {} is not what was expected", self.id);
            let help = "look at the data: `redis-cli GET <prefix>:item:<id>`";
            Error::invalid("data", why, help).caused_by(error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_goes_in_and_comes_out_without_spaces() {
        let item = Item::from_json_data(&(1, "a")).unwrap();
        assert_eq!(item.data, r#"[1,"a"]"#);
        assert_eq!(item.data_json::<(u8, String)>().unwrap(), (1, "a".into()));
        assert!(item.data_json::<Vec<u8>>().is_err());
        assert_ne!(item.id, Item::new("").id);
    }

    #[test]
    fn an_item_is_read_from_json_with_or_without_an_id() {
        let item = Item::parse(r#"{"id":"a","data":"[1]"}"#).unwrap();
        assert_eq!(item, Item::with_id("a", "[1]"));
        assert_eq!(Item::parse(r#"{"data":""}"#).unwrap().id.len(), 36);
        assert!(Item::parse(r#"{"id":"a"}"#).is_err());
    }
}
