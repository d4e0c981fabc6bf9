#!/bin/bash
# What every request gets, good or bad.  Nothing here is graded.
#
#     KGRADED=build/release/bin/kgraded tests/http/requests.sh
. "$(dirname "$0")/lib.sh"

json=(-H 'Content-Type: application/json')
start --max-body 2M

# post NAME STATUS CODE BODY
post() {
    printf '%b' "$4" >"$folder/request"
    expect "$1" "$2" "$3" "${json[@]}" --data-binary "@$folder/request" "$url/grade"
}

# nested N: an opening of N objects inside each other, closed again.
nested() {
    printf '{"a":%.0s' $(seq "$1")
    printf 1
    printf '}%.0s' $(seq "$1")
}

### What there is to read.
for path in / /healthz /version /tasks /grades /openapi.json /schemas/grade.json; do
    expect "GET $path" 200 - "$url$path"
    same "GET $path is JSON" application/json "$(header Content-Type)"
    size=$(stat -c %s "$folder/body")
    ask -I "$url$path"
    same "HEAD $path" "200 $size" "$status $(header Content-Length)"
done
ask "$url/"
same "/ lists /grade" POST "$(field '.endpoints[] | select(.path == "/grade").method')"
ask "$url/version"
same "/version names the schema" kgrade.grade/1 "$(field .schema)"
ask "$url/healthz"
same "/healthz shows the queue" '{"running":0,"waiting":0,"limit":1024}' "$(field '.queue | tojson')"
ask "$url/tasks"
task=$(jq -r '.. | objects | .name? // empty' "$folder/body" | head -n 1)
same "there is a task" 1 "$(echo "$task" | grep -c .)"
expect "GET /tasks/$task" 200 - "$url/tasks/$task"
same "it is that task" "$task" "$(field .name)"

### Paths and methods.
expect "unknown path" 404 not_found "$url/nowhere"
expect "trailing slash" 404 not_found "$url/tasks/"
expect "path with a slash inside the name" 404 not_found "$url/tasks/a%2fb"
expect "path with NUL" 404 not_found "$url/tasks/$task%00x"
expect "path that climbs" 404 not_found --path-as-is "$url/tasks/../../etc/passwd"
expect "name that climbs" 404 unknown_task --path-as-is "$url/tasks/.."
expect "long path" 404 not_found "$url/$(head -c 4000 /dev/zero | tr '\0' a)"
expect "path that is not UTF-8" 404 not_found "$url/%ff%fe"
expect "unknown task by path" 404 unknown_task "$url/tasks/no_such_task"
expect "long task name of three-byte characters" 404 unknown_task "$url/tasks/$(printf '%%e2%%82%%ac%.0s' $(seq 400))"
same "it is quoted" 1 "$(field .detail | grep -c '€€€')"
expect "GET /grade" 405 method_not_allowed "$url/grade"
same "GET /grade is told what is allowed" POST "$(header Allow)"
expect "PUT /grade" 405 method_not_allowed -X PUT "${json[@]}" -d '{}' "$url/grade"
expect "DELETE /tasks" 405 method_not_allowed -X DELETE "$url/tasks"
same "DELETE /tasks is told what is allowed" "GET, HEAD" "$(header Allow)"
ask -X PATCH "$url/grades/00000000000000000000000000000000"
same "a path with several methods" "405 GET, HEAD, DELETE" "$status $(header Allow)"
expect "a parameter where there is none" 422 unknown_parameter "$url/version?verbose=1"
expect "a parameter without a name" 422 unknown_parameter "$url/version?=1"
expect "a parameter with NUL" 404 not_found "$url/grades?before=%00"
expect "POST /version" 405 method_not_allowed -d x "$url/version"
expect "invented method" 405 method_not_allowed -X FETCH "$url/tasks"
ask -I "$url/grade"
same "HEAD /grade" 405 "$status"

### The body as JSON.
expect "not declared as JSON" 415 unsupported_media_type -d '{}' "$url/grade"
expect "type that only begins like JSON" 415 unsupported_media_type -H 'Content-Type: application/jsonp' -d '{}' "$url/grade"
expect "compressed" 415 unsupported_media_type "${json[@]}" -H 'Content-Encoding: gzip' -d '{}' "$url/grade"
expect "declared with a charset" 422 missing_field -H 'Content-Type: application/JSON; charset=utf-8' -d '{}' "$url/grade"
expect "not declared at all" 422 missing_field -H 'Content-Type:' -d '{}' "$url/grade"
expect "no body" 400 malformed_json -X POST "${json[@]}" "$url/grade"
post "word" 400 malformed_json 'grade'
post "cut short" 400 malformed_json '{"task":"x"'
post "something after it" 400 malformed_json '{} {}'
post "trailing comma" 400 malformed_json '{"task":"x",}'
post "single quotes" 400 malformed_json "{'task':'x'}"
post "NaN" 400 malformed_json '{"task":NaN}'
post "number out of range" 400 malformed_json '{"task":1e999}'
post "key twice" 400 duplicate_key '{"task":"x","task":"y"}'
post "key twice further down" 400 duplicate_key '{"task":{"a":1,"a":2}}'
post "as deep as allowed" 422 unknown_field "$(nested 32)"
post "one deeper" 400 json_too_deep "$(nested 33)"
post "very deep" 400 json_too_deep "$(head -c 1000000 /dev/zero | tr '\0' '[')"
post "brackets in a string are not depth" 422 missing_field '{"source":"'"$(head -c 100 /dev/zero | tr '\0' '[')"'\\\\"}'
post "bytes that are not UTF-8" 400 not_utf8 '{"task":"\xff\xfe"}'
post "overlong UTF-8" 400 not_utf8 '{"task":"\xc0\xaf"}'
post "surrogate in UTF-8" 400 not_utf8 '{"task":"\xed\xa0\x80"}'
post "half a surrogate pair" 400 malformed_json '{"task":"\\ud800"}'
post "escaped NUL in a value" 400 nul_in_string '{"task":"a\\u0000b"}'
post "escaped NUL in a key" 400 nul_in_string '{"ta\\u0000sk":"a"}'
post "NUL byte" 400 malformed_json '{"task":"a\0b"}'
post "UTF-16" 400 malformed_json '{\0"\0t\0"\0:\0001\0}\0'
post "UTF-8 mark in front" 400 malformed_json '\xef\xbb\xbf{}'

### The body as a request.
good='"task":"'$task'","device":"opencl"'
post "array" 422 wrong_type '[]'
post "string" 422 wrong_type '"grade"'
post "null" 422 wrong_type 'null'
post "no field" 422 missing_field '{}'
post "no source" 422 missing_field "{$good}"
post "no device" 422 missing_field '{"task":"'"$task"'","source":"x"}'
post "no task" 422 missing_field '{"device":"opencl","source":"x"}'
post "field too many" 422 unknown_field "{$good,\"source\":\"x\",\"score\":1}"
post "unknown field with a strange name" 422 unknown_field "{$good,\"$(printf '\\xe2\\x82\\xac%.0s' $(seq 90))\":1}"
post "number for a name" 422 wrong_type '{"task":1,"device":"opencl","source":"x"}'
post "null for a name" 422 wrong_type '{"task":null,"device":"opencl","source":"x"}'
post "object for a source" 422 wrong_type "{$good,\"source\":{}}"
post "array for a language" 422 wrong_type "{$good,\"source\":\"x\",\"language\":[]}"
post "unknown task" 404 unknown_task '{"task":"no_such_task","device":"opencl","source":"x"}'
post "task that climbs" 404 unknown_task '{"task":"../'"$task"'","device":"opencl","source":"x"}'
post "empty task" 404 unknown_task '{"task":"","device":"opencl","source":"x"}'
post "unknown device" 422 unknown_device '{"task":"'"$task"'","device":"abacus","source":"x"}'
post "unknown language" 422 unknown_language "{$good,\"language\":\"cobol\",\"source\":\"x\"}"
post "Python without an interpreter" 422 no_python "{$good,\"language\":\"python\",\"source\":\"x\"}"
post "source and files" 422 unknown_field "{$good,\"source\":\"x\",\"files\":{\"a.c\":\"\"}}"
post "files that are a list" 422 wrong_type "{$good,\"files\":[\"a.c\"]}"
post "a file that is no text" 422 wrong_type "{$good,\"files\":{\"a.c\":1}}"
post "a file that climbs" 422 bad_bundle "{$good,\"files\":{\"../a.c\":\"\"}}"
post "no files" 422 no_source_file "{$good,\"files\":{}}"
post "nothing to compile among the files" 422 no_source_file "{$good,\"files\":{\"a.h\":\"\"}}"
post "empty source" 422 empty_source "{$good,\"source\":\"\"}"

# A source of more than a mebibyte in a body of less than two.
head -c 1100000 /dev/zero | tr '\0' ' ' >"$folder/large"
body "$task" opencl "" "$folder/large" >"$folder/request"
expect "source too large" 413 source_too_large "${json[@]}" --data-binary "@$folder/request" "$url/grade"
head -c 2097153 /dev/zero | tr '\0' ' ' >"$folder/large"
expect "body too large" 413 body_too_large "${json[@]}" --data-binary "@$folder/large" "$url/grade"
expect "body too large, in chunks" 413 body_too_large "${json[@]}" -H 'Transfer-Encoding: chunked' -H 'Expect:' \
    --data-binary "@$folder/large" "$url/grade"
expect "body too large, not waiting to be asked" 413 body_too_large "${json[@]}" -H 'Expect:' \
    --data-binary "@$folder/large" "$url/grade"

### The log: one line per request, and nothing of the client's gets into it unescaped.
curl -sS "$url/%0aforged%20line%22" -o /dev/null
curl -sS "$url/version" -o /dev/null
stop
same "ends cleanly" 0 "$status"
same "the log has the request" 1 "$(grep -c 'method=GET path=/version status=200 ms=[0-9.]* code=ok caller=-$' <(tail -n 5 "$folder/log"))"
same "the log has the strange path" 1 "$(grep -cF 'path=/%0aforged%20line%22 status=404' "$folder/log")"
same "each line is of ours" 0 "$(grep -vcE '^[0-9-]{10}T[0-9:.]{12}Z (info|warning|error) ' "$folder/log")"

report
