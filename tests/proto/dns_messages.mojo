"""Writes DNS messages field by field for tests."""


struct Message(Movable):
    """Holds a message under construction."""

    var octets: List[UInt8]
    """What is written so far."""

    def __init__(
        out self,
        id: Int,
        flags: Int,
        questions: Int = 1,
        answers: Int = 0,
        authorities: Int = 0,
        additionals: Int = 0,
    ):
        """Writes a header.

        Args:
            id: The id.
            flags: The 16 bits of flags.
            questions: How many questions it says follow.
            answers: How many answers.
            authorities: How many records of authorities.
            additionals: How many additional records.
        """
        self.octets = []
        self.number(id, 2)
        self.number(flags, 2)
        self.number(questions, 2)
        self.number(answers, 2)
        self.number(authorities, 2)
        self.number(additionals, 2)

    def number(mut self, value: Int, count: Int):
        """Writes a number.

        Args:
            value: The number.
            count: Its octets.
        """
        for i in range(count - 1, -1, -1):
            self.octets.append(UInt8((value >> (8 * i)) & 255))

    def name(mut self, text: StringSlice):
        """Writes a name without compression.

        Args:
            text: Labels with dots between; nothing for the root.
        """
        if text.byte_length() > 0:
            for label in text.split("."):
                self.octets.append(UInt8(label.byte_length()))
                self.octets.extend(label.as_bytes())
        self.octets.append(0)

    def pointer(mut self, target: Int):
        """Writes a pointer.

        Args:
            target: Where it leads.
        """
        self.number(0xC000 | target, 2)

    def question(mut self, name: StringSlice, type: Int):
        """Writes a question.

        Args:
            name: The name.
            type: The type.
        """
        self.name(name)
        self.number(type, 2)
        self.number(1, 2)

    def fixed(mut self, type: Int, ttl: Int, count: Int):
        """Writes the part of a record between its name and its data.

        Args:
            type: The type.
            ttl: How long it holds.
            count: The octets of data that follow.
        """
        self.number(type, 2)
        self.number(1, 2)
        self.number(ttl, 4)
        self.number(count, 2)

    def v4(mut self, name: StringSlice, ttl: Int, address: Int):
        """Writes an A record.

        Args:
            name: The owner.
            ttl: How long it holds.
            address: The address as a number.
        """
        self.name(name)
        self.fixed(1, ttl, 4)
        self.number(address, 4)

    def cname(mut self, name: StringSlice, ttl: Int, target: StringSlice):
        """Writes a CNAME record.

        Args:
            name: The owner.
            ttl: How long it holds.
            target: The name that stands for it.
        """
        self.name(name)
        self.fixed(5, ttl, target.byte_length() + 2)
        self.name(target)

    def soa(mut self, name: StringSlice, ttl: Int, minimum: Int):
        """Writes an SOA record.

        Args:
            name: The zone.
            ttl: How long it holds.
            minimum: How long a "no" holds.
        """
        self.name(name)
        self.fixed(6, ttl, 22)
        self.name("")
        self.name("")
        for _ in range(4):
            self.number(7, 4)
        self.number(minimum, 4)

    def options(mut self, extended: Int = 0):
        """Writes an OPT record.

        Args:
            extended: The upper bits of the response code.
        """
        self.name("")
        self.number(41, 2)
        self.number(1232, 2)
        self.number(extended << 24, 4)
        self.number(0, 2)
