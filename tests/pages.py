"""What the tests ask of an HTML file."""

import re
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Balance(HTMLParser):
    """Refuses tags that do not nest."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def balanced(markup: str) -> bool:
    parser = Balance()
    parser.feed(markup)
    return not parser.open


def loads(markup: str) -> list[str]:
    """What a browser would fetch from elsewhere."""
    found = re.findall(r'(?:src|href|xlink:href|action)="([^"]+)"', markup) + re.findall(r"url\(([^)]+)\)", markup)
    return [x for x in found if not x.startswith(("#", "data:"))]
