#!/usr/bin/env bash
# kgrade --server against a real kgraded: the same output as without, retries, the other commands.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

kgrade=$(dirname "$KGRADED")/kgrade
mkdir "$folder/home"
store=$folder/kgrade.db
candidates

# client ARGUMENT...: sets $status, $out and $err.
client() {
    timeout 600 "$kgrade" "$@" >"$folder/out" 2>"$folder/err"
    status=$?
    out=$(cat "$folder/out")
    err=$(cat "$folder/err")
}

has() { # NAME WORD TEXT
    case $3 in
    *"$2"*) ok "$1" ;;
    *) not_ok "$1" "no '$2' in: $3" ;;
    esac
}

small=(--tasks "$folder/tasks")
start --store "$store" "${small[@]}"

client grade "$folder/nothing.c" --task vector_add --server "$url"
same "a refused grade: status" 1 "$status"
has "a refused grade: table" REFUSED "$out"
same "a refused grade: silent" "" "$err"

client grade - --task vector_add --server "$url" --json <"$folder/nothing.c"
same "JSON: status" 1 "$status"
same "JSON: schema" kgrade.grade/1 "$(jq -r .schema <<<"$out")"
id=$(jq -r .id <<<"$out")

client grade "$folder/nothing.c" --task vector_add --server "$url" --profile --json
same "a profile: schema" "1 kgrade.profile/1" "$status $(jq -r .profile.schema <<<"$out")"
client status "$(jq -r .id <<<"$out")" --server "$url"
has "a profile: among what is printed" candidate.entry "$out"

client status "$id" --server "$url"
same "status: as the grade's" 1 "$status"
has "status: table" REFUSED "$out"
client status "$id" --server "$url" --json
same "status: JSON" "done $id" "$(jq -r '"\(.state) \(.id)"' <<<"$out")"
client watch "$id" --server "$url"
has "watch: what is over" REFUSED "$out"

client grade "$folder/nothing.c" --task vector_add --server "$url" --reuse --json
has "reuse: says so" "earlier grade" "$err"
has "reuse: one of those before" "\"id\"" "$out"

client cancel "$id" --server "$url"
same "cancel: what is over is a mistake" 2 "$status"
has "cancel: says why" already_done "$err"
client status 0123456789abcdef0123456789abcdef --server "$url"
same "status: unknown" "2 unknown_grade" "$status $(grep -o unknown_grade "$folder/err")"
client status ../tasks --server "$url"
same "status: no id" 2 "$status"

client leaderboard vector_add --server "$url"
same "leaderboard: status" 0 "$status"
has "leaderboard: what was not accepted is there" refused "$out"
client leaderboard no_such --server "$url"
same "leaderboard: unknown task" 2 "$status"

client grade "$folder/nothing.c" --task vectoradd --server "$url"
same "unknown task" "2 unknown_task" "$status $(grep -o unknown_task "$folder/err")"
client grade "$folder/nothing.c" --task vector_add --server "$url" --precision 0.01
same "what only means something here" 2 "$status"
client grade "$folder/nothing.c" --task vector_add --server ftp://x
same "no server's name" "2 bad_server" "$status $(grep -o bad_server "$folder/err")"
client grade "$folder/nothing.c" --task vector_add --server "$url" --token-file "$folder/none"
same "no token file" "2 token_unreadable" "$status $(grep -o token_unreadable "$folder/err")"
KGRADE_SERVER=$url client leaderboard vector_add
same "the server from the environment" 0 "$status"
client leaderboard vector_add
same "no server" 2 "$status"

newest() { curl -s "$url/grades?limit=1" | jq -r '.grades[0].state'; }
running() { [ "$(newest)" = running ]; }

# Stopped while it waits: the grade is cancelled, and the shell sees the signal.
set -m # or it would not hear the signal
"$kgrade" grade "$hang" --task vector_add --server "$url" >"$folder/out" 2>"$folder/err" &
waiting=$!
set +m
await "a grade runs" running
kill -INT "$waiting"
wait "$waiting"
same "stopped: the shell sees the signal" 130 "$?"
has "stopped: says so" cancelled "$(cat "$folder/err")"
cancelled() { [ "$(newest)" = cancelled ]; }
await "stopped: the grade is cancelled" cancelled
same "stopped: the grade is cancelled" cancelled "$(newest)"

# The server dies while a client waits, and comes back in the same place with the same store.
stop
socket=$folder/socket
url=unix:$socket
look() { curl -s --unix-socket "$socket" "http://localhost/grades?limit=100"; }
newest() { look | jq -r '.grades[0].state'; }
number() { look | jq '.grades | length'; }
start_on --unix "$socket" --store "$store" "${small[@]}"
before=$(number)
nap one
"$kgrade" grade "$folder/one.c" --task vector_add --server "$url" --json >"$folder/out" 2>"$folder/err" &
waiting=$!
await "a grade runs" running
kill -KILL "$server_pid"
wait "$server_pid" 2>/dev/null
wake one
start_on --unix "$socket" --store "$store" "${small[@]}"
wait "$waiting"
has "a server that died: the grade still comes" '"schema"' "$(cat "$folder/out")"
same "a server that died: graded once" $((before + 1)) "$(number)"

# A regrade that is killed while the server has what it sent, and goes on: each candidate is graded once.
mkdir "$folder/vector_add"
for i in $(seq 8); do echo "no C $i" >"$folder/vector_add/$i.c"; done
before=$(number)
"$kgrade" regrade "$folder/vector_add" --out "$folder/regrade" --server "$url" >/dev/null 2>"$folder/err" &
killed=$!
await "a regrade: something is graded" grep -q "[1-8] of 8" "$folder/err"
kill -KILL "$killed"
wait "$killed" 2>/dev/null
client regrade --out "$folder/regrade" --server "$url"
same "a regrade: goes on to its end" 0 "$status"
has "a regrade: says so" "All is done" "$out"
same "a regrade: graded once" 8 $(($(number) - before))
stop
same "ends cleanly" 0 "$status"

# Tokens.
"$KGRADED" token alice --file "$folder/tokens" >"$folder/token" 2>/dev/null
chmod 600 "$folder/tokens" "$folder/token"
start --store "$store" --tokens "$folder/tokens"
client leaderboard vector_add --server "$url"
same "without a token" "2 unauthorized" "$status $(grep -o unauthorized "$folder/err")"
client leaderboard vector_add --server "$url" --token-file "$folder/token"
same "with a token" 0 "$status"
KGRADE_TOKEN=$(cat "$folder/token") client leaderboard vector_add --server "$url"
same "with a token in the environment" 0 "$status"
stop
rm -rf "$store"*
over "the server"
report
