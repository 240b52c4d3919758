"""How our pictures look, light and dark, and how they become PNG or SVG.

Figures are made without pyplot: no window, no global state. The theme `CSS` draws in stand-in colours that `svg`
replaces by CSS variables, so that one picture in a page follows the reader's light or dark.
"""

from __future__ import annotations

import html
import io
import math
import re
import warnings
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from driftwise.errors import missing_extra
from driftwise.text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Theme:
    """The colours of a picture. `series` tells policies apart, also for the colour-blind."""

    ink: str
    muted: str
    rule: str
    paper: str
    series: tuple[str, ...]

    @property
    def named(self) -> dict[str, str]:
        """The colours by the names of their CSS variables."""
        rest = {"ink": self.ink, "muted": self.muted, "rule": self.rule, "paper": self.paper}
        return rest | {f"series-{i}": colour for i, colour in enumerate(self.series)}

    def colour(self, i: int) -> str:
        return self.series[i % len(self.series)]


LIGHT = Theme(
    ink="#1c2430",
    muted="#667080",
    rule="#dfe3e8",
    paper="#ffffff",
    series=("#c8553d", "#2f6fb0", "#1a8a72", "#8a5fb5", "#b07d12", "#5c6b7a"),
)
DARK = Theme(
    ink="#e8ecf1",
    muted="#97a3b3",
    rule="#2c3542",
    paper="#12171f",
    series=("#f0816a", "#6aaef0", "#45c9a8", "#bd98e6", "#e0b14a", "#a5b1bf"),
)
CSS = Theme(
    ink="#010101",
    muted="#010102",
    rule="#010103",
    paper="#010104",
    series=("#010110", "#010111", "#010112", "#010113", "#010114", "#010115"),
)


def papers(dark: bool) -> dict[str, Theme]:
    """The themes of pictures in files, by what is added to a file's name: on white paper and, if asked for, on dark."""
    return {"": LIGHT, "-dark": DARK} if dark else {"": LIGHT}


def variables(theme: Theme) -> str:
    """The theme as CSS variables, for a page that holds pictures made by `svg`."""
    return " ".join(f"--{name}: {colour};" for name, colour in theme.named.items())


def blank(width: float, height: float, theme: Theme) -> Figure:
    """An empty figure, width and height in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise missing_extra("plot", "Matplotlib") from None
    return Figure(figsize=(width, height), facecolor=theme.paper, layout="constrained")


def literal(text: str) -> str:
    """Text that Matplotlib draws as it is: a $ of it begins no formula.

    >>> print(literal("a $\\\\foo$"))
    a \\$\\foo\\$
    """
    return visible(text).replace("$", "\\$")


def single(size: tuple[float, float], theme: Theme, **dressed: str) -> tuple[Figure, Axes]:
    """A figure with one pair of axes, dressed as `dress` does."""
    figure = blank(*size, theme)
    axes = figure.add_subplot()
    dress(axes, theme, **dressed)
    return figure, axes


def dress(axes: Axes, theme: Theme, *, title: str = "", x: str = "", y: str = "", grid: str = "") -> None:
    """Quiet axes: no box, thin rules, small labels; `grid` is x, y or both."""
    axes.set_facecolor("none")
    axes.set_axisbelow(True)
    axes.set_title(literal(title), loc="left", fontsize=10.5, fontweight="bold", color=theme.ink, pad=7)
    axes.set_xlabel(literal(x), fontsize=9, color=theme.muted)
    axes.set_ylabel(literal(y), fontsize=9, color=theme.muted)
    axes.tick_params(colors=theme.muted, labelsize=8.5, length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(theme.rule)
    if grid:
        axes.grid(axis=grid, color=theme.rule, linewidth=0.8)  # type: ignore[arg-type]


def round_marks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten from `low` to `high`."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]


def save(figure: Figure, file: IO[Any], **options: Any) -> None:
    """Writes the figure. What Matplotlib warns of is about looks, as letters that its font has not: it draws a box."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figure.savefig(file, **options)


def png(figure: Figure, *, dpi: int = 150) -> bytes:
    buffer = io.BytesIO()
    save(figure, buffer, format="png", dpi=dpi)
    return buffer.getvalue()


def svg(figure: Figure, *, label: str = "") -> str:
    """The figure as an <svg> element to put into a page; drawn in `CSS`, it follows the page's variables."""
    import matplotlib

    buffer = io.StringIO()
    # text stays text (readable by machines, set in the page's font), and ids are the same in every run
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": label or "driftwise"}):
        save(figure, buffer, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    return _inline(buffer.getvalue(), label)


def _inline(drawn: str, label: str) -> str:
    """The <svg> alone: as wide as its place, in the page's colours and font, without ids that could meet in a page."""
    drawn = drawn[drawn.index("<svg") :]
    drawn = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", drawn, flags=re.S)
    drawn = re.sub(r' (?:xmlns(?::xlink)?|version)="[^"]*"', "", drawn)
    drawn = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", drawn, count=1)
    drawn = re.sub(r'(<svg[^>]*?) height="[^"]*"', rf'\1 role="img" aria-label="{html.escape(label)}"', drawn, count=1)
    drawn = re.sub(r'<g id="[^"]*"', "<g", drawn)
    drawn = re.sub(r"(\d\.\d\d)\d+", r"\1", drawn)  # a hundredth of a point is enough
    drawn = re.sub(r"font-family: [^;\"]*", "font-family: inherit", drawn)
    for name, colour in CSS.named.items():
        drawn = drawn.replace(colour, f"var(--{name})")
    return drawn
