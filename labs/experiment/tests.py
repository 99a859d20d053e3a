# SPDX-License-Identifier: MIT
"""tests.py - the tests of the lab "experiment" (labs/experiment/README.md); lab.toml has their points.

Each gets a trial (tools/homeroom/course/experiment_grader.py).  What a machine cannot judge is in the rubric of the instructor.
"""

import re

from homeroom.course import experiment
from homeroom.course.experiment import COLUMNS
from homeroom.course.trial import Wrong

NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w]|\.\d)")


def file_is_valid(t):
    t.no_fault("file_is_valid")


def one_machine(t):
    t.no_fault("one_machine")


def one_change(t):
    t.no_fault("one_change")


def several_seeds(t):
    t.no_fault("several_seeds")


def prediction_can_be_wrong(t):
    t.no_fault("prediction_can_be_wrong")


def prediction_has_a_reason(t):
    t.no_fault("prediction_has_a_reason")


def prediction_is_recorded(t):
    t.place("predict")


def prediction_is_older(t):
    recorded, row = t.place("predict"), t.place("measure")
    if row < recorded:
        raise Wrong(f"the prediction is line {recorded + 1} of {experiment.LOG}, after its row in line {row + 1}")


def columns_were_new(t):
    """No row of the same columns, for another prediction, is before this prediction."""
    h = t.hypothesis
    for i, entry in enumerate(t.answer.log[: t.place("predict")], 1):
        if entry.get("experiment") == h.experiment and entry.get("hypothesis") != h.digest:
            raise Wrong(f"line {i} of {experiment.LOG} is a row of these columns: their ratio was known before this prediction")


def row_is_whole(t):
    experiment.row_of(t.answer.log, t.hypothesis)


def row_repeats(t):
    h, row = t.hypothesis, t.row
    seed = t.random.choice(h.seeds)
    for column in COLUMNS:
        found = h.boot(column, seed)
        if not experiment.repeats(h, row, column, seed, found):
            t.expect(f"[{column}] with seed {seed}, booted again", row.values[column][seed], found)
            raise Wrong(f"[{column}] with seed {seed}, booted again: {found} is not among the values of the row")


def report_has_its_sections(t):
    report = t.answer.text(experiment.REPORT)
    t.expect("the sections of the report", list(experiment.SECTIONS), list(experiment.sections(report)))
    for title, to_write in experiment.SECTIONS.items():
        words = len(t.section(title).split())
        if not words:
            raise Wrong(f"section {title} is empty")
        if to_write and (words < experiment.SECTION_WORDS or experiment.WRITE_HERE in t.section(title)):
            raise Wrong(f"section {title} has {words} words, or the draft's: write {experiment.SECTION_WORDS} of your own")


def report_states_the_prediction(t):
    p = t.hypothesis.prediction
    found = numbers(t.section("Prediction"))
    for key in ("ratio", "least", "most"):
        if not any(same(p[key], text) for text in found):
            raise Wrong(f"section Prediction does not have {p[key]:g}, the {key} of {experiment.FILE}")


def report_has_a_base(t):
    """A ratio stands beside the two numbers that it compares."""
    found = numbers(t.section("Result"))
    for column in COLUMNS:
        title, median = t.hypothesis.columns[column].title, t.row.median(column)
        if title not in t.section("Result") or not any(same(median, text) for text in found):
            raise Wrong(f"section Result does not have {title!r} with its median, {experiment.number(median)}")


def report_numbers_are_of_the_row(t):
    """Numbers with a decimal point, or of four digits and more, in the section Result."""
    known = [*t.row.numbers(), *(t.hypothesis.prediction[key] for key in ("ratio", "least", "most"))]
    known += t.hypothesis.seeds
    found = numbers(t.section("Result"))
    if not found:
        raise Wrong("section Result has no number")
    for text in found:
        if ("." in text or len(text) > 3) and not any(same(value, text) for value in known):
            raise Wrong(f"section Result has {text}, which is no number of the row, its medians, ratios and spreads")


def verdict_follows(t):
    found = re.findall(r"^Verdict: (held|did not hold)$", t.section("Result"), re.M)
    t.expect("the line 'Verdict: held' or 'Verdict: did not hold' in section Result",
             [experiment.verdict(t.hypothesis, t.row)], found)  # fmt: skip


def numbers(text: str) -> list[str]:
    return [found.replace(",", "") for found in NUMBER.findall(text)]


def same(value: float, text: str) -> bool:
    """Whether a number, as written, is the value rounded to as many decimals, or to three or more digits."""
    decimals = len(text.partition(".")[2])
    digits = len(text.replace(".", "").strip("0"))
    return f"{value:.{decimals}f}" == text or (digits >= 3 and float(f"{value:.{digits}g}") == float(text))
