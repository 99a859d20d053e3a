# SPDX-License-Identifier: MIT
"""The code listing of the white paper's Appendix A, taken out of the paper's text.

The listing is not ours and is not in the repository.  Extraction from the PDF broke it in two
ways, and these alone are repaired here: the code is cut into pieces by Markdown fences, and the
closing braces before a page break are repeated after it, round the break before ``printf("\\n")``.
"""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def paper_path():
    """The paper's text file, which PAPER= names; None without one."""
    name = os.environ.get("PAPER")
    if not name:
        return None
    if not Path(name).is_file():
        raise FileNotFoundError(f"PAPER={name} is not a file")
    return Path(name)


def listing(text):
    """The C source of the code sample in the paper's text."""
    start = text.index("Code Sample: Obtaining information and controlling the MPO feature")
    end = text.index("Appendix B", start)
    blocks = re.findall(r"^```\n(.*?)^```$", text[start:end], re.DOTALL | re.MULTILINE)
    if len(blocks) < 2:
        raise ValueError("the paper's listing has no code blocks")
    source = "".join(blocks)
    # for { if { printf } } and the function's end stand before the page break; the end of the
    # `if` and of the `for` stand behind it once more: one pair of `}` too many on each side.
    broken = re.compile(r"(\n {4}\}\n)\}\n {4}\}\n\}\n(printf\(\"\\n\"\);\n\})")
    source, repaired = broken.subn(r"\1\2", source)
    if repaired != 1:
        raise ValueError('the page break before printf("\\n") is not where it was')
    return source
