#!/bin/bash
# Grades that nobody waits for: asking for them later, cancelling them, asking for the same again, many at once.
#
#     KGRADED=build/release/bin/kgraded KGRADE_SOURCE=. tests/http/jobs.sh
. "$(dirname "$0")/lib.sh"

json=(-H 'Content-Type: application/json')
candidates
printf 'this is not C;\n' >"$folder/bad.c"
start --queue 8 --queue-per-owner 8 --builds-ahead 0 --cache "$folder/cache" --tasks "$folder/tasks"
need_device
nowhere=00000000000000000000000000000000

### Accepted, and asked for later.
submit "$nothing"
same "not waited for" "202 true" "$status $(field '.state == "queued" or .state == "running"')"
same "it says where it is" "/grades/$id" "$(header Location)"
same "it says when to look" 1 "$(header Retry-After | grep -cE '^[1-9][0-9]*$')"
same "its links" "/grades/$id /grades/$id/events /grades/$id/source" "$(field '.links | "\(.self) \(.events) \(.source)"')"
first=$id
ask "$url/grades/$id?wait=600"
same "waited for there" "200 done refused" "$status $(field '"\(.state) \(.verdict)"')"
same "with its result" "kgrade.grade/1 $id" "$(field '.result | "\(.schema) \(.id)"')"
same "in order of time" true "$(field '.created_at <= .started_at and .started_at <= .ended_at')"
ask "$url/grades/$id/source"
same "its source" 200 "$status"
same "byte for byte" "" "$(cmp "$folder/body" "$nothing" 2>&1)"
same "as text" "text/plain; charset=utf-8" "$(header Content-Type)"
nap one
submit "$folder/one.c"
ask "$url/grades/$id?wait=0.2"
same "a wait that is too short" "200 true" "$status $(field '.state == "queued" or .state == "running"')"
wake one
ask "$url/grades/$id?wait=600"
same "a wait that is not" "200 done" "$status $(field .state)"
for what in "" /events /source; do
    expect "unknown grade$what" 404 unknown_grade "$url/grades/$nowhere$what"
    expect "id of another shape$what" 404 unknown_grade "$url/grades/GRADE$what"
done
expect "unknown grade to cancel" 404 unknown_grade -X DELETE "$url/grades/$nowhere"

### Cancelled: one that runs, and one that waits.
submit "$hang"
running=$id
await "it begins" is "$running" running
submit "$hang"
waiting=$id
ask "$url/grades/$waiting"
same "one comes before it" "queued 1" "$(field '"\(.state) \(.ahead)"')"
grade follower "$hang" -H 'Idempotency-Key: follow'
await "another waits" queue 1 2
follow "$waiting"
follower=$youngest
ask -X DELETE "$url/grades/$follower"
same "one that a client waits for is cancelled" "200 cancelled" "$status $(field .state)"
wait "$grade_pid"
answered follower 409 cancelled
ask -X DELETE "$url/grades/$waiting"
same "the waiting one is cancelled" "200 cancelled" "$status $(field .state)"
same "and says why" cancelled "$(field .reason.code)"
ask -X DELETE "$url/grades/$running?wait=600"
same "the running one is cancelled" "200 cancelled" "$status $(field .state)"
await "nothing runs" queue 0 0
ask -X DELETE "$url/grades/$running"
same "twice is as good as once" "200 cancelled" "$status $(field .state)"
expect "one that is done" 409 already_done -X DELETE "$url/grades/$first"
ask "$url/grades/$running"
same "it stays cancelled" "200 cancelled" "$status $(field .state)"

### Deadlines.
body vector_add opencl "" "$hang" | jq '.deadline_s = 1' >"$folder/request"
expect "a deadline that passes" 504 deadline_exceeded "${json[@]}" --data-binary "@$folder/request" "$url/grade?wait=600"
for value in 0 -1 86401 '"1"' true; do
    body vector_add opencl "" "$nothing" | jq ".deadline_s = $value" >"$folder/request"
    ask "${json[@]}" --data-binary "@$folder/request" "$url/grade"
    same "deadline_s $value" 422 "$status"
done
body vector_add opencl "" "$nothing" | jq '.reuse = 1' >"$folder/request"
expect "reuse 1" 422 wrong_type "${json[@]}" --data-binary "@$folder/request" "$url/grade"
body vector_add opencl "" "$nothing" | jq '.profile = "yes"' >"$folder/request"
expect 'profile "yes"' 422 wrong_type "${json[@]}" --data-binary "@$folder/request" "$url/grade"

### The same key: at once, later, and with something else.
grade one "$nothing" -H 'Idempotency-Key: k-1'
one_pid=$grade_pid
grade two "$nothing" -H 'Idempotency-Key: k-1'
wait "$one_pid" "$grade_pid"
answered one 200 refused
answered two 200 refused
same "both have the same grade" "$(jq -r .id "$folder/one")" "$(jq -r .id "$folder/two")"
submit "$nothing" -H 'Idempotency-Key: k-1'
same "later it is answered at once" "200 $(jq -r .id "$folder/one")" "$status $id"
same "and says so" true "$(header Kgrade-Reused)"
submit "$folder/bad.c" -H 'Idempotency-Key: k-1'
same "with another source" "422 idempotency_key_reused" "$status $(field .code)"
key=$(head -c 255 /dev/zero | tr '\0' k)
submit "$nothing" -H "Idempotency-Key: $key"
same "a key of 255 bytes" 202 "$status"
ask -X DELETE "$url/grades/$id?wait=600"
submit "$nothing" -H "Idempotency-Key: ${key}k"
same "a key of 256 bytes" "422 invalid_idempotency_key" "$status $(field .code)"
submit "$nothing" -H 'Idempotency-Key: two words'
same "a key with a space" "422 invalid_idempotency_key" "$status $(field .code)"
submit "$nothing" -H 'Idempotency-Key;'
same "an empty key" "422 invalid_idempotency_key" "$status $(field .code)"

### An earlier grade of the same will do, if it is asked for.
body vector_add opencl "" "$nothing" | jq '.reuse = true' >"$folder/request"
ask "${json[@]}" --data-binary "@$folder/request" "$url/grade"
same "reuse" "200 true" "$status $(header Kgrade-Reused)"
reused=$(field .id)
ask "$url/grades/$reused"
same "it is one of before" "200 done" "$status $(field .state)"
grade afresh "$nothing"
wait "$grade_pid"
same "not asked for, it is graded anew" no "$([ "$(jq -r .id "$folder/afresh")" = "$reused" ] && echo yes || echo no)"
same "and does not claim otherwise" 0 "$(grep -ci '^kgrade-reused' "$folder/afresh.head")"

### Many at once.
batch() {
    jq -s '{grades: .}' "$@" >"$folder/batch"
    ask "${json[@]}" --data-binary "@$folder/batch" "$url/grades"
}
body vector_add opencl "" "$nothing" >"$folder/1"
body vector_add abacus "" "$nothing" >"$folder/2"
jq 'del(.source)' "$folder/1" >"$folder/3"
batch "$folder/1" "$folder/2" "$folder/3" "$folder/1"
same "a batch" 202 "$status"
same "each for itself" "open unknown_device missing_field open" \
    "$(field '[.grades[] | (.state | if . then "open" else null end) // .problem.code] | join(" ")')"
for id in $(field '.grades[] | .id // empty'); do
    ask "$url/grades/$id?wait=600"
    same "one of the batch" "200 done" "$status $(field .state)"
done
batch "$folder/2"
same "a batch of nothing good" "202 unknown_device" "$status $(field '.grades[0].problem.code')"
ask "${json[@]}" -d '{"grades":[]}' "$url/grades"
same "an empty batch" "422 out_of_range" "$status $(field .code)"
mapfile -t many < <(yes "$folder/2" | head -n 65)
batch "${many[@]:1}"
same "64 in a batch" "202 64" "$status $(field '.grades | length')"
batch "${many[@]}"
same "65 in a batch" "422 out_of_range" "$status $(field .code)"
expect "a batch that is none" 422 wrong_type "${json[@]}" -d '{"grades":{}}' "$url/grades"
expect "a batch with something else" 422 unknown_field "${json[@]}" -d '{"grades":[1],"wait":1}' "$url/grades"
expect "a batch without grades" 422 missing_field "${json[@]}" -d '{}' "$url/grades"
nap held
body vector_add opencl "" "$folder/held.c" >"$folder/4"
mapfile -t many < <(yes "$folder/4" | head -n 12)
batch "${many[@]}"
same "more than may wait" "202 true" "$status $(field '[.grades[] | .problem.code // "in"] | (map(select(. == "in")) | length) >= 8 and (map(select(. == "queue_full" or . == "quota_exceeded")) | length) >= 3')"
cp "$folder/body" "$folder/many"
for id in $(jq -r '.grades[] | .id // empty' "$folder/many"); do curl -sS -X DELETE "$url/grades/$id?wait=0" -o /dev/null; done
await "they are cancelled" queue 0 0
for i in 1 2; do
    ask "${json[@]}" -H 'Idempotency-Key: b' --data-binary "@$folder/batch" "$url/grades"
    cp "$folder/body" "$folder/batch.$i"
done
same "the same batch again" "$(jq -c '[.grades[].id // "-"][0:4]' "$folder/batch.1")" "$(jq -c '[.grades[].id // "-"][0:4]' "$folder/batch.2")"
for id in $(jq -r '.grades[] | .id // empty' "$folder/batch.1" "$folder/batch.2" | sort -u); do
    curl -sS -X DELETE "$url/grades/$id?wait=0" -o /dev/null
done
await "they are cancelled too" queue 0 0

### Lists.
ask "$url/grades?limit=3"
same "some of them" "200 3" "$status $(field '.grades | length')"
same "newest first" true "$(field '.grades | map(.created_at) == (map(.created_at) | sort | reverse)')"
cp "$folder/body" "$folder/page"
next=$(field .next)
same "there are more" "$(field '.grades[-1].id')" "$next"
ask "$url/grades?limit=2&before=$next"
same "the next ones" true "$(jq -s '.[0].grades[-1].created_at >= .[1].grades[0].created_at and
    (.[0].grades + .[1].grades | map(.id) | unique | length) == 5' "$folder/page" "$folder/body")"
ask "$url/grades?limit=200"
same "the last of them" "null true" "$(field .next) $(field 'any(.grades[]; .id == "'"$first"'")')"
for query in limit=0 limit=201 limit=1.5 limit=x limit= limit before=x "limit=1&limit=2" "limit=99999999999999999999999999"; do
    expect "list with $query" 422 invalid_parameter "$url/grades?$query"
done
expect "list with something else" 422 unknown_parameter "$url/grades?page=2"
for query in wait=-1 wait=601 wait=1e1 wait=.5 wait=1. wait=x wait= "wait=1&wait=1"; do
    expect "$query" 422 invalid_parameter "$url/grades/$first?$query"
done

### The leaderboard.
ask "$url/leaderboards/vector_add?device=opencl"
same "a leaderboard" "200 vector_add opencl" "$status $(field '"\(.task) \(.device)"')"
same "what was refused is not ranked, and not hidden" "[null] 2" "$(field '.entries | map(select(.verdicts.refused)) | "\(map(.rank) | unique | tojson) \(length)"')"
grade accepted "$good"
wait "$grade_pid"
if [ "$(jq -r .verdict "$folder/accepted")" = accepted ]; then
    ask "$url/leaderboards/vector_add?device=opencl&limit=1"
    same "what was accepted is ranked" "1 $(jq -r .candidate.hash "$folder/accepted") 1" "$(field '.entries[0] | "\(.rank) \(.source_hash) \(.grades)"')"
fi
expect "leaderboard without a device" 422 missing_parameter "$url/leaderboards/vector_add"
expect "leaderboard of another device" 422 unknown_device "$url/leaderboards/vector_add?device=abacus"
expect "leaderboard of no task" 404 unknown_task "$url/leaderboards/nothing?device=opencl"
expect "leaderboard with a large limit" 422 invalid_parameter "$url/leaderboards/vector_add?device=opencl&limit=1001"

### Figures.
ask "$url/metrics"
same "metrics" 200 "$status"
same "count the grades" 1 "$(grep -c '^kgrade_grades_total{verdict="refused",device="opencl",task="vector_add"} [1-9]' "$folder/body")"
same "and the requests" 1 "$(grep -c '^kgrade_requests_total{route="/grades/{id}",status="404"} [1-9]' "$folder/body")"
same "each name is introduced once" "" "$(grep '^# TYPE' "$folder/body" | sort | uniq -d)"
same "each line is of the format" 0 "$(grep -vcE '^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [-+0-9.eInf]+)$' "$folder/body")"
stop
over jobs
report
