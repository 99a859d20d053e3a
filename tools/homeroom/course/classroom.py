# SPDX-License-Identifier: MIT
"""classroom.py - results.json as a line for GitHub Classroom's autograding-grading-reporter (labs/hosting/classroom.yml)."""

import base64
import json
import sys
from pathlib import Path

from homeroom.course.grade import points


def main() -> int:
    tests = json.loads(Path(sys.argv[1]).read_text())["tests"]
    score, most = points(tests)
    told = {
        "version": 1,
        "status": "pass" if score >= most else "fail",
        "max_score": most,
        "tests": [
            {
                "name": test["name"],
                "status": test["status"].removesuffix("ed"),
                "score": test["score"],
                "message": "",
                "line_no": 0,
            }
            for test in tests
        ],
    }
    print(f"result={base64.b64encode(json.dumps(told).encode()).decode()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
