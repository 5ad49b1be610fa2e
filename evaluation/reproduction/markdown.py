"""Small pieces of Markdown: rows, paragraphs, shares with their intervals, marked sections."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from evaluation.metrics.intervals import Proportion

__all__ = ["cells", "head", "joined", "marked", "sections_of", "share", "spread", "with_figures"]


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


def with_figures(page: str, name: str, figures: str) -> str:
    """A page whose text between `<!-- name -->` and `<!-- /name -->` is replaced.

    Raises:
        ValueError: the page lacks these marks.

    >>> with_figures("<!-- a -->old<!-- /a --> b", "a", "new").split()
    ['<!--', 'a', '-->', 'new', '<!--', '/a', '-->', 'b']
    """
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, after = page.index(begin) + len(begin), page.index(end)
    return f"{page[:before]}\n{figures}\n{page[after:]}"
