"""Small pieces of Markdown: rows, paragraphs, shares with their intervals, marked sections."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from evaluation.metrics.intervals import Proportion

__all__ = ["cells", "head", "joined", "marked", "put_figures", "sections_of", "share", "spread"]


def share(figure: Proportion) -> str:
    """A share with its 95 % interval."""
    return f"{figure.rate:.1%} [{figure.lower:.1%}, {figure.upper:.1%}]"


def spread(figure: tuple[float, float]) -> str:
    """A mean with its deviation.

    >>> spread((1.25, 0.1))
    '1.25 ± 0.10'
    """
    return f"{figure[0]:.2f} ± {figure[1]:.2f}"


def cells(*texts: str) -> str:
    """A table's row.

    >>> cells("a", "b")
    '| a | b |'
    """
    return "| " + " | ".join(texts) + " |"


def head(*texts: str) -> str:
    r"""A table's head, with the line below it.

    >>> head("a", "b")
    '| a | b |\n|---|---|'
    """
    return f"{cells(*texts)}\n|{'---|' * len(texts)}"


def joined(lines: Sequence[str]) -> str:
    r"""Paragraphs apart, table rows together.

    >>> joined(["a", "| b |", "| c |"])
    'a\n\n| b |\n| c |'
    """
    text = lines[0]
    for before, line in pairwise(lines):
        text += ("\n" if before.startswith("|") and line.startswith("|") else "\n\n") + line
    return text


def marked(sections: Mapping[str, str]) -> str:
    """Sections behind invisible marks, so that one can be made anew without the others."""
    return "\n\n".join(f"<!-- {name} -->\n\n{text}" for name, text in sections.items()) + "\n"


def sections_of(page: str) -> dict[str, str]:
    """What `marked` joined, by name.

    >>> sections_of(marked({"a": "one", "b": "two"}))
    {'a': 'one', 'b': 'two'}
    """
    parts = re.split(r"^<!-- ([a-z-]+) -->$", page, flags=re.MULTILINE)
    return {name: text.strip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def put_figures(page: Path, figures: Mapping[str, str]) -> None:
    """Replaces what stands on a page between `<!-- name -->` and `<!-- /name -->`.

    Args:
        page: the file.
        figures: by name.

    Raises:
        ValueError: the page lacks these marks.
    """
    text = page.read_text("utf-8")
    for name, told in figures.items():
        begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        before, after = text.index(begin) + len(begin), text.index(end)
        text = f"{text[:before]}\n{told}\n{text[after:]}"
    page.write_text(text, "utf-8")
