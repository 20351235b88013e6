"""Adds request fields to Vary (RFC 9110 section 12.5.5)."""

from flare.message import FieldName, HeaderMap
from flare.message.list_grammar import lists_member


@always_inline
def add_to_vary[name: StaticString](mut headers: HeaderMap):
    """Adds a field name to Vary, unless it is named already.

    Parameters:
        name: The name of a request field that the response depends on.

    Args:
        headers: The fields of the response.
    """
    if not headers.has_known(FieldName.VARY) or not _is_named(headers, name):
        headers.append_constant["Vary", name]()


@no_inline
def _is_named(headers: HeaderMap, name: StaticString) -> Bool:
    for value in headers.values("Vary"):
        if lists_member(value.as_bytes(), name.as_bytes()) or lists_member(
            value.as_bytes(), "*".as_bytes()
        ):
            return True
    return False
