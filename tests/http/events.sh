#!/bin/bash
# Server-sent events: what becomes of a grade, from its place in the queue to its verdict.
#
#     KGRADED=build/release/bin/kgraded KGRADE_SOURCE=. tests/http/events.sh
. "$(dirname "$0")/lib.sh"

candidates
start --queue 16 --builds-ahead 0 --cache "$folder/cache" --tasks "$folder/tasks"
need_device

# stream NAME ID [CURL ARGUMENT]...: listens in the background to $folder/NAME.
stream() {
    local name=$1 of=$2
    shift 2
    curl -sSN --max-time 660 -D "$folder/$name.head" "$@" "$url/grades/$of/events" >"$folder/$name" 2>&1 &
    stream_pid=$!
}

# names NAME: the events of a stream, each once.
names() { sed -n 's/^event: //p' "$folder/$1" | uniq | tr '\n' ' '; }
ids() { sed -n 's/^id: //p' "$folder/$1" | tr '\n' ' '; }
counting() { seq "$1" $(($1 + $(grep -c '^id: ' "$folder/$2") - 1)) | tr '\n' ' '; }
last() { sed -n 's/^data: //p' "$folder/$1" | tail -n 1; }

### Two grades: one is first, the other sees its place change.
nap one
submit "$folder/one.c"
first=$id
await "it begins" is "$first" running
submit "$nothing"
second=$id
stream first "$first"
first_pid=$stream_pid
stream second "$second"
wake one
wait "$first_pid" "$stream_pid"
same "a stream" "text/event-stream" "$(tr -d '\r' <"$folder/first.head" | sed -n 's/^content-type: //Ip')"
same "the first one's events" "queued building recording done " "$(names first)"
same "its end" "refused" "$(last first | jq -r .verdict)"
same "the other's events" "queued building recording done " "$(names second)"
same "are numbered" "$(counting 0 second)" "$(ids second)"
same "it was behind one" 1 "$(sed -n 's/^data: //p' "$folder/second" | head -n 1 | jq .ahead)"
same "each has its time" "" "$(sed -n 's/^data: //p' "$folder/second" | jq -r .at | grep -vE '^[0-9-]{10}T[0-9:.]{12}Z$')"
same "it tells how soon to come back" 1 "$(grep -c '^retry: [0-9]*$' "$folder/first")"

### One that comes back while the grade goes on, and one that asks when it is over.
nap two
submit "$folder/two.c"
stream whole "$id"
whole_pid=$stream_pid
await "it begins" is "$id" running
waiting() { curl -sS "$url/metrics" | grep -q "^kgrade_connections_waiting $1\$"; }
stream resumed "$id" -H 'Last-Event-ID: 0'
await "both listen" waiting 2
wake two
wait "$whole_pid" "$stream_pid"
same "from where it was lost" "$(counting 1 resumed)" "$(ids resumed)"
same "to the same end" "$(last whole)" "$(last resumed)"
for number in 0 999 000000000000000000001 x -1; do
    stream odd "$second" -H "Last-Event-ID: $number"
    wait "$stream_pid"
    same "over, Last-Event-ID $number" "done refused" "$(names odd | awk '{print $NF}') $(last odd | jq -r .verdict)"
done
ask -I "$url/grades/$second/events"
same "HEAD" 200 "$status"

### A full grade, with a profile.
body vector_add opencl "" "$good" | jq '.profile = true' >"$folder/request"
ask -H 'Content-Type: application/json' --data-binary "@$folder/request" "$url/grade?wait=0"
id=$(field .id)
stream whole "$id"
wait "$stream_pid"
same "all of its steps" "queued building recording replaying judging profiling done " "$(sed -n 's/^event: //p' "$folder/whole" | awk '!seen[$0]++' | tr '\n' ' ' |
    sed 's/judging replaying/replaying judging/')"
ask "$url/grades/$id"
same "the profile is in its result" "kgrade.profile/1 null true" "$(field '.result.profile |
    "\(.schema) \(.reason) \(any(.rows[]; .range == "api.clEnqueueNDRangeKernel"))"')"

### Cancelled.
submit "$hang"
stream cancelled "$id"
await "it begins" is "$id" running
ask -X DELETE "$url/grades/$id?wait=600"
wait "$stream_pid"
same "cancelled" "queued building recording cancelled " "$(names cancelled | sed 's/building cancelled/building recording cancelled/')"
same "and why" cancelled "$(last cancelled | jq -r .code)"

### Listeners that leave, listeners that do not read, and the comment that keeps a stream alive.
submit "$hang"
for i in 1 2 3 4 5; do
    stream "left$i" "$id"
    pids="${pids:-} $stream_pid"
done
stream stays "$id"
stays_pid=$stream_pid
await "six listen" waiting 6
# shellcheck disable=SC2086 # a list
kill $pids
commented() { grep -q '^: ' "$folder/stays"; }
await "a comment" commented
await "those who left are noticed" waiting 1
ask -X DELETE "$url/grades/$id?wait=600"
wait "$stays_pid"
same "the one that stayed hears the end" cancelled "$(last stays | jq -r .code)"

### The end of the server ends the streams.
submit "$hang"
stream ending "$id"
ending_pid=$stream_pid
await "it begins" is "$id" running
submit "$nothing"
stream unbegun "$id"
await "both listen" waiting 2
kill -TERM "$server_pid"
wait "$stream_pid"
same "one whose grade will not begin" 0 "$?"
kill -TERM "$server_pid"
wait "$ending_pid"
same "and one whose grade is stopped" 0 "$?"
finish
over events
same "no end is told" "" "$(grep -hE '^event: (done|cancelled)' "$folder/ending" "$folder/unbegun")"
report
