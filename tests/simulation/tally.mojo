"""Counts what happened in simulated runs, and finds what happened too seldom."""

from .kinds import Kind, all_kinds

comptime WHOLE_SAMPLE_RUNS = 5000
"""From so many runs on each kind must strike in a tenth of them."""
comptime _RUNS_PER_EVENT = 10
# In fewer runs chance alone makes a kind rarer than its share.
comptime _RUNS_PER_EVENT_IN_FEW = 20


@fieldwise_init
struct TallyRow(Copyable, Movable):
    """Holds one count."""

    var name: StaticString
    """What was counted."""
    var count: Int
    """How often it happened."""


struct Tally(Movable):
    """Holds counts: of every kind that is listed, be it 0, and of others."""

    var rows: List[TallyRow]
    """The counts, those of the listed kinds first."""

    def __init__(out self):
        """Counts each kind from 0."""
        self.rows = []
        for kind in all_kinds():
            self.rows.append(TallyRow(kind.name, 0))

    def add(mut self, kind: Kind, count: Int = 1):
        """Counts something.

        Args:
            kind: What happened.
            count: How often; may be 0.
        """
        for ref row in self.rows:
            if row.name == kind.name:
                row.count += count
                return
        self.rows.append(TallyRow(kind.name, count))

    def count(self, kind: Kind) -> Int:
        """Tells how often something happened.

        Args:
            kind: What.

        Returns:
            The count.
        """
        for row in self.rows:
            if row.name == kind.name:
                return row.count
        return 0

    def gaps(self, runs: Int) -> String:
        """Finds what proves too little.

        Args:
            runs: How many runs were counted.

        Returns:
            A line for each listed kind that struck too seldom, and for each
            that is counted without being listed; empty if there is none.
        """
        var text = String()
        var least = runs // (
            _RUNS_PER_EVENT if runs
            >= WHOLE_SAMPLE_RUNS else _RUNS_PER_EVENT_IN_FEW
        )
        var listed = len(all_kinds())
        for i in range(len(self.rows)):
            ref row = self.rows[i]
            if i >= listed:
                text += String(row.name, " is no listed kind\n")
            elif row.count < max(least, 1):
                text += String(row.name, " struck only ", row.count, " times\n")
        return text^

    def text(self) -> String:
        """Lists the counts.

        Returns:
            A line per name.
        """
        var text = String()
        for row in self.rows:
            var number = String(row.count)
            for _ in range(10 - number.byte_length()):
                text += " "
            text += String(number, "  ", row.name, "\n")
        return text^
