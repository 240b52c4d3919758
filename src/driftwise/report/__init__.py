"""Reports: HTML pages that need nothing else, in light and dark, on a desk and on a phone.

Read, in this order: `page` (the elements of a page), `parts` (a document with its tables, pictures and data, as HTML or
Markdown), then the three reports: `demo` (driftwise demo), `results_page` with `results_pictures` (driftwise lab
report) and `theory` (driftwise lab theory). What they show is computed in `lab`; drawings come from `plots`.
"""

from driftwise.report.page import bullets, figure, page, prose, section, table

__all__ = ["bullets", "figure", "page", "prose", "section", "table"]
