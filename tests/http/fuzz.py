#!/usr/bin/env python3
"""Asks a live server for what its reference describes, and for what it does not.

    fuzz.py OPENAPI_JSON GRADE_SCHEMA URL REQUESTS SEED

Requests are made from the operations, parameters and schemas of the reference: good ones, and ones with one thing wrong.
Each answer must be documented and in the documented shape, never a 500, and the server must go on serving.
"""
import collections
import http.client
import json
import random
import sys
import urllib.parse

from api import Api, Client

WORDS = ["", "0", "-1", "x", "null", "vector_add", "opencl", "cuda", "c", "../..", "%", "\u20ac", "\U0001f600", "a" * 300, "9" * 40]
JUNK = [None, True, False, 0, -1, 1e300, 0.5, 2**62, "", "x", [], {}, [[]], {"a": {}}, "\u0001", "a" * 5000]
ID = "0123456789abcdef"


class Fuzzer:
    def __init__(self, api, client, seed):
        self.api, self.client, self.random = api, client, random.Random(seed)
        self.operations = list(api.operations())
        self.ids = ["0" * 32]
        self.counts = collections.Counter()
        self.failures = 0

    def chance(self, percent):
        return self.random.random() * 100 < percent

    def pick(self, values):
        return self.random.choice(values)

    def number(self, schema):
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        high = schema.get("maximum", low + 100)
        if schema["type"] == "integer":
            return self.random.randint(int(low), int(high))
        return round(self.random.uniform(low, high), 3) or 1

    def text(self, name):
        if name == "source":
            return self.pick(["this is not C", "int x;", "#error no", "void vector_add(void) {}", "\u20ac"])
        return {"task": "vector_add", "name": "vector_add", "device": "opencl", "language": "c"}.get(name, self.pick(WORDS))

    def value(self, schema, name=""):
        """One that the schema allows, as far as this goes."""
        schema = self.api.resolve(schema)
        kinds = schema.get("type", "object")
        kind = self.pick(kinds) if isinstance(kinds, list) else kinds
        if kind == "object":
            if name == "files":
                return {self.pick(["candidate.c", "other.c", "part.h", "../part.h"]): self.text("source")
                        for _ in range(self.random.randint(1, 3))}
            required = schema.get("required", [])
            alternatives = [one["required"] for one in schema.get("oneOf", [])]
            if alternatives:
                required = required + self.pick(alternatives)
            either = {key for one in alternatives for key in one}
            return {key: self.value(part, key) for key, part in schema.get("properties", {}).items()
                    if key in required or (key not in either and self.chance(30))}
        if kind == "array":
            return [self.value(schema["items"], name) for _ in range(self.random.randint(schema.get("minItems", 0), 3))]
        if kind in ("number", "integer"):
            return self.number({**schema, "type": kind})
        return {"boolean": self.chance(50), "null": None}.get(kind, self.text(name))

    def spoil(self, value):
        """One thing in it is otherwise."""
        if isinstance(value, dict) and value and self.chance(80):
            key = self.pick(list(value))
            how = self.random.randrange(4)
            if how == 0:
                return {k: v for k, v in value.items() if k != key}
            if how == 1:
                return {**value, self.pick(WORDS): self.pick(JUNK)}
            return {**value, key: self.spoil(value[key]) if how == 2 else self.pick(JUNK)}
        if isinstance(value, list) and value and self.chance(80):
            i = self.random.randrange(len(value))
            return value[:i] + [self.spoil(value[i])] + value[i + 1:] if self.chance(80) else value * 30
        return self.pick(JUNK)

    def body(self, operation):
        content = operation.get("requestBody", {}).get("content")
        if not content:
            return self.pick([None] * 9 + [b"{}"])
        value = self.value(content["application/json"]["schema"])
        if self.chance(50):
            value = self.spoil(value)
        body = json.dumps(value, ensure_ascii=self.chance(50)).encode("utf-8", "surrogatepass")
        if self.chance(10):
            at = self.random.randrange(len(body) + 1)
            body = self.pick([body[:at], body[:at] + bytes([self.random.randrange(256)]) + body[at:], body + b"}", b"", b"[" * 100])
        return body

    def parameter(self, parameter):
        if parameter["name"] == "id":
            return self.pick(self.ids) if self.chance(70) else "".join(self.pick(ID) for _ in range(32))
        if parameter["name"] == "wait":
            return self.pick(["0", "0.05", "0.2"])
        if parameter["name"] == "Idempotency-Key":
            return f"key-{self.random.randrange(40)}"
        if parameter["name"] == "before":
            return self.pick(self.ids)
        return str(self.value(parameter["schema"], parameter["name"]))

    def request(self):
        """(path of the reference, method, target, headers, body)"""
        path, method, operation = self.pick(self.operations)
        target, query, headers = path, [], {}
        for parameter in map(self.api.resolve, operation.get("parameters", [])):
            value = self.parameter(parameter)
            if parameter["in"] == "path":
                value = self.pick(WORDS[1:]) if self.chance(10) else value
                target = target.replace("{%s}" % parameter["name"], urllib.parse.quote(value, safe=""))
            elif parameter.get("required") or self.chance(50) or parameter["name"] == "wait":
                value = self.pick(WORDS) if self.chance(10) and parameter["name"] != "wait" else value
                if parameter["in"] == "query":
                    query.append((parameter["name"], value))
                elif value.isascii() and value.isprintable():
                    headers[parameter["name"]] = value
        if self.chance(3):
            query.append((self.pick(WORDS), self.pick(WORDS)))
        if query:
            target += "?" + urllib.parse.urlencode(query)
        if self.chance(5):
            headers["Authorization"] = self.pick(["Bearer x", "Bearer", "Basic eDp4", ""])
        body = self.body(operation)
        if body is not None and self.chance(90):
            headers["Content-Type"] = self.pick(["application/json"] * 9 + ["text/plain", "application/json; charset=x"])
        if method == "GET" and self.chance(10):
            method = "HEAD"
        return path, method, target, headers, body

    def step(self):
        path, method, target, headers, body = self.request()
        status, kind, text = self.client.ask(method, target, headers, body, 64)
        self.counts[status] += 1
        errors = self.api.answer_errors(path, method, status, kind, text)
        if status == 404 and b'"not_found"' in text:
            errors = []  # the parameter made it another path
        if status >= 500 and status not in (503, 504):
            errors.append(f"{status}: {text[:300]!r}")
        self.failures += bool(errors)
        if errors and self.failures < 20:
            print(f"not ok - {method} {target} {headers} {body!r:.400}: {'; '.join(errors[:3])}")
        if status in (200, 202) and method == "POST":
            answer = json.loads(text)
            self.ids += [g["id"] for g in answer.get("grades", [answer]) if "id" in g]
            self.ids = self.ids[-50:]


def main():
    api, client = Api(sys.argv[1], sys.argv[2]), Client(sys.argv[3])
    requests, seed = int(sys.argv[4]), int(sys.argv[5])
    fuzzer = Fuzzer(api, client, seed)
    for _ in range(requests):
        try:
            fuzzer.step()
        except http.client.BadStatusLine as e:
            fuzzer.failures += 1
            print(f"not ok - no answer: {e!r}")
    print(f"seed {seed}: {sum(fuzzer.counts.values())} requests, {dict(sorted(fuzzer.counts.items()))}, failures: {fuzzer.failures}")
    good = not fuzzer.failures and fuzzer.counts[200] and fuzzer.counts[202] and fuzzer.counts[422]
    sys.exit(0 if good else 1)


main()
