#!/bin/bash
# Whether server/http/openapi.json tells the truth about the running server, for requests as they should be and for
# others that are made from it.  FUZZ_REQUESTS and FUZZ_SEED choose how many of those and which.
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip "no python3"
candidates
here=$(dirname "$0")
export PYTHONDONTWRITEBYTECODE=1
reference=("$KGRADE_SOURCE/server/http/openapi.json" "$KGRADE_SOURCE/grader/grade.schema.json")
start --queue 40 --request-timeout 20 --cache "$folder/cache" --tasks "$folder/tasks"
python3 "$here/openapi.py" "${reference[@]}" "$KGRADE_SOURCE/server/http/problem.c" "$url"
status=$?
[ "$status" -ne 77 ] || skip "a Python package is missing"
same "the document is true" 0 "$status"
python3 "$here/fuzz.py" "${reference[@]}" "$url" "${FUZZ_REQUESTS:-500}" "${FUZZ_SEED:-1}"
same "and stays so whatever is asked" 0 "$?"
alive "the fuzzer"
stop
same "ends cleanly" 0 "$status"
report
