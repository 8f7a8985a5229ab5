"""Sphinx's settings: `.ci/docs` builds the site and fails on every warning."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import deepseek_sdk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

project = "deepseek_sdk"
author = "The deepseek_sdk authors"
release = deepseek_sdk.__version__
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["tutorial-backend"]

html_theme = "furo"
html_title = "deepseek_sdk"
html_copy_source = False
html_show_copyright = False

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
default_role = "code"

autoclass_content = "both"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what is taken and given; most types belong to other packages
napoleon_attr_annotations = False  # likewise
napoleon_use_ivar = True
nitpick_ignore_regex = [
    ("py:(class|exc)", r"(openai|typing|enum)\..*"),  # bases that other projects document: the build needs no network
    ("py:class", r"deepseek_sdk\.(.*\.)?_.*"),  # bases that are private
]

_TABLE_ROW = re.compile(r"\s*\|(.+)\|\s*$")
_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields):$")
# Napoleon takes what stands before a colon for a type; ours never state one. So the colons are hidden from it.
_HIDDEN_COLON = "\ufdd0"


def setup(app: Sphinx) -> None:
    """Add hooks to the build; napoleon's own has the priority 500."""
    app.connect("autodoc-process-docstring", prepare_docstring, priority=100)
    app.connect("autodoc-process-docstring", show_colons, priority=900)
    # Before the tables of contents are collected.
    app.connect("doctree-read", name_anchors, priority=100)
    app.connect("html-page-context", name_language)


def name_anchors(_app: Sphinx, document: Any) -> None:
    """Let Chinese headings be linked by their text: what docutils makes of them is a number that changes."""
    for section in document.findall(lambda node: node.tagname == "section"):
        if "slug" in section and re.fullmatch(r"id\d+", section["ids"][0]):
            section["ids"].insert(0, section["slug"])


def name_language(_app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: object) -> None:
    """Tell browsers, screen readers and search engines which pages are Chinese, and keep readers among them."""
    if page.startswith("zh/"):
        context["language"] = "zh-CN"
    if page == "zh/index":
        context["prev"] = None
    elif page == "changelog":
        context["next"] = None


def prepare_docstring(_app: Sphinx, kind: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Make reStructuredText of what docstrings borrow from Markdown: tables, and indented examples."""
    is_attribute = kind in {"attribute", "property"}
    lines[:] = _with_hidden_colons(_with_literal_blocks(list(_with_tables(lines))), hide=is_attribute)


def show_colons(_app: Sphinx, _kind: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Undo what was done for napoleon."""
    lines[:] = [line.replace(_HIDDEN_COLON, ":") for line in lines]


def _with_tables(lines: list[str]) -> Iterator[str]:
    """Turn the rows of each Markdown table into a list table."""
    is_open = False
    for line in lines:
        row = _TABLE_ROW.match(line)
        if row is None:
            is_open = False
            yield line
        elif not set(row[1]) <= set("|-: "):
            if not is_open:
                yield from (".. list-table::", "   :header-rows: 1", "")
            is_open = True
            cells = [cell.strip().replace("`", "``") for cell in row[1].split(" | ")]
            yield from (f"   {'*' if i == 0 else ' '} - {cell}" for i, cell in enumerate(cells))


def _with_literal_blocks(lines: list[str]) -> Iterator[str]:
    """Announce each indented block that stands before the first section, as reStructuredText wants it."""
    is_prose = True
    for line, before in zip(lines, ["", *lines], strict=False):
        is_prose = is_prose and not _SECTION.match(line)
        if is_prose and line.startswith("    ") and not before:
            yield from ("::", "")
        yield line


def _with_hidden_colons(lines: Iterator[str], *, hide: bool) -> list[str]:
    shown = []
    for line in lines:
        if section := _SECTION.match(line):
            hide = section[1] in {"Returns", "Yields"}
        shown.append(line.replace(":", _HIDDEN_COLON) if hide and not section else line)
    return shown
