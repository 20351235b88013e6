"""Asks a silent server whether it is still there (RFC 9113 section 6.7).

Without that, a request on a connection that a router has forgotten would wait as
long as it may. The same question serves streams that the client has cancelled. The
server has seen a cancellation before it answers. Until then, the stream counts
against the server's limit.
"""


@fieldwise_init
struct Liveness(TrivialRegisterPassable):
    """The times of the last octets and of the last question, and the cancelled
    streams."""

    var ask_after_ms: Int
    """How long the server may be silent before it is asked."""
    var answer_ms: Int
    """How long it may take to answer."""
    var heard_ms: Int
    """When octets last arrived."""
    var asked_ms: Int
    """When it was asked; 0 if octets have arrived since."""
    var is_answer_due: Bool
    """Whether it has not answered the last question."""
    var cancelled_before: Int
    """Streams that were cancelled before the question, and count still."""
    var cancelled_since: Int
    """Streams that were cancelled later."""

    def __init__(out self, ask_after_ms: Int, answer_ms: Int, now_ms: Int):
        """Creates the state of a connection that was just made.

        Args:
            ask_after_ms: How long the server may be silent.
            answer_ms: How long it may take to answer.
            now_ms: The time.
        """
        self = Self(ask_after_ms, answer_ms, now_ms, 0, False, 0, 0)

    def left_ms(self, now_ms: Int) -> Int:
        """Returns how long to wait for octets before the next step.

        Args:
            now_ms: The time.

        Returns:
            The time until the question or the end of the answer is due; at
            least 1, so that octets which have arrived are seen.
        """
        if self.asked_ms != 0:
            return max(self.asked_ms + self.answer_ms - now_ms, 1)
        return max(self.heard_ms + self.ask_after_ms - now_ms, 1)

    def is_question_due(self, now_ms: Int) -> Bool:
        """Returns whether the server was silent for too long.

        Args:
            now_ms: The time.

        Returns:
            False if it was asked.
        """
        return (
            self.asked_ms == 0 and now_ms - self.heard_ms >= self.ask_after_ms
        )

    def is_dead(self, now_ms: Int) -> Bool:
        """Returns whether the server has not answered in time.

        Args:
            now_ms: The time.

        Returns:
            True if neither the answer nor another octet came.
        """
        return self.asked_ms != 0 and now_ms - self.asked_ms >= self.answer_ms

    def note_asked(mut self, now_ms: Int):
        """Records that the server is asked.

        Args:
            now_ms: The time.
        """
        self.asked_ms = max(now_ms, 1)
        self.is_answer_due = True
        self.cancelled_before += self.cancelled_since
        self.cancelled_since = 0

    def note_heard(mut self, now_ms: Int):
        """Records that octets have arrived.

        Args:
            now_ms: The time.
        """
        self.heard_ms = now_ms
        self.asked_ms = 0

    def note_answer(mut self):
        """Records that the server has answered: it has seen all streams that
        were cancelled before the question."""
        self.is_answer_due = False
        self.cancelled_before = 0

    def cancelled(self) -> Int:
        """Returns how many cancelled streams count against the server's limit.

        Returns:
            The number.
        """
        return self.cancelled_before + self.cancelled_since
