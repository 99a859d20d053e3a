# SPDX-License-Identifier: MIT
"""synthetic.py - submissions of the lab "home" as a class hands them in: correct ones that differ, broken ones, and a copy.

An honest submission is a choice among ways to write each part of the solution (WAYS), with names and an order of its own.
All choices are correct.  A copy is the same choice with other names and other comments.
"""

import random
from pathlib import Path

from homeroom.course import regions
from homeroom.machine import TOP

NAMES = {
    "nth": ["nth_member", "member_at", "pick", "skip_to", "select_bit"],
    "scan": ["least_loaded", "idlest", "find_min", "scan_set", "lowest_load"],
    "aff": ["by_affinity", "preferred", "best_affinity", "aff_choice"],
    "fudge": ["margin", "slack_of", "fudge_of", "share"],
    "better": ["is_better", "less_loaded", "beats", "wins"],
    "spread": ["should_spread", "leave_own", "go_elsewhere", "expand"],
    "g": ["g", "i", "lg", "cur", "id"],
    "best": ["best", "winner", "res", "found", "chosen"],
    "start": ["start", "first", "begin", "origin"],
    "set": ["set", "mask", "cands", "bits"],
    "tol": ["tolerance", "tol", "eps", "gap"],
    "most": ["most", "max", "top", "high"],
    "other": ["other", "away", "foreign", "alt"],
    "own": ["own", "mine", "used", "local"],
    "left": ["left", "rest", "todo", "remaining"],
    "n": ["n", "count", "len", "total"],
}
COMMENTS = [
    "the least loaded one",
    "see the handout",
    "wraps around",
    "ties are random",
    "one lgroup after the other",
    "helper",
]

NTH = [
    "while ($skip-- > 0)\n        $set &= $set - 1;\n    return bit_first($set);",
    "for (; $skip > 0; $skip--)\n        $set &= ~(1ull << bit_first($set));\n    return bit_first($set);",
    "for (unsigned $g = 0; $g < 64; $g++) {\n        if (!bit_test($set, $g))\n            continue;\n"
    "        if ($skip == 0)\n            return $g;\n        $skip--;\n    }\n    return NONE;",
    "if ($skip == 0)\n        return bit_first($set);\n    return $nth($set & ($set - 1), $skip - 1);",
    "unsigned $n = 0;\n\n    do {\n        if (bit_test($set, $n) && $skip-- == 0)\n            break;\n"
    "    } while (++$n < 64);\n    return $n;",
]
FUDGE = [
    "uint64_t slack = in->ncpus[$g] != 0 ? $tol / in->ncpus[$g] : 0;",
    "uint64_t slack = $fudge(in, $g, $tol);",
    "uint64_t slack = 0;\n            uint32_t cpus = in->ncpus[$g];\n\n"
    "            if (cpus > 0)\n                slack = $tol / cpus;",
]
BETTER = [
    "$best == NONE || in->load[$g] + slack < in->load[$best]",
    "$best == NONE || (in->load[$best] > slack && in->load[$best] - slack > in->load[$g])",
    "$better(in, $g, $best, slack)",
]
DRAW = [
    "(unsigned)(((uint64_t)in->rnd * bit_count($set)) >> 32)",
    "in->rnd % (unsigned)bit_count($set)",
]
STEP = "{fudge}\n\n            if ({better})\n                $best = $g;"
SCAN = [  # {draw}: which member is the first
    "unsigned $start = $nth($set, {draw});\n    uint64_t low = $set & ((1ull << $start) - 1);\n"
    "    uint64_t $left = $set & ~low;\n    unsigned $best = NONE;\n\n"
    "    for (int half = 0; half < 2; half++, $left = low) {{\n        for (; $left != 0; $left &= $left - 1) {{\n"
    "            unsigned $g = bit_first($left);\n            {step}\n        }}\n    }}\n    return $best;",
    "unsigned $start = $nth($set, {draw}), $best = NONE;\n\n    for (unsigned k = 0; k < 64; k++) {{\n"
    "        unsigned $g = ($start + k) % 64;\n\n        if (bit_test($set, $g)) {{\n            {step}\n        }}\n    }}\n"
    "    return $best;",
    "unsigned members[64], $n = 0, $best = NONE, $start = {draw};\n\n    for (unsigned k = 0; k < 64; k++)\n"
    "        if (bit_test($set, k))\n            members[$n++] = k;\n    for (unsigned k = 0; k < $n; k++) {{\n"
    "        unsigned $g = members[($start + k) % $n];\n            {step}\n    }}\n    return $best;",
    "unsigned $start = $nth($set, {draw});\n    uint64_t $left = $start == 0 ? $set : $set >> $start | $set << (64 - $start);\n"
    "    unsigned $best = NONE;\n\n    while ($left != 0) {{\n        unsigned $g = (bit_first($left) + $start) % 64;\n"
    "            {step}\n        $left &= $left - 1;\n    }}\n    return $best;",
    "unsigned $g = $nth($set, {draw}), $best = NONE;\n    unsigned $n = (unsigned)bit_count($set);\n\n    do {{\n"
    "        if (bit_test($set, $g)) {{\n            {step}\n            $n--;\n        }}\n"
    "        $g = $g == 63 ? 0 : $g + 1;\n"
    "    }} while ($n > 0);\n    return $best;",
]
AFFINITY = [
    "unsigned $best = NONE, $most = 0;\n\n    if (in->aff == NULL)\n        return NONE;\n"
    "    if (in->home != NONE && bit_test(in->cand, in->home) && in->aff[in->home] != 0) {\n        $best = in->home;\n"
    "        $most = in->aff[$best];\n    }\n    for (uint64_t $left = in->cand; $left != 0; $left &= $left - 1) {\n"
    "        unsigned $g = bit_first($left);\n\n        if (in->aff[$g] > $most) {\n            $most = in->aff[$g];\n"
    "            $best = $g;\n        }\n    }\n    return $best;",
    "unsigned $most = 0;\n\n    for (unsigned $g = 0; $g < 64 && in->aff != NULL; $g++)\n"
    "        if (bit_test(in->cand, $g) && in->aff[$g] > $most)\n            $most = in->aff[$g];\n    if ($most == 0)\n"
    "        return NONE;\n    if (in->home < 64 && bit_test(in->cand, in->home) && in->aff[in->home] == $most)\n"
    "        return in->home;\n    for (unsigned $g = 0; $g < 64; $g++)\n"
    "        if (bit_test(in->cand, $g) && in->aff[$g] == $most)\n            return $g;\n    return NONE;",
    "const uint8_t *points = in->aff;\n    unsigned $best = NONE;\n    int $most = 0;\n\n    if (points == NULL)\n"
    "        return $best;\n    for (unsigned $g = 0; $g < 64; $g++) {\n"
    "        if (!bit_test(in->cand, $g) || points[$g] == 0)\n"
    "            continue;\n        if (points[$g] > $most || (points[$g] == $most && $g == in->home)) {\n"
    "            $best = $g;\n            $most = points[$g];\n        }\n    }\n    return $best;",
    "uint64_t $left = in->aff != NULL ? in->cand : 0;\n    unsigned $best = NONE;\n\n    while ($left != 0) {\n"
    "        unsigned $g = bit_first($left);\n        unsigned mine = 2u * in->aff[$g] + ($g == in->home);\n"
    "        unsigned $most = $best == NONE ? 1 : 2u * in->aff[$best] + ($best == in->home);\n\n"
    "        if (mine > $most)\n            $best = $g;\n        $left &= ~(1ull << $g);\n    }\n    return $best;",
]
CONDITION = "in->load[$best] > in->expand_thresh &&\n        (uint64_t)in->load[$other] + in->expand_diff < in->load[$best]"
CHOOSE = [
    "uint64_t $own = in->cand & in->spanned;\n    unsigned $best, $other;\n\n    if (in->cand == 0)\n        return NONE;\n"
    "    $best = $aff(in);\n    if ($best != NONE)\n        return $best;\n    if ($own == 0)\n"
    "        return $scan(in, in->cand, in->tolerance);\n    $best = $scan(in, $own, 0);\n"
    "    if (in->cand == $own)\n        return $best;\n    $other = $scan(in, in->cand & ~$own, in->tolerance);\n"
    "    if ({condition})\n        return $other;\n    return $best;",
    "unsigned $best = NONE;\n\n    if (in->cand != 0) {\n        $best = $aff(in);\n        if ($best == NONE) {\n"
    "            uint64_t $own = in->spanned & in->cand;\n            uint64_t rest = in->cand & ~$own;\n\n"
    "            if ($own == 0) {\n                $best = $scan(in, rest, in->tolerance);\n            } else {\n"
    "                $best = $scan(in, $own, 0);\n                if (rest != 0) {\n"
    "                    unsigned $other = $scan(in, rest, in->tolerance);\n\n                    if ({condition})\n"
    "                        $best = $other;\n                }\n            }\n        }\n    }\n    return $best;",
    "uint64_t $own = in->cand & in->spanned, $left = in->cand & ~in->spanned;\n    unsigned decided = $aff(in);\n"
    "    unsigned $best = $own != 0 ? $scan(in, $own, 0) : NONE;\n"
    "    unsigned $other = $left != 0 ? $scan(in, $left, in->tolerance) : NONE;\n\n    if (decided != NONE)\n"
    "        return decided;\n    if ($best == NONE)\n        return $other;\n    if ($other == NONE)\n        return $best;\n"
    "    return {condition} ? $other : $best;",
    "const uint64_t both[2] = {in->cand & in->spanned, in->cand & ~in->spanned};\n    unsigned two[2] = {NONE, NONE};\n"
    "    unsigned $best = $aff(in), $other;\n\n    if ($best != NONE)\n        return $best;\n"
    "    for (int k = 0; k < 2; k++)\n        if (both[k] != 0)\n"
    "            two[k] = $scan(in, both[k], k == 0 ? 0 : in->tolerance);\n    $best = two[0];\n    $other = two[1];\n"
    "    if ($best == NONE || $other == NONE)\n        return $best == NONE ? $other : $best;\n    if (!({condition}))\n"
    "        return $best;\n    return $other;",
]
SPREAD = ["{condition}", "$spread(in, $best, $other)"]
ORDERS = [0, 1, 2]
WAYS = (NTH, FUDGE, BETTER, DRAW, SCAN, AFFINITY, CHOOSE, SPREAD, ORDERS)

IN = "const struct lgrp_home_in *in"


def function(head: str, body: str) -> str:
    return f"static {head}\n{{\n    {body}\n}}\n"


def text_of(choice: tuple[int, ...], names: dict[str, str], comments: list[str]) -> str:
    """The region of a choice among WAYS."""
    nth, fudge, better, draw, scan, affinity, choose, spread, order = (way[i] for way, i in zip(WAYS, choice, strict=True))
    helpers = []
    body = scan.format(draw=draw, step=STEP.format(fudge=fudge, better=better))
    if "$nth" in body:
        helpers.append(function("unsigned $nth(uint64_t $set, unsigned $skip)", nth))
    if "$fudge" in body:
        helpers.append(
            function(
                f"uint64_t $fudge({IN}, unsigned $g, uint32_t $tol)", "return in->ncpus[$g] == 0 ? 0 : $tol / in->ncpus[$g];"
            )
        )
    if "$better" in body:
        helpers.append(
            function(f"int $better({IN}, unsigned $g, unsigned $best, uint64_t slack)",
                     "if ($best == NONE)\n        return 1;\n    return in->load[$g] + slack < in->load[$best];")
        )  # fmt: skip
    scanning = [*helpers[::-1], function(f"unsigned $scan({IN}, uint64_t $set, uint32_t $tol)", body)]
    affine = [function(f"unsigned $aff({IN})", affinity)]
    if "$spread" in spread:
        affine.append(function(f"int $spread({IN}, unsigned $best, unsigned $other)", f"return {CONDITION};"))
    parts = [scanning + affine, affine + scanning, affine[:1] + scanning + affine[1:]][order]
    last = choose.replace("{condition}", spread.format(condition=CONDITION))
    parts.append(f"unsigned lgrp_choose_home({IN})\n{{\n    {last}\n}}\n")
    text = "\n".join(f"/* {comment} */\n{part}" for comment, part in zip(comments * 2, parts, strict=False))
    for role in sorted(names, key=len, reverse=True):
        text = text.replace(f"${role}", names[role])
    return text


class Class:
    """Submissions, drawn from a seed.  No two honest ones are the same choice."""

    def __init__(self, seed: int) -> None:
        self._random, self._seen = random.Random(seed), set()

    def _written(self, choice: tuple[int, ...]) -> str:
        names = {role: self._random.choice(all_of) for role, all_of in NAMES.items()} | {"skip": "skip"}
        return text_of(choice, names, self._random.sample(COMMENTS, len(COMMENTS)))

    def _drawn(self) -> tuple[int, ...]:
        return tuple(self._random.randrange(len(way)) for way in WAYS)

    def honest(self) -> str:
        plain = {role: role for role in [*NAMES, "skip"]}
        while (text := text_of(choice := self._drawn(), plain, COMMENTS)) in self._seen:
            pass
        self._seen.add(text)
        return self._written(choice)

    def copied(self) -> tuple[str, str]:
        """A text and its copy with other names."""
        choice = self._drawn()
        return self._written(choice), self._written(choice)


def whole(text: str) -> str:
    """The kernel's file with this text in the region."""
    return regions.replaced((TOP / "kernel/lgrp/home.c").read_text(), "home", text, "home.c")


BROKEN = {  # by student: whether it has all points, and the beginning of the sentence
    "does-not-compile": (False, "home.c does not compile: home.c:"),
    "empty": (False, "home.c has no region home: keep the lines"),
    "other-name": (True, "mine.c is graded as kernel/lgrp/home.c"),
    "large": (False, "home.c has more than 1 MiB: it is not read"),
    "line-ends": (True, ""),
    "outside": (True, "home.c differs from kernel/lgrp/home.c outside its regions; that is not graded"),
}


def write(folder: Path, honest: int, seed: int) -> None:
    """Write submissions: `honest` good ones, two that are copies of each other, and a broken one of each kind."""
    print(f"synthetic submissions of seed {seed}")
    drawn = Class(seed)
    files = {f"s{i:03}/home.c": whole(drawn.honest()).encode() for i in range(honest)}
    for name, text in zip(("copied-a", "copied-b"), drawn.copied(), strict=True):
        files[f"{name}/kernel/lgrp/home.c"] = whole(text).encode()
    good = [whole(drawn.honest()) for _ in BROKEN]
    files["does-not-compile/home.c"] = good[0].replace("return", "retrun").encode()
    files["empty/home.c"] = b""
    files["other-name/mine.c"] = good[2].encode()
    files["large/home.c"] = good[3].encode() + b"\n" * (100 << 20)
    files["line-ends/home.c"] = b"\xef\xbb\xbf" + good[4].replace("\n", "\r\n").encode()
    files["outside/home.c"] = b"#error\n" + good[5].encode()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(data)
