#!/bin/bash
# What was accepted outlives the server: killed, ended, and started again on the same store.
#
#     KGRADED=build/release/bin/kgraded KGRADE_SOURCE=. tests/http/restart.sh
. "$(dirname "$0")/lib.sh"

candidates
options=(--builds-ahead 0 --cache "$folder/cache" --tasks "$folder/tasks")
start "${options[@]}"
need_device
done_before=$(jq -r .id "$folder/probe")

# finished ID: waits for a grade, and says how it ended.
finished() {
    for _ in 1 2 3; do
        ask "$url/grades/$1?wait=600"
        [ "$(field .state)" = "done" ] && break
    done
    field '"\(.state) \(.verdict) \(.result.id)"'
}

### Killed with one that runs and one that waits.
nap one
submit "$folder/one.c"
running=$id
await "it begins" is "$running" running
submit "$nothing" -H 'Idempotency-Key: before the crash'
same "a key with spaces" 422 "$status"
submit "$nothing" -H 'Idempotency-Key: before-the-crash'
waiting=$id
grade cut "$nothing" -H 'Idempotency-Key: cut'
await "a client waits" queue 1 2
follow "$waiting"
cut=$youngest
stop KILL
wait "$grade_pid"
same "its client hears nothing" 000 "$(cat "$folder/cut.status")"
wake one
start "${options[@]}"
same "the one that ran begins again" "done refused $running" "$(finished "$running")"
same "the one that waited comes next" "done refused $waiting" "$(finished "$waiting")"
submit "$nothing" -H 'Idempotency-Key: before-the-crash'
same "its key is still known" "$waiting" "$id"
submit "$nothing" -H 'Idempotency-Key: cut'
same "the client that was cut off finds its grade" "$cut" "$id"
same "which is done too" "done refused $cut" "$(finished "$cut")"
same "earlier results are there" "done refused $done_before" "$(finished "$done_before")"
same "each is there once" 4 "$(curl -sS "$url/grades?limit=200" | jq '.grades | map(.id) | unique | length')"

### Ended in good order: what runs is finished, what waits stays.
nap two
submit "$folder/two.c"
running=$id
await "it begins" is "$running" running
submit "$nothing"
waiting=$id
kill -TERM "$server_pid"
await "it drains" drains
wake two
finish
over "ended in good order"
start "${options[@]}"
ask "$url/grades/$running"
same "what ran was finished" "done refused" "$(field '"\(.state) \(.verdict)"')"
same "what waited is graded now" "done refused $waiting" "$(finished "$waiting")"

### Ended without patience: what runs begins again.
nap three
submit "$folder/three.c"
running=$id
await "it begins" is "$running" running
ask "$url/healthz"
kill -TERM "$server_pid"
await "it drains" drains
stop TERM
over "ended without patience"
wake three
start "${options[@]}"
same "it begins again" "done refused $running" "$(finished "$running")"

### A store that goes away and comes back: clear words meanwhile, and no restart.
ready() { curl -sS "$url/readyz" | jq -e ".ready == $1 and (.checks[] | select(.name == \"store\") | .ok) == $1"; }
await "it is ready" ready true
nap four
submit "$folder/four.c"
running=$id
await "a grade begins" is "$running" running
mv "$folder/store/db" "$folder/store/elsewhere"
wake four
submit "$nothing"
same "nothing is accepted" "503 store_unavailable" "$status $(field .code)"
same "it is told when to come back" 1 "$(header Retry-After | grep -cE '^[1-9][0-9]*$')"
ask "$url/readyz"
same "it is not ready" "503 false" "$status $(field .ready)"
same "and says why" store_unavailable "$(field '.checks[] | select(.name == "store") | .code')"
same "it is alive" 200 "$(curl -sS -o /dev/null -w '%{http_code}' "$url/healthz")"
mv "$folder/store/elsewhere" "$folder/store/db"
await "it is ready again" ready true
same "what ran meanwhile is not lost" "done refused $running" "$(finished "$running")"
submit "$nothing"
same "and more is accepted" 202 "$status"
same "and graded" "done refused $id" "$(finished "$id")"
stop
over "the last time"
report
