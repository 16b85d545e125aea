"""Watching a run: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time

from rich.console import Console
from rich.live import Live
from rich.table import Table

from mshgnn.lab.runner import Display
from mshgnn.records.run import FoldKey, FoldResult, RunInfo
from mshgnn.training.curves import oriented
from mshgnn.training.loop import EpochReport


class PlainDisplay:
    """One line a finished fold, and a sign of life every half minute."""

    seconds_between_lines = 30.0

    def __init__(self, console: Console) -> None:
        self.console = console

    def begin(self, info: RunInfo, finished: int) -> None:
        """Say what starts."""
        self.progress = Progress(info, finished)
        self.last = time.monotonic()
        self._print(f"{describe(info)}: {finished} there already")

    def epoch(self, key: FoldKey, report: EpochReport) -> None:
        """A line now and then."""
        self.progress.epoch(key, report)
        if time.monotonic() - self.last >= self.seconds_between_lines:
            self.last = time.monotonic()
            self._print(f"{key}: epoch {epoch_text(report)}, {self.progress.time_left()}")

    def fold(self, result: FoldResult) -> None:
        """A line for every fold."""
        self.progress.fold(result)
        self.last = time.monotonic()
        self._print(f"{finished_text(result)}, {self.progress.time_left()}")

    def end(self) -> None:
        """Nothing to tidy."""

    def _print(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)


class LiveDisplay:
    """A table of the folds under way, redrawn in place."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.live = Live(console=console, refresh_per_second=4, transient=True)

    def begin(self, info: RunInfo, finished: int) -> None:
        """Start drawing."""
        self.progress = Progress(info, finished)
        self.console.print(f"[bold]{describe(info)}[/]: {finished} there already")
        self.live.start()

    def epoch(self, key: FoldKey, report: EpochReport) -> None:
        """Redraw the fold's row."""
        self.progress.epoch(key, report)
        self.live.update(self._table())

    def fold(self, result: FoldResult) -> None:
        """A finished fold moves above the table."""
        self.progress.fold(result)
        self.console.print(finished_text(result), highlight=False)
        self.live.update(self._table())

    def end(self) -> None:
        """Stop drawing."""
        self.live.stop()

    def _table(self) -> Table:
        title = f"{self.progress.info.name}: {self.progress.time_left()}"
        table = Table("data set", "fold", "epoch", "train loss", "validation", title=title)
        for key, report in sorted(self.progress.running.items()):
            table.add_row(
                self.progress.info.dataset,
                str(key),
                f"{report.epoch}/{report.epochs}",
                f"{report.train_loss:.4f}",
                "–" if report.validation_metric is None else f"{report.validation_metric:.4f}",
            )
        return table


class Progress:
    """How far a run is, and how long it may still take."""

    def __init__(self, info: RunInfo, finished: int) -> None:
        self.info = info
        self.todo = len(info.keys) - finished
        self.done = 0
        self.running: dict[FoldKey, EpochReport] = {}
        self.started = time.monotonic()

    def epoch(self, key: FoldKey, report: EpochReport) -> None:
        """A fold's latest report."""
        self.running[key] = report

    def fold(self, result: FoldResult) -> None:
        """A fold is done."""
        self.running.pop(result.key, None)
        self.done += 1

    def time_left(self) -> str:
        """Folds done and an estimate from the epochs so far, in words."""
        done = self.done + sum(report.epoch / report.epochs for report in self.running.values())
        text = f"{self.done} of {self.todo} folds done"
        if 0 < done < self.todo:
            seconds = (time.monotonic() - self.started) * (self.todo - done) / done
            minutes, seconds = divmod(round(seconds), 60)
            text += f", about {minutes} min {seconds} s left" if minutes else f", about {seconds} s left"
        return text


def make_display(console: Console) -> Display:
    """The live table on a terminal, plain lines elsewhere."""
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(console)


def describe(info: RunInfo) -> str:
    """A run in a few words."""
    # The default splits depend on whether their files are there: say which these are before hours go into them.
    where = f"{info.model} on {info.dataset}, splits {info.splits_name}"
    return f"{info.name} ({where}, {len(info.keys)} folds)"


def epoch_text(report: EpochReport) -> str:
    """An epoch in a few words."""
    text = f"{report.epoch}/{report.epochs}, train loss {report.train_loss:.4f}"
    return text if report.validation_metric is None else f"{text}, validation {report.validation_metric:.4f}"


def finished_text(result: FoldResult) -> str:
    """A finished fold in a few words; its test metric is left for the rules to show."""
    curves = result.curves
    text = f"{result.key}: {curves.epochs} epochs in {result.seconds:.1f} s, train loss {curves.train_loss[-1]:.4f}"
    if not curves.sizes[1]:
        return text
    best = oriented(curves.validation_metric, higher_is_better=curves.higher_is_better).argmax()
    return f"{text}, best validation {curves.validation_metric[best]:.4f}"
