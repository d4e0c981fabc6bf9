#!/usr/bin/env bash
# Builds kgrade, starts kgraded, grades an example candidate over HTTP, prints the answer.
# For Debian 12 and Ubuntu 24.04, as root or with sudo; may be run again at any time.
set -eu -o pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

example=$root/deploy/example/vector_add.c
bin=$root/build/release/bin
work=$(mktemp -d)
server=

end() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# A text as a JSON string.
json_string() {
    printf '"'
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/\t/\\t/g' "$1" | awk '{ printf "%s\\n", $0 }'
    printf '"'
}

say "1. Packages"
need_packages build grade quickstart

say "2. Build (log: build/release.log)"
configure_and_build release -DKGRADE_TESTS=OFF || die "the build failed"

say "3. What this machine can do"
"$bin/kgrade" doctor --json >"$work/doctor.json" || true
isolation=full
if ! grep -Eq '"isolation": *"full"' "$work/doctor.json"; then
    isolation=reduced
    say ""
    say "   NOTICE: this machine cannot give the full sandbox, so this demonstration runs with"
    say "   --isolation reduced.  Do not grade candidates that you do not trust on it.  What is missing:"
    "$bin/kgrade" doctor | grep -A 1 -E '^  (NO|-) +sandbox' || true
    say ""
    # At that level jails have no root of their own, and their users cannot enter a checkout below /root.
    chmod 711 "$work"
    cmake --install "$root/build/release" --prefix "$work/kgrade" >/dev/null
    bin=$work/kgrade/bin
fi

say "4. Starting kgraded"
"$bin/kgraded" --config /dev/null --listen 127.0.0.1:0 --store "$work/kgrade.db" --isolation "$isolation" 2>"$work/kgraded.log" &
server=$!
url=
for _ in $(seq 100); do
    url=$(sed -n 's/.* listens on \(http:.*\)/\1/p' "$work/kgraded.log")
    [ -n "$url" ] && break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
done
[ -n "$url" ] || {
    cat "$work/kgraded.log" >&2
    die "kgraded did not start"
}
say "   $url"

say "5. Grading deploy/example/vector_add.c"
{
    printf '{"task": "vector_add", "device": "opencl", "language": "c", "source": '
    json_string "$example"
    printf '}'
} >"$work/request.json"
grade() {
    curl -sS --max-time 300 -H 'Content-Type: application/json' --data-binary @"$work/request.json" \
        -o "$work/result.json" "$url/grade?wait=280" || {
        cat "$work/kgraded.log" >&2
        die "kgraded did not answer"
    }
    verdict=$(grep -o '"verdict": *"[a-z_]*"' "$work/result.json" | head -n 1 | cut -d '"' -f 4) || true
    score=$(grep -o '"score": *[0-9.eE+-]*' "$work/result.json" | head -n 1 | sed 's/.*: *//') || true
}
for _ in 1 2 3; do
    grade
    case $verdict in
    unresolved | suspect) say "   $verdict: this machine is too busy for times that can be relied on; trying again" ;;
    *) break ;;
    esac
done
if command -v jq >/dev/null; then
    jq . "$work/result.json"
else
    cat "$work/result.json"
    echo
fi
say ""
say "verdict: ${verdict:-none}, score: $(LC_ALL=C printf %.3f "${score:-0}") (1 is as fast as the baseline), isolation: $isolation"
case $verdict in
accepted) ;;
unresolved | suspect) say "The answer is right, but this machine is too busy at the moment to score it; run this again later." ;;
*) die "the example was not accepted; see the reason above" ;;
esac

cat <<END

How to go on, with PATH=$root/build/release/bin:\$PATH
    kgrade tasks                                   what there is to solve
    kgrade show matmul                             what a candidate has to do
    kgrade new matmul -o mine.c                    a file to start from
    kgrade grade mine.c --task matmul              grade it, without a server
    kgraded --listen 127.0.0.1:8710                the server, on http://127.0.0.1:8710; keeps all grades
    deploy/check.sh                                all tests
deploy/README.md tells how to run the server for others.
END
