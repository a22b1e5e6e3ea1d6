//! The format of replies: the reference of the request, `ok`, and the fields of the reply or the error.

use serde_json::value::RawValue;

use crate::error::{Error, ErrorReply};

/// Formats a reply as an object: the reference of the request as `name`, `ok`, and the fields of the
/// reply. A reply that is a list is put into the field `list`.
pub fn format_reply(
    (name, reference): (&str, Option<&RawValue>),
    reply: Result<&str, &Error>,
    list: &str,
) -> String {
    let error_body;
    let (is_ok, body) = match reply {
        Ok(body) => (true, body),
        Err(error) => {
            let error = error.clone();
            error_body = serde_json::to_string(&ErrorReply { error })
                .expect("replies are structs of plain values");
            (false, error_body.as_str())
        }
    };
    let reference = reference.map_or("null", RawValue::get);
    let ok = if is_ok {
        ",\"ok\":true"
    } else {
        ",\"ok\":false"
    };
    let head = ["{\"", name, "\":", reference, ok].concat();
    match body.strip_prefix('{') {
        Some("}") => head + "}",
        Some(fields) => [&head, ",", fields].concat(),
        None => [&head, ",\"", list, "\":", body, "}"].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;

    fn raw(text: &str) -> Box<RawValue> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_reply_has_the_reference_and_its_fields() {
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
            assert_eq!(format_reply(("ref", reference), Ok(body), "jobs"), text);
        }
        let error = Error::new(Code::Invalid, "no", "yes").at_line(7);
        assert_eq!(
            format_reply(("ref", None), Err(&error), "jobs"),
            r#"{"ref":null,"ok":false,"error":{"code":"invalid","message":"no","help":"yes","line":7}}"#
        );
    }
}
