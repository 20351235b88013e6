"""Defines the error by which an extractor refuses a request."""

from flare.message import Status

from .builders import rejection_answer
from .rejected_text import REJECTED
from .response import Response


@fieldwise_init
struct Rejection(ImplicitlyCopyable, Writable):
    """A refusal by an extractor, which the router turns into the answer."""

    var status: Int
    """The status of the answer, 400 to 499."""
    var reason: StaticString
    """A fixed phrase: the content of the answer. If it begins with `{`, it is
    sent as `application/problem+json`.
    """

    def write_to(self, mut writer: Some[Writer]):
        """Writes the error's text, which `status_of` reads.

        Args:
            writer: The destination.
        """
        writer.write(REJECTED, self.status, " ", self.reason)

    @staticmethod
    def status_of(error: Error) -> Optional[Int]:
        """Returns the status of a rejection.

        Args:
            error: Any error.

        Returns:
            The status of the answer; `None` if the error is not a rejection.
        """
        var text = String(error)
        if not text.startswith(REJECTED):
            return None
        var octets = text.as_bytes()[REJECTED.byte_length() :]
        if len(octets) < 4 or octets[3] != UInt8(ord(" ")):
            return None
        var status = 0
        for i in range(3):
            var digit = Int(octets[i]) - ord("0")
            if digit < 0 or digit > 9:
                return None
            status = status * 10 + digit
        if status < Status.BAD_REQUEST or status > 499:
            return None
        return status

    @staticmethod
    def response_of(error: Error) -> Optional[Response]:
        """Returns the answer for a rejection.

        Args:
            error: Any error.

        Returns:
            The response; `None` if the error is not a rejection.
        """
        var status = Self.status_of(error)
        if not status:
            return None
        var text = String(error)
        var octets = text.as_bytes()[REJECTED.byte_length() + 4 :]
        return rejection_answer(status.value(), octets)


def is_problem(error: Error) -> Bool:
    """Returns whether an error is answered with a list of problems.

    Args:
        error: Any error.

    Returns:
        True for `Problems.rejection`.
    """
    var text = String(error)
    var start = REJECTED.byte_length() + 4
    return (
        Bool(Rejection.status_of(error))
        and text.byte_length() > start
        and text.as_bytes()[start] == UInt8(ord("{"))
    )
