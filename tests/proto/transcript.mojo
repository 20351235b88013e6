"""Collects what a machine reported and sent, in a form that splits do not change.

Adjacent data joins, adjacent sent octets join, and repeated waiting values
count once; so two runs over the same octets, cut differently, compare equal.
"""

from flare.core import write_escaped


struct Transcript(Copyable, Movable):
    """Holds the lines of one conversation."""

    var lines: List[String]
    """Each line as a fixture writes it, escaped."""

    def __init__(out self):
        """Makes an empty transcript."""
        self.lines = []

    def add(mut self, line: String):
        """Adds a line; a line that may repeat is added once.

        Args:
            line: The line with its mark.
        """
        var n = len(self.lines)
        if n > 0 and self.lines[n - 1] == line and _may_repeat(line):
            return
        self.lines.append(line)

    def join(mut self, mark: String, octets: Span[UInt8, _]):
        """Adds octets to the last line, if it has the same mark.

        Args:
            mark: `= DATA ` or `< `.
            octets: What was received or sent.
        """
        if len(octets) == 0:
            return
        var text = String()
        write_escaped(octets, text)
        var n = len(self.lines)
        if n > 0 and self.lines[n - 1].startswith(mark):
            self.lines[n - 1] += text
        else:
            self.lines.append(mark + text)

    def text(self) -> String:
        """Shows the whole conversation.

        Returns:
            The lines, each with a line end.
        """
        var all = String()
        for line in self.lines:
            all += line + "\n"
        return all^


def _may_repeat(line: String) -> Bool:
    return line == "= PAUSED" or line == "= UPGRADED"
