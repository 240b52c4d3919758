"""How `make docs` builds the site from these pages: Sphinx, MyST and furo. The pages stay plain Markdown."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
sys.path.insert(0, str(HERE / "site"))  # the extension `driftwise_site`

project = "driftwise"
author = copyright = "the driftwise authors"
version = release = PROJECT["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
extensions += ["sphinx_copybutton", "driftwise_site"]
exclude_patterns = ["site", "pictures"]
highlight_language = "text"
smartquotes = False  # quotes in docstrings are Python's
nitpicky = True
nitpick_ignore_regex = [("py:.*", r".*")]  # the types in signatures are mostly not public; pages link by Markdown

myst_heading_anchors = 4  # named as on code hosts, which tests/test_links.py checks

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autosummary_generate = False  # the pages of docs/api are written by hand: groups that belong together
default_role = "literal"  # docstrings say `code` as Markdown does
napoleon_google_docstring, napoleon_numpy_docstring = True, False

copybutton_prompt_text, copybutton_prompt_is_regexp = r">>> |\.\.\. |    \$ ", True

html_theme = "furo"
html_title = "driftwise"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_copy_source = html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True, "footer_icons": []}
