"""Collects the answers of servers to one question."""

from flare.net import IpAddr
from flare.proto.dns import (
    DnsAnswer,
    DnsOutcome,
    RecordType,
    ResponseCode,
)

from .error import DnsError


struct Finding(Copyable, Movable):
    """The state of one question: the addresses of one family of a name."""

    comptime OPEN: UInt8 = 0
    """No server has given a definite answer; `failure` is the last reason."""
    comptime ADDRESSES: UInt8 = 1
    """There are addresses."""
    comptime NO_ADDRESS: UInt8 = 2
    """The name exists and has none of this family."""
    comptime NO_SUCH_NAME: UInt8 = 3
    """The name does not exist."""

    var type: UInt16
    """`RecordType.A` or `RecordType.AAAA`."""
    var status: UInt8
    """One of the constants above."""
    var addresses: List[IpAddr]
    """The addresses."""
    var ttl_seconds: Optional[Int]
    """How long the answer is valid."""
    var failure: Int
    """A kind of `DnsError`, while the question is open."""
    var code: Int
    """The code of the server that failed last."""
    var was_truncated: Bool
    """Whether the last answer did not fit a datagram."""
    var was_unreadable: Bool
    """Whether the last server could not parse the query."""

    def __init__(out self, type: UInt16):
        """Creates an open question.

        Args:
            type: `RecordType.A` or `RecordType.AAAA`.
        """
        self.type = type
        self.status = Self.OPEN
        self.addresses = []
        self.ttl_seconds = None
        self.failure = DnsError.TIMEOUT
        self.code = 0
        self.was_truncated = False
        self.was_unreadable = False

    def is_open(self) -> Bool:
        """Returns whether another server should be asked.

        Returns:
            True until a server has given a definite answer.
        """
        return self.status == Self.OPEN

    def begin(mut self):
        """Clears the failure of the last server."""
        self.was_truncated = False
        self.was_unreadable = False

    def fail(mut self, failure: Int, code: Int = 0):
        """Records why a server has not answered.

        Args:
            failure: A kind of `DnsError`.
            code: The response code of the server.
        """
        self.failure = failure
        self.code = code

    def take(mut self, answer: DnsAnswer):
        """Records the answer of a server.

        Args:
            answer: The answer to this question.
        """
        if answer.outcome == DnsOutcome.TRUNCATED:
            self.was_truncated = True
            self.fail(DnsError.BAD_ANSWER)
        elif answer.outcome == DnsOutcome.FAILED:
            var code = answer.response_code
            self.was_unreadable = code in (
                ResponseCode.FORMAT_ERROR,
                ResponseCode.NOT_IMPLEMENTED,
                ResponseCode.BAD_VERSION,
            )
            self.fail(
                DnsError.REFUSED if code
                == ResponseCode.REFUSED else DnsError.SERVER_FAILURE,
                code,
            )
        else:
            self.ttl_seconds = answer.ttl_seconds
            if answer.outcome == DnsOutcome.ADDRESSES:
                self.status = Self.ADDRESSES
                self._take_addresses(answer)
            elif answer.outcome == DnsOutcome.NO_ADDRESS:
                self.status = Self.NO_ADDRESS
            else:
                self.status = Self.NO_SUCH_NAME

    def _take_addresses(mut self, answer: DnsAnswer):
        for octets in answer.addresses:
            if self.type == RecordType.A:
                self.addresses.append(
                    IpAddr.v4(octets[0], octets[1], octets[2], octets[3])
                )
            else:
                var all = Array[UInt8, 16](fill=0)
                for i in range(16):
                    all[i] = octets[i]
                self.addresses.append(IpAddr.v6(all))
