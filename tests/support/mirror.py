"""For tests that read data sets from the mirror."""

from __future__ import annotations

import os

import pytest

needs_mirror = pytest.mark.skipif(not os.environ.get("MSHGNN_MIRROR"), reason="MSHGNN_MIRROR is not set")
