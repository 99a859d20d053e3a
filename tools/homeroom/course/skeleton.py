# SPDX-License-Identifier: MIT
"""skeleton.py - put what a student of a lab begins with into the kernel's files.

A file that differs from the last commit is left alone: it may hold somebody's work.
"""

import subprocess
import sys

from homeroom.course import lab as labs
from homeroom.course import regions
from homeroom.machine import TOP


def main() -> int:
    name = sys.argv[1] if len(sys.argv) == 2 else ""
    if name not in labs.names():
        print(f"skeleton: LAB={name}: there is no such lab; there are: {', '.join(labs.names())}", file=sys.stderr)
        return 2
    try:
        lab = labs.load(name)
        if lab.files:
            print(f"skeleton: labs/{name}/ has the files that a student begins with; no file of the kernel changes")
        for file in sorted({region.file for region in lab.regions}):
            if subprocess.run(["git", "diff", "--quiet", "HEAD", "--", file], cwd=TOP).returncode != 0:
                print(f"skeleton: {file} has changes: commit them; git checkout {file} throws them away", file=sys.stderr)
                return 1
        changed = set()
        for region in lab.regions:
            path = TOP / region.file
            old = path.read_text()
            new = regions.replaced(old, region.name, (TOP / region.skeleton).read_text(), region.file)
            path.write_text(new)
            changed |= {region.file} if new != old else set()
            print(f"{region.file}: region {region.name} is now {region.skeleton}")
        if changed:
            print(f"git checkout {' '.join(sorted(changed))} brings back what stood there")
    except (labs.LabError, regions.RegionError) as error:
        print(f"skeleton: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    labs.command("skeleton", main)
