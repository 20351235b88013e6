"""Plays the clients of a simulated run: in pieces, out of turn, unfaithful."""

from flare.runtime.backends.simulated_faults import Draws
from flare.runtime.backends.simulated_network import Peer

from tests.server.answers import AnswerReader

from .kinds import Kind
from .plan import PlannedRequest
from .tally import Tally


struct Client(Copyable, Movable):
    """Sends pipelined requests in pieces, and may misbehave."""

    var peer: Optional[Peer]
    """Its end of the connection, once it has connected."""
    var requests: List[PlannedRequest]
    """What it sends."""
    var octets: List[UInt8]
    """All of it."""
    var sent: Int
    """How much of it is sent."""
    var ends: List[Int]
    """Where each request ends in it."""
    var answers: AnswerReader
    """What has arrived."""
    var connects_at: Int
    """The step before which it does not connect."""
    var ends_early: Bool
    """It ends its side when all is sent."""
    var leaves_at: Int
    """It leaves when so many octets are sent; -1 if it stays."""
    var leaves_by_reset: Bool
    """It breaks the connection when it leaves, else it closes it."""
    var has_left: Bool
    """It left before it had all answers."""
    var stalls_at: Int
    """It sends nothing more when so many octets are sent; -1 if it does not."""
    var never_reads: Bool
    """It reads nothing until the server has closed."""
    var reads_slowly: Bool
    """It reads seldom."""
    var closes: Bool
    """It closes when it has all answers."""
    var was_struck: Bool
    """Chance broke its connection."""
    var is_finished: Bool
    """Nothing more is to be expected."""
    var has_let_lie: Bool
    """It never reads, and something has arrived."""

    def __init__(out self, var requests: List[PlannedRequest]):
        """Begins before it connects.

        Args:
            requests: What it sends.
        """
        self.peer = None
        self.octets = []
        self.ends = []
        self.sent = 0
        for request in requests:
            self.octets.extend(request.octets.as_bytes())
            self.ends.append(len(self.octets))
        self.requests = requests^
        self.answers = AnswerReader()
        self.connects_at = 0
        self.ends_early = False
        self.leaves_at = -1
        self.leaves_by_reset = False
        self.has_left = False
        self.stalls_at = -1
        self.never_reads = False
        self.reads_slowly = False
        self.closes = True
        self.was_struck = False
        self.is_finished = False
        self.has_let_lie = False

    def draw_behavior(mut self, mut draws: Draws, may_misbehave: Bool):
        """Decides how it behaves.

        Args:
            draws: Decides.
            may_misbehave: It may leave, stall or not read.
        """
        self.closes = draws.strikes(700)
        # The end of an upgraded connection is asked for like that.
        if self.requests[len(self.requests) - 1].kind == "upgrade":
            self.ends_early = True
        self.reads_slowly = draws.strikes(150)
        if draws.strikes(400):
            self.connects_at = draws.below(60)
        if not may_misbehave:
            return
        self.ends_early = self.ends_early or draws.strikes(250)
        if draws.strikes(200):
            self.leaves_at = draws.below(len(self.octets)) + 1
            self.leaves_by_reset = draws.strikes(500)
        elif draws.strikes(340):
            self.stalls_at = draws.below(len(self.octets))
        elif draws.strikes(140):
            self.never_reads = True

    def is_sending(self) -> Bool:
        """Tells whether it has something to send and will.

        Returns:
            False once it has sent all that it is going to send.
        """
        if self.is_finished:
            return False
        return self.sent < self._limit()

    def act(mut self, mut draws: Draws, must_read: Bool, mut tally: Tally):
        """Does something or nothing.

        Args:
            draws: Decides.
            must_read: It reads what there is, unless it never reads.
            tally: Counts what it does to an open connection.
        """
        if not self.peer or self.is_finished:
            return
        if self.is_sending() and draws.strikes(600):
            self._send_some(draws, tally)
        if self.never_reads:
            if not self.has_let_lie and self.peer.value().has_arrivals():
                self.has_let_lie = True
                tally.add(Kind.UNREAD_ANSWERS)
            if not self.peer.value().has_ended():
                return
        elif not must_read and not draws.strikes(
            50 if self.reads_slowly else 500
        ):
            return
        self.read()

    def read(mut self):
        """Reads what has arrived, and looks whether that was all."""
        if not self.peer or self.has_left:
            return
        self.was_struck = self.was_struck or self.peer.value().is_struck()
        self.answers.add(Span(self.peer.value().received()))
        while not self.is_upgraded() and self.answers.read_one(self._is_head()):
            pass
        if self.peer.value().is_closed():
            self.is_finished = True
        elif len(self.answers.answers) >= len(self.requests):
            if not self.requests[len(self.requests) - 1].is_last:
                self.is_finished = True
        if self.is_finished and self.closes:
            # Whatever comes now is too much, and is still looked at.
            self.peer.value().close()

    def may_be_cut_off(self) -> Bool:
        """Tells whether it has no right to all of its answers.

        Returns:
            True if it left, stalled or did not read, or if chance struck.
        """
        return (
            self.has_left
            or self.was_struck
            or self.stalls_at >= 0
            or self.never_reads
        )

    def is_upgraded(self) -> Bool:
        """Tells whether what follows is another protocol.

        Returns:
            True after a 101.
        """
        var count = len(self.answers.answers)
        return count > 0 and self.answers.answers[count - 1].status == 101

    def raw(self) -> StringSlice[origin_of(self.answers.octets)]:
        """Views what has come behind the last whole answer.

        Returns:
            Octets of the other protocol, after a 101.
        """
        return StringSlice(
            unsafe_from_utf8=Span(self.answers.octets)[self.answers.at :]
        )

    def has_something_to_read(self) -> Bool:
        """Tells whether octets wait for it that it will read.

        Returns:
            True if so.
        """
        return (
            Bool(self.peer)
            and not self.is_finished
            and not self.never_reads
            and self.peer.value().has_arrivals()
        )

    def received_count(self) -> Int:
        """Counts what it has read.

        Returns:
            Octets.
        """
        return len(self.answers.octets)

    def text(self) -> String:
        """Describes what it sends, how it behaves and what it got.

        Returns:
            A line for itself and one for each request.
        """
        var text = String("    client")
        if self.peer:
            text += String(" at socket ", self.peer.value().index)
        text += String(", ", self.sent, " of ", len(self.octets), " sent")
        if self.ends_early:
            text += ", ends early"
        if self.leaves_at >= 0:
            text += String(", leaves at ", self.leaves_at)
        if self.stalls_at >= 0:
            text += String(", stalls at ", self.stalls_at)
        if self.never_reads:
            text += ", never reads"
        if self.was_struck:
            text += ", was struck"
        text += "\n"
        for i in range(len(self.requests)):
            ref request = self.requests[i]
            text += String("        ", request.number, " ", request.line())
            if i < len(self.answers.answers):
                ref answer = self.answers.answers[i]
                text += String(": ", answer.status)
                if answer.closes:
                    text += " and close"
            text += "\n"
        if self.answers.has_rest():
            text += String(
                "        rest ",
                len(self.answers.octets) - self.answers.at,
                " octets\n",
            )
        return text^

    def _is_head(self) -> Bool:
        var index = len(self.answers.answers)
        return index < len(self.requests) and self.requests[index].is_head

    def _limit(self) -> Int:
        return self.stalls_at if self.stalls_at >= 0 else len(self.octets)

    def _send_some(mut self, mut draws: Draws, mut tally: Tally):
        var left = self._limit() - self.sent
        var count = 1 + draws.below(min(left, 3000))
        if draws.strikes(300):
            count = left
        elif draws.strikes(300):
            count = 1 + draws.below(min(left, 5))
        if self.leaves_at >= 0:
            count = min(count, self.leaves_at - self.sent)
        self.peer.value().send(Span(self.octets)[self.sent : self.sent + count])
        var is_open = not self.peer.value().has_ended()
        if is_open:
            tally.add(Kind.PIPELINED, self._count_pipelined(count))
        self.sent += count
        if self.sent == self.leaves_at:
            var leaves = Kind.CLIENT_CLOSES
            if self.leaves_by_reset:
                leaves = Kind.CLIENT_RESETS
            tally.add(leaves, Int(is_open))
            self._leave()
        elif self.sent == self.stalls_at:
            tally.add(Kind.STALLS, Int(is_open))
        elif self.sent == len(self.octets) and self.ends_early:
            if is_open and len(self.answers.answers) < len(self.requests):
                tally.add(Kind.EARLY_ENDS)
            self.peer.value().end_sending()

    def _count_pipelined(self, count: Int) -> Int:
        """Counts the requests that the next octets complete though an earlier
        one has no answer yet."""
        var pipelined = 0
        for i in range(len(self.answers.answers) + 1, len(self.ends)):
            if self.sent < self.ends[i] <= self.sent + count:
                pipelined += 1
        return pipelined

    def _leave(mut self):
        self.has_left = True
        self.is_finished = True
        if self.leaves_by_reset:
            self.peer.value().reset()
        self.peer.value().close()
