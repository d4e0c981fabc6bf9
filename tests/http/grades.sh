#!/bin/bash
# Grading over HTTP by clients that wait: answers, the queue and its end, clients that go away.
#
#     KGRADED=build/release/bin/kgraded KGRADE_SOURCE=. tests/http/grades.sh
. "$(dirname "$0")/lib.sh"

candidates
printf 'this is not C;\n' >"$folder/bad.c"
start --queue 1 --builds-ahead 0 --cache "$folder/cache" --tasks "$folder/tasks"
need_device

### One grade.
grade first "$good"
wait "$grade_pid"
# On a machine that does other things as well the time may remain in doubt.
verdict=$(jq -r .verdict "$folder/first")
case $verdict in
unresolved | suspect) ;;
*) verdict=accepted ;;
esac
answered first 200 "$verdict"
same "it follows the schema" kgrade.grade/1 "$(jq -r .schema "$folder/first")"
same "it says how long it took" 1 "$(grep -ciE '^server-timing: queue;dur=[0-9]+, grade;dur=[0-9]+' "$folder/first.head")"
id=$(jq -r .id "$folder/first")
same "it says where it is kept" "/grades/$id" "$(tr -d '\r' <"$folder/first.head" | sed -n 's/^location: //Ip')"
ask "$url/grades/$id"
same "there it is" "200 done $verdict" "$status $(field '"\(.state) \(.result.verdict)"')"
same "it is the same" "$(jq -S . "$folder/first")" "$(jq -S .result "$folder/body")"

grade broken "$folder/bad.c"
wait "$grade_pid"
answered broken 200 build_failed

### Three at once: one is graded, one waits, one is refused.
nap one
grade a "$folder/one.c"
await "a grade begins" queue 1 0
ask "$url/tasks/vector_add"
same "others are served meanwhile" 200 "$status"
grade b "$nothing"
b_pid=$grade_pid
await "a grade waits" queue 1 1
grade c "$nothing"
wait "$grade_pid"
answered c 503 queue_full
same "it is told when to come back" 1 "$(grep -ciE '^retry-after: [1-9][0-9]*' "$folder/c.head")"
wake one
wait "$b_pid"
answered a 200 refused
answered b 200 refused

### Clients that go away before they know of their grade.
graded() { curl -sS --max-time 60 "$url/healthz" | jq -r .graded; }
before=$(graded)
nap two
grade gone_running "$folder/two.c"
running_pid=$grade_pid
await "a grade begins" queue 1 0
grade gone_waiting "$nothing"
await "a grade waits" queue 1 1
kill "$grade_pid"
await "the one that waits is forgotten while the other runs" queue 1 0
wake two
wait "$running_pid"
await "the other is over" queue 0 0
same "only that one was graded" $((before + 1)) "$(graded)"
grade after "$nothing"
wait "$grade_pid"
answered after 200 refused
alive "clients that went away"

### A client that stops sending but still listens.
if command -v python3 >/dev/null; then
    body vector_add opencl "" "$nothing" >"$folder/half.request"
    python3 -c '
import socket, sys
body = open(sys.argv[2], "rb").read()
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"POST /grade HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
s.shutdown(socket.SHUT_WR)
s.settimeout(120)
lines = s.makefile("r", newline="\r\n")
status = lines.readline().rstrip()
while " 100 " in status:
    assert not lines.readline().rstrip()
    status = lines.readline().rstrip()
print(status)
' "${url##*:}" "$folder/half.request" >"$folder/half"
    same "a half-closed connection gets its answer" "HTTP/1.1 200 OK" "$(cat "$folder/half")"
fi

stop
over grades
same "the log has the verdicts" 1 \
    "$(grep -c "path=/grade?wait=600 status=200 ms=[0-9.]* verdict=$verdict caller=local grade=$id task=vector_add device=opencl state=done score=" "$folder/log")"
same "the log has who went away" 1 "$(grep -c 'status=499 ms=[0-9.]* code=client_gone' "$folder/log")"

report
