#!/bin/bash
# The end of kgraded with requests in flight: each is answered, nothing is left behind, and it takes no longer than it
# may.
. "$(dirname "$0")/lib.sh"

candidates
options=(--cache "$folder/cache" --tasks "$folder/tasks")
start "${options[@]}"
need_device

# within NAME SECONDS COMMAND...: and says how long it took if it took longer.
within() {
    local name=$1 limit=$2 began took
    shift 2
    began=$(date +%s%N)
    "$@"
    took=$((($(date +%s%N) - began) / 1000000))
    same "$name: in time" yes "$([ "$took" -le "$((limit * 1000))" ] && echo yes || echo "$took ms")"
}

### Idle, with a connection kept alive and a request half sent.
exec 3<>"/dev/tcp/127.0.0.1/${url##*:}" 4<>"/dev/tcp/127.0.0.1/${url##*:}"
printf 'GET /version HTTP/1.1\r\nHost: x\r\n\r\n' >&3
head -n 1 <&3 >/dev/null
printf 'POST /grade HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{' >&4
sleep 0.3
within idle 5 stop
over idle
same "idle: half a request is refused" "HTTP/1.1 503 Service Unavailable" "$(timeout 5 head -n 1 <&4 | tr -d '\r')"
exec 3>&- 4>&-

### One grade running, one waiting, and one that comes too late.
start "${options[@]}"
grade running "$nap"
running_pid=$grade_pid
await "a grade begins" queue 1 0
grade waiting "$nap"
await "a grade waits" queue 1 1
kill -TERM "$server_pid"
wait "$grade_pid"
answered waiting 503 shutting_down
same "it is told to come back" 1 "$(grep -ciE '^retry-after: [1-9]' "$folder/waiting.head")"
ask --max-time 5 "$url/healthz"
same "no more connections" 000 "$status"
wait "$running_pid"
answered running 200 refused
finish
over drain

### An interrupt from the terminal reaches everything in the process group, and still the grade ends well.
set -m
start "${options[@]}"
set +m
grade terminal "$nap"
await "a grade begins" queue 1 0
kill -INT -- "-$server_pid"
wait "$grade_pid"
answered terminal 200 refused
finish
over terminal

### A grade that would take too long.
start --drain 1 "${options[@]}"
grade cancelled "$hang"
await "a grade begins" queue 1 0
sleep 0.5
kill -TERM "$server_pid"
within "cancelled" 4 wait "$grade_pid"
answered cancelled 503 shutting_down
within "drain deadline" 25 finish
over "drain deadline"

### A second signal does not wait.
start "${options[@]}"
grade interrupted "$hang"
await "a grade begins" queue 1 0
kill -INT "$server_pid"
sleep 0.5
same "still draining" yes "$(kill -0 "$server_pid" 2>/dev/null && echo yes)"
kill -INT "$server_pid"
within "interrupted" 4 wait "$grade_pid"
answered interrupted 503 shutting_down
within "second signal" 25 finish
over "second signal"

### Killed: what it started dies with it.
start "${options[@]}"
grade killed "$hang"
await "a grade begins" queue 1 0
sleep 0.5
stop KILL
none_left() { [ "$(leftovers)" -eq 0 ]; }
await "its processes die" none_left
same "kill -9: nothing is left running" 0 "$(leftovers)"

report
