//! The `OpenAPI` document, built from the table of routes and the request and reply types.

use bytes::Bytes;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use windlass_api::request::{Enqueue, EnqueueAll, QueueRequest};
use windlass_api::{Route, Scope};

use crate::error::ProblemDocument;
use crate::state::AppState;
use crate::table::{Handler, api_routes};

/// Returns the document as text.
pub(crate) fn document(state: &AppState) -> Bytes {
    let build = || build(state.extra_route()).to_string().into();
    state.openapi.get_or_init(build).clone()
}

/// Builds the document.
pub(crate) fn build(extra: Option<&'static Route>) -> Value {
    let settings = |settings: SchemaSettings| {
        settings.with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        })
    };
    let requests = settings(SchemaSettings::draft2020_12().for_deserialize());
    let replies = settings(SchemaSettings::draft2020_12().for_serialize());
    let (mut requests, mut replies) = (requests.into_generator(), replies.into_generator());
    let error = replies.subschema_for::<ProblemDocument>();
    let mut paths: Map<String, Value> = Map::new();
    let extra = extra.map(|route| (Handler::Extra, route));
    for (handler, route) in api_routes().chain(extra) {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        let method = route.method.as_str().to_ascii_lowercase();
        path[method] = operation(handler, route, &mut requests, &mut replies, &json!(error));
    }
    let mut schemas = requests.take_definitions(true);
    schemas.extend(replies.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Windlass",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A reliable job queue. Errors have a stable `code`, and `help` that says what to do.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn operation(
    handler: Handler,
    route: &Route,
    requests: &mut SchemaGenerator,
    replies: &mut SchemaGenerator,
    error: &Value,
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
        "description": format!("Required scope: `{}`.", route.scope.as_str()),
        "responses": responses(handler, route, replies, error),
    });
    match request {
        Some(schema) if route.method.has_body() => {
            operation["requestBody"] = body(route, &schema);
        }
        Some(schema) => parameters.extend(query_parameters(&schema)),
        None if handler == Handler::Import => {
            let line = json!({ "type": "string" });
            operation["requestBody"] = json!({ "required": true, "content": { "application/x-ndjson": { "schema": line } } });
        }
        None => {}
    }
    if [Enqueue::OP, EnqueueAll::OP].contains(&route.op)
        || matches!(handler, Handler::Import | Handler::Extra)
    {
        parameters.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "Makes the request safe to retry: job ids are derived from the key, so a repeated request creates no new jobs.",
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
    let is_single = route.path.contains("{id}") && route.method.has_body();
    let is_delete = route.method.as_str() == "DELETE";
    let suffix = if is_single || is_delete { "_job" } else { "" };
    format!("{}{suffix}", route.op)
}

fn path_parameter(name: &str) -> Value {
    let schema = match name {
        "queue" => json!({ "type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$" }),
        _ => json!({ "type": "string", "minLength": 1, "maxLength": 128 }),
    };
    json!({ "name": name, "in": "path", "required": true, "schema": schema })
}

/// Removes the path parameters from the schema of a request.
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
    // Indexing inserts null for missing keys.
    if let Some(schema) = schema.as_object_mut() {
        schema.retain(|_, value| !value.is_null());
    }
    schema
}

fn body(route: &Route, schema: &Value) -> Value {
    let is_required = schema.get("required").is_some();
    let mut content = json!({ "application/json": { "schema": schema } });
    if route.op == Enqueue::OP {
        content["application/octet-stream"] =
            json!({ "schema": { "type": "string", "format": "binary" } });
    }
    json!({ "required": is_required, "content": content })
}

fn query_parameters(schema: &Value) -> Vec<Value> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|field| field == name));
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    properties
        .map(|(name, schema)| {
            json!({ "name": name, "in": "query", "required": is_required(name), "schema": not_null(schema) })
        })
        .collect()
}

/// Removes null from a schema: query parameters are omitted instead.
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

fn responses(
    handler: Handler,
    route: &Route,
    replies: &mut SchemaGenerator,
    error: &Value,
) -> Value {
    let media_type = match handler {
        Handler::Import | Handler::Export => "application/x-ndjson",
        Handler::Payload | Handler::Result => "application/octet-stream",
        Handler::Events => "text/event-stream",
        Handler::Metrics | Handler::Health | Handler::Ready => "text/plain",
        Handler::Docs => "text/html",
        _ => "application/json",
    };
    let schema = match route.reply {
        Some(shape) => Value::from(shape(replies)),
        None if media_type == "application/json" => json!({ "type": "object" }),
        None => json!({ "type": "string" }),
    };
    let success =
        json!({ "description": "Success", "content": { media_type: { "schema": schema } } });
    let error_type = if handler == Handler::Extra {
        "application/json"
    } else {
        "application/problem+json"
    };
    let mut all = json!({
        "200": success,
        "default": { "description": "Error", "content": { error_type: { "schema": error } } },
    });
    if route.op == Enqueue::OP {
        all["201"] = all["200"].clone();
        all["201"]["description"] = json!("Created");
        all["200"]["description"] =
            json!("The job already exists: a duplicate, or replaced or postponed");
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_every_route_once_and_every_reference_resolves() {
        let document = build(None);
        let mut ids = Vec::new();
        for (_, route) in api_routes() {
            let method = route.method.as_str().to_ascii_lowercase();
            let operation = &document["paths"][route.path][method];
            ids.push(operation["operationId"].as_str().unwrap().to_owned());
        }
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "{ids:?}");
        let text = document.to_string();
        for rest in text.split("#/components/schemas/").skip(1) {
            let name = rest.split('"').next().unwrap();
            assert!(
                document["components"]["schemas"][name].is_object(),
                "{name}"
            );
        }
    }

    #[test]
    fn path_parameters_are_not_in_the_body() {
        let document = build(None);
        let accept = &document["paths"]["/v1/queues/{queue}/jobs/{id}/accept"]["post"];
        let schema = &accept["requestBody"]["content"]["application/json"]["schema"];
        assert!(schema["properties"]["token"].is_object(), "{schema}");
        assert!(schema["properties"]["id"].is_null(), "{schema}");
        assert_eq!(schema["required"], json!(["token"]));
    }
}
