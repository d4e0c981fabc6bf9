#!/bin/bash
# The end of kgraded with requests in flight: each is answered, nothing is left behind.
. "$(dirname "$0")/lib.sh"

candidates
options=(--builds-ahead 0 --cache "$folder/cache" --tasks "$folder/tasks")
start "${options[@]}"
need_device
nap one
nap two

# told_where NAME: the grade was not done, and its client was told where to ask for it.
told_where() {
    same "$1" "202 true" "$(cat "$folder/$1.status") $(jq '.state == "queued" or .state == "running"' "$folder/$1")"
    same "$1: it knows where its grade is" "/grades/$(jq -r .id "$folder/$1")" \
        "$(tr -d '\r' <"$folder/$1.head" | sed -n 's/^location: //Ip')"
    same "$1: it is told when to come back" 1 "$(grep -ciE '^retry-after: [1-9]' "$folder/$1.head")"
}

### Idle, with a connection kept alive and a request half sent.
exec 3<>"/dev/tcp/127.0.0.1/${url##*:}" 4<>"/dev/tcp/127.0.0.1/${url##*:}"
printf 'GET /version HTTP/1.1\r\nHost: x\r\n\r\n' >&3
head -n 1 <&3 >/dev/null
printf 'POST /grade HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n' >&4
same "idle: a request has begun" "HTTP/1.1 100 Continue" "$(timeout 60 head -n 2 <&4 | head -n 1 | tr -d '\r')"
printf '{' >&4
stop
over idle
same "idle: half a request is refused" "HTTP/1.1 503 Service Unavailable" "$(timeout 60 head -n 1 <&4 | tr -d '\r')"
exec 3>&- 4>&-

### One grade running, one waiting, and one that comes too late.
rm -rf "$folder/store"
start "${options[@]}"
grade running "$folder/one.c"
running_pid=$grade_pid
await "a grade begins" queue 1 0
grade waiting "$nothing"
await "a grade waits" queue 1 1
kill -TERM "$server_pid"
wait "$grade_pid"
told_where waiting
ask --max-time 5 "$url/healthz"
same "no more connections" 000 "$status"
wake one
wait "$running_pid"
answered running 200 refused
finish
over drain

### An interrupt from the terminal reaches everything in the process group, and still the grade ends well.
rm -rf "$folder/store"
set -m
start "${options[@]}"
set +m
grade terminal "$folder/two.c"
await "a grade begins" queue 1 0
kill -INT -- "-$server_pid"
await "it drains" drains
wake two
wait "$grade_pid"
answered terminal 200 refused
finish
over terminal

### A grade that would take too long.
rm -rf "$folder/store"
start --drain 1 "${options[@]}"
grade stopped "$hang"
await "a grade begins" queue 1 0
kill -TERM "$server_pid"
wait "$grade_pid"
told_where stopped
finish
over "drain deadline"

### A second signal does not wait.
rm -rf "$folder/store"
start "${options[@]}"
grade interrupted "$hang"
await "a grade begins" queue 1 0
kill -INT "$server_pid"
await "it drains" drains
same "still draining" yes "$(kill -0 "$server_pid" 2>/dev/null && echo yes)"
kill -INT "$server_pid"
wait "$grade_pid"
told_where interrupted
finish
over "second signal"

### Killed: what it started dies with it.
rm -rf "$folder/store"
start "${options[@]}"
grade killed "$hang"
await "a grade begins" queue 1 0
stop KILL
none_left() { [ "$(leftovers)" -eq 0 ]; }
await "its processes die" none_left
same "kill -9: nothing is left running" 0 "$(leftovers)"

report
