//! The envelope that every message comes and goes in.

use serde::Serialize;
use serde_json::value::RawValue;
use windlass_core::{Error, Result};

use super::Processor;
use crate::object::Object;
use crate::reply::{Answer, json, written};

/// Who a processor is on the bus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the envelope")]
pub struct Identity {
    pub service_name: String,
    pub service_uuid: String,
    pub service_host: String,
}

/// One message.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) topic: String,
    /// What the answer repeats; it may stand in the envelope or in the payload.
    pub(super) reference: Option<&'a RawValue>,
    envelope: Object<'a>,
}

/// Who sent a message, as far as it says.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) uuid: Option<String>,
    pub(super) name: Option<String>,
    pub(super) host: Option<String>,
}

/// What a message carries, and its exact text.
#[derive(Debug)]
pub(super) struct Payload<'a> {
    pub(super) text: &'a str,
    pub(super) fields: Object<'a>,
}

impl<'a> Message<'a> {
    /// Reads the envelope; fields that mean nothing here are passed over. A refusal comes with the
    /// reference where there is one.
    pub(super) fn read(text: &'a str) -> Result<Self, (Option<&'a RawValue>, Error)> {
        let envelope = Object::parse("message", text).map_err(|error| (None, error))?;
        let payload = envelope.raw("payload");
        let within = payload.and_then(|payload| Object::parse("payload", payload.get()).ok());
        let within = within.and_then(|payload| payload.raw("reference"));
        let reference = envelope.raw("reference").or(within);
        let topic = envelope.get("topic").and_then(|topic: Option<String>| {
            let help = "say what it is, for example \"topic\":\"default/job_queue/add_job\"";
            topic.ok_or_else(|| Error::invalid("message", "it has no topic", help))
        });
        Ok(Self {
            topic: topic.map_err(|error| (reference, error))?,
            reference,
            envelope,
        })
    }

    /// Reads who sent it.
    pub(super) fn origin(&self) -> Result<Origin> {
        Ok(Origin {
            uuid: self.envelope.get("service_uuid")?,
            name: self.envelope.get("service_name")?,
            host: self.envelope.get("service_host")?,
        })
    }

    /// Reads what it carries; nothing is an empty object.
    pub(super) fn payload(&self) -> Result<Payload<'a>> {
        let text = self.envelope.raw("payload").map_or("{}", RawValue::get);
        let text = if text == "null" { "{}" } else { text };
        let fields = Object::parse("payload", text)?;
        Ok(Payload { text, fields })
    }
}

#[derive(Serialize)]
struct Envelope<'a> {
    topic: String,
    #[serde(flatten)]
    identity: &'a Identity,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a RawValue>,
    payload: &'a RawValue,
}

impl Processor {
    /// The answer to a message, as a line.
    pub(super) fn answered(
        &self,
        word: &str,
        reference: Option<&RawValue>,
        answer: &Answer,
    ) -> String {
        let payload = written(("reference", reference), answer, "jobs");
        self.wrapped(&format!("{word}_reply"), reference, &payload)
    }

    /// A payload in the envelope of this processor.
    pub(super) fn wrapped(
        &self,
        topic: &str,
        reference: Option<&RawValue>,
        payload: &str,
    ) -> String {
        let Ok(payload) = serde_json::from_str(payload) else {
            // Written by us from what was read: it is JSON.
            return String::from("{}");
        };
        json(&Envelope {
            topic: format!("{}/job_queue/{topic}", self.options.publisher),
            identity: &self.options.identity,
            created_at: self.now_text(),
            reference,
            payload,
        })
    }
}

/// Refuses a namespace that cannot stand in a topic.
pub fn check_namespace(namespace: &str) -> Result<()> {
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && !"+#".contains(c);
    if !namespace.is_empty() && namespace.len() <= 100 && namespace.chars().all(is_plain) {
        return Ok(());
    }
    Err(Error::invalid(
        "namespace",
        format!("{:?}", namespace.chars().take(40).collect::<String>()),
        "use 1 to 100 bytes without blanks, + and #",
    ))
}
