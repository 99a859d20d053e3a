# SPDX-License-Identifier: MIT
"""experiment_grader.py - what the lab "experiment" has in place of a program with a student's code: files, and boots.

Its tests (labs/experiment/tests.py) compare a student's files with each other, and boot both columns once more.  Nothing that
the student wrote runs on the host: a command of hypothesis.toml is a benchmark of the tree, in the guest.
"""

import functools

from homeroom.course import experiment
from homeroom.course.experiment import ExperimentError, Fault, HostError, Hypothesis
from homeroom.course.grade import Grader
from homeroom.course.lab import LabError, Test
from homeroom.course.trial import Trial, Wrong
from homeroom.machine import MachineError


class Answer:
    """The files of a submission, by name; one that is missing or unreadable is a fault when a test needs it."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def text(self, name: str) -> str:
        if name not in self._texts:
            raise ExperimentError(f"{name} is missing, or cannot be read")
        return self._texts[name]

    @functools.cached_property
    def parsed(self) -> tuple[Hypothesis | None, list[Fault]]:
        try:
            return experiment.hypothesis(self.text(experiment.FILE))
        except ExperimentError as error:
            return None, [Fault("file_is_valid", str(error))]

    @functools.cached_property
    def log(self) -> list[dict]:
        return experiment.entries(self.text(experiment.LOG))


class ExperimentTrial(Trial):
    """What a test function gets: the answer and its parts."""

    def __init__(self, answer: Answer, seed: str) -> None:
        super().__init__(None, seed, {})
        self.answer = answer

    def no_fault(self, test: str) -> None:
        faults = [fault.text for fault in self.answer.parsed[1] if fault.test == test]
        if faults:
            raise Wrong("\n".join(faults))

    @property
    def hypothesis(self) -> Hypothesis:
        if self.answer.parsed[0] is None:
            raise Wrong(f"{experiment.FILE} cannot be used: see the test file_is_valid")
        return self.answer.parsed[0]

    def place(self, what: str) -> int:
        """Where the log has the prediction ("predict") or the row ("measure")."""
        found = experiment.place_of(self.answer.log, what, self.hypothesis)
        if found is None:
            word = "prediction" if what == "predict" else "row"
            raise Wrong(f"{experiment.LOG} has no {word} of this {experiment.FILE}: after its last change, make lab-{what}")
        return found

    @property
    def row(self) -> experiment.Row:
        return experiment.row_of(self.answer.log, self.hypothesis)

    def section(self, title: str) -> str:
        return experiment.sections(self.answer.text(experiment.REPORT)).get(title, "")


class ExperimentGrader(Grader):
    def _begin(self) -> None:
        self._answer = Answer(self.submission.texts)

    def _run(self, test: Test, function) -> str | None:
        try:
            function(ExperimentTrial(self._answer, f"{self.seed} {test.name}"))
        except (Wrong, ExperimentError) as wrong:
            return str(wrong)
        except (HostError, MachineError) as error:
            raise LabError(str(error)) from None
        return None
