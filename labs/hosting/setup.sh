#!/bin/bash
# SPDX-License-Identifier: MIT
#
# setup.sh - install what grading needs, once, when the image is made: on Gradescope, and in labs/hosting/Containerfile.
#
# The trial at the end compiles the trusted files, which makes each grading faster, and shows that this image can grade.
set -eu
cd "$(dirname "$0")"

apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends make
sh tree/tools/deps.sh grade
if ! python3 -c 'import tomllib'; then
    echo "setup.sh: Python 3.11 or later is needed: choose a newer base image (Ubuntu 24.04, Debian 12)" >&2
    exit 1
fi
mkdir -p trial
sh run_autograder trial trial.json
