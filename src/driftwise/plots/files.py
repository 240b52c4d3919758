"""Pictures as files that stand alone, fit for a paper."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from driftwise.plots.style import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 300


def paper_png(figure: Figure) -> bytes:
    """At 300 dots an inch."""
    return _saved(figure, "png")


def paper_svg(figure: Figure) -> bytes:
    """Letters as outlines, so that it looks the same wherever it is placed; the same bytes in every run."""
    return _saved(figure, "svg")


def _saved(figure: Figure, kind: str) -> bytes:
    import matplotlib

    buffer = io.BytesIO()
    metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "driftwise"}):
        save(figure, buffer, format=kind, dpi=DPI, metadata=metadata)
    return buffer.getvalue()
