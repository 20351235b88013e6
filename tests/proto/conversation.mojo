"""Runs one machine through the steps of a fixture and keeps the transcript."""

from flare.core import (
    Buffer,
    PointerTo,
    heap_create,
    heap_destroy,
    write_escaped,
)
from flare.message import FieldSection, HeaderMap
from flare.proto.h1 import (
    BodyKind,
    BodyLength,
    H1Error,
    H1Limits,
    H1Machine,
    H1Rule,
    H1State,
    Head,
    HttpEvent,
)

from tests.proto.phase import phase_of
from tests.proto.transcript import Transcript


struct Conversation(Movable):
    """Owns a machine, its window and what it sends."""

    var machine: H1Machine
    """The machine under test."""
    var head: PointerTo[Head]
    """Receives heads and trailers."""
    var output: PointerTo[Buffer]
    """Receives what is sent."""
    var window: List[UInt8]
    """The unconsumed octets."""
    var fields: HeaderMap
    """The fields of the next head or trailer section to be sent."""
    var transcript: Transcript
    """What happened."""
    var reason: StaticString
    """The reason of the last error, or nothing."""
    var rule: H1Rule
    """The rule that it broke, or none."""

    def __init__(out self, role: UInt8, limits: H1Limits):
        """Makes a fresh connection.

        Args:
            role: Which end the machine is.
            limits: Its limits.
        """
        self.machine = H1Machine(heap_create(H1State(role, limits)))
        self.head = heap_create(Head())
        self.output = heap_create(Buffer())
        self.window = []
        self.fields = HeaderMap()
        self.transcript = Transcript()
        self.reason = ""
        self.rule = H1Rule.NONE

    def __deinit__(deinit self):
        """Frees the connection."""
        heap_destroy(self.machine.state)
        heap_destroy(self.head)
        heap_destroy(self.output)

    def receive(mut self, octets: Span[UInt8, _]):
        """Lets octets arrive and reports what they cause.

        Args:
            octets: The octets.
        """
        # An exact copy, so that reading past the window is reading past the
        # end of an allocation.
        var window = List[UInt8](capacity=len(self.window) + len(octets))
        window.extend(Span(self.window))
        window.extend(octets)
        self.window = window^
        self.pump()

    def pump(mut self):
        """Takes events until the machine waits or fails."""
        while True:
            var event: HttpEvent
            try:
                event = self.machine.next_event(Span(self.window), self.head)
            except e:
                self._note_error(e)
                return
            self._note(event)
            var rest = List[UInt8](Span(self.window)[event.consumed :])
            self.window = rest^
            if (
                event.kind == HttpEvent.NEED_OCTETS
                or event.kind == HttpEvent.PAUSED
                or event.kind == HttpEvent.RESET
                or event.kind == HttpEvent.GOING_AWAY
                or event.kind == HttpEvent.UPGRADED
            ):
                return

    def act(mut self, action: String) raises:
        """Does one action of a fixture.

        Args:
            action: The action without its mark.

        Raises:
            Error: If there is no such action.
        """
        if action.startswith("field "):
            var colon = action.find(": ")
            self.fields.append(action[byte=6:colon], action[byte = colon + 2 :])
            return
        try:
            self._act(action)
        except e:
            self._note_error(e)
        self.transcript.join("< ", self.output[].span())
        self.output[].clear()
        # The end of an exchange frees the octets that waited for it.
        if action == "finish" and len(self.window) > 0:
            self.pump()

    def _act(mut self, action: String) raises H1Error:
        var words = action.split(" ")
        var verb = words[0]
        if verb == "end":
            self.machine.receive_end()
            self.pump()
        elif verb == "last":
            self.machine.close_after_exchange()
        elif verb == "stop":
            self.machine.stop_receiving()
        elif verb == "respond":
            comptime DATE: StaticString = "Sun, 06 Nov 1994 08:49:37 GMT"
            var date = DATE.as_bytes()
            if len(words) < 4:
                date = date[0:0]
            self.machine.send_response_head(
                _number(words[1]),
                self.fields,
                _body_length(words[2]),
                date,
                self.output,
            )
            self.fields.clear()
        elif verb == "inform":
            self.machine.send_informational(
                _number(words[1]), self.fields, self.output
            )
            self.fields.clear()
        elif verb == "request":
            var target = _unescaped(String(words[2]))
            self.machine.send_request_head(
                words[1],
                StringSlice(unsafe_from_utf8=Span(target)),
                self.fields,
                _body_length(words[3]),
                self.output,
            )
            self.fields.clear()
        elif verb == "data":
            self.machine.send_data(action[byte=5:].as_bytes(), self.output)
        elif verb == "count":
            _ = self.machine.count_data(_number(words[1]))
        elif verb == "trailers":
            self.machine.send_trailers(self.fields, self.output)
            self.fields.clear()
        elif verb == "finish":
            self.machine.send_end(self.output)
        elif verb == "state":
            self._note_state()
        else:
            self.transcript.add("unknown action " + action)

    def _note(mut self, event: HttpEvent):
        var name = String(HttpEvent.name(event.kind))
        var window = Span(self.window)
        if event.kind == HttpEvent.NEED_OCTETS:
            return
        if event.kind == HttpEvent.DATA:
            var data = window[event.start : event.start + event.length]
            self.transcript.join("= DATA ", data)
            return
        if event.kind == HttpEvent.REQUEST_HEAD:
            name += " "
            write_escaped(self.head[].method_text(window).as_bytes(), name)
            name += " "
            write_escaped(self.head[].target_text(window).as_bytes(), name)
            name += _facts(self.head[])
        if (
            event.kind == HttpEvent.RESPONSE_HEAD
            or event.kind == HttpEvent.INFORMATIONAL_HEAD
        ):
            name += String(" ", self.head[].status) + _facts(self.head[])
        self.transcript.add("= " + name)
        if name.find("HEAD") >= 0 or event.kind == HttpEvent.TRAILERS:
            var section = self._section(event.kind == HttpEvent.TRAILERS)
            for i in range(len(section)):
                var line = List[UInt8](section.name(i).as_bytes())
                line.extend(StaticString(": ").as_bytes())
                line.extend(section.value(i).as_bytes())
                var other = Transcript()
                other.join("= FIELD ", Span(line))
                self.transcript.add(other.lines[0])

    def _section(self, is_trailer: Bool) -> FieldSection[ImmUntrackedOrigin]:
        var octets = Span[UInt8, ImmUntrackedOrigin](
            unsafe_ptr=self.window.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            length=len(self.window),
        )
        if is_trailer:
            return self.head[].trailer_fields(octets)
        return self.head[].fields(octets)

    def _note_error(mut self, e: H1Error):
        self.reason = e.reason
        self.rule = e.rule
        if e.fault == H1Error.LOCAL:
            self.transcript.add("! local")
        else:
            self.transcript.add(String("! ", e.status))

    def _note_state(mut self):
        var line = String("= STATE ", phase_of(self.machine))
        if self.machine.can_reuse():
            line += " reuse"
        if self.machine.wants_close():
            line += " close"
        self.transcript.add(line)


def _facts(head: Head) -> String:
    var text = String(" 1.", head.version.minor)
    if head.body == BodyKind.NONE:
        text += " none"
    elif head.body == BodyKind.LENGTH:
        text += String(" length=", head.content_length)
    elif head.body == BodyKind.CHUNKED:
        text += " chunked"
    else:
        text += " until-close"
    if not head.keep_alive:
        text += " close"
    if head.expects_continue:
        text += " expects-continue"
    if head.wants_upgrade:
        text += " upgrade"
    return text^


def _body_length(word: StringSlice) -> BodyLength:
    if word == "none":
        return BodyLength.NONE
    if word == "unknown":
        return BodyLength.UNKNOWN
    return BodyLength.known(_number(word))


def _number(word: StringSlice) -> Int:
    var number = 0
    for b in word.as_bytes():
        number = number * 10 + Int(b - 48)
    return number


def _unescaped(text: String) -> List[UInt8]:
    # Only what a request target must never hold.
    var octets = List[UInt8]()
    var source = text.replace("\\r", "\r").replace("\\n", "\n")
    octets.extend(source.as_bytes())
    return octets^
