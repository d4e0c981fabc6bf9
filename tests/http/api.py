"""The reference of the server, server/http/openapi.json: reading it, and holding answers against it."""
import http.client
import json
import sys
import urllib.parse

try:
    from jsonschema import Draft202012Validator, RefResolver
    from jsonschema.exceptions import SchemaError
except ImportError as missing:
    print(f"skipped: {missing}; install python3-jsonschema")
    sys.exit(77)

BASE = "http://kgraded/openapi.json"


class Api:
    def __init__(self, document, grade_schema):
        with open(document, encoding="utf-8") as f:
            self.text = f.read()
        with open(grade_schema, encoding="utf-8") as f:
            self.grade_schema = json.load(f)
        self.document = json.loads(self.text)
        # Without its $id, which is no URL: older versions of jsonschema look for "#/$defs/..." elsewhere then.
        nameless = {key: value for key, value in self.grade_schema.items() if key != "$id"}
        self.store = {urllib.parse.urljoin(BASE, "schemas/grade.json"): nameless}

    def resolve(self, node):
        """Follows a $ref inside the document; KeyError when it leads nowhere."""
        while isinstance(node, dict) and str(node.get("$ref", "")).startswith("#/"):
            target = self.document
            for part in node["$ref"][2:].split("/"):
                target = target[part.replace("~1", "/").replace("~0", "~")]
            node = target
        return node

    def operations(self):
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                yield path, method.upper(), operation

    def operation(self, path, method):
        return self.document["paths"][path].get("get" if method == "HEAD" else method.lower())

    def schema_errors(self, schema, value):
        resolver = RefResolver(BASE, self.document, store=self.store)
        return [f"{e.json_path}: {e.message}" for e in Draft202012Validator(schema, resolver=resolver).iter_errors(value)]

    def check_schemas(self):
        """Schemas that are none."""
        for name, schema in self.document["components"]["schemas"].items():
            try:
                Draft202012Validator.check_schema(schema)
            except SchemaError as e:
                yield f"{name}: {e.message}"

    def answer_errors(self, path, method, status, content_type, body):
        """What is wrong with an answer of an operation of the document."""
        response = self.resolve(self.operation(path, method)["responses"].get(str(status)))
        if response is None:
            return [f"{status} is not documented: {body[:300]!r}"]
        content = response.get("content", {})
        if content_type not in content:
            return [f"{status} is not documented as {content_type}"]
        if method == "HEAD" or not content_type.endswith("json"):
            return []
        try:
            value = json.loads(body)
        except ValueError as e:
            return [f"{status} is not JSON: {e}"]
        errors = self.schema_errors(content[content_type]["schema"], value)
        if content_type == "application/problem+json" and value.get("status") != status:
            errors.append(f"{status} calls itself {value.get('status')}")
        return errors


class Client:
    """One connection at a time, opened anew when the server has closed it."""

    def __init__(self, url):
        self.address = urllib.parse.urlsplit(url).netloc
        self.connection = None

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def ask(self, method, target, headers=None, body=None, stream_bytes=None):
        """(status, content type without parameters, body); of a stream of events at most so many bytes."""
        if not self.connection:
            self.connection = http.client.HTTPConnection(self.address, timeout=660)
        try:
            self.connection.putrequest(method, target, skip_accept_encoding=True)
            headers = dict(headers or {})
            if body is not None:
                headers.setdefault("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.connection.putheader(name, value)
            self.connection.endheaders(body)
            answer = self.connection.getresponse()
            kind = (answer.headers.get("Content-Type") or "").split(";")[0]
            partly = kind == "text/event-stream" and stream_bytes
            text = answer.read(stream_bytes) if partly else answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if partly or answer.will_close:
            self.close()
        return answer.status, kind, text
