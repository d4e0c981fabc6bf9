# For the scripts of this folder: starts the server that $KGRADED names, asks it things, counts what fails.
# shellcheck shell=bash

set -u
folder=$(mktemp -d "${TMPDIR:-/tmp}/kgrade-http.XXXXXX")
server_pid=
tests=0
failures=0

skip() {
    echo "skipped: $*"
    [ -z "${KGRADE_NO_SKIP:-}" ] || exit 1
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

# start [OPTION]...: starts the server, sets $url and $server_pid.  Its log is $folder/log.
start() {
    start_on --listen 127.0.0.1:0 "$@"
    url=$(sed -n 's/.* listens on \(http:.*\)/\1/p' "$folder/log")
}

start_on() {
    : >"$folder/log"
    "$KGRADED" --isolation reduced "$@" 2>"$folder/log" &
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

# Waits for the end of the server, at most 60 s.
finish() {
    (sleep 60 && kill -KILL "$server_pid") 2>/dev/null &
    local watchdog=$!
    wait "$server_pid"
    status=$?
    kill "$watchdog" 2>/dev/null
    wait "$watchdog" 2>/dev/null
    server_pid=
}

clean_up() {
    [ -z "$server_pid" ] || kill -KILL "$server_pid" 2>/dev/null
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
    status=$(curl -sS --max-time 90 -D "$folder/head" -o "$folder/body" -w '%{http_code}' "$@" 2>"$folder/curl")
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
               .type == "urn:kgrade:problem:" + .code and (.detail | endswith(".")) and (.title | length > 5)' \
            "$folder/body" >"$folder/jq" 2>&1 || what="$what in the wrong shape: $(head -c 600 "$folder/body")"
        [ "$(header Content-Type)" = application/problem+json ] || what="$what as $(header Content-Type)"
    fi
    same "$name" "$expected" "$what"
    alive "$name"
}

alive() {
    local health
    health=$(curl -sS --max-time 10 "$url/healthz" 2>&1 | jq -r .status 2>&1)
    [ "$health" = ok ] || not_ok "alive after $1" "$health"
}

# body TASK DEVICE LANGUAGE SOURCE_FILE: the JSON of a request; an empty argument leaves the field out.
body() {
    jq -n --arg task "$1" --arg device "$2" --arg language "$3" --rawfile source "$4" \
        '{$task, $device, $language, $source} | with_entries(select(.value != "" or .key == "source"))'
}
