#!/bin/bash
# Who may do what: two agents and an operator, each with a token.
#
#     KGRADED=build/release/bin/kgraded KGRADE_SOURCE=. tests/http/callers.sh
. "$(dirname "$0")/lib.sh"

candidates
alice=$("$KGRADED" token alice --file "$folder/tokens")
bob=$("$KGRADED" token bob --file "$folder/tokens")
ops=$("$KGRADED" token ops --role operator --file "$folder/tokens")
sed -i 's/^\(bob .*\)/\1 rate=1 burst=2 queue=1/' "$folder/tokens"

start --tokens "$folder/tokens" --builds-ahead 0 --cache "$folder/cache" --tasks "$folder/tasks" --metrics operators

# as TOKEN [CURL ARGUMENT]...
as() {
    local token=$1
    shift
    ask -H "Authorization: Bearer $token" "$@"
}
json=(-H 'Content-Type: application/json')

### Without a token.
for path in /tasks /grades /metrics "/leaderboards/vector_add?device=opencl" /grades/00000000000000000000000000000000; do
    expect "no token for $path" 401 unauthorized "$url$path"
    same "it is told how to say who it is" 1 "$(header WWW-Authenticate | grep -c '^Bearer')"
done
expect "no token to grade" 401 unauthorized "${json[@]}" -d '{}' "$url/grade"
expect "a wrong token" 401 unauthorized -H "Authorization: Bearer ${alice%?}" "$url/tasks"
expect "another scheme" 401 unauthorized -H "Authorization: Basic $alice" "$url/tasks"
expect "an empty token" 401 unauthorized -H "Authorization: Bearer " "$url/tasks"
for path in / /healthz /version /openapi.json /schemas/grade.json; do
    expect "everybody may read $path" 200 - "$url$path"
done
ask "$url/readyz"
same "and /readyz" true "$(field '.ready != null')"

### Two agents do not see each other's; the operator sees both.
nap held
body vector_add opencl "" "$folder/held.c" >"$folder/request"
as "$alice" "${json[@]}" --data-binary "@$folder/request" "$url/grade?wait=0"
same "alice grades" 202 "$status"
id=$(field .id)
as "$bob" "${json[@]}" --data-binary "@$folder/request" "$url/grade?wait=0"
same "bob grades" 202 "$status"
his=$(field .id)
for path in "" /events /source "?wait=10"; do
    as "$bob" "$url/grades/$id$path"
    same "bob does not see alice's $path" "404 unknown_grade" "$status $(field .code)"
done
as "$bob" -X DELETE "$url/grades/$id"
same "bob does not cancel alice's" "404 unknown_grade" "$status $(field .code)"
as "$alice" "$url/grades"
same "alice lists her own" "[\"$id\"]" "$(field '.grades | map(.id) | tojson')"
as "$ops" "$url/grades"
same "the operator lists both" "$(printf '%s\n' "$id" "$his" | sort | jq -Rcs 'split("\n")[:2]')" "$(field '.grades | map(.id) | sort | tojson')"
as "$ops" "$url/grades/$id/source"
same "the operator reads the source" "200" "$status"
same "byte for byte" "" "$(cmp "$folder/body" "$folder/held.c" 2>&1)"
as "$alice" "${json[@]}" --data-binary "@$folder/request" -H 'Idempotency-Key: same' "$url/grade?wait=0"
hers=$(field .id)
as "$ops" "${json[@]}" --data-binary "@$folder/request" -H 'Idempotency-Key: same' "$url/grade?wait=0"
same "a key is its owner's" yes "$([ "$(field .id)" != "$hers" ] && echo yes)"
for grade in "$hers" "$(field .id)" "$id" "$his"; do
    as "$ops" -X DELETE "$url/grades/$grade?wait=0"
    same "the operator may cancel" yes "$([ "$status" = 200 ] || [ "$status" = 202 ] || [ "$status" = 409 ] && echo yes || echo "$status")"
done

### Rates and quotas.
as "$bob" "${json[@]}" --data-binary "@$folder/request" "$url/grade?wait=0"
as "$bob" "${json[@]}" --data-binary "@$folder/request" "$url/grade?wait=0"
same "bob asks too often" "429 rate_limited" "$status $(field .code)"
same "and is told when to come back" 1 "$(header Retry-After | grep -cE '^[1-9][0-9]*$')"
as "$bob" "${json[@]}" -d '{}' "$url/grade"
same "what is wrong is said all the same" "422 missing_field" "$status $(field .code)"
for i in 1 2 3; do
    as "$alice" "${json[@]}" --data-binary "@$folder/request" "$url/grade?wait=0"
    same "alice does not ($i)" 202 "$status"
done
sed -i 's/^\(alice .*\)/\1 queue=1/' "$folder/tokens"
kill -HUP "$server_pid"
reloaded() { grep -q 'reload: done' "$folder/log"; }
await "the tokens are read again" reloaded
as "$alice" "${json[@]}" --data-binary "@$folder/request" "$url/grade?wait=0"
same "more than alice may have waiting" "429 quota_exceeded" "$status $(field .code)"
same "she is told when to come back" 1 "$(header Retry-After | grep -cE '^[1-9][0-9]*$')"
as "$ops" "$url/grades?limit=200"
for grade in $(field '.grades[].id'); do as "$ops" -X DELETE "$url/grades/$grade?wait=600"; done

### Metrics are for operators here.
as "$alice" "$url/metrics"
same "metrics for an agent" "403 forbidden" "$status $(field .code)"
as "$ops" "$url/metrics"
same "metrics for an operator" 200 "$status"
stop
same "ends cleanly" 0 "$status"
same "no token is in the log" 0 "$(grep -cF -e "$alice" -e "$bob" -e "$ops" "$folder/log")"
same "who asked is" 1 "$(grep -c "path=/metrics status=403 ms=[0-9.]* code=forbidden caller=alice$" "$folder/log")"
start --metrics off
expect "metrics that are off" 404 not_found "$url/metrics"
stop
report
