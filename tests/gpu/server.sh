# shellcheck shell=bash
# Sourced: a kgraded of the build for the scripts here, as an operator would have it.

# server_start BUILD FOLDER [OPTION...]: starts one with its files in FOLDER; kgrade asks it from then on.
server_start() {
    "$1/bin/kgraded" --config /dev/null --store "$2/kgrade.db" --listen 127.0.0.1:0 --cache "$2/cache" "${@:3}" 2>"$2/kgraded.log" &
    server_pid=$!
    KGRADE_SERVER=
    for _ in $(seq 200); do
        KGRADE_SERVER=$(sed -n 's/.* listens on \(http:.*\)/\1/p' "$2/kgraded.log")
        [ -n "$KGRADE_SERVER" ] && break
        sleep 0.1
    done
    export KGRADE_SERVER
    [ -n "$KGRADE_SERVER" ] || {
        cat "$2/kgraded.log"
        return 1
    }
}

server_stop() {
    [ -n "${server_pid:-}" ] || return 0
    kill "$server_pid" 2>/dev/null
    wait "$server_pid" 2>/dev/null
    server_pid=
    unset KGRADE_SERVER
}
