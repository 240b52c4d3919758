"""Reports: one HTML file that needs nothing else, in light and dark, on a desk and on a phone."""

from driftwise.report.page import bullets, figure, page, prose, section, table

__all__ = ["bullets", "figure", "page", "prose", "section", "table"]
