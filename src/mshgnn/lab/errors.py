"""Mistakes a user can make in the lab: one clear line each."""

from __future__ import annotations

from mshgnn.errors import Failure, UserError


class LabError(UserError):
    """Something the user can put right: a wrong file, key, value or folder."""


class ExperimentError(LabError):
    """An experiment file that cannot be run as it is written."""


class StoreError(LabError):
    """A run folder that cannot be read, written or continued."""


class NothingFinished(StoreError):
    """A run that has no finished fold yet."""


class RunFailed(Failure):
    """A run that could not be brought to its end, through no mistake in what was asked for."""


class FoldFailed(RunFailed):
    """A fold raised an error or its process died again and again; finished folds are safe."""


class RunFolderLost(RunFailed):
    """A run's folder that was removed or changed while the run went on."""
