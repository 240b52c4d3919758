"""Text of users on its way out: terminals, pages, pictures and CSVs show it and never obey it."""

import csv
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from driftwise import Choice, Float, Study
from driftwise.cli import show
from driftwise.plots.beliefs import Panel, belief_now, belief_over_time
from driftwise.plots.cases import Regret, case_curves, cost_against_regret, heat_map
from driftwise.plots.dots import Dot, DotPanel, dots
from driftwise.plots.over_time import drift_over_time
from driftwise.plots.regret import regret_curves
from driftwise.plots.style import png, svg
from driftwise.report.parts import Data

ESCAPES = "\x1b[31m\x9b2J\x07\r\n\u202e"
NASTY = ("$\\foo$", "$x", "\\$", "日本語", "[/]", ESCAPES, "<b>", "x" * 300)


@pytest.fixture
def study(call):
    """Choices that a terminal or a spreadsheet would take for commands."""
    space = {"x": Float(0, 1), "mode": Choice(["=1+1", "[/]", "-2", ESCAPES])}
    study = Study("s", space, "sw-gp-ucb", path="driftwise.db")
    for i, value in enumerate(space["mode"].values):
        study.observe({"x": 0.5, "mode": value}, float(i))
    return study


def raw(text: str) -> list[str]:
    return re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


@pytest.mark.parametrize(
    "line",
    [
        *("ask", "ask --json", "ask -n 3", "show", "show --json", "recommend", "recommend --json", "corrections"),
        *("corrections --json", "export", "export --json", "export --jsonl", "predict x=0.5 mode=[/]", "copy t"),
    ],
)
def test_no_control_character_reaches_the_terminal(study, good, line):
    study.correct(1, 2.0, who=ESCAPES, why=ESCAPES, measures={"[/]": 1.0})
    study.tell(study.ask(), failed=True)
    assert raw(good(f"study {line.split()[0]} s {' '.join(line.split()[1:])}")) == []


def test_json_has_the_exact_values_all_the_same(study, good):
    log = json.loads(good("study export s --json"))["observations"]
    assert [o["params"]["mode"] for o in log] == ["=1+1", "[/]", "-2", ESCAPES]


def test_csv_has_no_formula_and_numbers_stay_numbers(study, good):
    rows = list(csv.DictReader(io.StringIO(good("study export s"))))
    assert [row["mode"] for row in rows[:3]] == ["'=1+1", "[/]", "'-2"]
    assert [row["reward"] for row in rows] == ["0.0", "1.0", "2.0", "3.0"]
    study.observe({"x": 0.5, "mode": "[/]"}, -1.5)
    assert good("study export s").splitlines()[-1].endswith(",-1.5")
    assert "gets a ' before it" in good("study export --help").replace("\n", " ")


def test_csvs_of_a_report_have_no_formula():
    assert Data("x", ("=a", "b"), [("@sum", -1.0), ("\t=x", float("nan"))]).csv() == "'=a,b\n'@sum,-1.0\n\\t=x,\n"


@pytest.mark.parametrize("name", ["[red]x[/red]", "[/]", ":smile:", "a\\", "$\\foo$", "日本語"])
def test_a_name_is_shown_as_it_is(good, name):
    assert name in good(f"study create '{name}' --float a=0:1")


@pytest.mark.parametrize(
    "line", ["study ask '{}'", "lab table '{}'", "compare --policy '{}'", "theory --kernel '{}'", "{}"]
)
def test_errors_show_what_was_typed_and_never_obey_it(refused, line):
    assert raw(refused(line.format(ESCAPES.replace("\n", " ")))) == []


def test_whatever_is_printed_on_the_console_is_text(capsys):
    show.out().print(show.table(f"[/]{ESCAPES}", ["[red]a"], [[f":smile:{ESCAPES}"]]))
    show.out().print(f"[/]{ESCAPES}")
    show.say((f"[/]{ESCAPES}", "bold"))
    with show.progress() as progress:
        progress.add_task("[/]")
    printed = capsys.readouterr().out
    assert raw(printed) == []
    assert "[red]a" in printed
    assert ":smile:" in printed


@pytest.mark.parametrize("columns", [40, 47, 60, 80])
def test_no_table_loses_a_word(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    header = ["policy", "regret", "95% interval", "seeds", "per step", "remark"]
    rows = [["sw-gp-ucb", "181.25", "128.1 – 235.4", "1000", "3.6 ms", "the-longest-of-words"], ["auto", *"12345"]]
    show.out().print(show.table("a title", header, rows, best=[1]))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    assert {word for row in rows for cell in row for word in cell.split()} <= set(" ".join(lines).split())


# --- pictures -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", NASTY)
def test_a_picture_draws_any_name_and_says_nothing(name):
    x = np.linspace(0, 1, 4)
    figures = [
        belief_now(x, x, x, title=name, label=name),
        belief_over_time([Panel(name, np.outer(x, x))], candidates=x, best=x, label=name),
        case_curves(x, [Regret(name, 0, x, x, x)], title=name),
        heat_map(np.array([[1.0]]), policies=[name], cases=[name], title=name),
        cost_against_regret([(name, 0, 1e-3, 1.0)], y=name, title=name),
        dots([DotPanel(name, [(name, [Dot(1.0)])])]),
        drift_over_time([1, 2], rate=[0.1, 0.1], in_use=[1, 2], kept=[1, 2], title=name),
        regret_curves({name: (x, x, x)}, title=name),
    ]
    for figure in figures:
        assert png(figure, dpi=20).startswith(b"\x89PNG")
    if name == "<b>":
        assert "<b>" not in svg(figures[0], label=name)


@pytest.mark.parametrize("name", ["$\\foo$", "日本語"])
def test_a_study_of_any_name_has_its_picture(good, name):
    study = Study(name, {"x": Float(0, 1)}, "sw-gp-ucb", path="driftwise.db")
    study.tell(study.ask(), 1.0)
    good(f"study show '{name}' --png out.png")


# --- pages ----------------------------------------------------------------------------------------------------------


class Seen(HTMLParser):
    """Which elements and attributes a browser would see."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.links = set(), set(), []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}
        self.links += [value for name, value in attributes if name in ("href", "src")]


@pytest.mark.slow
def test_a_report_obeys_neither_its_own_name_nor_a_recordings(good):
    recording = "</script><!--<script>.csv".replace("/", "∕")
    Path(recording).write_text("1,2\n2,1\n1,3\n3,1\n", encoding="utf-8")
    good(f"lab run --policy random --rewards '{recording}' --engine serial --seeds 2")
    target = '"><img src=x onerror=alert(9)>.html'
    good(f"lab report results -o '{target}' --title '<img src=y>' --no-pictures")
    page = Path(target).read_text(encoding="utf-8")
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert "<" not in data
    assert json.loads(data)["suites"][0]["cases"][0]["name"].startswith("<∕script><!--<script>")
    seen = Seen()
    seen.feed(page)
    assert "img" not in seen.tags
    assert not {name for name in seen.attributes if name.startswith("on")}


@pytest.mark.slow
def test_links_of_a_report_are_addresses(good):
    Path("r.csv").write_text("1,2\n2,1\n1,3\n3,1\n", encoding="utf-8")
    good("lab run --policy random --rewards r.csv --engine serial --seeds 2")
    good("""lab report results -o 'javascript:"><img src=x>.html'""")
    page = Path('javascript:"><img src=x>.html').read_text(encoding="utf-8")
    seen = Seen()
    seen.feed(page)
    assert "img" not in seen.tags
    assert seen.links
    assert all(link.startswith("javascript%3A%22%3E%3Cimg%20src%3Dx%3E_files/") for link in seen.links)
