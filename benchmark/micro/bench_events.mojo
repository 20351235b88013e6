"""Measures events and broadcasts, without server and socket."""

from std.benchmark import black_box

from measure import measure

from flare.http.event_text import write_event
from flare.runtime import Broadcast, Feed


def main() raises:
    """Prints the figures.

    Raises:
        Error: If a value does not come.
    """
    var line = String("a line of forty octets, as of a small log")

    def text(i: Int) raises {imm} -> Int:
        return write_event(
            black_box(line), name="tick", id=None, retry_ms=None
        ).byte_length()

    measure("events/text of 40 octets", text)
    var long = line * 100

    def long_text(i: Int) raises {imm} -> Int:
        return write_event(
            black_box(long), name="", id=None, retry_ms=None
        ).byte_length()

    measure("events/text of 4,100 octets", long_text)
    broadcast(1)
    broadcast(100)


def broadcast(count: Int) raises:
    var news = Broadcast[String]()
    var feeds = List[Feed[String]]()
    for _ in range(count):
        feeds.append(news.subscribe())
    var value = String("a value of forty octets, which is shared")

    # The queues are full: the oldest value goes.
    def send(i: Int) raises {imm} -> Int:
        news.send(value)
        return i

    measure(String("broadcast/send to ", count), send)
    _ = feeds[0].missed()
