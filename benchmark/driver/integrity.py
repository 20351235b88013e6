"""Compares each target's answers with the workload's, octet by octet.

A target that answers something else, or less, does less work: its figures
would be worth nothing. `Date`, `Server`, `Connection` and `Keep-Alive` are the
server's own affair, and so is the case of names and of the reason phrase; all
else of a head must be what the workload asks for, and nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from . import arena, arena_database, http2, websocket
from .answers import Answer, BadAnswer, Connection
from .generators import SUITE, url_of
from .products import (
    SIBLING_OCTETS,
    SITE,
    SITE_CODINGS,
    Pool,
    file_content,
    sibling_octets,
)
from .workloads import Workload

FREE_FIELDS = {"date", "server", "connection", "keep-alive"}
# Servers of files differ in what else they say of one.
FREE_FIELDS_OF_FILES = {
    "accept-ranges", "cache-control", "etag", "last-modified",
    "vary", "x-content-type-options",
}  # fmt: skip
TEXT = "text/plain"
JSON = "application/json"
OCTET_STREAM = "application/octet-stream"
HELLO = b"Hello, World!"
SIMPLE = b'{"message":"hi"}'
_STATUS_LINES = {200: "200 ok", 304: "304 not modified"}
# How many answers on one connection show that the order is kept.
_ANSWERS = 3


@dataclass(frozen=True)
class Expected:
    """Says which contents are right, in this order; of a cycle from anywhere.

    The position at which a round robin begins is the server's own affair.
    """

    content_type: str
    contents: tuple[bytes, ...]
    is_cycle: bool = False
    may_be_chunked: bool = False
    status: int = 200
    coding: str = ""
    free_fields: frozenset[str] = frozenset()


def expected_of(workload: Workload, pool: Pool) -> Expected:
    """Gives what the answers to a workload must be."""
    route = workload.route
    if route == "plaintext" or route == "delay":
        return Expected(TEXT, (HELLO,) * _ANSWERS)
    if route == "simple":
        return Expected(JSON, (SIMPLE,) * _ANSWERS)
    if route == "upload":
        length = str(workload.content_octets).encode()
        return Expected(TEXT, (length,) * _ANSWERS)
    if route == "download":
        octets = int(workload.path.rsplit("/", 1)[1])
        return Expected(
            OCTET_STREAM, (b"x" * octets,) * _ANSWERS, may_be_chunked=True
        )
    if workload.paths:
        # Of each file, a sibling.
        return Expected(
            "",
            tuple(
                file_content(sibling_octets(octets, share))
                for _, octets in SITE
                for share in SITE_CODINGS.values()
            ),
        )
    if route == "files":
        octets = int(workload.path.rsplit("/", 1)[1].split(".")[0])
        if workload.status == 304:
            return Expected(
                "",
                (b"",) * _ANSWERS,
                status=304,
                free_fields=frozenset({"content-type", *FREE_FIELDS_OF_FILES}),
            )
        coding = ""
        if workload.fields:
            coding, octets = "br", SIBLING_OCTETS[octets]
        return Expected(
            OCTET_STREAM,
            (file_content(octets),) * _ANSWERS,
            coding=coding,
            free_fields=frozenset(FREE_FIELDS_OF_FILES),
        )
    if route == "read":
        return Expected(JSON, pool.reads(), is_cycle=True)
    if route == "list":
        return Expected(JSON, pool.lists(), is_cycle=True)
    if route == "compute":
        return Expected(JSON, pool.computations(_ANSWERS))
    raise ValueError(f"no route {route}")


def head_problem(answer: Answer, expected: Expected) -> str | None:
    """Says what is wrong with the head of an answer."""
    version, _, rest = answer.status_line.partition(" ")
    if version != "HTTP/1.1" or rest.lower() != _STATUS_LINES[expected.status]:
        return f"the status line is {answer.status_line!r}"
    length = ("content-length", str(len(answer.content)))
    framings = [length]
    if expected.may_be_chunked:
        framings.append(("transfer-encoding", "chunked"))
    found = sorted(
        (name.lower(), value)
        for name, value in answer.fields
        if name.lower() not in FREE_FIELDS | expected.free_fields
    )
    fixed = [("content-type", expected.content_type)]
    if expected.coding:
        fixed.append(("content-encoding", expected.coding))
    wanted = [sorted([*fixed, framing]) for framing in framings]
    if expected.status == 304:
        wanted = [[]]
    if found not in wanted:
        return f"the head has {found}, not {wanted[0]}"
    return None


def problem_of(answers: list[Answer], expected: Expected) -> str | None:
    """Says what is wrong with answers that came one after another."""
    for answer in answers:
        if problem := head_problem(answer, expected):
            return problem
    contents = [answer.content for answer in answers]
    wanted = list(expected.contents[: len(contents)])
    if expected.is_cycle:
        if contents[0] not in expected.contents:
            return f"the content is none of the pool: {_excerpt(contents[0])}"
        begin = expected.contents.index(contents[0])
        count = len(expected.contents)
        wanted = [
            expected.contents[(begin + i) % count]
            for i in range(len(contents))
        ]
    for number, (found, right) in enumerate(zip(contents, wanted), 1):
        if found != right:
            return (
                f"answer {number} is {_excerpt(found)}"
                f" and should be {_excerpt(right)}"
            )
    return None


def gate(port: int, workload: Workload, pool: Pool) -> str | None:
    """Asks a server that has answered nothing; says what is wrong with it."""
    if workload.is_websocket:
        return websocket.problem_of(port, workload.path)
    if workload.profile:
        return _arena_problem(port, workload)
    if workload.paths and not workload.streams:
        # Each of its own; a server of the catalogue has a counter for each.
        alone = (
            replace(workload, path=path, paths=())
            for path in dict.fromkeys(workload.paths)
        )
        return next(filter(None, (gate(port, w, pool) for w in alone)), None)
    expected = expected_of(workload, pool)
    if workload.streams:
        return http2.problem_of(
            workload, url_of(workload, port), expected.contents, SUITE
        )
    content = b"x" * workload.content_octets
    # Pipelined, where the workload is: the answers must come in order.
    ahead = _ANSWERS if workload.depth > 1 else 1
    try:
        with Connection(port, workload.is_secure) as connection:
            if workload.is_secure and connection.suite() != SUITE:
                return f"the cipher suite is {connection.suite()}, not {SUITE}"
            answers = []
            while len(answers) < _ANSWERS:
                for _ in range(ahead):
                    connection.send(
                        workload.method,
                        workload.path,
                        content,
                        workload.fields,
                    )
                answers += [connection.answer() for _ in range(ahead)]
    except (BadAnswer, OSError) as error:
        return str(error)
    return problem_of(answers, expected)


def asked_of(workload: Workload) -> list[arena.Asked]:
    """Gives the requests of a workload of the arena, and what their answers
    must be."""
    if workload.needs_database:
        return arena_database.asked_of(workload.profile, arena.data())
    return arena.asked_of(
        workload.profile, arena.data(), workload.content_octets
    )


def _arena_problem(port: int, workload: Workload) -> str | None:
    asked = asked_of(workload)
    try:
        with Connection(port, workload.is_secure) as connection:
            if workload.is_secure and connection.suite() != SUITE:
                return f"the cipher suite is {connection.suite()}, not {SUITE}"
            return arena.first_problem(connection, asked)
    except (BadAnswer, OSError) as error:
        return str(error)


def _excerpt(content: bytes) -> str:
    if len(content) <= 200:
        return repr(content)
    return f"{content[:80]!r}… of {len(content)} octets"
