"""Joins a client and a server machine in memory."""

from flare.tls import (
    TlsConfig,
    TlsContext,
    TlsError,
    TlsMachine,
    TlsServerConfig,
    TlsStep,
)

from tests.asserting import assert_equal, assert_true

comptime WHOLE = 1 << 30
"""Lets everything that was sent arrive at once."""


struct End(Movable):
    """Owns one machine, what has arrived for it, and what it has read."""

    var machine: TlsMachine
    """The machine."""
    var window: List[UInt8]
    """What has arrived and was not consumed."""
    var plaintext: List[UInt8]
    """What it has read."""
    var is_done: Bool
    """Whether the handshake was reported to be complete."""
    var has_ended: Bool
    """Whether the end of the peer was reported."""
    var error: Optional[TlsError]
    """What it has failed with."""

    def __init__(out self, var machine: TlsMachine):
        """Takes a machine over.

        Args:
            machine: The machine.
        """
        self.machine = machine^
        self.window = List[UInt8]()
        self.plaintext = List[UInt8]()
        self.is_done = False
        self.has_ended = False
        self.error = None

    def turn(mut self):
        """Goes on as far as what has arrived allows."""
        try:
            self._go_on()
        except e:
            self.error = e

    def _go_on(mut self) raises TlsError:
        while not self.is_done:
            var step = self.machine.handshake(Span(self.window))
            self._drop(step.consumed)
            if step.kind == TlsStep.DONE:
                self.is_done = True
            else:
                return
        var into = List[UInt8](length=20_000, fill=0)
        while not self.has_ended:
            var step = self.machine.read(Span(self.window), Span(into))
            self._drop(step.consumed)
            if step.kind == TlsStep.NEED_OCTETS:
                return
            if step.kind == TlsStep.END:
                self.has_ended = True
            else:
                self.plaintext.extend(Span(into)[0 : step.count])

    def _drop(mut self, count: Int):
        var rest = List[UInt8]()
        rest.extend(Span(self.window)[count : len(self.window)])
        self.window = rest^


struct Pair(Movable):
    """Owns both ends of a connection in memory."""

    var client: End
    """The end that begins."""
    var server: End
    """The end that answers."""
    var piece_octets: Int
    """How many octets arrive at once."""
    var carried: Int
    """How many octets have gone either way."""

    def __init__(
        out self,
        var client: TlsMachine,
        var server: TlsMachine,
        piece_octets: Int = WHOLE,
    ):
        """Joins two machines.

        Args:
            client: The end that begins.
            server: The end that answers.
            piece_octets: How many octets arrive at once.
        """
        self.client = End(client^)
        self.server = End(server^)
        self.piece_octets = piece_octets
        self.carried = 0

    def run(mut self):
        """Carries octets until neither end has any."""
        self.client.turn()
        self.server.turn()
        while True:
            var moved = self._carry(True) + self._carry(False)
            self.carried += moved
            if moved == 0:
                return

    def _carry(mut self, from_client: Bool) -> Int:
        var octets: List[UInt8]
        if from_client:
            octets = _sent_by(self.client.machine, self.piece_octets)
        else:
            octets = _sent_by(self.server.machine, self.piece_octets)
        var count = len(octets)
        if count == 0:
            return 0
        if from_client:
            self.server.window.extend(Span(octets))
            self.server.turn()
            self.client.turn()
        else:
            self.client.window.extend(Span(octets))
            self.client.turn()
            self.server.turn()
        return count


def joined(
    client: TlsConfig,
    server: TlsServerConfig,
    host: StringSlice = "localhost",
    piece_octets: Int = WHOLE,
) raises -> Pair:
    """Joins two ends and lets them shake hands as far as they can.

    Args:
        client: What the client has decided.
        server: What the server has decided.
        host: Whom the client wants to reach.
        piece_octets: How many octets arrive at once.

    Returns:
        Both ends.

    Raises:
        Error: If one of them cannot be made.
    """
    var clients = TlsContext.for_clients(client)
    var servers = TlsContext.for_servers(server)
    var pair = Pair(
        TlsMachine.client(clients, host),
        TlsMachine.server(servers),
        piece_octets,
    )
    pair.run()
    return pair^


def assert_joined(pair: Pair) raises:
    """Checks that the handshake is complete at both ends.

    Args:
        pair: Both ends.

    Raises:
        Error: If it is not.
    """
    if pair.client.error:
        raise Error("client: ", pair.client.error.value())
    if pair.server.error:
        raise Error("server: ", pair.server.error.value())
    assert_true(pair.client.is_done, "the client")
    assert_true(pair.server.is_done, "the server")


def written(machine: TlsMachine, text: StringSlice) raises:
    """Encrypts a short text.

    Args:
        machine: The end that says it.
        text: The text.

    Raises:
        Error: If it is not taken whole.
    """
    assert_equal(machine.write(text.as_bytes()), text.byte_length())


def text_of(octets: List[UInt8]) raises -> String:
    """Reads octets as a text.

    Args:
        octets: The octets.

    Returns:
        The text.

    Raises:
        Error: If it is not UTF-8.
    """
    return String(StringSlice(from_utf8=Span(octets)))


def _sent_by(machine: TlsMachine, octets_max: Int) -> List[UInt8]:
    var count = min(machine.pending(), octets_max)
    var octets = List[UInt8]()
    octets.extend(machine.output()[0:count])
    machine.sent(count)
    return octets^
