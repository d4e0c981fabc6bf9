# shellcheck shell=bash
# What quickstart.sh and check.sh share.  Sourced after `set -eu`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() {
    printf '%s\n' "$*"
}

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 3
}

# Packages of packages.txt that are for one of the given purposes.
packages_for() {
    local purpose
    for purpose in "$@"; do
        awk -v purpose="$purpose" '$1 !~ /^#/ && $2 == purpose { print $1 }' "$root/deploy/packages.txt"
    done
}

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Runs a command as root, without asking a question that nobody can answer.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@"
    fi
}

can_be_root() {
    [ "$(id -u)" = 0 ] && return
    command -v sudo >/dev/null || return 1
    [ -t 0 ] || sudo -n true 2>/dev/null
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
        apt-get -y -q -o DPkg::Lock::Timeout=120 install --no-install-recommends "$@"
}

# Installs what is missing for the given purposes; touches neither apt nor the network when nothing is.
need_packages() {
    local package
    local -a missing=()
    if ! command -v dpkg-query >/dev/null; then
        say "This is neither Debian nor Ubuntu: have the counterparts of these packages installed:"
        say "   " "$(packages_for "$@" | tr '\n' ' ')"
        return
    fi
    for package in $(packages_for "$@"); do
        is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    can_be_root || die "these packages are missing; as root:  apt-get install ${missing[*]}"
    say "Installing: ${missing[*]}"
    # The lists may be absent or old; then the first try fails and costs little.
    if ! apt_install "${missing[@]}" >"$root/build/apt.log" 2>&1; then
        as_root apt-get -q -o DPkg::Lock::Timeout=120 update >>"$root/build/apt.log" 2>&1 ||
            say "apt-get update failed; going on with the lists that are there."
        apt_install "${missing[@]}" >>"$root/build/apt.log" 2>&1 || {
            tail -n 20 "$root/build/apt.log" >&2
            die "apt-get could not install: ${missing[*]} (the whole log: build/apt.log)"
        }
    fi
}

# configure_and_build PRESET [CMAKE OPTION]...: the log goes to build/PRESET.log and is shown only on failure.
configure_and_build() {
    local preset=$1 log=$root/build/$1.log
    shift
    (
        cd "$root"
        cmake --preset "$preset" "$@" && cmake --build --preset "$preset" -j "$(nproc)"
    ) >"$log" 2>&1 || {
        tail -n 60 "$log"
        return 1
    }
}

mkdir -p "$root/build"
