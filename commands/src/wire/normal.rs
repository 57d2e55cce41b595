//! One spelling for what real peers spell in several ways, in a copy that only facts are read from.
//!
//! `ProtoJSON` readers must take `snake_case` member names, nulls for absent members and URL-safe or
//! unpadded base64, so we do, too. States and roles are left alone: an old spelling there is a
//! violation that must stay visible. What belongs to others (`metadata`, `data`, extension
//! parameters, security schemes) is never touched, since `null` and any key mean something there.

use serde_json::{Map, Value};

/// Members whose content is not A2A's.
const OPAQUE: [&str; 6] = [
    "metadata",
    "data",
    "params",
    "header",
    "securitySchemes",
    "scopes",
];

/// Member names of A2A 1.0 that have more than one word, in the only right spelling.
const NAMES: [&str; 34] = [
    "acceptedOutputModes",
    "artifactId",
    "artifactUpdate",
    "contextId",
    "defaultInputModes",
    "defaultOutputModes",
    "documentationUrl",
    "extendedAgentCard",
    "historyLength",
    "iconUrl",
    "inputModes",
    "lastChunk",
    "mediaType",
    "messageId",
    "nextPageToken",
    "outputModes",
    "pageSize",
    "protocolBinding",
    "protocolVersion",
    "pushNotificationConfig",
    "pushNotifications",
    "referenceTaskIds",
    "returnImmediately",
    "securityRequirements",
    "securitySchemes",
    "statusUpdate",
    "supportedInterfaces",
    "taskId",
    "taskPushNotificationConfig",
    "totalSize",
    "preferredTransport",
    "additionalInterfaces",
    "supportsAuthenticatedExtendedCard",
    "fieldViolations",
];

/// A copy of `value` in the spelling that [`super::facts`] and [`super::card`] read.
pub fn normalise(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(object(map)),
        Value::Array(list) => Value::Array(list.iter().map(normalise).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn object(map: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    for (name, value) in map {
        let right = right_name(name);
        // The right spelling wins over a second one beside it.
        if right != name && map.contains_key(right) {
            continue;
        }
        if OPAQUE.contains(&right) {
            out.insert(right.to_owned(), value.clone());
        } else if right == "raw" && value.is_string() {
            let text = value.as_str().unwrap_or_default();
            out.insert(right.to_owned(), Value::String(standard_base64(text)));
        } else if !value.is_null() {
            out.insert(right.to_owned(), normalise(value));
        }
    }
    out
}

fn right_name(name: &str) -> &str {
    if !name.contains('_') {
        return name;
    }
    let letters: String = name.chars().filter(|character| *character != '_').collect();
    NAMES
        .into_iter()
        .find(|right| right.eq_ignore_ascii_case(&letters))
        .unwrap_or(name)
}

fn standard_base64(text: &str) -> String {
    let mut standard: String = text
        .trim_end_matches('=')
        .chars()
        .map(|character| match character {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    while !standard.len().is_multiple_of(4) {
        standard.push('=');
    }
    standard
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn known_names_get_their_right_spelling_and_foreign_ones_are_left_alone() {
        let given = json!({
            "task": { "id": "t", "context_id": "c", "artifacts": null, "x_own": 1,
                "history": [{ "message_id": "m", "parts": [{ "data": null }, { "raw": "-_8" }] }],
                "metadata": { "context_id": null } },
            "message": null,
        });

        let normal = normalise(&given);

        assert_eq!(
            normal,
            json!({
                "task": { "id": "t", "contextId": "c", "x_own": 1,
                    "history": [{ "messageId": "m", "parts": [{ "data": null }, { "raw": "+/8=" }] }],
                    "metadata": { "context_id": null } },
            })
        );
    }

    #[test]
    fn the_right_spelling_wins_over_a_second_one() {
        let normal = normalise(&json!({ "context_id": "wrong", "contextId": "right" }));

        assert_eq!(normal, json!({ "contextId": "right" }));
    }
}
