"""Makes the page that shows an OpenAPI document.

The page is one document, and asks no other host. Its policy allows only its own
style and script, and requests to its own origin.
"""

from .page_text import PAGE, SCRIPT_HASH, STYLE_HASH
from .published import PublishedText

comptime _MARK: StaticString = "@document@"


def docs_page(document: String) raises -> PublishedText:
    """Returns the handler of the page.

    Args:
        document: The reference of the document, relative to the page.

    Returns:
        The handler.

    Raises:
        Error: `http.no_memory` if memory runs out.
    """
    return PublishedText(
        String(PAGE).replace(_MARK, _attribute(document)),
        "text/html; charset=utf-8",
        String(
            "default-src 'none'; style-src ",
            STYLE_HASH,
            "; script-src ",
            SCRIPT_HASH,
            (
                "; img-src data:; connect-src 'self'; base-uri 'none';"
                " form-action 'none'; frame-ancestors 'none'"
            ),
        ),
    )


def relative_path(page: StringSlice, document: StringSlice) -> String:
    """Returns the reference from one path to another (RFC 3986 section 4.2).

    It stays right if a proxy or an outer router puts a prefix in front of both.

    Args:
        page: A path that begins with `/`.
        document: Another one.

    Returns:
        The reference, such as `../openapi.json`.
    """
    var from_octets = page.as_bytes()
    var to_octets = document.as_bytes()
    # The folder that both have in common.
    var common = 0
    var i = 0
    while (
        i < min(len(from_octets), len(to_octets))
        and from_octets[i] == to_octets[i]
    ):
        if from_octets[i] == UInt8(ord("/")):
            common = i + 1
        i += 1
    var text = String()
    for octet in from_octets[common:]:
        if octet == UInt8(ord("/")):
            text.write("../")
    if not text:
        # A first segment with a colon would be a scheme.
        text.write("./")
    text.write(document[byte=common:])
    return text^


def _attribute(text: String) -> String:
    return (
        text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    )
