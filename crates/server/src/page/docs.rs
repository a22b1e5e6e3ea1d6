//! `/docs`: the reference of the API, built from the table of routes, their schemas and the examples.

use std::fmt::Write;

use serde_json::Value;
use windlass_api::{Route, Scope};

use super::{escape, example};
use crate::caller::Caller;
use crate::dashboard::{Html, document};
use crate::handlers::HandlerResult;
use crate::openapi;
use crate::state::AppState;
use crate::table::api_routes;

/// The sections, by the scope that their routes require.
const SECTIONS: [(Scope, &str); 7] = [
    (Scope::Enqueue, "Enqueue jobs"),
    (Scope::Work, "Work: claim jobs and report outcomes"),
    (Scope::Read, "Read"),
    (Scope::Operate, "Operate"),
    (Scope::Admin, "Administrate"),
    (Scope::Any, "About this server"),
    (Scope::Open, "Health checks"),
];

/// How deep the fields of a reply are listed.
const DEPTH_MAX: usize = 2;

/// JSON up to this length stays on one line.
const SHORT_CHARS: usize = 60;

/// Returns the page.
pub(crate) fn handle(state: &AppState, caller: &Caller) -> HandlerResult {
    let build = || Html::escaped(reference(state.extra_route()));
    let html = state.docs.get_or_init(build).clone();
    document(state, caller, "HTTP API", "docs", html)
}

fn reference(extra: Option<&'static Route>) -> String {
    let document = openapi::build(extra);
    let all: Vec<&Route> = api_routes().map(|(_, route)| route).chain(extra).collect();
    let mut body = String::from(
        "<h1>HTTP API</h1>\n\
        <p><a href=\"/openapi.json\">OpenAPI document</a></p>\n\
        <p>Send <code>authorization: Bearer TOKEN</code> if the server has tokens; each section names the scope that a token needs. \
        Bodies are JSON (<code>content-type: application/json</code>). An error is a problem document with a stable <code>code</code>, \
        and <code>help</code> that says what to do.</p>\n",
    );
    write_index(&mut body, &all);
    for (scope, title) in SECTIONS {
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            body,
            "<h2>{title} <span class=\"tag\">scope: {}</span></h2>",
            scope.as_str()
        );
        for route in all.iter().filter(|route| route.scope == scope) {
            write_route(&mut body, route, &document);
        }
    }
    body
}

fn write_index(body: &mut String, all: &[&Route]) {
    body.push_str("<ul class=\"index\">\n");
    for (scope, _) in SECTIONS {
        for route in all.iter().filter(|route| route.scope == scope) {
            let _ = writeln!(
                body,
                "<li><a href=\"#{}\"><code>{}</code></a></li>",
                anchor(route),
                heading(route)
            );
        }
    }
    body.push_str("</ul>\n");
}

fn anchor(route: &Route) -> String {
    let path = route.path.replace(['{', '}'], "").replace('/', "-");
    format!("{}{path}", route.method.as_str().to_ascii_lowercase())
}

fn heading(route: &Route) -> String {
    let method = route.method.as_str();
    format!(
        "<span class=\"method {method}\">{method}</span>{}",
        route.path
    )
}

fn write_route(body: &mut String, route: &Route, document: &Value) {
    let method = route.method.as_str().to_ascii_lowercase();
    let operation = &document["paths"][route.path][method];
    let _ = writeln!(
        body,
        "<section class=\"route\" id=\"{}\">\n<h3><code>{}</code></h3>\n<p>{}.</p>",
        anchor(route),
        heading(route),
        described(route.summary)
    );
    if let Some(example) = example::of(route) {
        let request = format!(
            "{} {}\n{}",
            example.method,
            example.target,
            pretty(&example.body)
        );
        let _ = writeln!(
            body,
            "<div class=\"example\"><div><span class=\"label\">Request</span><pre>{}</pre></div>\
            <div><span class=\"label\">Reply, status {}</span><pre>{}</pre></div></div>",
            escape(request.trim_end()),
            example.status,
            escape(pretty(&example.reply).trim_end())
        );
    }
    let mut rows = Vec::new();
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    for parameter in parameters.filter(|parameter| parameter["in"] != "path") {
        let schema = &parameter["schema"];
        let about = [&parameter["description"], &schema["description"]];
        let about = about.into_iter().find_map(Value::as_str);
        rows.push(Row {
            name: parameter["name"].as_str().unwrap_or_default().to_owned(),
            kind: format!(
                "{}, in the {}",
                kind(schema, document),
                text(&parameter["in"])
            ),
            about: about.unwrap_or_default().to_owned(),
            is_required: parameter["required"] == true,
        });
    }
    let request = &operation["requestBody"]["content"]["application/json"]["schema"];
    fields(request, document, "", true, &mut rows);
    write_rows(body, "Fields of the request", &rows);
    let mut rows = Vec::new();
    let reply = &operation["responses"]["200"]["content"]["application/json"]["schema"];
    fields(reply, document, "", false, &mut rows);
    write_rows(body, "Fields of the reply", &rows);
    body.push_str("</section>\n");
}

/// One field in a table.
struct Row {
    name: String,
    kind: String,
    about: String,
    is_required: bool,
}

fn write_rows(body: &mut String, title: &str, rows: &[Row]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        body,
        "<details><summary>{title}</summary><div class=\"scroll\"><table>"
    );
    for row in rows {
        let required = if row.is_required {
            " <span class=\"tag\">required</span>"
        } else {
            ""
        };
        let _ = writeln!(
            body,
            "<tr><td><code>{}</code>{required}</td><td class=\"muted\">{}</td><td>{}</td></tr>",
            escape(&row.name),
            escape(&row.kind),
            described(&row.about)
        );
    }
    body.push_str("</table></div></details>\n");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Follows a reference to a named schema.
fn resolve<'a>(schema: &'a Value, document: &'a Value) -> &'a Value {
    match text(&schema["$ref"]).strip_prefix("#/components/schemas/") {
        Some(name) => &document["components"]["schemas"][name],
        None => schema,
    }
}

/// Lists the fields of an object, of the items of a list, or of each alternative. Only those of a request
/// are marked as required: a reply has all of them.
fn fields(schema: &Value, document: &Value, prefix: &str, is_request: bool, rows: &mut Vec<Row>) {
    let schema = resolve(schema, document);
    if schema.get("items").is_some() {
        return fields(
            &schema["items"],
            document,
            &format!("{prefix}[]."),
            is_request,
            rows,
        );
    }
    for alternative in ["anyOf", "oneOf", "allOf"] {
        for schema in schema[alternative].as_array().into_iter().flatten() {
            fields(schema, document, prefix, is_request, rows);
        }
    }
    let required = schema["required"].as_array();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let full_name = format!("{prefix}{name}");
        if rows.iter().any(|row| row.name == full_name) {
            continue;
        }
        rows.push(Row {
            name: full_name.clone(),
            kind: kind(field, document),
            about: text(&field["description"]).to_owned(),
            is_required: is_request
                && prefix.is_empty()
                && required.is_some_and(|names| names.iter().any(|field| field == name)),
        });
        let is_nested = prefix.matches('.').count() < DEPTH_MAX;
        if is_nested {
            let inner = if resolve(field, document).get("items").is_some() {
                full_name
            } else {
                format!("{full_name}.")
            };
            fields(field, document, &inner, is_request, rows);
        }
    }
}

/// The type of a value, in words.
fn kind(schema: &Value, document: &Value) -> String {
    let schema = resolve(schema, document);
    let list = |name: &str| {
        schema[name]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default()
    };
    let kinds: Vec<String> = match &schema["type"] {
        _ if schema.get("const").is_some() => vec![schema["const"].to_string()],
        _ if !list("enum").is_empty() => list("enum").iter().map(Value::to_string).collect(),
        Value::String(kind) => vec![kind.clone()],
        Value::Array(kinds) => kinds.iter().map(|kind| text(kind).to_owned()).collect(),
        _ => {
            let alternatives = list("anyOf").iter().chain(list("oneOf"));
            let alternatives = alternatives.filter(|schema| schema["type"] != "null");
            alternatives.map(|schema| kind(schema, document)).collect()
        }
    };
    let mut words: Vec<String> = Vec::new();
    for kind in kinds {
        let word = if kind == "array" {
            "list".to_owned()
        } else {
            kind
        };
        if word != "null" && !words.contains(&word) {
            words.push(word);
        }
    }
    match (words.is_empty(), schema.get("properties")) {
        (false, _) => words.join(" or "),
        (true, Some(_)) => "object".to_owned(),
        (true, None) => "any JSON".to_owned(),
    }
}

/// Escapes a description, with the text in backticks as code.
fn described(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(index, part)| {
        if index % 2 == 1 {
            format!("<code>{}</code>", escape(part))
        } else {
            escape(part)
        }
    });
    parts.collect()
}

/// Formats one line of JSON for people. Other text, and several lines, stay as they are.
fn pretty(text: &str) -> String {
    let line = text.trim_end();
    let is_json = serde_json::from_str::<Value>(line).is_ok();
    if line.len() <= SHORT_CHARS || line.contains('\n') || !is_json {
        return line.to_owned();
    }
    let (mut pretty, mut rest, mut depth) = (String::new(), line, 0);
    let new_line = |pretty: &mut String, depth: usize| {
        pretty.push('\n');
        pretty.push_str(&"  ".repeat(depth));
    };
    while let Some(c) = rest.chars().next() {
        let (whole, after) = rest.split_at(token_end(rest));
        rest = after;
        match c {
            '{' | '[' if whole.len() == 1 => {
                pretty.push(c);
                depth += 1;
                new_line(&mut pretty, depth);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut pretty, depth);
                pretty.push(c);
            }
            ',' => {
                pretty.push(c);
                new_line(&mut pretty, depth);
            }
            ':' => pretty.push_str(": "),
            _ => pretty.push_str(whole),
        }
    }
    pretty
}

/// The length of the token that a text of valid JSON starts with: a string, a short list without objects,
/// an empty object, or one character.
fn token_end(rest: &str) -> usize {
    let first = rest.chars().next().unwrap_or_default();
    match first {
        '"' => {
            let mut is_escaped = false;
            let end = rest.bytes().skip(1).position(|byte| {
                let is_end = byte == b'"' && !is_escaped;
                is_escaped = byte == b'\\' && !is_escaped;
                is_end
            });
            end.map_or(rest.len(), |end| end + 2)
        }
        '[' | '{' => match rest.find(']') {
            _ if rest.starts_with("{}") => 2,
            Some(end) if first == '[' && end < SHORT_CHARS && !rest[..end].contains('{') => end + 1,
            _ => 1,
        },
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_reference_has_every_route_with_its_fields_and_no_script() {
        let page = reference(None);
        assert!(!page.contains("<script") && !page.contains(" style="));
        for (_, route) in api_routes() {
            let id = format!("id=\"{}\"", anchor(route));
            assert_eq!(page.matches(&id).count(), 1, "{id}");
        }
        // A field of a request in the body, one in the query, and one of a reply.
        for name in ["unique_key", "cursor", "lease_until"] {
            assert!(
                page.contains(&format!("<code>{name}</code>"))
                    || page.contains(&format!("<code>[].{name}</code>")),
                "{name}"
            );
        }
    }

    #[test]
    fn types_are_written_in_words() {
        let document = json!({"components":{"schemas":{
            "Mode": {"oneOf": [{"type":"string","const":"a"}, {"const":"b"}]},
            "Time": {"anyOf": [{"type":"string"}, {"type":"number"}]},
        }}});
        let reference = |name: &str| json!({"anyOf":[{"$ref":format!("#/components/schemas/{name}")},{"type":"null"}]});
        for (schema, words) in [
            (json!({"type":["array","null"]}), "list"),
            (reference("Mode"), "\"a\" or \"b\""),
            (reference("Time"), "string or number"),
            (json!({"type":"string","enum":["x"]}), "\"x\""),
            (json!({"properties":{}}), "object"),
            (json!({}), "any JSON"),
        ] {
            assert_eq!(kind(&schema, &document), words, "{schema}");
        }
        assert_eq!(described("a `<b>` & c"), "a <code>&lt;b&gt;</code> &amp; c");
    }

    #[test]
    fn json_is_indented_in_its_own_order_and_short_lines_stay() {
        assert_eq!(pretty("{\"b\":1,\"a\":2}\n"), "{\"b\":1,\"a\":2}");
        assert_eq!(pretty("# text\n"), "# text");
        let long = format!(
            "{{\"b\":\"{{\\\"],{}\",\"a\":[1,2],\"c\":{{}}}}",
            "x".repeat(60)
        );
        let expected = format!(
            "{{\n  \"b\": \"{{\\\"],{}\",\n  \"a\": [1,2],\n  \"c\": {{}}\n}}",
            "x".repeat(60)
        );
        assert_eq!(pretty(&long), expected);
    }
}
