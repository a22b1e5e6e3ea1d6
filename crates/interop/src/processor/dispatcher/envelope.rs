//! The envelope of every message.

use serde::Serialize;
use serde_json::value::RawValue;
use windlass_api::lines::format_reply;
use windlass_core::{Error, Result};

use super::Processor;
use super::object::Object;
use super::reply::{ReplyResult, json};

/// The identity of a processor in its envelopes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the envelope")]
pub struct Identity {
    pub service_name: String,
    pub service_uuid: String,
    pub service_host: String,
}

/// An incoming message.
#[derive(Debug)]
pub(super) struct Message<'a> {
    pub(super) topic: String,
    /// Repeated in the reply. Read from the envelope or the payload.
    pub(super) reference: Option<&'a RawValue>,
    envelope: Object<'a>,
}

/// The sender of a message.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) uuid: Option<String>,
    pub(super) name: Option<String>,
    pub(super) host: Option<String>,
}

/// The payload of a message, and its exact text.
#[derive(Debug)]
pub(super) struct Payload<'a> {
    pub(super) text: &'a str,
    pub(super) fields: Object<'a>,
}

impl<'a> Message<'a> {
    /// Parses the envelope; unknown fields are ignored. An error carries the reference, if there is
    /// one.
    pub(super) fn parse(text: &'a str) -> Result<Self, (Option<&'a RawValue>, Error)> {
        let envelope = Object::parse("message", text).map_err(|error| (None, error))?;
        let payload = envelope.raw("payload");
        let within = payload.and_then(|payload| Object::parse("payload", payload.get()).ok());
        let within = within.and_then(|payload| payload.raw("reference"));
        let reference = envelope.raw("reference").or(within);
        let topic = envelope.get("topic").and_then(|topic: Option<String>| {
            let help = "add a topic, such as \"topic\":\"default/job_queue/add_job\"";
            topic.ok_or_else(|| Error::invalid("message", "missing field topic", help))
        });
        Ok(Self {
            topic: topic.map_err(|error| (reference, error))?,
            reference,
            envelope,
        })
    }

    /// Returns the sender.
    pub(super) fn origin(&self) -> Result<Origin> {
        Ok(Origin {
            uuid: self.envelope.get("service_uuid")?,
            name: self.envelope.get("service_name")?,
            host: self.envelope.get("service_host")?,
        })
    }

    /// Returns the payload (default: an empty object).
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
    /// Formats the reply to a message as a line.
    pub(super) fn reply_line(
        &self,
        name: &str,
        reference: Option<&RawValue>,
        reply: &ReplyResult,
    ) -> String {
        let reply = reply.as_ref().map(|reply| reply.get());
        let payload = format_reply(("reference", reference), reply, "jobs");
        self.envelope(&format!("{name}_reply"), reference, &payload)
    }

    /// Puts a payload into the envelope of this processor.
    pub(super) fn envelope(
        &self,
        topic: &str,
        reference: Option<&RawValue>,
        payload: &str,
    ) -> String {
        let Ok(payload) = serde_json::from_str(payload) else {
            // Unreachable: the payload was serialized by us.
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

/// Checks that a namespace can be used in a topic.
pub fn check_namespace(namespace: &str) -> Result<()> {
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && !"+#".contains(c);
    if !namespace.is_empty() && namespace.len() <= 100 && namespace.chars().all(is_plain) {
        return Ok(());
    }
    Err(Error::invalid(
        "namespace",
        format!("{:?}", namespace.chars().take(40).collect::<String>()),
        "use 1 to 100 bytes without whitespace, + and #",
    ))
}
