"""Finds files for one worker: in its index, in the store, or on the disk."""

from std.memory import ArcPointer

from flare.core import Buffer, PointerTo, heap_create, heap_destroy
from flare.message import FieldSection
from flare.metrics.file_meter import FileResult
from flare.net import NetError
from flare.runtime.blocking import blocking
from flare.runtime.current import current_reactor
from flare.runtime.fiber import Fiber, remove_fiber
from flare.runtime.private_loop import turns_only_to_wait
from flare.runtime.wait import waiting_fiber
from flare.sys.clock import monotonic_ms
from flare.sys.errno import EAGAIN, EISDIR, ENOENT
from flare.sys.folder import FileStatus
from flare.sys.random import fill_random

from ..body import SEALED_COPY_OCTETS_MAX
from ..encoding.accept_encoding import AcceptEncoding
from ..encoding.latest_accept_encoding import LatestAcceptEncoding
from .file_counters import FileCounters
from .file_index import LONG_AGO_MS, FileIndex
from .file_path import PathKind, read_file_path
from .file_reading import FileReader, sibling_path
from .file_store import FileStore
from .found_file import FoundFile
from .options import FileOptions
from .root_folder import RootFolder, names_nothing
from .served_file import ServedFile
from .siblings import Siblings

comptime _SLASH: UInt8 = 47
# Looking at all entries of an index costs time.
comptime _SWEEP_PAUSE_MS = 100
comptime _TRIES = 3


struct _Load(Movable):
    """A file that a helper thread reads. Other fibers that want it wait."""

    var path: List[UInt8]
    # The thread uses the folder of this moment, even if another one takes its
    # place.
    var root: ArcPointer[RootFolder]
    var began_ms: Int
    var earlier: Optional[ServedFile]
    var waiters: List[Fiber]
    var users: Int
    var file: Optional[ServedFile]
    var problem: Int
    var is_done: Bool

    def __init__(
        out self,
        path: Span[UInt8, _],
        root: ArcPointer[RootFolder],
        earlier: Optional[ServedFile],
    ):
        self.path = List[UInt8](path)
        self.root = root
        self.began_ms = _now_ms()
        self.earlier = earlier
        self.waiters = List[Fiber]()
        self.users = 1
        self.file = None
        self.problem = 0
        self.is_done = False


struct _FolderState(Movable):
    var root: ArcPointer[RootFolder]
    var root_checked_ms: Int
    var index: FileIndex
    var store: FileStore
    var reader: FileReader
    # Reads long files while they are sent.
    var streaming_reader: FileReader
    var options: FileOptions
    # The files that helper threads read now.
    var loads: List[PointerTo[_Load]]
    var counters: FileCounters
    var accepted: LatestAcceptEncoding

    def __init__(
        out self,
        path: StringSlice,
        store: FileStore,
        reader: FileReader,
        options: FileOptions,
        has_openat2: Bool,
    ):
        self.root = ArcPointer(RootFolder(path))
        self.root[].has_openat2 = has_openat2
        self.root_checked_ms = LONG_AGO_MS
        self.index = FileIndex(_random_seed())
        self.store = store
        self.reader = reader.copy()
        self.streaming_reader = reader.without_cache()
        self.options = options.copy()
        self.loads = List[PointerTo[_Load]]()
        self.counters = FileCounters()
        self.accepted = LatestAcceptEncoding()
        self.store.add_worker(self.counters)


@fieldwise_init
struct ServedFolder(TrivialRegisterPassable):
    """A handle to the knowledge of one worker about a folder."""

    var _state: PointerTo[_FolderState]

    @staticmethod
    def create(
        path: StringSlice, reader: FileReader, options: FileOptions
    ) -> Self:
        """Creates a folder with an empty store. `destroy` must follow.

        Args:
            path: The path of the folder, without NUL.
            reader: Reads its files.
            options: The limits.

        Returns:
            The handle.
        """
        return Self(
            heap_create(
                _FolderState(
                    path, FileStore(options.cache_octets), reader, options, True
                )
            )
        )

    def duplicate(self) -> Self:
        """Creates a folder for another worker, with the same store.

        Returns:
            The handle.
        """
        ref s = self._state[]
        return Self(
            heap_create(
                _FolderState(
                    s.root[].path(),
                    s.store,
                    s.reader,
                    s.options,
                    s.root[].has_openat2,
                )
            )
        )

    def destroy(self):
        """Closes the folder."""
        self._state[].store.remove_worker(self._state[].counters)
        heap_destroy(self._state)

    def open(self) -> Int:
        """Opens the folder, and finds out how paths are resolved.

        Returns:
            0, or the negated errno if the folder cannot be read.
        """
        var problem = 0
        var folder = self._state[].root[].replacement(problem)
        if not folder:
            return problem
        self._state[].root = ArcPointer(folder.take())
        return self._state[].root[].probe()

    def store(self) -> FileStore:
        """Returns the store.

        Returns:
            A reference.
        """
        return self._state[].store

    def reader(self) -> ref[MutUntrackedOrigin] FileReader:
        """Returns the reader of the files.

        Returns:
            A view that lives as long as the folder.
        """
        return self._state[].reader

    def counters(self) -> ref[MutUntrackedOrigin] FileCounters:
        """Returns the counters of the worker.

        Returns:
            A view that lives as long as the folder.
        """
        return self._state[].counters

    def accepted_codings(
        self, fields: FieldSection
    ) -> ref[MutUntrackedOrigin] AcceptEncoding:
        """Reads the Accept-Encoding lines of a request.

        Args:
            fields: The header section.

        Returns:
            The preferences, valid until the next call.
        """
        return self._state[].accepted.of(fields)

    def open_files_max(self) -> Int:
        """Returns how many files may be sent from the disk at a time.

        Returns:
            The number.
        """
        return self._state[].options.open_files_max

    def open_file(self, path: Span[UInt8, _], mut status: FileStatus) -> Int:
        """Opens a file to read it while it is sent.

        Args:
            path: The relative path, with a NUL at its end.
            status: Set to its status.

        Returns:
            The descriptor, or the negated errno.
        """
        return self._state[].root[].open(path, status)

    def look_again(self, file: ServedFile) raises -> FoundFile:
        """Finds the file that has taken the place of another one.

        Args:
            file: The earlier file.

        Returns:
            The file, or why there is none.

        Raises:
            The errors of `find`.
        """
        var found = self._look_up(Span(file.state[].path))
        if found.is_folder():
            found.problem = -ENOENT
        return found^

    def find(self, received: Span[UInt8, _]) raises -> FoundFile:
        """Finds the file of a path.

        Args:
            received: The path below the folder as received.

        Returns:
            The file, or why there is none.

        Raises:
            An error `http.no_memory` if memory runs out, and the errors of
            `blocking`.
        """
        ref s = self._state[]
        var now_ms = _now_ms()
        s.index.forget_evicted(s.store.evictions(), now_ms, _SWEEP_PAUSE_MS)
        var entry = s.index.find(received)
        if entry:
            ref known = entry.unsafe_value()[]
            if now_ms - known.checked_ms < max(s.options.recheck_ms, 1):
                s.counters.add_search(FileResult.HIT)
                if known.file:
                    known.file.unsafe_value().note_use()
                    return FoundFile(known.file.unsafe_value())
                return FoundFile(problem=-ENOENT)
        return self._find_anew(received, now_ms)

    @no_inline
    def _find_anew(
        self, received: Span[UInt8, _], now_ms: Int
    ) raises -> FoundFile:
        ref s = self._state[]
        var problem = self._refresh_root(now_ms)
        if problem < 0:
            s.counters.add_search(FileResult.MISS)
            return FoundFile(problem=problem)
        var entry = s.index.find(received)
        if entry and entry.value()[].file:
            var file = entry.value()[].file.value()
            if self._is_current(file) and not self._may_be_replaced(file):
                s.counters.add_search(FileResult.RECHECK)
                entry.value()[].checked_ms = now_ms
                file.note_use()
                return FoundFile(file)
        var path = Buffer()
        var kind = read_file_path(
            received, dot_names=s.options.dot_names, into=path
        )
        var found = FoundFile(problem=-ENOENT)
        if kind == PathKind.FILE:
            found = self._look_up(path.span())
            if found.problem == -EISDIR and not self._has_index(path.span()):
                found.problem = -ENOENT
        elif kind == PathKind.FOLDER:
            found = self._find_index(path.span())
        if found.was_kept:
            s.counters.add_search(FileResult.RECHECK)
        else:
            s.counters.add_search(FileResult.MISS)
        # A file for which the store has no room is not kept here either.
        if (
            found.file.value().state[].charged
            > 0 if found.file else names_nothing(found.problem)
        ):
            self._state[].index.put(
                received, found.file, found.checked_ms.or_else(now_ms)
            )
        return found^

    def _refresh_root(self, now_ms: Int) -> Int:
        ref s = self._state[]
        if now_ms - s.root_checked_ms < max(s.options.recheck_ms, 1):
            return 0
        var problem = 0
        var folder = s.root[].replacement(problem)
        if problem < 0:
            return problem
        if folder:
            s.root = ArcPointer(folder.take())
            s.index.clear()
        s.root_checked_ms = now_ms
        return 0

    def _is_current(self, file: ServedFile) -> Bool:
        if file.may_have_changed_unseen():
            return False
        ref s = self._state[]
        ref known = file.state[].statuses
        for i in range(len(known)):
            var status = FileStatus()
            if i == 0:
                _ = s.root[].status(Span(file.state[].path), status)
            else:
                var path = sibling_path(
                    Span(file.state[].path), Siblings.coding_at(i - 1)
                )
                _ = s.root[].status(Span(path), status)
            if status != known[i]:
                return False
        return True

    def _may_be_replaced(self, file: ServedFile) -> Bool:
        """Returns whether the file is an index, for which one of an earlier
        name may stand by now."""
        if len(self._state[].options.index_names) < 2:
            return False
        var path = Span(file.state[].path)
        var start = len(path) - 1
        while start > 0 and path[start - 1] != _SLASH:
            start -= 1
        var name = StringSlice(unsafe_from_utf8=path[start : len(path) - 1])
        for i in range(len(self._state[].options.index_names)):
            if name == StringSlice(self._state[].options.index_names[i]):
                return True
        return False

    def _has_index(self, folder: Span[UInt8, _]) -> Bool:
        for i in range(len(self._state[].options.index_names)):
            var path = self._index_path(folder, i)
            var status = FileStatus()
            if (
                self._state[].root[].status(Span(path), status) == 0
                and status.is_regular()
            ):
                return True
        return False

    def _find_index(self, folder: Span[UInt8, _]) raises -> FoundFile:
        for i in range(len(self._state[].options.index_names)):
            var path = self._index_path(folder, i)
            var found = self._look_up(Span(path))
            if found.file:
                return found^
            if not names_nothing(found.problem) and found.problem != -EISDIR:
                return found^
        return FoundFile(problem=-ENOENT)

    def _index_path(self, folder: Span[UInt8, _], index: Int) -> List[UInt8]:
        var path = List[UInt8](folder)
        path[len(path) - 1] = _SLASH
        path.extend(self._state[].options.index_names[index].as_bytes())
        path.append(0)
        return path^

    def _look_up(self, path: Span[UInt8, _]) raises -> FoundFile:
        """Returns the file of a decoded path: from the store if it is current,
        or else from the disk."""
        # The file for which it waited may be too old, or not read at all.
        for i in range(_TRIES):
            var found = self._look_up_once(path, is_last=i == _TRIES - 1)
            if found:
                return found.take()
        return FoundFile(problem=-EAGAIN)

    def _look_up_once(
        self, path: Span[UInt8, _], *, is_last: Bool
    ) raises -> Optional[FoundFile]:
        ref s = self._state[]
        var kept = s.store.find(path)
        if kept and self._is_current(kept.value()):
            return FoundFile(kept.value(), was_kept=True)
        var status = FileStatus()
        var result = s.root[].status(path, status)
        if result < 0:
            return FoundFile(problem=result)
        if (
            status.octets > SEALED_COPY_OCTETS_MAX
            and status.octets <= s.reader.largest_cached
            and not s.store.has_room(status.octets)
        ):
            var problem = 0
            var streamed = s.streaming_reader.read(s.root[], path, problem)
            if not streamed:
                return FoundFile(problem=problem)
            return FoundFile(streamed.take())
        if self._takes_long(path, status.octets):
            for load in s.loads:
                if Span(load[].path) == path:
                    return self._await_load(load, takes_late=is_last)
            return self._load(path, kept)
        var problem = 0
        var file = s.reader.read(s.root[], path, problem)
        return self._keep(file, problem)

    def _takes_long(self, path: Span[UInt8, _], octets: Int) -> Bool:
        ref s = self._state[]
        if s.reader.takes_long(path, octets):
            return True
        if not s.reader.rules.precompressed:
            return False
        # Each form is read.
        for i in range(Siblings.COUNT):
            var sibling = sibling_path(path, Siblings.coding_at(i))
            var status = FileStatus()
            if s.root[].status(
                Span(sibling), status
            ) == 0 and s.reader.takes_long(Span(sibling), status.octets):
                return True
        return False

    def _keep(
        self, file: Optional[ServedFile], problem: Int
    ) raises -> FoundFile:
        if not file:
            return FoundFile(problem=problem)
        if not self._state[].store.put(file.value()):
            file.value().drop_long_content()
        return FoundFile(file.value())

    def _load(
        self, path: Span[UInt8, _], earlier: Optional[ServedFile]
    ) raises -> FoundFile:
        ref s = self._state[]
        var load = heap_create(_Load(path, s.root, earlier))
        s.loads.append(load)
        var state = self._state

        # The closure runs on another thread. The reader never changes.
        def read() raises {var state, var load}:
            load[].file = state[].reader.read(
                load[].root[],
                Span(load[].path),
                load[].problem,
                load[].earlier,
            )
            load[].is_done = True

        try:
            blocking(read)
        except e:
            # A fiber that is cancelled meanwhile has read the file for others.
            if load[].is_done:
                _ = self._keep(load[].file, load[].problem)
            self._end_load(load)
            var problem = NetError.of(e)
            if problem and problem.value().kind == NetError.NO_MEMORY:
                return FoundFile(problem=-EAGAIN)
            raise e^
        _ = self._keep(load[].file, load[].problem)
        var found = _found(load)
        self._end_load(load)
        return found^

    def _await_load(
        self, load: PointerTo[_Load], *, takes_late: Bool
    ) raises -> Optional[FoundFile]:
        # A file that was read too long ago may have changed since.
        var is_late = _now_ms() - load[].began_ms >= max(
            self._state[].options.recheck_ms, 1
        )
        load[].users += 1
        var fiber = waiting_fiber("read")
        load[].waiters.append(fiber)
        var result = fiber.wait()
        remove_fiber(load[].waiters, fiber)
        var is_done = load[].is_done
        var found = _found(load)
        _give_up(load)
        if result < 0:
            raise Error(NetError.from_errno("read", result))
        if not is_done or (is_late and not takes_late):
            return None
        return found^

    def _end_load(self, load: PointerTo[_Load]):
        ref loads = self._state[].loads
        for i in range(len(loads)):
            if loads[i] == load:
                _ = loads.pop(i)
                break
        for fiber in load[].waiters:
            fiber.wake()
        _give_up(load)


def _found(load: PointerTo[_Load]) -> FoundFile:
    var found = FoundFile(problem=load[].problem)
    if load[].file:
        found.file = load[].file.value()
    found.checked_ms = load[].began_ms
    return found^


def _give_up(load: PointerTo[_Load]):
    load[].users -= 1
    if load[].users == 0:
        heap_destroy(load)


def _now_ms() -> Int:
    var reactor = current_reactor()
    if not reactor:
        return monotonic_ms()
    if turns_only_to_wait(reactor.unsafe_value()):
        return reactor.unsafe_value().refresh_now_ms()
    return reactor.unsafe_value().now_ms()


def _random_seed() -> UInt64:
    var octets = Array[UInt8, 8](fill=0)
    _ = fill_random(Span(octets))
    var seed = UInt64(0)
    for octet in octets:
        seed = seed << 8 | UInt64(octet)
    return seed
