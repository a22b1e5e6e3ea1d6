//! The `OpenAPI` document, made from the table of routes and the types behind it.

use std::sync::LazyLock;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::error::ProblemDocument;
use crate::scope::Scope;
use crate::table::{ROUTES, Route, Way};

/// The document as text.
pub(crate) fn document() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| build().to_string());
    &TEXT
}

fn build() -> Value {
    let settings = |settings: SchemaSettings| {
        settings.with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        })
    };
    let requests = settings(SchemaSettings::draft2020_12().for_deserialize());
    let replies = settings(SchemaSettings::draft2020_12().for_serialize());
    let (mut requests, mut replies) = (requests.into_generator(), replies.into_generator());
    let problem = replies.subschema_for::<ProblemDocument>();
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        let method = route.method.as_str().to_ascii_lowercase();
        path[method] = operation(route, &mut requests, &mut replies, &json!(problem));
    }
    let mut schemas = requests.take_definitions(true);
    schemas.extend(replies.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Windlass",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A reliable job queue. Problems carry a stable `code`, and `help`.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation(
    route: &Route,
    requests: &mut SchemaGenerator,
    replies: &mut SchemaGenerator,
    problem: &Value,
) -> Value {
    let path_names: Vec<_> = route.path_fields().collect();
    let mut parameters: Vec<Value> = path_names.iter().map(|name| path_parameter(name)).collect();
    let request = route.request.map(|shape| {
        let schema = Value::from(shape(requests));
        without(schema, &path_names)
    });
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "description": format!("Scope: `{}`.", route.scope.as_str()),
        "responses": responses(route, replies, problem),
    });
    match request {
        Some(schema) if route.method.has_body() => {
            operation["requestBody"] = body(route, &schema);
        }
        Some(schema) => parameters.extend(query_parameters(&schema)),
        None if route.way == Way::Import => {
            let line = json!({ "type": "string" });
            operation["requestBody"] = json!({ "required": true, "content": { "application/x-ndjson": { "schema": line } } });
        }
        None => {}
    }
    if matches!(
        route.way,
        Way::Enqueue | Way::Batch | Way::Import | Way::Delayed
    ) {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "The same key makes the same ids: a repeated request is a duplicate.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" },
        }));
    }
    operation["parameters"] = Value::Array(parameters);
    if route.scope != Scope::Open {
        operation["security"] = json!([{ "token": [] }]);
    }
    operation
}

fn operation_id(route: &Route) -> String {
    let is_one = route.path.contains("{id}") && route.method.has_body();
    let one = if is_one { "_job" } else { "" };
    let by_delete = if route.method.as_str() == "DELETE" {
        "_job"
    } else {
        one
    };
    format!("{}{by_delete}", route.op)
}

fn path_parameter(name: &str) -> Value {
    let schema = match name {
        "queue" => json!({ "type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$" }),
        _ => json!({ "type": "string", "minLength": 1, "maxLength": 128 }),
    };
    json!({ "name": name, "in": "path", "required": true, "schema": schema })
}

/// A request without the fields that are in the path.
fn without(mut schema: Value, names: &[&str]) -> Value {
    for name in names {
        if let Some(properties) = schema["properties"].as_object_mut() {
            properties.remove(*name);
        }
        if let Some(required) = schema["required"].as_array_mut() {
            required.retain(|field| field != name);
        }
    }
    if schema["required"].as_array().is_some_and(Vec::is_empty)
        && let Some(schema) = schema.as_object_mut()
    {
        schema.remove("required");
    }
    // Indexing made them appear where they were not.
    if let Some(schema) = schema.as_object_mut() {
        schema.retain(|_, value| !value.is_null());
    }
    schema
}

fn body(route: &Route, schema: &Value) -> Value {
    let is_required = schema.get("required").is_some();
    let mut content = json!({ "application/json": { "schema": schema } });
    if route.way == Way::Enqueue {
        content["application/octet-stream"] =
            json!({ "schema": { "type": "string", "format": "binary" } });
    }
    json!({ "required": is_required, "content": content })
}

fn query_parameters(schema: &Value) -> Vec<Value> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    properties
        .map(|(name, schema)| {
            json!({ "name": name, "in": "query", "required": is_required(name), "schema": not_null(schema) })
        })
        .collect()
}

/// A query has no null: a field that is not there is absent.
fn not_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if schema.get("default").is_some_and(Value::is_null)
        && let Some(schema) = schema.as_object_mut()
    {
        schema.remove("default");
    }
    if let Some(kinds) = schema.get_mut("type").and_then(Value::as_array_mut) {
        kinds.retain(|kind| kind != "null");
    }
    schema
}

fn responses(route: &Route, replies: &mut SchemaGenerator, problem: &Value) -> Value {
    let media = match route.way {
        Way::Import | Way::Export => "application/x-ndjson",
        Way::Payload | Way::Result => "application/octet-stream",
        Way::Events => "text/event-stream",
        Way::Metrics | Way::Health | Way::Ready => "text/plain",
        Way::Docs => "text/html",
        _ => "application/json",
    };
    let schema = match route.reply {
        Some(shape) => Value::from(shape(replies)),
        None if media == "application/json" => json!({ "type": "object" }),
        None => json!({ "type": "string" }),
    };
    let good = json!({ "description": "Done", "content": { media: { "schema": schema } } });
    let content = json!({ "application/problem+json": { "schema": problem } });
    let old = json!({ "application/json": { "schema": problem } });
    let content = if route.way == Way::Delayed {
        old
    } else {
        content
    };
    let mut all = json!({
        "200": good,
        "default": { "description": "A problem", "content": content },
    });
    if route.way == Way::Enqueue {
        all["201"] = all["200"].clone();
        all["200"]["description"] = json!("It was there before");
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_every_route_once_and_every_reference_leads_somewhere() {
        let document = build();
        let mut ids = Vec::new();
        for route in ROUTES {
            let method = route.method.as_str().to_ascii_lowercase();
            let operation = &document["paths"][route.path][method];
            ids.push(operation["operationId"].as_str().unwrap().to_owned());
        }
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "{ids:?}");
        let text = document.to_string();
        for part in text.split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(
                document["components"]["schemas"][name].is_object(),
                "{name}"
            );
        }
    }

    #[test]
    fn what_is_in_the_path_is_not_in_the_body() {
        let document = build();
        let accept = &document["paths"]["/v1/queues/{queue}/jobs/{id}/accept"]["post"];
        let schema = &accept["requestBody"]["content"]["application/json"]["schema"];
        assert!(schema["properties"]["token"].is_object(), "{schema}");
        assert!(schema["properties"]["id"].is_null(), "{schema}");
        assert_eq!(schema["required"], json!(["token"]));
    }
}
