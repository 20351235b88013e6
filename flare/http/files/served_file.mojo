"""Stores the files that are served, for all workers."""

from std.atomic import Atomic, Ordering

from flare.core import OctetCount, PointerTo, heap_create, heap_destroy
from flare.message import HeaderMap
from flare.sys.folder import FileStatus

from ..body import SEALED_COPY_OCTETS_MAX
from ..conditions import Validators
from ..encoding.coding import ContentCoding
from ..sealed_content import SealedContent
from .siblings import Siblings

# A file with its fields, tags and places in lists.
comptime _OVERHEAD_OCTETS = 2048
# Two changes within one tick of a file system's clock look alike. Ticks of
# network file systems and FAT are as long.
comptime _TICK_NS = 2_000_000_000


struct Representation(Movable):
    """One form of a file: its own octets, or those of a compressed sibling (RFC
    9110 section 3.2).
    """

    var coding: ContentCoding
    """The coding of a compressed sibling; `IDENTITY` for the file itself."""
    var place: Int
    """The place of its status."""
    var octets: Int
    """The length."""
    var content: Optional[SealedContent]
    """The content; `None` if it is read while it is sent."""
    var headers: HeaderMap
    """The fields of an answer with content."""
    var brief: HeaderMap
    """The fields of a 304."""
    var validators: Validators
    """The entity tag and the date, for conditions."""

    def __init__(out self, coding: ContentCoding, place: Int, octets: Int):
        """Creates a form without content.

        Args:
            coding: The coding of a compressed sibling.
            place: The place of its status.
            octets: The length.
        """
        self.coding = coding
        self.place = place
        self.octets = octets
        self.content = None
        self.headers = HeaderMap()
        self.brief = HeaderMap()
        self.validators = Validators(exists=True)


struct ServedFileState(Movable):
    """A file and its forms. It never changes, so all workers read it."""

    var owners: UInt32
    """The number of references."""
    var path: List[UInt8]
    """The path below the folder, with a NUL at its end."""
    var forms: List[Representation]
    """The forms; the file itself is the first."""
    var siblings: Siblings
    """The codings of the forms after the first."""
    var tried: Siblings
    """The codings by which the content was compressed, also those that gained
    nothing."""
    var statuses: List[FileStatus]
    """The status of the file and of each sibling that may exist, when they were
    opened."""
    var read_ns: Int
    """The time before that, in nanoseconds since 1970."""
    var charged: Int
    """The memory that the cache counts for it; 0 if it is not in the cache."""
    var alive: Optional[OctetCount]
    """The counter of the cache."""
    var was_used: UInt8
    """Whether it was served since the cache last looked."""
    var is_evicted: UInt8
    """Whether workers are to forget it."""

    def __init__(out self, path: Span[UInt8, _], read_ns: Int):
        """Creates a file without forms.

        Args:
            path: The path, with a NUL at its end.
            read_ns: The time before the file is opened.
        """
        self.owners = 1
        self.path = List[UInt8](path)
        self.forms = List[Representation]()
        self.siblings = Siblings.NONE
        self.tried = Siblings.NONE
        self.statuses = List[FileStatus]()
        self.read_ns = read_ns
        self.charged = 0
        self.alive = None
        self.was_used = 0
        self.is_evicted = 0


struct ServedFile(ImplicitlyCopyable):
    """A counted reference to a file."""

    var state: PointerTo[ServedFileState]
    """The file."""

    def __init__(out self, var state: ServedFileState):
        """Takes ownership of a file.

        Args:
            state: The file.
        """
        self.state = heap_create(state^)

    def __init__(out self, *, copy: Self):
        """Copies the reference.

        Args:
            copy: The other reference.
        """
        self.state = copy.state
        _ = Atomic[UInt32].fetch_add[ordering=Ordering.RELAXED](
            Pointer(to=self.state[].owners), 1
        )

    def __deinit__(deinit self):
        """Frees the file with its last reference."""
        var state = self.state
        var owners = Atomic[UInt32].fetch_add[
            ordering=Ordering.ACQUIRE_RELEASE
        ](Pointer(to=state[].owners), UInt32.MAX)
        if owners == 1:
            if state[].alive:
                state[].alive.value().add(-_OVERHEAD_OCTETS)
            heap_destroy(state)

    def cost(self) -> Int:
        """Returns how much memory the file takes.

        Returns:
            The number of octets, about.
        """
        var sum = _OVERHEAD_OCTETS
        ref forms = self.state[].forms
        for i in range(len(forms)):
            if forms[i].content:
                sum += forms[i].content.value().held_octets()
        return sum

    def count_in(self, counter: OctetCount):
        """Counts the memory of the file. An answer may keep the content longer
        than the file.

        Args:
            counter: The counter of the cache.
        """
        counter.add(_OVERHEAD_OCTETS)
        self.state[].alive = counter
        ref forms = self.state[].forms
        for i in range(len(forms)):
            if forms[i].content:
                forms[i].content.value().count_in(counter)

    def drop_long_content(self):
        """Makes forms be read while they are sent, because the cache has no
        room for the file. Those that are copied into the output are counted
        there. No worker may use the file yet.
        """
        ref forms = self.state[].forms
        for i in reversed(range(len(forms))):
            if forms[i].octets <= SEALED_COPY_OCTETS_MAX:
                continue
            if i > 0 and forms[i].place == 0:
                # No file contains this form.
                self.state[].siblings = self.state[].siblings.without(
                    forms[i].coding
                )
                _ = forms.pop(i)
            else:
                forms[i].content = None

    def may_have_changed_unseen(self) -> Bool:
        """Returns whether the file was changed so shortly before it was read
        that a later change could have left the same status.

        Returns:
            True if it is to be read again.
        """
        for status in self.state[].statuses:
            if status.changed_ns + _TICK_NS > self.state[].read_ns:
                return True
        return False

    @always_inline
    def note_use(self):
        """Notes that the file is in use, so that the cache keeps it."""
        # Workers that only read share the line.
        if self.state[].was_used == 0:
            self.state[].was_used = 1
