"""Telling the user how a training goes: one line in place on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console

from mshgnn.training.loop import EpochReport

SECONDS_BETWEEN_LINES = 15.0


class ConsoleWatcher:
    """Epoch, loss, validation metric and the time left."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.status = console.status("reading") if console.is_terminal else None
        self.shown = time.monotonic()

    def say(self, line: str) -> None:
        """One line, as it is."""
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def begin(self, fold: int, folds: int, todo: int) -> Callable[[EpochReport], None]:
        """Count from now; an early stop makes the estimate too long, never too short."""
        started, before = time.monotonic(), 0
        if self.status is not None:
            self.status.start()

        def see(report: EpochReport) -> None:
            nonlocal before
            if report.restored:
                before = report.epoch
                return
            each = (time.monotonic() - started) / (report.epoch - before)
            left = each * (report.epochs - report.epoch + report.epochs * (todo - 1))
            name = f"fold {fold + 1} of {folds}: " if folds > 1 else ""
            metric = "" if report.validation_metric is None else f", validation {report.validation_metric:.4g}"
            text = f"{name}epoch {report.epoch}/{report.epochs}, train loss {report.train_loss:.4g}{metric}"
            text += f", at most {duration(left)} left" if left >= 1 else ""
            if self.status is not None:
                self.status.update(text)
            elif time.monotonic() - self.shown >= SECONDS_BETWEEN_LINES:
                self.shown = time.monotonic()
                self.say(text)

        return see

    def end(self) -> None:
        """Take the line away."""
        if self.status is not None:
            self.status.stop()


def duration(seconds: float) -> str:
    """Seconds in words."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
