# SPDX-License-Identifier: MIT
"""paper.py - extract the code listing of the white paper's Appendix A from the paper's text.

The listing is not ours, so it is not in the repository.  The text was made from the PDF, which broke the listing in two
ways.  Only these are repaired: Markdown fences cut the code into pieces, and around the page break before
``printf("\\n")`` the closing braces appear twice.
"""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def paper_path():
    """The file with the paper's text, named by PAPER; None without PAPER."""
    name = os.environ.get("PAPER")
    if not name:
        return None
    if not Path(name).is_file():
        raise FileNotFoundError(f"PAPER={name} is not a file")
    return Path(name)


def listing(text):
    """The C source of the code sample in the paper's text.  ValueError if the text is not as expected."""
    start = text.index("Code Sample: Obtaining information and controlling the MPO feature")
    end = text.index("Appendix B", start)
    blocks = re.findall(r"^```\n(.*?)^```$", text[start:end], re.DOTALL | re.MULTILINE)
    if len(blocks) < 2:
        raise ValueError("the paper's listing has no code blocks")
    source = "".join(blocks)
    # Before the page break are the ends of `if`, `for` and the function; after it the ends of `if` and `for` again.  So
    # there is one pair of `}` too many on each side.
    broken = re.compile(r"(\n {4}\}\n)\}\n {4}\}\n\}\n(printf\(\"\\n\"\);\n\})")
    source, repaired = broken.subn(r"\1\2", source)
    if repaired != 1:
        raise ValueError('the page break before printf("\\n") is not where it was')
    return source
