"""Pages are computed beside what is asked, and once for everybody."""

from __future__ import annotations

import asyncio
import threading
from operator import methodcaller

import pytest

from driftwise import Float, Study

pytest.importorskip("fastapi", reason="driftwise[serve] is not installed")

from driftwise.service.dashboard.pages import Pages
from driftwise.service.open_studies import OpenStudies
from driftwise.service.service import Service
from driftwise.service.settings import ServiceSettings


@pytest.fixture
def study(tmp_path) -> Study:
    return Study("web", {"x": Float(0, 1)}, "sw-gp-ucb", path=tmp_path / "a.db", window=20)


def test_an_ask_does_not_wait_for_a_page(study):
    settings, shown = ServiceSettings(store=study.path), threading.Event()

    def slow(_: Study) -> dict:
        assert shown.wait(60)
        return {"slow": True}

    async def main() -> dict:
        service = Service.of(settings)
        pages = Pages(settings, service.studies.kept)
        async with service.studies:
            page = asyncio.create_task(pages.document("web", slow))
            await service.studies.call("web", methodcaller("ask", key="a"))
            assert not page.done()
            shown.set()
            found = await page
            await pages.stop()
        return found

    assert asyncio.run(main()) == {"slow": True}


def test_a_document_is_computed_once_until_its_study_changes(study):
    made = list[tuple]()

    def view(there: Study, **given: int) -> dict:
        made.append((there.name, *given.values()))
        return {"rewards": there.describe().counts.rewards, **given}

    async def main() -> None:
        pages = Pages(ServiceSettings(store=study.path), OpenStudies(study.path, 8))
        for _ in range(3):
            assert await pages.document("web", view) == {"rewards": 0}
        assert await pages.document("web", view, first=1) == {"rewards": 0, "first": 1}
        assert made == [("web",), ("web", 1)]
        study.tell(study.ask(), 1.0)
        assert await pages.document("web", view) == {"rewards": 1}
        study.delete()
        Study("web", {"x": Float(0, 1)}, "sw-gp-ucb", path=study.path, window=20).observe({"x": 0.5}, 1.0)
        assert await pages.document("web", view) == {"rewards": 1}
        assert len(made) == 4  # another study of this name is not the one before
        await pages.stop()

    asyncio.run(main())
