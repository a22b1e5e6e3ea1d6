//! Answers in their shape: the caller's reference, whether it went well, and the answer's own fields.

use serde::Serialize;
use serde_json::value::RawValue;
use windlass_api::Error;

/// What was answered, or why nothing was.
pub(crate) type Answer = Result<Box<RawValue>, Error>;

#[derive(Serialize)]
struct Refusal<'a> {
    error: &'a Error,
}

/// Writes an answer as an object: `name` with the caller's reference, `ok`, and beside them the
/// fields of the answer; one that is a list stands under `list`.
pub(crate) fn written(
    (name, reference): (&str, Option<&RawValue>),
    answer: &Answer,
    list: &str,
) -> String {
    let refusal;
    let (is_ok, body) = match answer {
        Ok(body) => (true, body.get()),
        Err(problem) => {
            refusal = json(&Refusal { error: problem });
            (false, refusal.as_str())
        }
    };
    let reference = reference.map_or("null", RawValue::get);
    let head = format!("{{\"{name}\":{reference},\"ok\":{is_ok}");
    match body.strip_prefix('{') {
        Some("}") => format!("{head}}}"),
        Some(fields) => format!("{head},{fields}"),
        None => format!("{head},\"{list}\":{body}}}"),
    }
}

/// The fields of an answer.
pub(crate) fn fields(fields: &impl Serialize) -> Answer {
    serde_json::value::to_raw_value(fields).map_err(|error| {
        let help = "this is a fault of Windlass: report it";
        Error::new(
            "internal",
            format!("the answer cannot be written: {error}"),
            help,
        )
    })
}

pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("replies are structs of plain values")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn an_answer_stands_beside_the_reference() {
        let reference = raw(r#"{"a" : 1.0}"#);
        for (reference, body, text) in [
            (None, "{}", r#"{"ref":null,"ok":true}"#),
            (
                Some(&*reference),
                r#"{"id":"a"}"#,
                r#"{"ref":{"a" : 1.0},"ok":true,"id":"a"}"#,
            ),
            (None, "[1]", r#"{"ref":null,"ok":true,"jobs":[1]}"#),
        ] {
            assert_eq!(written(("ref", reference), &Ok(raw(body)), "jobs"), text);
        }
        let problem = Error::new("invalid", "no", "yes").at_line(7);
        assert_eq!(
            written(("ref", None), &Err(problem), "jobs"),
            r#"{"ref":null,"ok":false,"error":{"code":"invalid","message":"no","help":"yes","line":7}}"#
        );
    }
}
