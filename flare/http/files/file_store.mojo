"""Keeps the files that all workers share, within a bound.

Files in the table stay within the bound. With those that were evicted, and that
workers have not forgotten or peers have not read yet, there may be a quarter
more. The queue gives each file a second chance that was served since it last
came to the front.
"""

from std.atomic import Atomic, Ordering
from std.collections import Deque

from flare.core import OctetCount, PointerTo, heap_create, heap_destroy
from flare.sys.thread import Lock

from .file_counters import FileCounters, FileStatistics, add_counters
from .served_file import ServedFile


struct _StoreState(Movable):
    var owners: UInt32
    var lock: Lock
    var octets_max: Int
    # The memory of the files in the table, and with those that workers still
    # use.
    var kept: Int
    var alive: OctetCount
    var evictions: UInt64
    var files: Dict[String, ServedFile]
    var queue: Deque[String]
    # The counters of the workers, and the sums of those that have gone.
    var workers: List[PointerTo[FileStatistics]]
    var past: FileStatistics

    def __init__(out self, octets_max: Int):
        self.owners = 1
        self.lock = Lock.create()
        self.octets_max = octets_max
        self.kept = 0
        self.alive = OctetCount()
        self.evictions = 0
        self.files = Dict[String, ServedFile]()
        self.queue = Deque[String]()
        self.workers = List[PointerTo[FileStatistics]]()
        self.past = FileStatistics()

    def put(mut self, file: ServedFile) raises -> Bool:
        """Stores a file in place of an earlier one of its path."""
        var path = _key(Span(file.state[].path))
        if path in self.files:
            self._evict(path)
        var cost = file.cost()
        if cost > self.octets_max:
            return False
        self._make_room(cost)
        if self.alive.sum() + cost > self.octets_max + self.octets_max // 4:
            return False
        file.state[].charged = cost
        file.count_in(self.alive)
        self.kept += cost
        self.files[path] = file
        self._queue(path)
        return True

    def _make_room(mut self, cost: Int) raises:
        var chances = len(self.queue)
        while self.kept + cost > self.octets_max:
            var oldest = self.queue.popleft()
            if oldest not in self.files:
                continue
            ref state = self.files[oldest].state[]
            if state.was_used != 0 and chances > 0:
                state.was_used = 0
                chances -= 1
                self.queue.append(oldest)
            else:
                self._evict(oldest)

    def _queue(mut self, path: String):
        # Paths whose file was evicted may still be in the queue.
        if len(self.queue) > 2 * len(self.files) + 64:
            self.queue.clear()
            for key in self.files:
                self.queue.append(key)
        else:
            self.queue.append(path)

    def _evict(mut self, path: String) raises:
        var file = self.files.pop(path)
        file.state[].is_evicted = 1
        self.kept -= file.state[].charged
        _ = Atomic[UInt64].fetch_add[ordering=Ordering.RELEASE](
            Pointer(to=self.evictions), 1
        )


struct FileStore(ImplicitlyCopyable):
    """A counted reference to the files of one `StaticFiles` and its copies."""

    var _state: PointerTo[_StoreState]

    def __init__(out self, octets_max: Int):
        """Creates an empty store.

        Args:
            octets_max: The most octets of memory.
        """
        self._state = heap_create(_StoreState(octets_max))

    def __init__(out self, *, copy: Self):
        """Copies the reference.

        Args:
            copy: The other reference.
        """
        self._state = copy._state
        _ = Atomic[UInt32].fetch_add[ordering=Ordering.RELAXED](
            Pointer(to=self._state[].owners), 1
        )

    def __deinit__(deinit self):
        """Frees the store with its last reference."""
        var state = self._state
        var owners = Atomic[UInt32].fetch_add[
            ordering=Ordering.ACQUIRE_RELEASE
        ](Pointer(to=state[].owners), UInt32.MAX)
        if owners == 1:
            # The files count themselves off in the store.
            state[].files.clear()
            state[].lock.destroy()
            heap_destroy(state)

    def find(self, path: Span[UInt8, _]) -> Optional[ServedFile]:
        """Returns the file of a path. It may have changed since.

        Args:
            path: The path below the folder, with a NUL at its end.

        Returns:
            The file; `None` if the store has none.
        """
        with self._state[].lock:
            return self._state[].files.get(_key(path))

    def has_room(self, octets: Int) -> Bool:
        """Returns whether a content may be read into memory. Peers that do
        not read may hold files that have left the table.

        Args:
            octets: Its length.

        Returns:
            False if they would hold more than a quarter of the bound.
        """
        ref s = self._state[]
        with s.lock:
            return s.alive.sum() - s.kept + octets <= s.octets_max // 4

    def put(self, file: ServedFile) raises -> Bool:
        """Stores a file in place of an earlier one of its path.

        Args:
            file: The file, which no worker uses yet.

        Returns:
            False if there is no room.

        Raises:
            Error: Never: the paths that are looked up exist.
        """
        with self._state[].lock:
            return self._state[].put(file)

    @always_inline
    def evictions(self) -> UInt64:
        """Returns how often files were evicted. Workers then look for files
        that they are to forget.

        Returns:
            The number.
        """
        return Atomic[UInt64].load[ordering=Ordering.ACQUIRE](
            Pointer(to=self._state[].evictions)
        )

    def add_worker(self, counters: FileCounters):
        """Adds a worker to the sums.

        Args:
            counters: The counters; `remove_worker` must follow.
        """
        with self._state[].lock:
            self._state[].workers.append(counters.counts())

    def remove_worker(self, counters: FileCounters):
        """Removes a worker from the sums, which keep its counts.

        Args:
            counters: The counters, which may be freed afterwards.
        """
        ref s = self._state[]
        with s.lock:
            for i in range(len(s.workers)):
                if s.workers[i] == counters.counts():
                    add_counters(s.past, s.workers.pop(i))
                    break
            # Its files that are still open are not counted.
            s.past.open_files = 0

    def statistics(self) -> FileStatistics:
        """Returns the counters of all workers.

        Returns:
            The sums.
        """
        ref s = self._state[]
        with s.lock:
            var sum = s.past
            for worker in s.workers:
                add_counters(sum, worker)
            sum.cached_files = Int64(len(s.files))
            sum.cached_octets = Int64(s.kept)
            sum.evictions = Int64(self.evictions())
            return sum

    def alive_octets(self) -> Int:
        """Returns how much memory the files take, with those that were evicted
        and are still in use.

        Returns:
            The number of octets.
        """
        return self._state[].alive.sum()


def _key(path: Span[UInt8, _]) -> String:
    return String(StringSlice(unsafe_from_utf8=path))
