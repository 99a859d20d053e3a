#!/bin/bash
# SPDX-License-Identifier: MIT
#
# setup.sh - install what grading needs, once, when the image is made: on Gradescope, and in labs/hosting/Containerfile.
#
# What each grading needs is built here: the kernel's objects and the programs, if the lab boots, and with the trial at the end
# the trusted files of the host tests.  The trial also shows that this image can grade.
set -eu
cd "$(dirname "$0")"

apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends make
sh tree/tools/deps.sh @GROUPS@
if ! python3 -c 'import tomllib'; then
    echo "setup.sh: Python 3.11 or later is needed: choose a newer base image (Ubuntu 24.04, Debian 12)" >&2
    exit 1
fi
make -s -C tree @GOALS@ >/dev/null
mkdir -p trial
sh run_autograder trial trial.json
