"""Pictures as files that stand alone, fit for a paper."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from driftwise.errors import InvalidInput
from driftwise.plots.style import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 300
# metadata without dates and versions: the same picture has the same bytes
FORMATS: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def format_of(path: Path) -> str:
    """The format that a file's suffix names.

    >>> format_of(Path("belief.SVG"))
    'svg'
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InvalidInput(
            f"a picture's file must end in {', '.join(f'.{each}' for each in FORMATS)}, got {path.name!r:.80}"
        )
    return kind


def picture(figure: Figure, path: Path) -> bytes:
    """The figure in the format that the path's suffix names."""
    return saved(figure, format_of(path))


def saved(figure: Figure, kind: str) -> bytes:
    """As png, svg or pdf: the same bytes in every run, with letters as outlines, which look the same everywhere."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "driftwise"}):
        save(figure, buffer, format=kind, dpi=DPI, metadata=FORMATS[kind])
    return buffer.getvalue()
