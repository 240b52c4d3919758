"""Checks a built site: `python docs/site/check_site.py build/site`. Links inside lead to a file and an anchor,
nothing is loaded from elsewhere, no script, style, font or picture, and no formula's _ was read as emphasis."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links, the anchors and what is loaded of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = {""}
        self.emphasised: list[str] = re.findall(r"<em>([^<]*[{}‖][^<]*)</em>", text)
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.add(found["href"])
        if tag == "link" and found.get("rel") not in ("canonical", "author"):
            self.loaded.add(found.get("href", ""))
        if tag in ("script", "img", "source", "iframe") and found.get("src"):
            self.loaded.add(found["src"])


def faults(site: Path) -> list[str]:
    """What is wrong with the site, a sentence each."""
    pages = {file: Page(file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.html"))}
    found = [] if pages else [f"there is no page in {site}; run make docs"]
    anchors = {file.resolve(): page.anchors for file, page in pages.items()}
    for file, page in pages.items():
        name = file.relative_to(site)
        found += [f"{name}: write \\_ for _ in the formula around {formula[:40]!r}" for formula in page.emphasised]
        for link in sorted(page.links | page.loaded):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    found.append(f"{file.relative_to(site)} loads {link} from elsewhere")
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file.resolve()
            if not target.exists():
                found.append(f"{file.relative_to(site)}: {link} leads nowhere")
            elif unquote(parts.fragment) not in anchors.get(target, {unquote(parts.fragment)}):
                found.append(f"{file.relative_to(site)}: {link} has no such heading")
    for sheet in sorted(site.rglob("*.css")):
        addresses = re.findall(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")]+)", sheet.read_text("utf-8"))
        found += [f"{sheet.relative_to(site)} loads {address} from elsewhere" for address in addresses]
    return found


if __name__ == "__main__":
    wrong = faults(Path(sys.argv[1]))
    print(*wrong, sep="\n") if wrong else print(f"every link inside {sys.argv[1]} leads somewhere")
    sys.exit(bool(wrong))
