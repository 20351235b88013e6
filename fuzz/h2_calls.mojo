"""Plays a program that calls a server of HTTP/2 from many fibers, and notes what
each call gets.
"""

from std.memory import ArcPointer

from flare.core import PointerTo
from flare.http.client.client import HttpClient
from flare.http.client.stream.client_stream import ClientStream
from flare.message import HeaderMap
from flare.runtime.backends.simulated_network import SimulatedNetwork
from flare.runtime.task import JoinHandle, spawn
from flare.runtime.wait import deadline_in, sleep

from fuzz.h2_served import Served
from fuzz.random import Random

comptime OCTETS_MAX = 60_000
"""The longest content, of either direction."""
comptime PATIENT_MS = 60_000
"""The time of a call that waits for nothing but the network."""

comptime Client = ArcPointer[HttpClient]
"""A client that fibers share."""


struct Program:
    """The ways to call."""

    comptime GETS = 0
    """A request without content, the response in memory."""
    comptime PUTS = 1
    """An idempotent request with content, the response in memory."""
    comptime POSTS = 2
    """Another request with content, the response in memory."""
    comptime READS = 3
    """A request without content; the response is read in pieces."""
    comptime WRITES = 4
    """Content in pieces; then the response is read."""
    comptime DOES_BOTH = 5
    """One fiber writes content, another reads the response."""
    comptime COUNT = 6
    """The number of programs."""


struct CallRecord(Copyable, Movable):
    """A call: what it is to do, and what has become of it."""

    var program: Int
    """One of `Program`."""
    var begins_ms: Int
    """How long its fiber sleeps first."""
    var timeout_ms: Int
    """How long the call may take."""
    var upload: Int
    """The content of the request."""
    var piece: Int
    """The size of the pieces in which content is written and read."""
    var leaves_at: Int
    """How much content it reads before it drops the stream; -1 for all."""
    var is_cancelled: Bool
    """Whether its fiber was cancelled."""
    var began_ms: Int
    """When it began; -1 before."""
    var ended_ms: Int
    """When it ended."""
    var ends: Int
    """How often it has ended."""
    var error: String
    """Its error; empty for an answer."""
    var status: Int
    """The status of the answer."""
    var answer: String
    """The content of the answer."""
    var echo: String
    """The field of the answer that names the call."""
    var trailer: String
    """The trailer of the answer."""
    var has_left: Bool
    """Whether it has dropped the stream."""

    def __init__(out self, mut random: Random, is_calm: Bool):
        """Draws a call.

        Args:
            random: Decides.
            is_calm: Whether it waits long enough, and reads all.
        """
        self.program = random.below(Program.COUNT)
        self.begins_ms = random.below(4) * random.below(200)
        self.timeout_ms = PATIENT_MS
        if not is_calm:
            self.timeout_ms = random.between(20, 3_000)
        self.upload = 0
        if self.program not in (Program.GETS, Program.READS):
            self.upload = random.below(4) * random.below(OCTETS_MAX // 3)
        self.piece = random.between(1, 20_000)
        if self.upload > 1000 * self.piece:
            self.piece = 100
        self.leaves_at = -1
        if not is_calm and random.chance(15):
            self.leaves_at = random.below(20_000)
        self.is_cancelled = False
        self.began_ms = -1
        self.ended_ms = -1
        self.ends = 0
        self.error = String()
        self.status = 0
        self.answer = String()
        self.echo = String()
        self.trailer = String()
        self.has_left = False

    def may_repeat(self) -> Bool:
        """Returns whether the client may send the request again although the
        server may have processed it.

        Returns:
            True for idempotent methods whose content is in memory.
        """
        return self.program in (Program.GETS, Program.PUTS, Program.READS)

    def is_repeated(self) -> Bool:
        """Returns whether the client sends a request again that was not
        processed.

        Returns:
            False if the content is written in pieces.
        """
        return self.program not in (Program.WRITES, Program.DOES_BOTH)


struct Story(Movable):
    """All calls, and all requests that have arrived."""

    var network: SimulatedNetwork
    """The network."""
    var authority: String
    """The address of the server."""
    var calls: List[CallRecord]
    """The calls, by number."""
    var served: List[Served]
    """The requests, in the order of their arrival."""
    var problem: String
    """The first thing that was wrong."""
    var fibers: Int
    """How many further fibers of calls run."""

    def __init__(out self, network: SimulatedNetwork, var authority: String):
        """Creates a story without calls.

        Args:
            network: The network.
            authority: The address of the server.
        """
        self.network = network
        self.authority = authority^
        self.calls = []
        self.served = []
        self.problem = String()
        self.fibers = 0

    def complain(mut self, var problem: String):
        """Notes what is wrong.

        Args:
            problem: The text.
        """
        if self.problem == "":
            self.problem = problem^


def content_of(number: Int, octets: Int) -> String:
    """Returns the content of a call, in either direction.

    Args:
        number: The call.
        octets: Its length.

    Returns:
        Letters that show a lost, repeated or foreign octet.
    """
    var text = List[UInt8](capacity=octets)
    for i in range(octets):
        text.append(letter_at(number, i))
    return String(StringSlice(unsafe_from_utf8=Span(text)))


@always_inline
def letter_at(number: Int, at: Int) -> UInt8:
    """Returns one octet of the content of a call.

    Args:
        number: The call.
        at: Its place.

    Returns:
        A letter.
    """
    return UInt8(97 + (number * 7 + at + at // 26) % 26)


def begin_call(
    story: PointerTo[Story], number: Int, client: Client
) raises -> JoinHandle[NoneType]:
    """Runs a call on a fiber.

    Args:
        story: The story.
        number: The call.
        client: The client.

    Returns:
        The fiber.

    Raises:
        Error: If no fiber can begin.
    """

    def work() raises {var story, var number, var client}:
        try:
            sleep(story[].calls[number].begins_ms)
            story[].calls[number].began_ms = story[].network.now_ms()
            _call(story, number, client)
        except e:
            story[].calls[number].error = String(e)
        story[].calls[number].ended_ms = story[].network.now_ms()
        story[].calls[number].ends += 1

    return spawn(work^)


def _call(story: PointerTo[Story], number: Int, client: Client) raises:
    var program = story[].calls[number].program
    var timeout_ms = story[].calls[number].timeout_ms
    if program in (Program.GETS, Program.PUTS, Program.POSTS):
        var method = "GET"
        if program != Program.GETS:
            method = "PUT" if program == Program.PUTS else "POST"
        var response = client[].request(
            method,
            _url(story, number),
            content_of(number, story[].calls[number].upload),
            timeout_ms=timeout_ms,
        )
        ref call = story[].calls[number]
        call.status = response.status
        call.answer = String(response.text())
        call.echo = _text_of(response.headers, "x-number")
        call.trailer = _text_of(response.trailers(), "x-end")
        return
    with deadline_in(timeout_ms):
        if program == Program.READS:
            var stream = client[].stream(
                _url(story, number), timeout_ms=timeout_ms
            )
            _read(story, number, stream)
        elif program == Program.WRITES:
            var stream = client[].open("POST", _url(story, number))
            _write(story, number, stream)
            _read(story, number, stream)
        else:
            _do_both(story, number, client)


def _url(story: PointerTo[Story], number: Int) -> String:
    return String("http://", story[].authority, "/", number)


def _do_both(story: PointerTo[Story], number: Int, client: Client) raises:
    var length = Optional[Int](story[].calls[number].upload)
    var stream = ArcPointer(
        client[].open("POST", _url(story, number), length=length)
    )

    def write() raises {var story, var number, var stream}:
        story[].fibers += 1
        try:
            with deadline_in(story[].calls[number].timeout_ms):
                _write(story, number, stream[])
        except:
            # The reader gets the cause.
            pass
        story[].fibers -= 1

    var writer = spawn(write^)
    var failure = Optional[Error](None)
    try:
        _read(story, number, stream[])
    except e:
        failure = Error(e)
    if failure or story[].calls[number].has_left:
        stream[].close()
    try:
        writer^.join()
    except:
        # The caller is cancelled, and the writer with it.
        pass
    if failure:
        raise failure.take()


def _write(story: PointerTo[Story], number: Int, stream: ClientStream) raises:
    ref plan = story[].calls[number]
    var upload = plan.upload
    var piece = plan.piece
    var content = content_of(number, upload)
    var octets = content.as_bytes()
    var at = 0
    try:
        while at < upload:
            var count = min(piece, upload - at)
            stream.write_all(octets[at : at + count])
            at += count
        stream.end()
    except e:
        # The server may have answered what it will not read.
        if not String(e).startswith("client.closed send"):
            raise e^
    _ = content^


def _read(story: PointerTo[Story], number: Int, stream: ClientStream) raises:
    var status = stream.status()
    story[].calls[number].status = status
    story[].calls[number].echo = _text_of(stream.headers(), "x-number")
    var leaves_at = story[].calls[number].leaves_at
    var piece = List[UInt8](length=story[].calls[number].piece, fill=0)
    var content = List[UInt8]()
    while True:
        if leaves_at >= 0 and len(content) >= leaves_at:
            story[].calls[number].has_left = True
            return
        var count = stream.read(Span(piece))
        if count == 0:
            break
        content.extend(Span(piece)[:count])
    ref call = story[].calls[number]
    call.answer = String(StringSlice(unsafe_from_utf8=Span(content)))
    call.trailer = _text_of(stream.trailers(), "x-end")


def _text_of(fields: HeaderMap, name: StringSlice) -> String:
    var found = fields.get(name)
    return String(found.value()) if found else String()
