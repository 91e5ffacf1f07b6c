"""The reference of the HTTP requests, from openapi.json."""

import json
import re

from reference import help_text

METHODS = ["get", "post", "patch", "put", "delete"]
GROUPS = [
    ("Leases", ["/v1/locks/{type}/{id}", "/v1/locks/{type}/{id}/break", "/v1/locks/{type}/{id}/knock", "/v1/batch"]),
    ("Lists", ["/v1/locks", "/v1/history", "/v1/owners/{owner}/locks", "/v1/refused", "/v1/statistics", "/v1/events"]),
    ("The server", []),
]


# Answers that many requests have in common: told once.
SHARED = {"BadRequest": "400", "MediaType": "415", "Unavailable": "503", "Error": "default"}


class Document:
    def __init__(self, document):
        self.document = document
        self.schemas = document["components"]["schemas"]

    def find(self, node):
        while "$ref" in node:
            target = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = target
        return node

    # --- types

    def type_of(self, schema):
        """A schema in a few words: a link to a named one, or its type and bounds."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            named = self.schemas[name]
            if self.is_small(named):
                return self.type_of(named)
            return f"[{name}](#body-{name.lower()})"
        for key, word in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")):
            if key in schema:
                parts = [self.type_of(one) for one in schema[key]]
                return word.join(dict.fromkeys(part for part in parts if part))
        if "const" in schema:
            return f"`{json.dumps(schema['const'])}`"
        if "enum" in schema:
            return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
        kind = schema.get("type", "")
        if isinstance(kind, list):
            return " or ".join(kind)
        if kind == "array":
            return f"list of {self.type_of(schema.get('items', {}))}"
        bounds = []
        if "minimum" in schema or "maximum" in schema:
            bounds.append(f"{schema.get('minimum', '')} to {schema['maximum']}" if "maximum" in schema else f"at least {schema['minimum']}")
        if "x-max-bytes" in schema:
            bounds.append(f"at most {schema['x-max-bytes']} bytes")
        if schema.get("format"):
            bounds.append(schema["format"])
        return kind + (f" ({', '.join(bounds)})" if bounds else "")

    def is_small(self, schema):
        return not any(key in schema for key in ("properties", "oneOf", "anyOf", "allOf", "items"))

    def about(self, schema):
        said = [schema["description"]] if "description" in schema else []
        if not said and "$ref" in schema:
            named = self.find(schema)
            if self.is_small(named) and "description" in named:
                said.append(named["description"])
        resolved = self.find(schema)
        if "default" in resolved:
            said.append(f"Default: `{json.dumps(resolved['default'])}`.")
        return cell(" ".join(said))

    def fields(self, schema):
        """Rows of a table for the properties of a schema, those of its parts included."""
        rows = []
        for part in schema.get("allOf", []):
            rows += self.fields(self.find(part))
        needed = schema.get("required", [])
        for name, one in schema.get("properties", {}).items():
            mark = "" if name in needed else " (optional)"
            rows.append(f"| `{name}`{mark} | {cell(self.type_of(one))} | {self.about(one)} |")
        return rows

    def schema(self, name, schema):
        out = [f"### {name} {{#body-{name.lower()}}}"]
        if "description" in schema:
            out.append(cell(schema["description"]))
        rows = self.fields(schema)
        if rows:
            out.append("\n".join(["| field | type | |", "|---|---|---|"] + rows))
        choices = schema.get("oneOf") or schema.get("anyOf")
        if choices:
            out.append("One of: " + ", ".join(self.type_of(one) for one in choices) + ".")
        elif not rows:
            out.append(self.type_of({key: value for key, value in schema.items() if key != "description"}))
        return "\n\n".join(out)

    # --- requests

    def body_types(self, content):
        types = []
        for media, one in content.items():
            what = self.type_of(one["schema"]) if "schema" in one else ""
            plain = media in ("application/json", "application/problem+json")
            types.append(what if plain and what else f"`{media}`")
        return " or ".join(dict.fromkeys(types))

    def is_shared(self, response):
        return response.get("$ref", "").rpartition("/")[2] in SHARED

    def answers(self, responses):
        rows = ["| status | answer | |", "|---|---|---|"]
        for status, response in responses.items():
            response = self.find(response)
            name = "others" if status == "default" else status
            rows.append(f"| {name} | {self.body_types(response.get('content', {}))} | {cell(response.get('description', ''))} |")
        return "\n".join(rows)

    def operation(self, path, method, shared, operation):
        out = [f"### `{method.upper()} {path}` {{#{operation['operationId'].lower()}}}", cell(operation["summary"])]
        if "description" in operation:
            out.append(cell(operation["description"]))
        parameters = [self.find(one) for one in shared + operation.get("parameters", [])]
        if parameters:
            rows = ["| parameter | in | type | |", "|---|---|---|---|"]
            for one in parameters:
                optional = "" if one.get("required") else " (optional)"
                said = one.get("description", "")
                default = self.find(one.get("schema", {})).get("default")
                said += f" Default: `{json.dumps(default)}`." if default is not None else ""
                rows.append(f"| `{one['name']}`{optional} | {one['in']} | {cell(self.type_of(one['schema']))} | {cell(said)} |")
            out.append("\n".join(rows))
        body = operation.get("requestBody")
        if body:
            body = self.find(body)
            optional = "" if body.get("required") else ", optional"
            content = next(iter(body["content"].values()))["schema"]
            out.append(f"Body{optional}: {self.body_types(body['content'])}")
            rows = self.fields(self.find(content))
            if rows and len(rows) <= 12:
                out.append("\n".join(["| field | type | |", "|---|---|---|"] + rows))
        out.append(self.answers({status: response for status, response in operation["responses"].items()
                                 if not self.is_shared(response)}))
        return "\n\n".join(out)


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def page(text):
    document = json.loads(text)
    reader = Document(document)
    out = ["# HTTP requests",
           "Made from the OpenAPI document that every server serves at `/openapi.json`; the numbers are those of a server with "
           "default settings. [The HTTP guide](../http.md) shows the same requests with examples.",
           " ".join(sentence for sentence in re.split(r"(?<=\.) ", document["info"]["description"]) if "`x-" not in sentence),
           "## Answers to every request",
           reader.answers({status: {"$ref": f"#/components/responses/{name}"} for name, status in SHARED.items()
                           if name in document["components"]["responses"]})]
    left = dict(document["paths"])
    for title, paths in GROUPS:
        out.append(f"## {title}")
        for path in paths or list(left):
            item = left.pop(path, None)
            if item is None:
                continue
            for method in METHODS:
                if method in item:
                    out.append(reader.operation(path, method, item.get("parameters", []), item[method]))
    out += ["## Bodies", "The JSON objects that requests and answers are made of."]
    out += [reader.schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items())
            if not reader.is_small(schema)]
    return "\n\n".join(out) + "\n"
