//! Queue items.

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use windlass_core::{Error, Result};

use super::session::uuid;

/// A queue item: an id and data, which may be any bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Unique id. A second item with the same id is a duplicate.
    pub id: String,
    /// Payload.
    pub data: Bytes,
}

/// JSON form of an item.
#[derive(Deserialize)]
struct JsonItem {
    id: Option<String>,
    data: String,
}

impl Item {
    /// Creates an item with a random id.
    pub fn new(data: impl Into<Bytes>) -> Self {
        Self::with_id(uuid(), data)
    }

    /// Creates an item with this id.
    pub fn with_id(id: impl Into<String>, data: impl Into<Bytes>) -> Self {
        Self {
            id: id.into(),
            data: data.into(),
        }
    }

    /// Creates an item with a random id whose data is `value` as JSON, without spaces.
    pub fn from_json_data<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let data = serde_json::to_vec(value).map_err(|error| {
            let help = "use string keys in maps, and types that JSON can represent";
            Error::invalid("data", "cannot be serialized as JSON", help).caused_by(error)
        })?;
        Ok(Self::new(data))
    }

    /// Parses an item from a JSON object with `data` and an optional `id` (default: random).
    pub fn parse(text: &str) -> Result<Self> {
        let json: JsonItem = serde_json::from_str(text).map_err(|error| {
            let help = r#"write it as {"id":"…","data":"…"}; the id is optional"#;
            Error::invalid("item", error.to_string(), help)
        })?;
        let id = json.id.unwrap_or_else(uuid);
        Ok(Self::with_id(id, json.data))
    }

    /// Parses the data as JSON.
    pub fn data_json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.data).map_err(|error| {
            let why = format!(
                "the data of item {} does not match the expected type",
                self.id
            );
            let help = "inspect the data: `redis-cli GET <prefix>:item:<id>`";
            Error::invalid("data", why, help).caused_by(error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_data_round_trips_without_spaces() {
        let item = Item::from_json_data(&(1, "a")).unwrap();
        assert_eq!(item.data, r#"[1,"a"]"#);
        assert_eq!(item.data_json::<(u8, String)>().unwrap(), (1, "a".into()));
        assert!(item.data_json::<Vec<u8>>().is_err());
        assert_ne!(item.id, Item::new("").id);
    }

    #[test]
    fn an_item_is_parsed_from_json_with_or_without_an_id() {
        let item = Item::parse(r#"{"id":"a","data":"[1]"}"#).unwrap();
        assert_eq!(item, Item::with_id("a", "[1]"));
        assert_eq!(Item::parse(r#"{"data":""}"#).unwrap().id.len(), 36);
        assert!(Item::parse(r#"{"id":"a"}"#).is_err());
    }
}
