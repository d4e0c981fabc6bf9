#!/usr/bin/env bash
# Every check of the project: layout, static analysis, all tests in a release build and under sanitizers, short fuzz runs.
# For Debian 12 and Ubuntu 24.04, as root or with sudo; may be run again at any time.  The last line sums up.
#
#   KGRADE_STRICT=1   what is skipped counts as failed
#   KGRADE_FUZZ_S=N   seconds for each fuzz target (3)
set -eu -o pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# Debian's Python modules are seen by Debian's Python only, whatever else is installed.
export PATH="/usr/bin:/bin:$PATH"

logs=$root/build/check
passed=0 failed=0 skipped=0
failures=()

# check NAME LIMIT_S COMMAND...: counts one check; 77 means skipped, as for ctest.
check() {
    local name=$1 limit=$2 log=$logs/${1//[^a-zA-Z0-9]/_}.log status=0 start=$SECONDS
    shift 2
    run_limited "$limit" "$@" >"$log" 2>&1 || status=$?
    case $status in
    0)
        passed=$((passed + 1))
        say "ok       $name ($((SECONDS - start)) s)"
        ;;
    77)
        skipped=$((skipped + 1))
        say "skipped  $name: $(tail -n 1 "$log")"
        ;;
    *)
        failed=$((failed + 1))
        failures+=("$name")
        say "FAILED   $name ($((SECONDS - start)) s)"
        [ $status != 124 ] || say "         it took longer than $limit s"
        tail -n 80 "$log" | sed 's/^/    /'
        ;;
    esac
    return 0
}

# Functions cannot be given to timeout(1); programs can.
run_limited() {
    local limit=$1
    shift
    if [ "$(type -t "$1")" = function ]; then
        ("$@")
    else
        timeout -k 10 "$limit" "$@"
    fi
}

junit_number() {
    sed -n "s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" "$2" | head -n 1
}

# suite PRESET LIMIT_S CTEST_ARGUMENT...: runs the tests of a build that is there, and adds up what ctest counted.
suite() {
    local preset=$1 limit=$2 junit=$logs/ctest-$1.xml status=0 total bad idle
    shift 2
    rm -f "$junit"
    (cd "$root" && timeout -k 10 "$limit" "${steady[@]}" ctest --preset "$preset" --no-tests=error \
        --output-junit "$junit" "$@") || status=$?
    if [ ! -s "$junit" ]; then
        failed=$((failed + 1))
        failures+=("tests ($preset): no result, status $status")
        return
    fi
    total=$(junit_number tests "$junit")
    bad=$(junit_number failures "$junit")
    idle=$(($(junit_number skipped "$junit") + $(junit_number disabled "$junit")))
    # A run that failed as a whole fails, whatever it counted.
    if [ $status != 0 ] && [ "$bad" = 0 ]; then
        bad=1
        total=$((total + 1))
    fi
    passed=$((passed + total - bad - idle))
    failed=$((failed + bad))
    skipped=$((skipped + idle))
    [ "$bad" = 0 ] || failures+=("tests ($preset): $bad")
}

# one_of GROUP NAME...: a pattern for these tests of the group.
one_of() {
    local group=$1 IFS='|'
    shift
    printf '^%s/(%s)$' "$group" "$*"
}

sources() {
    find "$root/server" "$root/grader" "$root/sandbox" "$root/tests" "$root/tasks" "$root/deploy" \
        -name '*.[ch]' -print0
}

# Our own code: hostile candidates are meant to be bad, and the rest of a task is read by its own compiler.
own_code() {
    find "$root/server" "$root/grader" "$root/sandbox" -name '*.c' -print0
}

check_layout() {
    local format=clang-format-14
    command -v $format >/dev/null || format=clang-format
    if ! $format --version 2>/dev/null | grep -q 'version 14\.'; then
        echo "clang-format 14 is missing"
        return 77
    fi
    sources | xargs -0 "$format" --dry-run -Werror 2>&1 | sed -n 's/^\(\/[^:]*\):.*/\1/p' | sort -u >"$logs/layout.txt"
    [ ! -s "$logs/layout.txt" ] && return
    echo "Not laid out as .clang-format wants it; $format -i does it:"
    cat "$logs/layout.txt"
    return 1
}

check_cppcheck() {
    own_code | xargs -0 timeout 1200 cppcheck --quiet --std=c11 --platform=unix64 -j "$(nproc)" --inline-suppr \
        --enable=warning,performance,portability --error-exitcode=1 \
        --suppressions-list="$root/.cppcheck-suppressions" \
        --cppcheck-build-dir="$logs/cppcheck" --include="$root/.cppcheck.h" \
        -I "$root/build/release/include" -D__linux__ -D_GNU_SOURCE -DKGRADE_DEVICE_OPENCL
}

# The analyzer is told to stop early in a function: it takes nine tenths of the time, most of it on the last few functions with many paths.
check_tidy() {
    local tidy=clang-tidy-14
    command -v $tidy >/dev/null || tidy=clang-tidy
    if ! command -v $tidy >/dev/null; then
        echo "clang-tidy is missing"
        return 77
    fi
    own_code | xargs -0 -n 1 -P "$(nproc)" timeout 600 "$tidy" -quiet -p "$root/build/release" \
        --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=40000
}

# Left out are two warnings that know only the calls within one file.
check_scripts() {
    (cd "$root" && grep -rIlE '^#!/(usr/)?bin/(env )?(ba)?sh' deploy tests tasks .ci |
        xargs shellcheck -x -P SCRIPTDIR -e SC2119,SC2317)
}

check_unit_file() {
    if ! command -v systemd-analyze >/dev/null; then
        echo "systemd-analyze is missing"
        return 77
    fi
    local installed=$logs/installed units
    units=$installed/lib/systemd/system
    rm -rf "$installed"
    cmake --install "$root/build/release" --prefix "$installed" >/dev/null
    systemd-analyze verify --man=no "$units/kgraded.service" "$units/kgraded.socket" 2>&1 | tee "$logs/verify.txt"
    ! grep -F kgraded "$logs/verify.txt" || return 1
    # In tenths: at most 5.0 of 10.
    systemd-analyze security --no-pager --offline=true --threshold=50 "$units/kgraded.service"
}

check_manual() {
    if ! command -v man >/dev/null; then
        echo "man is missing"
        return 77
    fi
    local page said
    for page in "$root"/deploy/man/*.[1-8]; do
        said=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
        [ -z "$said" ] || {
            echo "$page: $said"
            return 1
        }
    done
}

build_fuzz() {
    # The compiler whose fuzzer runtime packages.txt names.
    cd "$root"
    cmake --preset fuzz -DCMAKE_C_COMPILER=clang-14 -DKGRADE_TESTS=ON -DKGRADE_WERROR=OFF &&
        cmake --build --preset fuzz -j "$(nproc)" --target fuzzers
}

build_threaded() {
    cd "$root"
    cmake --preset tsan -DKGRADE_TESTS=ON -DKGRADE_WERROR=OFF "-DCMAKE_C_FLAGS_DEBUG=-g -O1" &&
        cmake --build --preset tsan -j "$(nproc)" --target threaded
}

# fuzz_one NAME: for a short while, and always in the same way; long runs are for those who hunt.
fuzz_one() {
    local status=0
    timeout -k 10 600 "$root/tests/fuzz/run" --build "$root/build/fuzz" --work "$logs/fuzz" --seed 1 \
        --seconds "${KGRADE_FUZZ_S:-3}" "$1" >"$logs/fuzz/$1.log" 2>&1 || status=$?
    echo $status >"$logs/fuzz/$1.status"
}

told_by_fuzz() {
    cat "$logs/fuzz/$1.log"
    return "$(cat "$logs/fuzz/$1.status")"
}

# Each target needs one core.
fuzz() {
    local target
    local -a names=()
    for target in "$root"/build/fuzz/bin/fuzz_*; do
        [ ! -x "$target" ] || names+=("${target##*/fuzz_}")
    done
    mkdir -p "$logs/fuzz"
    for target in ${names[@]+"${names[@]}"}; do
        while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do
            wait -n
        done
        fuzz_one "$target" &
    done
    wait
    for target in ${names[@]+"${names[@]}"}; do
        check "fuzz $target" 60 told_by_fuzz "$target"
    done
}

finish() {
    if [ "${KGRADE_STRICT:-0}" = 1 ] && [ $skipped -gt 0 ]; then
        say "KGRADE_STRICT=1: $skipped skipped count as failed"
        failed=$((failed + skipped))
        skipped=0
    fi
    for name in ${failures[@]+"${failures[@]}"}; do
        say "failed: $name"
    done
    say "$passed passed, $failed failed, $skipped skipped"
    [ $failed = 0 ]
}

mkdir -p "$logs/cppcheck"
need_packages build grade quickstart check

# Sanitizers map fixed addresses, which address-space randomisation of newer kernels can be in the way of.
steady=()
if setarch -R true 2>/dev/null; then
    steady=(setarch -R)
fi

check "layout" 60 check_layout
check "scripts" 120 check_scripts
check "build (release)" 900 configure_and_build release -DKGRADE_TESTS=ON
check "cppcheck" 1200 check_cppcheck
check "clang-tidy" 1200 check_tidy
check "systemd unit" 60 check_unit_file
check "manual" 60 check_manual
# Three at a time: a test often waits, for a deadline or for one compiler or worker.
# Left out is what the sanitizers below run as well.
suite release 1800 -j 3 -E "$(one_of attacks crash recordings)|$(one_of cli db usage)|$(one_of http jobs malformed openapi \
    options requests wire)|^unit/([^h]|h[^e])|^fuzz/|^hip/candidates"

# The warnings that count are those of the release build: with sanitizers the compiler sees ghosts.
check "build (asan)" 900 configure_and_build asan -DKGRADE_TESTS=ON -DKGRADE_WERROR=OFF "-DCMAKE_C_FLAGS_DEBUG=-g -O1"
# What the sanitizers look at is our own code, and a few groups of candidates lead through all of it; the others differ in what
# the candidate does.
suite asan 1800 -j 3 -E "$(one_of attacks build device files honest leaks memory network outside persistence processes \
    protocol python refused resources system table timeout wrong)|$(one_of cli compare grade lint profile recording regrade_browser report report_browser \
    tasks terminal)|$(one_of http callers \
    client crowd events grades kills manager reload restart shutdown)|$(one_of unit health)|^gpu/|^tasks/|^hacks/|^hip/[^c]|^hip/compile"

check "build (tsan)" 900 build_threaded
suite tsan 1200 -j 3 -L tsan

check "build (fuzz)" 900 build_fuzz
fuzz

finish
