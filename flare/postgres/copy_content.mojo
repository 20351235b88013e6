"""Hands the content of COPY from the fiber of a user to that of a connection.

One piece is on its way at a time: while the connection sends it, the fiber fills
the next one.
"""

from flare.core import PointerTo, heap_create, heap_destroy
from flare.runtime.fiber import Fiber
from flare.sys.libpq_connection import PgConnection
from flare.sys.libpq_result import PgResult, PgStatus

from .error import PostgresError


@fieldwise_init
struct CopyPhase(Equatable, TrivialRegisterPassable):
    """The phases of COPY."""

    comptime BEGUN = Self(0)
    """The statement was sent."""
    comptime TAKES_CONTENT = Self(1)
    """The server waits for content."""
    comptime ENDING = Self(2)
    """All content is there, and its end was not sent."""
    comptime ENDED = Self(3)
    """The end was sent."""
    comptime DONE = Self(4)
    """The server has answered."""

    var value: UInt8
    """The number of the phase."""


@fieldwise_init
struct CopyStep(Equatable, TrivialRegisterPassable):
    """The outcomes of a step."""

    comptime WAITS = Self(0)
    """It waits for its socket, or for the fiber."""
    comptime MOVED = Self(1)
    """It has octets to send."""
    comptime ENDED = Self(2)
    """It takes statements again."""
    comptime FAILED = Self(3)
    """It is of no use any more."""

    var value: UInt8
    """The number of the step."""


struct CopyState(Movable):
    """The state of one COPY. Only `CopyContent` uses it."""

    var fiber: Optional[Fiber]
    """The fiber that waits for room or for the answer."""
    var phase: CopyPhase
    """Its phase."""
    var piece: List[UInt8]
    """The piece that is to be sent."""
    var error: Optional[PostgresError]
    """The error in place of an answer."""
    var users: Int
    """The fiber, and the connection."""

    def __init__(out self):
        """Creates the state before the first piece."""
        self.fiber = None
        self.phase = CopyPhase.BEGUN
        self.piece = List[UInt8]()
        self.error = None
        self.users = 1


@fieldwise_init
struct CopyContent(TrivialRegisterPassable):
    """A handle to the content of one COPY."""

    var state: PointerTo[CopyState]
    """The heap state."""

    @staticmethod
    def create() -> Self:
        """Creates content without a piece.

        Returns:
            The content, with one user.
        """
        return Self(heap_create(CopyState()))

    def advance(self, pg: PgConnection, *, has_room: Bool) -> CopyStep:
        """Sends and receives as far as that does not wait.

        Args:
            pg: The connection.
            has_room: Whether all earlier octets were sent.

        Returns:
            The outcome.
        """
        ref s = self.state[]
        if s.phase == CopyPhase.BEGUN:
            return self._read_begin(pg)
        if s.phase == CopyPhase.ENDED:
            return self._read_end(pg)
        if not has_room:
            return CopyStep.WAITS
        if len(s.piece) > 0:
            var taken = pg.put_copy_data(Span(s.piece))
            if taken != 1:
                return CopyStep.WAITS if taken == 0 else CopyStep.FAILED
            s.piece.clear()
            self._wake()
            return CopyStep.MOVED
        if s.phase == CopyPhase.ENDING:
            var taken = pg.put_copy_end()
            if taken != 1:
                return CopyStep.WAITS if taken == 0 else CopyStep.FAILED
            s.phase = CopyPhase.ENDED
            return CopyStep.MOVED
        return CopyStep.WAITS

    def fail(self, text: StringSlice):
        """Ends it, because the connection has ended.

        Args:
            text: The cause.
        """
        ref s = self.state[]
        if s.phase == CopyPhase.DONE:
            return
        if not s.error:
            s.error = PostgresError(
                PostgresError.CONNECTION_LOST, text, sent=True
            )
        s.phase = CopyPhase.DONE
        self._wake()

    def release(self):
        """Drops the use of the fiber or of the connection."""
        self.state[].users -= 1
        if self.state[].users == 0:
            heap_destroy(self.state)

    def _read_begin(self, pg: PgConnection) -> CopyStep:
        ref s = self.state[]
        if pg.is_busy():
            return CopyStep.WAITS
        var result = pg.take_result()
        if result and result.value().status() == PgStatus.COPY_IN:
            result.value().clear()
            s.phase = CopyPhase.TAKES_CONTENT
            self._wake()
            return CopyStep.MOVED
        if result:
            self._note(result.value())
        s.phase = CopyPhase.ENDED
        return CopyStep.MOVED

    def _read_end(self, pg: PgConnection) -> CopyStep:
        ref s = self.state[]
        while not pg.is_busy():
            var result = pg.take_result()
            if result:
                self._note(result.value())
                continue
            if not pg.begin_pipeline() and not s.error:
                s.error = PostgresError(
                    PostgresError.CONNECTION_LOST,
                    "the connection takes no statements after COPY",
                    sent=True,
                )
            s.phase = CopyPhase.DONE
            self._wake()
            return CopyStep.ENDED
        return CopyStep.WAITS

    def _note(self, result: PgResult):
        ref s = self.state[]
        if result.status() == PgStatus.FAILED:
            if not s.error:
                s.error = PostgresError.from_result(result)
        result.clear()

    def _wake(self):
        if self.state[].fiber:
            self.state[].fiber.value().wake()
