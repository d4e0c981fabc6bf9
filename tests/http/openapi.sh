#!/bin/bash
# Whether server/http/openapi.yaml tells the truth about the running server.
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip "no python3"
start
python3 "$(dirname "$0")/openapi.py" "$KGRADE_SOURCE/server/http/openapi.yaml" "$url" "$KGRADE_SOURCE/server/http/problem.c"
status=$?
[ "$status" -ne 77 ] || skip "a Python package is missing"
same "the document is true" 0 "$status"
stop
same "ends cleanly" 0 "$status"
report
