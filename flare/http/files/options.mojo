"""Defines the limits and choices of served folders."""

comptime _OCTETS_MAX = 1 << 40
comptime _RECHECK_MS_MAX = 60 * 60 * 1000


struct FileOptions(Copyable, Movable):
    """The limits and choices of a `StaticFiles`."""

    var cache_octets: Int
    """The most octets of content that the cache keeps for all workers."""
    var largest_cached: Int
    """The length of the largest file that is kept in memory. Longer ones are
    read while they are sent.
    """
    var recheck_ms: Int
    """The time after which a file is looked at again; 0 for each request."""
    var open_files_max: Int
    """The most files that a worker reads at a time while it sends them."""
    var dot_names: Bool
    """Whether files and folders whose name begins with a dot are served."""
    var index_names: List[String]
    """The names of the files that stand for a folder, the first one first."""
    var immutable_hashed: Bool
    """Whether files with a hash in their name are declared never to change."""
    var compress_cached: Bool
    """Whether texts are compressed once, when they are read into memory."""
    var extra_types: Dict[String, String]
    """Media types by extension, in place of those that flare knows."""

    def __init__(
        out self,
        *,
        cache_octets: Int = 64 * 1024 * 1024,
        largest_cached: Int = 1024 * 1024,
        recheck_ms: Int = 100,
        open_files_max: Int = 256,
        dot_names: Bool = False,
        var index_names: List[String] = ["index.html"],
        immutable_hashed: Bool = False,
        compress_cached: Bool = False,
        var extra_types: Dict[String, String] = {},
    ):
        """Creates options.

        Args:
            cache_octets: The most octets of content that the cache keeps for
                all workers; 0 for no cache.
            largest_cached: The length of the largest file that is kept in
                memory. Sending a file of 1 MiB from memory costs no more than
                letting the kernel read it.
            recheck_ms: The time after which a file is looked at again, to see
                whether it was replaced; 0 for each request, at most once a
                millisecond.
            open_files_max: The most files that a worker reads at a time while
                it sends them; beyond that, the answer is 503.
            dot_names: Whether files and folders whose name begins with a dot
                are served, such as `.git`. `/.well-known/` always is (RFC
                8615).
            index_names: The names of the files that stand for a folder; the
                first one that exists is served.
            immutable_hashed: Whether files with a hash in their name, such as
                `app-3f9a1c2e.js`, are declared never to change.
            compress_cached: Whether texts of 1 KiB or more that have no
                compressed sibling are compressed when they are read into
                memory. The codings are Brotli and gzip, at level 9. The first
                client waits for it. The folder should fit into `cache_octets`.
            extra_types: The value of Content-Type by extension, which is
                written without the dot.
        """
        self.cache_octets = cache_octets
        self.largest_cached = largest_cached
        self.recheck_ms = recheck_ms
        self.open_files_max = open_files_max
        self.dot_names = dot_names
        self.index_names = index_names^
        self.immutable_hashed = immutable_hashed
        self.compress_cached = compress_cached
        self.extra_types = extra_types^

    def first_problem(self) -> Optional[StaticString]:
        """Returns the first field that is out of its bounds.

        Returns:
            The problem, or `None`.
        """
        if self.cache_octets < 0 or self.cache_octets > _OCTETS_MAX:
            return StaticString("cache_octets not in 0..2^40")
        if self.largest_cached < 0 or self.largest_cached > 1 << 30:
            return StaticString("largest_cached not in 0..2^30")
        if self.recheck_ms < 0 or self.recheck_ms > _RECHECK_MS_MAX:
            return StaticString("recheck_ms not in 0..3600000")
        if self.open_files_max < 1 or self.open_files_max > 1 << 20:
            return StaticString("open_files_max not in 1..2^20")
        if len(self.index_names) > 16:
            return StaticString("index_names are more than 16")
        for name in self.index_names:
            if (
                name.byte_length() == 0
                or name.byte_length() > 255
                or "/" in name
                or "\0" in name
                or name == "."
                or name == ".."
            ):
                return StaticString("a name in index_names is none of a file")
        return None
