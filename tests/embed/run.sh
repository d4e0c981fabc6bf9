#!/bin/sh
# Installs kgrade below a folder of its own, builds embed.c against that installation alone, through pkg-config, and
# grades with it, from a working folder that has nothing to do with the build.
# Usage: run.sh CMAKE BUILD_DIR SOURCE_DIR CC
set -eu

cmake=$1 build=$2 source=$3 cc=$4
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
trap 'exit 130' INT TERM

"$cmake" --install "$build" --prefix "$prefix" >"$prefix/install.log" || {
    cat "$prefix/install.log"
    exit 1
}
PKG_CONFIG_PATH=$(find "$prefix" -name kgrade.pc -exec dirname {} +)
export PKG_CONFIG_PATH
pc() {
    pkg-config --define-variable=prefix="$prefix" "$@" kgrade
}
libraries=$(pc --variable=libdir)

# The header must do for C++ too, and must not need any flag of ours.
cd "$prefix"
# shellcheck disable=SC2046 # the flags of pkg-config are meant to be words
"$cc" -std=c17 -Wall -Wextra -Werror -pedantic -o embed "$source/tests/embed/embed.c" \
    $(pc --cflags --libs) "-Wl,-rpath,$libraries"
echo '#include <kgrade/kgrade.h>' >header.cc
if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046
    c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only $(pc --cflags) header.cc
fi

test "$(pc --modversion)" = "$("$prefix/bin/kgrade" --version | cut -d' ' -f2)"
"$prefix/bin/kgrade" tasks

# On a machine that is busy with other things, the time of a right answer may be in doubt; times are not what is tested here.
verdict=$(./embed "$prefix" vector_add "$source/deploy/example/vector_add.c") || true
echo "$verdict"
case $verdict in
accepted* | unresolved* | suspect*) ;;
*) exit 1 ;;
esac
