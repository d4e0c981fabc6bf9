# For the scripts of this folder: starts the server that $KGRADED names, asks it things, counts what fails.
# shellcheck shell=bash

set -u
folder=$(mktemp -d "${TMPDIR:-/tmp}/kgrade-http.XXXXXX")
server_pid=
alarm_pid=
tests=0
failures=0

skip() {
    echo "skipped: $*"
    exit 77
}

ok() {
    tests=$((tests + 1))
    echo "ok $tests - $1"
}

not_ok() {
    tests=$((tests + 1))
    failures=$((failures + 1))
    echo "not ok $tests - $1: ${2:-}"
}

# same NAME EXPECTED SEEN
same() {
    if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "expected '$2', saw '$3'"; fi
}

# start [OPTION]...: starts the server, sets $url and $server_pid.  Its log is $folder/log, its store $folder/store.
start() {
    start_on --listen 127.0.0.1:0 "$@"
    url=$(sed -n 's/.* listens on \(http:.*\)/\1/p' "$folder/log")
}

start_on() {
    : >"$folder/log"
    mkdir -p "$folder/tmp" "$folder/store"
    TMPDIR=$folder/tmp KGRADE_TEST_FOLDER=$folder "$KGRADED" --isolation reduced --store "$folder/store/db" "$@" \
        2>"$folder/log" &
    server_pid=$!
    for _ in $(seq 600); do
        grep -q ' listens on ' "$folder/log" && return
        kill -0 "$server_pid" 2>/dev/null || break
        sleep 0.1
    done
    echo "the server did not come up:"
    cat "$folder/log"
    exit 1
}

# stop [SIGNAL]: ends the server and sets $status to its exit status.
stop() {
    kill -"${1:-TERM}" "$server_pid" 2>/dev/null
    finish
}

# Waits for the end of the server, at most two minutes.
finish() {
    timeout 120 tail --pid="$server_pid" -s 0.05 -f /dev/null || kill -KILL "$server_pid"
    wait "$server_pid" 2>/dev/null
    status=$?
    server_pid=
}

# leftovers: how many processes of servers of this script are there, their jails' included.
leftovers() {
    grep -lsF "KGRADE_TEST_FOLDER=$folder" /proc/[0-9]*/environ | wc -l
}

# drains: whether the server has heard that it is to end.
drains() {
    grep -q ' shutdown: running=' "$folder/log"
}

# over NAME: the server has ended as it should, and nothing of it is left.
over() {
    same "$1: ends cleanly" 0 "$status"
    same "$1: no process is left" 0 "$(leftovers)"
    same "$1: no file is left" "" "$(ls -A "$folder/tmp")"
}

# await NAME COMMAND...: waits at most two minutes for a command to succeed.
await() {
    local name=$1 end=$((SECONDS + 120))
    shift
    while [ "$SECONDS" -lt "$end" ]; do
        "$@" >/dev/null 2>&1 && return
        sleep 0.05
    done
    not_ok "$name" "it did not happen in 120 s"
}

clean_up() {
    [ -z "$alarm_pid" ] || kill "$alarm_pid"
    if [ -n "$server_pid" ]; then
        kill -KILL "$server_pid"
        wait "$server_pid"
    fi 2>/dev/null
    rm -rf "$folder"
}
trap clean_up EXIT

# The last line of a script.
report() {
    echo "$tests tests, $failures failures"
    [ "$failures" -eq 0 ] && [ "$tests" -gt 0 ]
    exit
}

# ask [CURL ARGUMENT]...: sets $status; the answer is in $folder/body, its headers in $folder/head.
ask() {
    : >"$folder/body"
    status=$(curl -sS --max-time 660 -D "$folder/head" -o "$folder/body" -w '%{http_code}' "$@" 2>"$folder/curl")
}

# field PATH: a value of the answer's JSON.
field() {
    jq -r "$1" "$folder/body" 2>/dev/null
}

# header NAME: its value.
header() {
    tr -d '\r' <"$folder/head" | sed -n "s/^$1: //Ip"
}

# expect NAME STATUS CODE [CURL ARGUMENT]...: asks, and checks the whole shape of the problem; CODE - is no problem.
# Afterwards the server must be alive.
expect() {
    local name=$1 expected=$2 code=$3 what
    shift 3
    ask "$@"
    if [ "$code" = - ]; then
        what="$status"
    else
        what="$status $(field .code)"
        expected="$expected $code"
        jq -e '(keys - ["hint"]) == ["code","detail","status","title","type"] and .status == '"${status:-0}"' and
               .type == "urn:kgrade:problem:" + .code and (.detail | utf8bytelength > 1000 or endswith(".")) and (.title | length > 5)' \
            "$folder/body" >"$folder/jq" 2>&1 || what="$what in the wrong shape: $(head -c 600 "$folder/body")"
        [ "$(header Content-Type)" = application/problem+json ] || what="$what as $(header Content-Type)"
    fi
    same "$name" "$expected" "$what"
    alive "$name"
}

alive() {
    local health
    health=$(curl -sS --max-time 60 "$url/healthz" 2>&1 | jq -r .status 2>&1)
    [ "$health" = ok ] || not_ok "alive after $1" "$health"
}

# queue RUNNING WAITING: whether that is what the server is doing.
queue() {
    curl -sS --max-time 60 "$url/healthz" | jq -e ".queue.running == $1 and .queue.waiting == $2"
}

is_after() {
    youngest=$(curl -sS --max-time 60 "$url/grades?limit=1" | jq -r '.grades[0].id')
    [ "$youngest" != "$1" ]
}

# follow ID: waits until a grade is listed that was taken after this one, and sets $youngest.  It waits in the queue before that.
follow() {
    await "a grade after $1" is_after "$1"
}

# grade NAME SOURCE_FILE [CURL ARGUMENT]...: grades in the background; the answer comes to $folder/NAME, its status to
# $folder/NAME.status.
grade() {
    local name=$1
    body vector_add opencl "" "$2" >"$folder/$name.request"
    shift 2
    curl -sS --max-time 660 -H 'Content-Type: application/json' --data-binary "@$folder/$name.request" -o "$folder/$name" \
        -D "$folder/$name.head" -w '%{http_code}' "$@" "$url/grade?wait=600" >"$folder/$name.status" 2>"$folder/$name.error" &
    grade_pid=$!
}

# answered NAME STATUS VALUE: what became of a grade: VALUE is its verdict, its state or its code.
answered() {
    same "$1" "$2 $3" "$(cat "$folder/$1.status") $(jq -r '.verdict // .state // .code' "$folder/$1")"
}

# submit SOURCE_FILE [CURL ARGUMENT]...: queues a grade without waiting for it; sets $status and $id.
submit() {
    body vector_add opencl "" "$1" >"$folder/submit.request"
    shift
    ask -H 'Content-Type: application/json' --data-binary "@$folder/submit.request" "$@" "$url/grade?wait=0"
    # shellcheck disable=SC2034 # for the scripts
    id=$(field .id)
}

# is ID STATE: whether the grade is in that state.
is() {
    curl -sS --max-time 60 "$url/grades/$1" | jq -e --arg state "$2" '.state == $state'
}

# nap NAME: makes the source $folder/NAME.c, which holds the device until `wake NAME`, and then enqueues nothing.  NAME has at
# most eight characters.
nap() {
    cat >"$folder/$1.c" <<END
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
void vector_add(void)
{
}
static volatile sig_atomic_t awake;
static void wake(int number)
{
    awake = number;
}
__attribute__((constructor)) static void nap(void)
{
    signal(SIGUSR1, wake);
    prctl(PR_SET_NAME, "$1.${folder##*.}");
    while (!awake)
        usleep(10000);
    prctl(PR_SET_NAME, "awake");
}
END
}

# wake NAME...: ends these naps, those that are yet to begin included.
wake() {
    printf "%s.${folder##*.}\n" "$@" >>"$folder/awake"
    [ -n "$alarm_pid" ] || alarm
}

# Wakes in the background, as long as the script runs, whoever may be awake.  A process that has the name has its handler.
alarm() {
    (
        trap - EXIT
        while sleep 0.2; do
            # shellcheck disable=SC2062 # these are paths
            grep -lsxF --file="$folder/awake" /proc/[0-9]*/task/[0-9]*/comm | sed 's|^/proc/\([0-9]*\)/.*|\1|' |
                xargs -r kill -USR1
        done
    ) 2>/dev/null &
    alarm_pid=$!
}

# candidates: makes the sources that the scripts grade, and a folder of tasks with one small task, $folder/tasks.
# nothing.c enqueues nothing; hang.c holds the device until it is killed.
candidates() {
    # shellcheck disable=SC2034 # for the scripts
    good=$KGRADE_SOURCE/tasks/vector_add/baseline.opencl.c
    nothing=$folder/nothing.c
    hang=$folder/hang.c
    echo 'void vector_add(void) {}' >"$nothing"
    cat >"$hang" <<'END'
#include <unistd.h>
void vector_add(void)
{
}
__attribute__((constructor)) static void hang(void)
{
    for (;;)
        pause();
}
END
    mkdir "$folder/tasks"
    cp -r "$KGRADE_SOURCE/tasks/vector_add" "$folder/tasks/"
    jq '.cases = {correctness: [{n: 1}, {n: 1000}], benchmark: [{n: 65536}], hidden: [{count: 1, n: [1, 1000]}]}' \
        "$KGRADE_SOURCE/tasks/vector_add/task.json" >"$folder/tasks/vector_add/task.json"
}

# need_device: skips the script where nothing can be graded.
need_device() {
    grade probe "$nothing"
    wait "$grade_pid"
    [ "$(jq -r .verdict "$folder/probe")" = refused ] || skip "nothing can be graded here: $(
        jq -c '[.verdict // .code, .reason.code // .hint, .reason.message // .detail]' "$folder/probe"
    )"
}

# body TASK DEVICE LANGUAGE SOURCE_FILE: the JSON of a request; an empty argument leaves the field out.
body() {
    jq -n --arg task "$1" --arg device "$2" --arg language "$3" --rawfile source "$4" \
        '{$task, $device, $language, $source} | with_entries(select(.value != "" or .key == "source"))'
}
