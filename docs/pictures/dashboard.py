"""The picture of docs/dashboard.md, in light and dark, from a real service in Debian's chromium (extra `browser`).

python docs/pictures/dashboard.py
"""

from __future__ import annotations

import math
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import driftwise as dw
from driftwise.plots.style import papers

IMAGES = Path(__file__).parents[1] / "images"
STEPS, CHANGE = 120, 75
FACTORS = {"none": (1.6, 1.6), "gzip": (1.2, 1.2), "zstd": (1.0, 2.0)}  # before the change, and from it on


def fill(path: Path) -> None:
    """A web service whose best number of workers grows with its traffic, and whose best codec changes once."""
    space = {
        "workers": dw.Int(1, 32, log=True),
        "cache_mb": dw.Float(16, 4096, log=True),
        "codec": dw.Choice(list(FACTORS)),
    }
    study = dw.Study(
        "web service", space, path=path, seed=0, direction="minimize", context={"traffic": dw.Float(0.1, 1)}
    )
    rng = np.random.default_rng(0)
    for t in range(STEPS):
        traffic = 0.55 - 0.4 * math.cos(t / 8)
        asked = study.ask(context={"traffic": traffic})
        workers, cache, codec = (asked.params[name] for name in space)
        if workers * cache > 32_000:
            study.tell(asked, failed=True)  # out of memory
            continue
        missed = 0.2 + math.exp(-cache / 300)
        cost = FACTORS[codec][t >= CHANGE] * (20 + 60 * traffic * missed / workers) + 0.5 * workers
        study.tell(asked, cost + rng.normal(0, 0.6))
    study.ask(context={"traffic": traffic})  # one is awaited


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        fill(Path(folder) / "a.db")
        port = free.getsockname()[1]
        free.close()
        serve = [Path(sys.executable).with_name("driftwise"), "serve", "--path", f"{folder}/a.db", "--port", str(port)]
        service = subprocess.Popen(serve, stderr=subprocess.DEVNULL)
        try:
            photograph(f"http://127.0.0.1:{port}/")
        finally:
            service.terminate()
            service.wait()


def photograph(address: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for ending in papers(dark=True):
            scheme = "dark" if ending else "light"
            page = browser.new_page(viewport={"width": 1100, "height": 1200}, color_scheme=scheme)
            page.set_default_timeout(600_000)
            while True:
                try:
                    page.goto(address)
                    break
                except Exception:  # it is starting
                    time.sleep(0.5)
            page.get_by_text("web service").first.click()
            page.locator("svg").nth(3).wait_for()  # the rewards, and the belief along three parameters
            page.wait_for_timeout(2000)
            page.screenshot(path=IMAGES / f"dashboard{ending}.png")


if __name__ == "__main__":
    main()
