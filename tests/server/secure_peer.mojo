"""Is a client that speaks TLS with a server on a simulated network."""

from flare.core import PointerTo
from flare.http.handler import Handler
from flare.runtime.backends.simulated_network import Peer
from flare.testing.test_server import TestServer
from flare.tls import TlsContext, TlsMachine, TlsSession

from tests.tls.pair import End


struct SecurePeer(Movable):
    """Owns the TLS of one client, and its end of the connection."""

    var peer: Peer
    """The connection."""
    var end: End
    """The machine, and what it has read."""

    def __init__(
        out self,
        peer: Peer,
        context: TlsContext,
        session: Optional[PointerTo[TlsSession]] = None,
    ) raises:
        """Begins to shake hands.

        Args:
            peer: A connection without an octet.
            context: What was decided for clients.
            session: A session to go on with.

        Raises:
            Error: If the machine cannot be made.
        """
        self.peer = peer
        self.end = End(TlsMachine.client(context, "localhost", session))

    def push(mut self):
        """Goes on with what has arrived, and sends what is to be sent."""
        var octets = self.peer.received()
        self.end.window.extend(Span(octets))
        self.end.turn()
        while self.end.machine.pending() > 0:
            self.peer.send(self.end.machine.output())
            self.end.machine.sent(self.end.machine.pending())
            self.end.turn()

    def pump[H: Handler](mut self, server: TestServer[H]):
        """Goes on until neither end has anything to say.

        Parameters:
            H: The type of the handler.

        Args:
            server: The server.
        """
        while True:
            self.push()
            var octets = server.receive(self.peer)
            if len(octets) == 0:
                return
            self.end.window.extend(Span(octets))

    def write(mut self, text: StringSlice) raises:
        """Sends text; the handshake is complete.

        Args:
            text: The text.

        Raises:
            Error: What the machine says against it.
        """
        var octets = text.as_bytes()
        var sent = 0
        while sent < len(octets):
            try:
                sent += self.end.machine.write(octets[sent:])
            except e:
                raise Error(String(e))
            self.push()

    def text(mut self) -> String:
        """Takes what has come.

        Returns:
            The plaintext since the last call.
        """
        var text = String(
            StringSlice(unsafe_from_utf8=Span(self.end.plaintext))
        )
        self.end.plaintext.clear()
        return text^

    def close(mut self):
        """Says that nothing more is sent, and sends no more."""
        self.end.machine.close()
        self.push()
        self.peer.end_sending()
