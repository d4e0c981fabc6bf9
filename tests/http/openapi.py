#!/usr/bin/env python3
"""Checks server/http/openapi.yaml: against itself, against the routes, and against what the server really answers.

    openapi.py OPENAPI_YAML URL PROBLEM_C
"""
import json
import pathlib
import re
import sys
import urllib.error
import urllib.request

try:
    import yaml
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
except ImportError as missing:
    print(f"skipped: {missing}; install python3-yaml and python3-jsonschema")
    sys.exit(77)

METHODS = {"get", "head", "post", "put", "delete", "patch", "options", "trace"}
failures = 0


def check(name, good, detail=""):
    global failures
    print(f"{'ok' if good else 'not ok'} - {name}{'' if good else f': {detail}'}")
    failures += not good


def resolve(api, node):
    """Follows a $ref inside the document; KeyError when it leads nowhere."""
    while isinstance(node, dict) and str(node.get("$ref", "")).startswith("#/"):
        target = api
        for part in node["$ref"][2:].split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        node = target
    return node


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def operations(api):
    for path, item in api["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                yield path, method, operation


def check_document(api, folder):
    check("version is 3.1", re.fullmatch(r"3\.1\.\d+", api["openapi"]), api["openapi"])
    check("info has a title and a version", api["info"].get("title") and api["info"].get("version"))
    for reference in sorted(set(references(api))):
        try:
            if reference.startswith("#/"):
                resolve(api, {"$ref": reference})
            else:
                Draft202012Validator.check_schema(json.loads((folder / reference).read_text(encoding="utf-8")))
        except (KeyError, OSError, ValueError, SchemaError) as e:
            check(f"{reference} leads somewhere", False, repr(e))
    for name, schema in api["components"]["schemas"].items():
        try:
            Draft202012Validator.check_schema(schema)
        except SchemaError as e:
            check(f"schema {name}", False, e.message)
    seen = set()
    for path, method, operation in operations(api):
        where = f"{method.upper()} {path}"
        name = operation.get("operationId")
        check(f"{where} has a name of its own", name and name not in seen, name)
        seen.add(name)
        check(f"{where} has responses", operation.get("responses"))
        declared = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
        check(f"{where} declares its parameters", declared == set(re.findall(r"{(\w+)}", path)), declared)
        for status, response in operation["responses"].items():
            response = resolve(api, response)
            check(f"{where} {status} is described", response.get("description"))


def ask(url, method="GET", body=None):
    request = urllib.request.Request(url, method=method, data=body, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers.get_content_type(), answer.read()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.headers.get_content_type(), answer.read()


def check_answer(api, path, method, url, body=None):
    status, content_type, text = ask(url, method.upper(), body)
    where = f"{method.upper()} {path} answers {status}"
    response = resolve(api, api["paths"][path][method]["responses"].get(str(status)))
    check(f"{where}, which is documented", response is not None)
    if response is None:
        return None
    content = response.get("content", {})
    if not text:
        return None
    check(f"{where} as documented", content_type in content, content_type)
    if content_type not in content:
        return None
    value = json.loads(text)
    schema = {**content[content_type]["schema"], "components": api["components"]}
    errors = [f"{e.json_path}: {e.message}" for e in Draft202012Validator(schema).iter_errors(value)]
    check(f"{where} in the documented shape", not errors, "; ".join(errors[:3]))
    return value


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        api = yaml.safe_load(f)
    url = sys.argv[2]
    check_document(api, pathlib.Path(sys.argv[1]).parent)

    index = check_answer(api, "/", "get", f"{url}/")
    served = {(e["method"].lower(), e["path"]) for e in index["endpoints"]}
    served |= {("head", path) for method, path in served if method == "get"}
    documented = {(method, path) for path, method, _ in operations(api)}
    check("documented is what is served", served == documented, sorted(served ^ documented))

    tasks = check_answer(api, "/tasks", "get", f"{url}/tasks")
    names = [task["name"] for task in tasks["tasks"]]
    for name in names:
        check_answer(api, "/tasks/{name}", "get", f"{url}/tasks/{name}")
    check_answer(api, "/tasks/{name}", "get", f"{url}/tasks/no_such_task")
    for path in ("/healthz", "/version"):
        check_answer(api, path, "get", url + path)
    for path in ("/", "/tasks", "/healthz", "/version"):
        check_answer(api, path, "head", url + path)
    for body in (b"", b"{}", b"[]", b'{"a":1,"a":1}', b"\xff", b'{"task":"no","device":"opencl","source":"x"}',
                 json.dumps({"task": names[0], "device": "no", "source": "x"}).encode(),
                 json.dumps({"task": names[0], "device": "opencl", "source": ""}).encode()):
        check_answer(api, "/grade", "post", f"{url}/grade", body)

    # Every code that the server can answer with is in the document, and no other.
    codes = set(api["components"]["schemas"]["Problem"]["properties"]["code"]["examples"])
    with open(sys.argv[3], encoding="utf-8") as f:
        known = set(re.findall(r'^ *{"(\w+)", \d+, ', f.read(), re.M)) - {"client_gone"}
    check("the codes are documented", known and codes == known, sorted(codes ^ known))
    print("failures:", failures)
    sys.exit(1 if failures else 0)


main()
