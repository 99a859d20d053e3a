# SPDX-License-Identifier: MIT
"""metrics.py - compute the numbers of tables from the output of benchmarks.

For each measurement, a benchmark prints a line `result: key=value ...` and, with the interconnect model, a line
`counters: ...` after it.  A metric is a function of these two lines.  Its kind tells what the number means: modelled time,
counts, instructions or elapsed ("wall") time (docs/experiments.md).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field


class MetricError(Exception):
    """The output of a run lacks something that a metric needs; the text is one line."""


@dataclass
class Measurement:
    """One `result:` line, with its `counters:` line and its pages in each lgroup."""

    result: dict[str, str]
    counters: dict[str, int] = field(default_factory=dict)
    pages: dict[int, int] = field(default_factory=dict)  # lgroup -> pages, from the lines before the result


@dataclass(frozen=True)
class Metric:
    kind: str  # modelled, counters, instructions, wall
    value: Callable[[Measurement], float]


def _words(line: str) -> dict[str, str]:
    return {key: value for key, equals, value in (word.partition("=") for word in line.split()) if equals}


def parse(log: str) -> list[Measurement]:
    """The measurements in a console log, in order."""
    found: list[Measurement] = []
    pages: dict[int, int] = {}
    for line in log.replace("\r", "").splitlines():
        if line.startswith("result: "):
            found.append(Measurement(_words(line[8:]), {}, pages))
            pages = {}
        elif line.startswith("counters: ") and found:
            found[-1].counters = {k: int(v) for k, v in _words(line[10:]).items() if v.isdigit()}
        elif line.startswith("placement "):
            pages = {}
        else:
            pages |= {int(lgroup): int(n) for lgroup, n in re.findall(r"\blgroup (\d+): (\d+) pages", line)}
    return found


def select(measurements: list[Measurement], bench: str | None, wanted: dict, starts: int = 1) -> list[Measurement]:
    """The measurements with these keys.  MetricError unless there are `starts` of them, one for each start of the program."""
    want = {k: str(v) for k, v in ({"bench": bench} | wanted if bench else wanted).items()}
    fits = [m for m in measurements if all(m.result.get(k) == v for k, v in want.items())]
    if len(fits) != starts:
        text = " ".join(f"{k}={v}" for k, v in want.items()) or "no key"
        must = "one must" if starts == 1 else f"{starts} must"
        raise MetricError(f"{len(fits)} of {len(measurements)} result lines have {text}; {must}")
    return fits


def _result(key: str) -> Callable[[Measurement], float]:
    """The metric that is a value of the result line."""
    def value(m: Measurement) -> float:
        if key not in m.result:
            raise MetricError(f"the result line has no {key}= (was the model attached?)")
        return float(m.result[key])

    return value


def _counters(m: Measurement, *keys: str) -> list[int]:
    if missing := [k for k in keys if k not in m.counters]:
        raise MetricError(f"no counter {missing[0]} (was the model attached?)")
    return [m.counters[k] for k in keys]


def _share(part: str, *rest: str) -> Callable[[Measurement], float]:
    """The metric that is the percentage of a counter in the sum of it and others."""

    def value(m: Measurement) -> float:
        values = _counters(m, part, *rest)
        if sum(values) == 0:
            raise MetricError(f"counters {part} and {', '.join(rest)} are all 0")
        return 100.0 * values[0] / sum(values)

    return value


def _local_beyond_home(m: Measurement) -> float:
    """Percentage points by which the share of local load misses exceeds the share of run time at home."""
    return _share("load_miss_local", "load_miss_remote")(m) - (100.0 - _result("off_home_time_pct")(m))


def _pages(choose: Callable) -> Callable[[Measurement], float]:
    """The metric that is `choose` (min or max) of the pages in each lgroup."""
    def value(m: Measurement) -> float:
        if not m.pages:
            raise MetricError("no lgroup breakdown before the result line")
        return float(choose(m.pages.values()))

    return value


METRICS: dict[str, Metric] = {
    "modelled_mbps": Metric("modelled", _result("modelled_mbps")),
    "modelled_s": Metric("modelled", _result("modelled_s")),
    "modelled_s_per_iteration": Metric("modelled", _result("modelled_s_per_iteration")),
    "modelled_rows_per_s": Metric("modelled", _result("modelled_rows_per_s")),
    "modelled_objects_per_s": Metric("modelled", _result("modelled_objects_per_s")),
    "tps": Metric("modelled", _result("tps")),  # transactions per modelled second
    **{
        f"{name}_pct": Metric("counters", _result(f"{name}_pct"))
        for name in (
            "private_miss", "shared_miss", "data_miss", "heap_miss", "stack_miss", "sga_miss",
            "private_remote", "private_local", "shared_remote", "shared_local",
        )
    },
    "remote_load_misses": Metric("counters", _share("load_miss_remote", "load_miss_local")),
    "remote_misses": Metric("counters", _share("miss_remote", "miss_local")),
    "local_load_misses": Metric("counters", _share("load_miss_local", "load_miss_remote")),
    "local_beyond_home": Metric("counters", _local_beyond_home),
    "fewest_pages": Metric("counters", _pages(min)),
    "most_pages": Metric("counters", _pages(max)),
}


def compare(how: str, base: float, new: float) -> float:
    """The gain of `new` over `base`.

    `how`: "rate", percent by which a rate grows; "time", percent of a time that is saved; "points", percentage points by
    which a percentage falls.
    """
    if how == "points":
        return base - new
    if base == 0:
        raise MetricError("the base of the comparison is 0")
    return 100.0 * (new / base - 1.0) if how == "rate" else 100.0 * (1.0 - new / base)
