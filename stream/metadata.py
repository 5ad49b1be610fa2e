"""What a recording says besides its pictures, and what of it may leave.

By default nothing does: titles, places, times, device names, chapters, text and telemetry
tracks all tell who was where. Cover pictures, thumbnails and embedded previews never pass,
not even on request, since they show faces that nobody covered.
"""

from __future__ import annotations

from typing import Final

from av.container import InputContainer, OutputContainer

__all__ = ["copied_metadata", "passing_tags"]

# Facts about the input's own file layout; they would be lies in the output.
_LAYOUT_TAGS: Final = frozenset(
    {"major_brand", "minor_version", "compatible_brands", "encoder", "duration", "software"}
)


def passing_tags(tags: dict[str, str], *, keep: bool) -> dict[str, str]:
    """The tags that pass: all but the file layout's when `keep`, else none.

    >>> passing_tags({"title": "Anna", "major_brand": "isom"}, keep=True)
    {'title': 'Anna'}
    >>> passing_tags({"title": "Anna", "location": "+48.1+011.5/"}, keep=False)
    {}
    """
    if not keep:
        return {}
    return {name: value for name, value in tags.items() if name.lower() not in _LAYOUT_TAGS}


def copied_metadata(source: InputContainer, output: OutputContainer, *, keep: bool) -> None:
    """Copies tags and chapters to an output whose header is not yet written, if asked to."""
    output.metadata.update(passing_tags(source.metadata, keep=keep))
    if keep:
        output.set_chapters(source.chapters())
