#!/bin/sh
# Installs aof for you alone: fetches the archive of a version for this system, compares its SHA-256 sum with the release's list, and
# puts the program into ~/.local/bin. Nothing else is changed.
#
# Usage: install.sh [--to DIR] [VERSION]
# AOF_URL is the address of the folder with the archives and SHA256SUMS; without it, that of the release to which this script belongs.
set -eu

fail() {
    echo "install: $*" >&2
    exit 1
}

# Fetches a file of the release into the temporary folder.
get() {
    if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --output "$folder/$1" "$url/$1"
    elif command -v wget >/dev/null; then
        wget --quiet --tries=1 --output-document="$folder/$1" "$url/$1"
    else
        fail 'there is no `curl` and no `wget`; install one of them'
    fi || fail "cannot fetch $url/$1"
}

# All is in a function, so that half of a script does nothing.
main() {
    url=${AOF_URL:-@URL@} version=@VERSION@ to=''
    while [ $# -gt 0 ]; do
        case $1 in
        --to) [ $# -gt 1 ] || fail '`--to` needs a folder' && to=$2 && shift 2 ;;
        -*) fail "there is no option \`$1\`; usage: install.sh [--to DIR] [VERSION]" ;;
        *) version=${1#v} && shift ;;
        esac
    done
    # A release fills both in.
    case "$url $version" in @* | *' @'*) fail 'this script belongs to no release: set AOF_URL, and name a version' ;; esac
    url=${url%/}
    [ "$to" ] || to=${HOME:?is not set; name a folder with --to}/.local/bin

    case $(uname -s) in
    Linux) os=linux ;;
    Darwin) os=macos ;;
    *) fail "there is no archive for $(uname -s); build aof from its sources" ;;
    esac
    case $(uname -m) in
    x86_64 | amd64) arch=x86_64 ;;
    aarch64 | arm64) arch=aarch64 ;;
    *) fail "there is no archive for $(uname -m); build aof from its sources" ;;
    esac
    name=aof-$version-$arch-$os
    if command -v sha256sum >/dev/null; then
        sum=sha256sum
    elif command -v shasum >/dev/null; then
        sum='shasum -a 256'
    else
        fail 'there is no `sha256sum` and no `shasum`; install one of them'
    fi

    folder=$(mktemp -d)
    trap 'rm -rf "$folder" "$to/.aof.$$"' EXIT
    get SHA256SUMS
    wanted=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz\$/\1/p" "$folder/SHA256SUMS")
    [ "$wanted" ] || fail "$url/SHA256SUMS has no sum of $name.tar.gz: version $version has no archive for this system"
    get "$name.tar.gz"
    found=$($sum "$folder/$name.tar.gz" | cut -d' ' -f1)
    [ "$found" = "$wanted" ] || fail "$name.tar.gz is damaged: its sum is $found, and not $wanted; nothing was installed"

    tar -xzf "$folder/$name.tar.gz" -C "$folder"
    "$folder/$name/aof" --version >/dev/null || fail 'the program does not run here; build aof from its sources'
    # A running program is replaced, not written over.
    { mkdir -p "$to" && cp "$folder/$name/aof" "$to/.aof.$$" && mv "$to/.aof.$$" "$to/aof"; } || fail "cannot write into $to"
    echo "installed $("$to/aof" --version) as $to/aof"
    case :$PATH: in *:"$to":*) ;; *) echo "add $to to your PATH to run it as \`aof\`" ;; esac
}

main "$@"
