#!/bin/bash
# How kgraded starts, where it listens, and what it tells the service manager.
. "$(dirname "$0")/lib.sh"

# refused NAME STATUS TEXT [OPTION]...: does not start, and says why.
refused() {
    local name=$1 expected=$2 text=$3
    shift 3
    timeout 120 "$KGRADED" "$@" >"$folder/out" 2>&1
    local status=$?
    grep -qF -- "$text" "$folder/out" || status="$status without '$text': $(head -c 300 "$folder/out")"
    same "$name" "$expected" "$status"
}

refused "--help" 0 "Usage: kgraded" --help
refused "--version" 0 "kgraded " --version
refused "unknown option" 2 "'--colour' is not an option" --colour
refused "option without its value" 2 "'--listen' needs a value" --listen
refused "stray word" 2 "'serve' is one word too many" serve
refused "both listeners" 2 "exclude each other" --listen 127.0.0.1:0 --unix "$folder/socket"
for address in 0.0.0.0:8710 192.0.2.1:8710 '[::]:8710' '[2001:db8::1]:0' 128.0.0.1:0; do
    refused "listening on $address" 2 "does not listen on http://$address without tokens" --listen "$address"
done
for address in nonsense 127.0.0.1 127.0.0.1: 127.0.0.1:65536 127.0.0.1:-1 127.0.0.1:x '[127.0.0.1]:0' ::1:0 :8710; do
    refused "listening on '$address'" 2 "--listen an address and a port" --listen "$address"
done
refused "listening on ''" 2 "--listen needs a value" --listen ""
for value in 1023 65M 99999999999999999999 -1 1.5 1T 2KB ''; do
    refused "--max-body '$value'" 2 "--max-body takes a whole number" --max-body "$value"
done
refused "--max-buffered below --max-body" 2 "must have room" --max-body 2M --max-buffered 1M
refused "--max-connections 0" 2 "--max-connections takes" --max-connections 0
refused "--max-per-address 0" 2 "--max-per-address takes" --max-per-address 0
refused "--queue 65537" 2 "--queue takes" --queue 65537
refused "--request-timeout 0" 2 "--request-timeout takes" --request-timeout 0
refused "--drain 86401" 2 "--drain takes" --drain 86401
refused "--isolation none" 2 "--isolation is one of full|reduced" --isolation none
refused "--log-level loud" 2 "--log-level is one of" --log-level loud
refused "folder of tasks that is not there" 3 "$folder/nowhere" --listen 127.0.0.1:0 --isolation reduced --tasks "$folder/nowhere"

### A port in use.
start
refused "port in use" 3 "Cannot listen on ${url#http://}" --listen "${url#http://}"
expect "the first server goes on" 200 - "$url/version"
stop
same "ends cleanly" 0 "$status"

### Connections from one address.
start --max-per-address 1
exec 3<>"/dev/tcp/127.0.0.1/${url##*:}"
printf 'GET /version HTTP/1.1\r\nHost: x\r\n\r\n' >&3
same "the first connection is served" "HTTP/1.1 200 OK" "$(timeout 60 head -n 1 <&3 | tr -d '\r')"
ask "$url/version"
same "one more from the same address is not" 000 "$status"
exec 3>&-
await "it is when the first has gone" curl -sS "$url/version"
stop

### A Unix socket.
socket=$folder/socket
start_on --unix "$socket"
ask --unix-socket "$socket" http://localhost/healthz
same "answers on a Unix socket" "200 ok" "$status $(field .status)"
same "only owner and group may use it" 660 "$(stat -c %a "$socket")"
refused "socket in use" 3 "Cannot listen on $socket" --unix "$socket"
ask --unix-socket "$socket" http://localhost/healthz
same "the first server goes on" "200 ok" "$status $(field .status)"
stop INT
same "SIGINT ends it cleanly" 0 "$status"
same "the socket is gone" "" "$(ls "$socket" 2>/dev/null)"

start_on --unix "$socket"
stop KILL
same "a killed server leaves its socket" "$socket" "$(ls "$socket" 2>/dev/null)"
start_on --unix "$socket"
ask --unix-socket "$socket" http://localhost/healthz
same "the next one takes its place" "200 ok" "$status $(field .status)"
stop
echo precious >"$folder/file"
refused "path of a file" 3 "Cannot listen on $folder/file" --unix "$folder/file"
same "the file is still there" precious "$(cat "$folder/file")"
refused "long path" 2 "The path of a Unix socket has" --unix "$folder/$(head -c 200 /dev/zero | tr '\0' x)"

### The configuration file.
printf '# a comment\nqueue = 5\nqeue = 5\n' >"$folder/conf"
refused "unknown setting in the file" 2 "$folder/conf:3: there is no setting 'qeue'" --config "$folder/conf"
refused "file that is not there" 2 "There is no file $folder/nowhere" --config "$folder/nowhere"

### Tokens: with them it listens beyond loopback, and warns.
"$KGRADED" token alice --file "$folder/tokens" >/dev/null 2>&1
start_on --listen 0.0.0.0:0 --tokens "$folder/tokens"
same "beyond loopback with tokens" 1 "$(grep -c 'is beyond loopback' "$folder/log")"
stop
chmod o+w "$folder/tokens"
refused "tokens that everybody can write" 3 "can be written by everybody" --listen 127.0.0.1:0 --tokens "$folder/tokens"
refused "tokens that are not there" 3 "Cannot open $folder/nowhere" --listen 127.0.0.1:0 --tokens "$folder/nowhere"
echo 'alice agent' >"$folder/tokens"
chmod o-w "$folder/tokens"
refused "tokens that are wrong" 2 "$folder/tokens:1: " --listen 127.0.0.1:0 --tokens "$folder/tokens"
refused "token of a bad name" 2 "'a b' is not a name" token "a b"

### Without options: a Unix socket and a store in the folders of the user.
mkdir -p "$folder/run" "$folder/home"
HOME=$folder/home XDG_STATE_HOME='' XDG_RUNTIME_DIR=$folder/run start_on
ask --unix-socket "$folder/run/kgraded.sock" http://localhost/healthz
same "answers on the default socket" "200 ok" "$status $(field .status)"
stop
same "the default socket is gone" "" "$(ls "$folder/run")"

### The log.
# Under the journal a line has a priority and no time; the variable alone does not make it the journal.
: >"$folder/log"
JOURNAL_STREAM=$(stat -c %d:%i "$folder/log") start
stop
same "the journal gets priorities" 0 "$(grep -vc '^<[3-7]>[a-z]' "$folder/log")"
JOURNAL_STREAM=1:2 start
stop
same "others get the time" 0 "$(grep -vc '^[0-9-]*T' "$folder/log")"

report
