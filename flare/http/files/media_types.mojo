"""Finds the media type of a file by the extension of its name.

The types are those of the registry of IANA, or else the usual ones. Texts have
`charset=utf-8`: without it, browsers guess the encoding.
"""

from std.builtin.globals import global_constant

from flare.core import equals, find_octet, is_token, lower_octet
from flare.proto.multipart import is_writable_type

comptime OCTET_STREAM: StaticString = "application/octet-stream"
"""The type of a file with an unknown extension."""
comptime EXTENSION_OCTETS_MAX = 16
"""The longest extension."""
comptime _DOT: UInt8 = 46
comptime _SLASH: UInt8 = 47


struct MediaTypes(Copyable, Movable):
    """The media types of files, by extension."""

    # The extensions in lower case, and the type of each.
    var _own_extensions: List[String]
    var _own_types: List[String]

    def __init__(out self):
        """Creates the known types."""
        self._own_extensions = []
        self._own_types = []

    def __init__(out self, extra: Dict[String, String]) raises:
        """Creates the known types, with more of them or other ones.

        Args:
            extra: Extensions without the dot, and the value of Content-Type
                for each.

        Raises:
            An error `http.bad_media_type` if an extension is not a token of at
            most `EXTENSION_OCTETS_MAX` octets without a dot. Also if a type
            has other octets than visible ASCII and blanks.
        """
        self = Self()
        for item in extra.items():
            var extension = item.key.lower()
            var octets = extension.as_bytes()
            if (
                not is_token(octets)
                or len(octets) > EXTENSION_OCTETS_MAX
                or find_octet(octets, _DOT) < len(octets)
                or not is_writable_type(item.value.as_bytes())
            ):
                raise Error("http.bad_media_type of an extension")
            self._own_extensions.append(extension^)
            self._own_types.append(item.value)

    def of(self, name: StringSlice) -> StringSlice[origin_of(self)]:
        """Returns the media type of a file.

        Args:
            name: The name of the file, or a path that ends with it.

        Returns:
            The value of Content-Type, as a view that lives as long as the
            types; `OCTET_STREAM` for an unknown extension.
        """
        var lower = Array[UInt8, EXTENSION_OCTETS_MAX](fill=0)
        var count = _extension_of(name.as_bytes(), Span(lower))
        var extension = Span(lower)[:count]
        for i in range(len(self._own_extensions)):
            if equals(self._own_extensions[i].as_bytes(), extension):
                return rebind[StringSlice[origin_of(self)]](
                    StringSlice(self._own_types[i])
                )
        return rebind[StringSlice[origin_of(self)]](_known_type(extension))


def _extension_of(name: Span[UInt8, _], into: Span[mut=True, UInt8, _]) -> Int:
    # Writes the extension in lower case and returns its length. A dot at the
    # front of a name begins no extension.
    var dot = len(name) - 1
    while dot > 0 and name[dot] != _DOT:
        if name[dot] == _SLASH or len(name) - dot > EXTENSION_OCTETS_MAX:
            return 0
        dot -= 1
    if dot <= 0 or name[dot - 1] == _SLASH:
        return 0
    var count = len(name) - dot - 1
    for i in range(count):
        into[i] = lower_octet(name[dot + 1 + i])
    return count


def _known_type(extension: Span[UInt8, _]) -> StaticString:
    comptime assert _rows_are_in_order(), "a row is out of order"
    var low = 0
    var high = len(global_constant[_ROWS]())
    while low < high:
        var middle = (low + high) // 2
        ref row = global_constant[_ROWS]().unsafe_get(middle)
        var order = _order(extension, row.extension.as_bytes())
        if order == 0:
            return row.type
        if order < 0:
            high = middle
        else:
            low = middle + 1
    return OCTET_STREAM


def _order(a: Span[UInt8, _], b: Span[UInt8, _]) -> Int:
    for i in range(min(len(a), len(b))):
        if a[i] != b[i]:
            return Int(a[i]) - Int(b[i])
    return len(a) - len(b)


def _rows_are_in_order() -> Bool:
    for i in range(1, _ROW_COUNT):
        var before = materialize[_ROWS]()[i - 1].extension
        var row = materialize[_ROWS]()[i].extension
        if _order(before.as_bytes(), row.as_bytes()) >= 0:
            return False
    return True


@fieldwise_init
struct _Row(TrivialRegisterPassable):
    var extension: StaticString
    var type: StaticString


comptime _ROW_COUNT = 108
comptime _ROWS: Array[_Row, _ROW_COUNT] = [
    _Row("7z", "application/x-7z-compressed"),
    _Row("aac", "audio/aac"),
    _Row("apk", "application/vnd.android.package-archive"),
    _Row("apng", "image/apng"),
    _Row("atom", "application/atom+xml; charset=utf-8"),
    _Row("avi", "video/x-msvideo"),
    _Row("avif", "image/avif"),
    _Row("bin", "application/octet-stream"),
    _Row("bmp", "image/bmp"),
    _Row("bz2", "application/x-bzip2"),
    _Row("cjs", "text/javascript; charset=utf-8"),
    _Row("css", "text/css; charset=utf-8"),
    _Row("csv", "text/csv; charset=utf-8"),
    _Row("deb", "application/vnd.debian.binary-package"),
    _Row("dmg", "application/octet-stream"),
    _Row("doc", "application/msword"),
    _Row(
        "docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    _Row("eot", "application/vnd.ms-fontobject"),
    _Row("epub", "application/epub+zip"),
    _Row("exe", "application/vnd.microsoft.portable-executable"),
    _Row("flac", "audio/flac"),
    _Row("geojson", "application/geo+json; charset=utf-8"),
    _Row("gif", "image/gif"),
    _Row("glb", "model/gltf-binary"),
    _Row("gltf", "model/gltf+json"),
    _Row("gz", "application/gzip"),
    _Row("heic", "image/heic"),
    _Row("heif", "image/heif"),
    _Row("htm", "text/html; charset=utf-8"),
    _Row("html", "text/html; charset=utf-8"),
    _Row("ico", "image/vnd.microsoft.icon"),
    _Row("ics", "text/calendar; charset=utf-8"),
    _Row("iso", "application/octet-stream"),
    _Row("jar", "application/java-archive"),
    _Row("jpeg", "image/jpeg"),
    _Row("jpg", "image/jpeg"),
    _Row("js", "text/javascript; charset=utf-8"),
    _Row("json", "application/json; charset=utf-8"),
    _Row("jsonld", "application/ld+json; charset=utf-8"),
    _Row("jxl", "image/jxl"),
    _Row("kml", "application/vnd.google-earth.kml+xml; charset=utf-8"),
    _Row("log", "text/plain; charset=utf-8"),
    _Row("m3u8", "application/vnd.apple.mpegurl"),
    _Row("m4a", "audio/mp4"),
    _Row("m4s", "video/iso.segment"),
    _Row("m4v", "video/mp4"),
    _Row("map", "application/json; charset=utf-8"),
    _Row("md", "text/markdown; charset=utf-8"),
    _Row("mid", "audio/midi"),
    _Row("midi", "audio/midi"),
    _Row("mjs", "text/javascript; charset=utf-8"),
    _Row("mkv", "video/matroska"),
    _Row("mov", "video/quicktime"),
    _Row("mp3", "audio/mpeg"),
    _Row("mp4", "video/mp4"),
    _Row("mpd", "application/dash+xml; charset=utf-8"),
    _Row("mpeg", "video/mpeg"),
    _Row("mpg", "video/mpeg"),
    _Row("odp", "application/vnd.oasis.opendocument.presentation"),
    _Row("ods", "application/vnd.oasis.opendocument.spreadsheet"),
    _Row("odt", "application/vnd.oasis.opendocument.text"),
    _Row("oga", "audio/ogg"),
    _Row("ogg", "audio/ogg"),
    _Row("ogv", "video/ogg"),
    _Row("opus", "audio/ogg"),
    _Row("otf", "font/otf"),
    _Row("parquet", "application/vnd.apache.parquet"),
    _Row("pdf", "application/pdf"),
    _Row("png", "image/png"),
    _Row("ppt", "application/vnd.ms-powerpoint"),
    _Row(
        "pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    _Row("ps", "application/postscript"),
    _Row("rar", "application/vnd.rar"),
    _Row("rss", "application/rss+xml; charset=utf-8"),
    _Row("rtf", "application/rtf"),
    _Row("sql", "application/sql"),
    _Row("svg", "image/svg+xml; charset=utf-8"),
    _Row("tar", "application/x-tar"),
    _Row("tgz", "application/gzip"),
    _Row("tif", "image/tiff"),
    _Row("tiff", "image/tiff"),
    _Row("toml", "application/toml"),
    _Row("ts", "video/mp2t"),
    _Row("tsv", "text/tab-separated-values; charset=utf-8"),
    _Row("ttc", "font/collection"),
    _Row("ttf", "font/ttf"),
    _Row("txt", "text/plain; charset=utf-8"),
    _Row("usdz", "model/vnd.usdz+zip"),
    _Row("vcf", "text/vcard; charset=utf-8"),
    _Row("vtt", "text/vtt; charset=utf-8"),
    _Row("wasm", "application/wasm"),
    _Row("wav", "audio/wav"),
    _Row("weba", "audio/webm"),
    _Row("webm", "video/webm"),
    _Row("webmanifest", "application/manifest+json; charset=utf-8"),
    _Row("webp", "image/webp"),
    _Row("woff", "font/woff"),
    _Row("woff2", "font/woff2"),
    _Row("xhtml", "application/xhtml+xml; charset=utf-8"),
    _Row("xls", "application/vnd.ms-excel"),
    _Row(
        "xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ),
    _Row("xml", "application/xml; charset=utf-8"),
    _Row("xsl", "application/xslt+xml; charset=utf-8"),
    _Row("xz", "application/x-xz"),
    _Row("yaml", "application/yaml"),
    _Row("yml", "application/yaml"),
    _Row("zip", "application/zip"),
    _Row("zst", "application/zstd"),
]
# In the order of their octets, for the binary search.
