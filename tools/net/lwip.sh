#!/bin/sh
# SPDX-License-Identifier: MIT
#
# lwip.sh - download the sources of lwIP, from Debian's source package: lwip.sh ARCHIVE     (tools/deps.sh calls it)
#
# The mirrors that apt uses on this host are tried first, then Debian's own.  apt's helper uses the proxy settings of apt and
# compares the checksum (from the signed description of the package, lwip_2.1.3+dfsg1-2.dsc).  Without apt's helper, curl
# downloads the file.  A copy stays in the user's cache, so `make clean` does not cause another download.
set -eu
out=$1
path=pool/main/l/lwip/lwip_2.1.3+dfsg1.orig.tar.xz
sum=0a8276d09fc4e97bbba2f953d74af2388fc2195ea156be9d7589e297a68fde24
kept=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/homeroom/${path##*/}

is_it() { # FILE: status 0 if it is the archive, by its checksum
    [ -f "$1" ] && echo "$sum  $1" | sha256sum -c --status 2>/dev/null
}

mkdir -p "$(dirname "$out")"
if is_it "$kept"; then
    cp "$kept" "$out.part" && mv "$out.part" "$out"
    exit 0
fi
echo "deps.sh: fetching the sources of lwIP (Debian's package lwip)"
# shellcheck disable=SC2016 # apt, not the shell, expands the format
mirrors=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -i debian | sort -u || true)
archived=https://snapshot.debian.org/archive/debian/20230601T000000Z/
for mirror in $mirrors https://deb.debian.org/debian/ http://deb.debian.org/debian/ "$archived"; do
    rm -f "$out.part"
    if [ -x /usr/lib/apt/apt-helper ]; then
        /usr/lib/apt/apt-helper -o Acquire::Retries=2 -o APT::Sandbox::User= download-file "${mirror%/}/$path" \
            "$out.part" "SHA256:$sum" >/dev/null 2>&1 || true
    elif command -v curl >/dev/null 2>&1; then
        curl -fsSL -o "$out.part" "${mirror%/}/$path" || true
    fi
    if is_it "$out.part"; then
        if mkdir -p "$(dirname "$kept")" 2>/dev/null; then
            if cp "$out.part" "$kept.$$" 2>/dev/null; then mv "$kept.$$" "$kept"; fi
        fi
        mv "$out.part" "$out"
        exit 0
    fi
done
rm -f "$out.part"
echo "deps.sh: lwIP's sources cannot be fetched; put $path of a Debian mirror here: $out" >&2
exit 1
