"""Mistakes a user can make in the lab: one clear line each."""

from __future__ import annotations

from mshgnn.errors import UserError


class LabError(UserError):
    """Something the user can put right: a wrong file, key, value or folder."""


class ExperimentError(LabError):
    """An experiment file that cannot be run as it is written."""


class StoreError(LabError):
    """A run folder that cannot be read, written or continued."""


class NothingFinished(StoreError):
    """A run that has no finished fold yet."""
