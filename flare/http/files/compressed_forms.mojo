"""Compresses files once, so that answers need not."""

from flare.http.encoding.coding import ContentCoding
from flare.http.encoding.compression_config import (
    CompressionConfig,
    available_codings,
)
from flare.http.encoding.one_shot import compress

from ..conditions import Validators
from ..content_tag import content_tag
from ..sealed_content import SealedContent
from .served_file import Representation, ServedFile, ServedFileState

# A helper thread takes a tenth of a second for a megabyte, and clients wait.
comptime _OCTETS_MAX = 4 * 1024 * 1024
# Work that is done once may take longer than work for each answer.
comptime _LEVEL = 9
# A coded form that saves less than a sixteenth only takes memory.
comptime _SAVED_PART_MIN = 16


struct FileCompression(Copyable, Movable):
    """The choice of the files that are compressed, and of the codings."""

    var _config: CompressionConfig
    var _codings: List[ContentCoding]
    var _octets_max: Int

    def __init__(out self, octets_max: Int):
        """Creates a choice: the types of `Compress`, by Brotli and gzip if
        their libraries are installed.

        Args:
            octets_max: The longest text that is kept with its forms.
        """
        self._octets_max = min(_OCTETS_MAX, octets_max)
        self._config = CompressionConfig()
        self._codings = List[ContentCoding]()
        for coding in available_codings():
            # Clients that accept Zstandard accept Brotli, which is smaller.
            if coding != ContentCoding.ZSTD:
                self._codings.append(coding)

    def includes(self, content_type: StringSlice, octets: Int) -> Bool:
        """Returns whether a file is to be compressed.

        Args:
            content_type: Its type.
            octets: Its length.

        Returns:
            False if it is short, very long or no text.
        """
        return (
            self._config.content_octets_min <= octets <= self._octets_max
            and self._config.allows_type(content_type)
        )

    def add_forms(
        self, mut state: ServedFileState, earlier: Optional[ServedFile]
    ):
        """Adds the compressed forms of a file for which there are no siblings.

        Args:
            state: The file; its content was read.
            earlier: The file that was kept of the same path. If the content
                is the same, its forms are taken.
        """
        var is_same = Bool(earlier) and _has_same_content(
            state.forms[0], earlier.value()
        )
        for coding in self._codings:
            if state.siblings.has(coding):
                continue
            var form: Optional[Representation]
            if is_same and earlier.value().state[].tried.has(coding):
                form = _form_of_earlier(earlier.value(), coding)
            else:
                form = _compressed(state.forms[0], coding)
            state.tried = state.tried.with_coding(coding)
            if form:
                state.forms.append(form.take())
                state.siblings = state.siblings.with_coding(coding)


def _has_same_content(form: Representation, earlier: ServedFile) -> Bool:
    ref before = earlier.state[].forms[0].content
    return Bool(before) and (
        before.value().octets() == form.content.value().octets()
    )


def _form_of_earlier(
    earlier: ServedFile, coding: ContentCoding
) -> Optional[Representation]:
    ref forms = earlier.state[].forms
    for i in range(1, len(forms)):
        # A sibling has a place of its own.
        if forms[i].coding == coding and forms[i].place == 0:
            return _form(coding, forms[i].content.value())
    # It would have gained nothing.
    return None


def _compressed(
    original: Representation, coding: ContentCoding
) -> Optional[Representation]:
    try:
        var coded = compress(original.content.value().octets(), coding, _LEVEL)
        if len(coded) > original.octets - original.octets // _SAVED_PART_MIN:
            return None
        return _form(coding, SealedContent(Span(coded)))
    except:
        # Memory has run out, and the file itself is there.
        return None


def _form(coding: ContentCoding, content: SealedContent) -> Representation:
    var form = Representation(coding, 0, len(content))
    form.validators = Validators(content_tag(content.octets()))
    form.content = content
    return form^
