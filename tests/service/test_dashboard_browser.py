"""The dashboard in a real browser, as a person uses it: what it shows, that it is live, and that text stays text."""

from __future__ import annotations

import shutil
from urllib.parse import quote

import pytest

from driftwise import Choice, Float, Int, Study, at_most
from driftwise.service.database import Database
from driftwise.service.settings import ServiceSettings
from driftwise.service.tokens import Tokens

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (the extra `browser`)")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
PATIENCE = 120_000  # ms: a busy machine is no reason to fail
NAME = '<script>document.title="broken"</script> & <img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, "--disable-sync"])
        yield found
        found.close()


@pytest.fixture
def page(browser):
    """A page that fails the test on an error of a script, or on anything that the security policy stops."""
    context = browser.new_context(viewport={"width": 1100, "height": 800}, bypass_csp=False)
    found, errors = context.new_page(), []
    found.set_default_timeout(PATIENCE)
    found.on("pageerror", lambda error: errors.append(str(error)))
    found.on("console", lambda line: errors.append(line.text) if "Content Security Policy" in line.text else None)
    yield found
    context.close()
    assert errors == []


def fill(path, name=NAME) -> Study:
    space = {"workers": Int(1, 16), "share": Float(0, 1), "codec": Choice(["none", "zstd", "<b>gzip</b>"])}
    made = Study(
        name,
        space,
        "sw-gp-ucb",
        path=path,
        window=30,
        direction="minimize",
        where=["workers <= 15"],
        limits={"p99<br>": at_most(200)},
        context={"traffic": Float(0, 1)},
    )
    for i in range(20):
        s = made.ask(context={"traffic": i / 20})
        if i == 4:
            made.tell(s, failed=True)
        else:
            made.tell(s, 30 + (s.params["share"] - 0.4) ** 2, measures={"p99<br>": 100.0 + i})
    made.ask(context={"traffic": 0.5})
    return made


def test_a_study_is_shown_live_and_its_words_stay_text(served, page, tmp_path):
    study = fill(tmp_path / "a.db")
    url = served(tmp_path / "a.db")
    page.goto(url)
    page.get_by_role("link", name="<script>").click()
    page.get_by_role("heading", level=1).wait_for()
    assert page.get_by_role("heading", level=1).inner_text() == NAME
    page.locator(".belief svg").first.wait_for()
    assert page.locator(".belief figure").count() == 3
    assert page.locator(".rewards .dots circle").count() == 19
    assert page.locator(".rewards .failed path").count() == 1
    page.locator(".log tbody tr").first.wait_for()
    assert page.locator(".log tbody tr").count() == 20
    assert "workers <= 15" in page.locator(".rules").inner_text()
    assert "p99<br> at most 200" in page.locator(".rules").inner_text()
    assert page.locator(".awaited tbody tr").count() == 1
    assert float(page.locator("#context-traffic").input_value()) == pytest.approx(0.95)  # that of the newest reward
    page.locator(".map .cell").first.wait_for()
    page.get_by_text("live", exact=True).wait_for()
    study.observe({"workers": 3, "share": 0.5, "codec": "zstd"}, 29.5, context={"traffic": 0.1})
    page.locator(".log tbody tr", has_text="29.5").wait_for()  # it came by itself
    assert page.title() == f"{NAME} – driftwise"
    assert page.locator("script:not([src])").count() == 0
    assert page.locator("img").count() == 0


def test_who_may_corrects_and_everyone_can_compare(served, page, tmp_path):
    study = fill(tmp_path / "a.db", "web")
    page.goto(f"{served(tmp_path / 'a.db')}/#/study/web")
    row = page.locator(".log tbody tr", has=page.locator("td", has_text="20").first).first
    row.get_by_role("button", name="Correct").click()
    page.locator("#reward-20").fill("77")
    page.locator("#why-20").fill("a slipped digit")
    page.locator("form.correct").get_by_role("button", name="Correct").click()
    page.get_by_text("Observation 20 was corrected.").wait_for()
    assert [(c.number, c.why) for c in study.corrections()] == [(20, "a slipped digit")]
    assert study.latest(1)[-1].reward == 77.0
    page.get_by_role("button", name="Compare").click()
    page.locator(".compare table").wait_for()
    assert "95% interval" in page.locator(".compare").inner_text()


def test_without_a_token_one_signs_in(served, page, tmp_path):
    path = tmp_path / "a.db"
    fill(path, "web")
    _, secret = Tokens(Database(ServiceSettings(store=str(path)))).create("reader", ("read",))
    page.goto(served(path))
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").wait_for()
    page.get_by_label("Token").fill(secret)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="web").click()
    page.locator(".log tbody tr").first.wait_for()
    assert page.get_by_role("button", name="Correct").count() == 0  # reading is all that the token allows
    page.get_by_role("button", name="Sign out").click()
    page.get_by_text("You are signed out.").wait_for()


@pytest.mark.parametrize(("theme", "width"), [("light", 390), ("dark", 1100)])
def test_there_is_nothing_that_a_screen_reader_stumbles_over(browser, served, tmp_path, theme, width):
    """The contrast is that of the theme, whatever the width; what scrolls is a matter of the width alone."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    fill(tmp_path / "a.db", "web")
    url = served(tmp_path / "a.db")
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=theme, bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    for address, ready in ((url, ".card"), (f"{url}/#/study/{quote('web')}", ".log tbody tr")):
        page.goto(address)
        page.locator(ready).first.wait_for()
        found = axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "it scrolls sideways"
    context.close()
