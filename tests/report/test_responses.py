from __future__ import annotations

from pathlib import Path

import pytest

from mshgnn.report.page.contents import Response
from mshgnn.report.responses import draw_responses

BANDS = ("ω = 1", "ω = 2", "ω = 4")


def layer(*mean: float) -> Response:
    return Response(BANDS[: len(mean)], mean, tuple(0.8 * m for m in mean), tuple(min(1.0, 1.2 * m) for m in mean))


@pytest.mark.parametrize(
    "layers", [[layer(1.0)], [layer(0.7, 0.2, 0.1), layer(0.5, 0.5)], [layer(0.25, 0.5, 0.25)] * 6]
)
def test_every_layer_and_band_is_written_with_its_share(layers: list[Response], tmp_path: Path) -> None:
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none"}):
        text = draw_responses(layers, tmp_path / "responses.svg", title="Responses").read_text(encoding="utf-8")
    for number, response in enumerate(layers, start=1):
        assert f">layer {number}<" in text
        assert all(f">{100 * mean:.0f} %<" in text for mean in response.mean)
        assert all(f">{band}<" in text for band in response.bands)
    assert f">layer {len(layers) + 1}<" not in text
