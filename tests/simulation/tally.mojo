"""Counts what happened in simulated runs, by name."""


@fieldwise_init
struct TallyRow(Copyable, Movable):
    """Holds one count."""

    var name: StaticString
    """What was counted."""
    var count: Int
    """How often it happened."""


struct Tally(Movable):
    """Holds counts in the order in which their names came."""

    var rows: List[TallyRow]
    """The counts."""

    def __init__(out self):
        """Counts nothing yet."""
        self.rows = []

    def add(mut self, name: StaticString, count: Int = 1):
        """Counts something, or only learns its name.

        Args:
            name: What happened.
            count: How often; may be 0.
        """
        for ref row in self.rows:
            if row.name == name:
                row.count += count
                return
        self.rows.append(TallyRow(name, count))

    def count(self, name: StaticString) -> Int:
        """Tells how often something happened.

        Args:
            name: What.

        Returns:
            The count.
        """
        for row in self.rows:
            if row.name == name:
                return row.count
        return 0

    def add_all(mut self, other: Self):
        """Adds the counts of another run.

        Args:
            other: The counts.
        """
        for row in other.rows:
            self.add(row.name, row.count)

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
