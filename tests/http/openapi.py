#!/usr/bin/env python3
"""Checks server/http/openapi.json: against itself, against the routes, and against what the server really answers.

    openapi.py OPENAPI_JSON GRADE_SCHEMA PROBLEM_C URL
"""
import json
import re
import sys

from api import Api, Client

failures = 0


def check(name, good, detail=""):
    global failures
    print(f"{'ok' if good else 'not ok'} - {name}{'' if good else f': {detail}'}")
    failures += not good


def references(node):
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def check_document(api):
    document = api.document
    check("version is 3.1", re.fullmatch(r"3\.1\.\d+", document["openapi"]), document["openapi"])
    check("info has a title and a version", document["info"].get("title") and document["info"].get("version"))
    check("it is written the way it is kept", api.text == json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    for reference in sorted(set(references(document))):
        try:
            good = reference == "schemas/grade.json" or api.resolve({"$ref": reference}) is not None
        except KeyError:
            good = False
        check(f"{reference} leads somewhere", good)
    check("the schemas are some", not list(api.check_schemas()), list(api.check_schemas()))
    seen = set()
    for path, method, operation in api.operations():
        where = f"{method} {path}"
        name = operation.get("operationId")
        check(f"{where} has a name of its own", name and name not in seen, name)
        seen.add(name)
        declared = {p["name"] for p in map(api.resolve, operation.get("parameters", [])) if p["in"] == "path"}
        check(f"{where} declares its parameters", declared == set(re.findall(r"{(\w+)}", path)), declared)
        for status, response in operation["responses"].items():
            check(f"{where} {status} is described", api.resolve(response).get("description"))


def main():
    api = Api(sys.argv[1], sys.argv[2])
    client = Client(sys.argv[4])
    check_document(api)

    def ask(method, path, target=None, body=None):
        status, kind, text = client.ask(method, target or path, {"Content-Type": "application/json"}, body)
        errors = api.answer_errors(path, method, status, kind, text)
        check(f"{method} {target or path} answers {status} as documented", not errors, "; ".join(errors[:3]))
        return json.loads(text) if kind.endswith("json") and text else text

    index = ask("GET", "/")
    served = {(e["method"], e["path"]) for e in index["endpoints"]}
    documented = {(method, path) for path, method, _ in api.operations()}
    check("documented is what is served", served == documented, sorted(served ^ documented))
    check("it serves this document", ask("GET", "/openapi.json") == api.document)
    check("it serves the schema of a result", ask("GET", "/schemas/grade.json") == api.grade_schema)

    names = [task["name"] for task in ask("GET", "/tasks")["tasks"]]
    for name in names:
        ask("GET", "/tasks/{name}", f"/tasks/{name}")
        ask("GET", "/leaderboards/{task}", f"/leaderboards/{name}?device=opencl")
    ask("GET", "/tasks/{name}", "/tasks/no_such_task")
    for path in ("/healthz", "/readyz", "/version", "/metrics", "/grades"):
        ask("GET", path)
    for method, path in served:
        if method == "GET" and "{" not in path:
            ask("HEAD", path)
    unbuildable = {"task": "vector_add", "device": "opencl", "source": "this is not C"}
    for body in (b"", b"{}", b"[]", b'{"a":1,"a":1}', b"\xff", json.dumps({**unbuildable, "task": "no"}).encode(),
                 json.dumps({**unbuildable, "device": "no"}).encode(), json.dumps({**unbuildable, "source": ""}).encode()):
        ask("POST", "/grade", body=body)
        ask("POST", "/grades", body=body)
    grade = ask("POST", "/grade", "/grade?wait=0", json.dumps(unbuildable).encode())["id"]
    batch = ask("POST", "/grades", body=json.dumps({"grades": [unbuildable, {}]}).encode())["grades"][0]["id"]
    for identity in (grade, batch, "0" * 32):
        for target in ("", "?wait=60", "/events", "/source"):
            ask("GET", "/grades/{id}" + target.split("?")[0], f"/grades/{identity}{target}")
        ask("DELETE", "/grades/{id}", f"/grades/{identity}")
    ask("GET", "/grades")

    # Every code that the server can answer with is in the document, and no other.
    codes = set(api.document["components"]["schemas"]["Problem"]["properties"]["code"]["examples"])
    with open(sys.argv[3], encoding="utf-8") as f:
        known = set(re.findall(r'^ *{"(\w+)", \d+, ', f.read(), re.M)) - {"client_gone"}
    check("the codes are documented", known and codes == known, sorted(codes ^ known))
    print("failures:", failures)
    sys.exit(1 if failures else 0)


main()
