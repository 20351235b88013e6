"""Compares flare's JSON with a public suite and with Python's parser."""

import json
import math
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loopback.subject import ROOT, build  # noqa: E402

SUITE = ROOT.parent / "shared" / "data" / "json-parsing"
SUITE_FILES_MIN = 300
SOURCE = ROOT / "tests" / "programs" / "json_judge.mojo"
SECONDS_MAX = 120
SEED = 8259
TEXTS = 20_000
FLOATS = 20_000
HALFWAYS = 2_000
# Significant bits, and the exponents of the smallest number and of the first
# that is too large.
NARROW = {
    "Float32": (24, -149, 128),
    "Float16": (11, -24, 16),
    "BFloat16": (8, -133, 128),
}
# Programs built for a processor with this instruction for BFloat16 lose numbers
# below 2^-126: it takes them for zero.
SMALL_LOST = "avx512_bf16" in Path("/proc/cpuinfo").read_text().split()
LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# What the RFC leaves to a parser, and flare accepts: numbers of any size and
# precision, because their text is kept.
ACCEPTED = re.compile(r"i_number_")


def setUpModule():
    build(SOURCE)


def judge(texts):
    """Asks flare, and gives a line per text."""
    with tempfile.NamedTemporaryFile() as file:
        for text in texts:
            file.write(b"%d\n%s" % (len(text), text))
        file.flush()
        done = subprocess.run(
            [build(SOURCE), file.name],
            check=True,
            capture_output=True,
            timeout=SECONDS_MAX,
        )
    lines = done.stdout.decode().split("\n")[:-1]
    assert len(lines) == len(texts), (len(lines), done.stderr)
    return lines


def refuse(constant):
    """Stands for NaN and Infinity, which Python lets through."""
    raise ValueError(constant)


def read(text):
    """Reads as RFC 8259 says, numbers as their text and members in order;
    raises where flare has to refuse.
    """
    if text.startswith(b"\xef\xbb\xbf"):
        raise ValueError("a byte order mark")
    value = json.loads(
        text.decode("utf-8"),
        parse_constant=refuse,
        parse_int=lambda digits: ("number", digits),
        parse_float=lambda digits: ("number", digits),
        object_pairs_hook=members_of,
    )
    check_surrogates(value)
    return value


def members_of(pairs):
    """Keeps the last of equal keys, and looks at all."""
    check_surrogates(pairs)
    return "object", list(dict(pairs).items())


def check_surrogates(value):
    """Refuses halves of surrogate pairs, which Python keeps."""
    if LONE_SURROGATE.search(strings_of(value)):
        raise ValueError("half of a surrogate pair")


def strings_of(value):
    """Joins all strings of a value."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        return "".join(map(strings_of, value))
    return ""


def halfway(draw, bits, smallest, limit):
    """Draws what lies between two neighbours, the lower one first."""
    exponent = max(draw.randrange(smallest, limit - bits), smallest)
    if draw.random() < 0.3:
        exponent = draw.randrange(-bits - 3, 3)
    if draw.random() < 0.1:
        exponent = smallest
    exponent = max(exponent, smallest)
    low = 0 if exponent == smallest else 1 << (bits - 1)
    whole = draw.randrange(low, (1 << bits) - 1)
    unit = Fraction(2) ** exponent
    return whole * unit, (whole + 1) * unit, whole % 2 == 0


def texts_around(number):
    """Gives texts for a number, for one below it and for one above it."""
    places = number.denominator.bit_length() + 2
    whole = int(number * 10**places)
    with localcontext(prec=1000, Emin=-2000, Emax=2000):
        exact = Decimal(whole).scaleb(-places).normalize()
        below = Decimal(whole - 1).scaleb(-places)
        above = Decimal(whole + 1).scaleb(-places)
    return f"{exact:f}", str(below), f"{above:f}"


class Texts:
    """Draws texts from the grammar and damages them."""

    def __init__(self):
        self.random = random.Random(SEED)

    def number(self):
        draw = self.random
        text = draw.choice(["", "-"])
        text += draw.choice(["0", str(draw.randrange(1, 10 ** draw.randrange(1, 25)))])
        if draw.random() < 0.4:
            text += "." + str(draw.randrange(10**9))
        if draw.random() < 0.3:
            text += draw.choice("eE") + draw.choice(["", "+", "-"])
            text += str(draw.randrange(400))
        return text

    def string(self):
        draw = self.random
        parts = [
            lambda: "abc :,[]{}"[: draw.randrange(11)] * draw.choice([1, 1, 9]),
            lambda: draw.choice(["é", "€", "😀", "\x7f", "\u2028"]),
            lambda: draw.choice(r"\" \\ \/ \b \f \n \r \t".split()),
            lambda: f"\\u{draw.randrange(0x10000):04x}",
            lambda: "\\ud83d\\uDE00",
        ]
        weights = [6, 1, 1, 0.3, 1]
        chosen = draw.choices(parts, weights, k=draw.randrange(6))
        return '"' + "".join(part() for part in chosen) + '"'

    def white(self):
        draw = self.random
        return "".join(draw.choices(" \t\r\n", k=draw.choice([0, 0, 0, 1, 40])))

    def value(self, depth=0):
        draw = self.random
        kind = draw.randrange(6 if depth < 4 else 4)
        if kind == 0:
            text = draw.choice(["null", "true", "false"])
        elif kind == 1:
            text = self.number()
        elif kind <= 3:
            text = self.string()
        elif kind == 4:
            items = [self.value(depth + 1) for _ in range(draw.randrange(5))]
            text = "[" + (",".join(items) or self.white()) + "]"
        else:
            count = draw.choice([0, 1, 2, 3, 4, 20])
            items = [
                self.white()
                + draw.choice([self.string(), '"a"', '"b"', '"cd"'])
                + self.white()
                + ":"
                + (self.value(depth + 1) if count < 20 else self.number())
                for _ in range(count)
            ]
            text = "{" + ",".join(items) + "}"
        return self.white() + text + self.white()

    def text(self):
        draw = self.random
        octets = bytearray(self.value().encode())
        for _ in range(draw.choice([0, 0, 1, 1, 2, 3])):
            place = draw.randrange(len(octets) + 1)
            kind = draw.randrange(4)
            if kind == 0:
                del octets[place : place + draw.choice([1, 1, 5])]
            elif kind == 1:
                octets.insert(place, draw.randrange(256))
            elif kind == 2:
                octets.insert(place, draw.choice(b'\\"[]{},:0-+.eEun\0\t '))
            elif place < len(octets):
                octets[place] ^= 1 << draw.randrange(8)
        return bytes(octets)


class JsonPeersTest(unittest.TestCase):
    def test_public_suite(self):
        if not SUITE.is_dir():
            self.skipTest(f"{SUITE} is not there")
        files = sorted(SUITE.glob("*.json"))
        self.assertGreater(len(files), SUITE_FILES_MIN)
        texts = [file.read_bytes() for file in files]
        for file, text, line in zip(files, texts, judge(texts)):
            with self.subTest(file=file.name):
                is_accepted = line.startswith("+ ")
                kind = file.name[0]
                if kind == "i":
                    kind = "y" if ACCEPTED.match(file.name) else "n"
                if kind == "y":
                    self.assertTrue(is_accepted, line)
                    self.assertEqual(read(line[2:].encode()), read(text))
                else:
                    self.assertTrue(line.startswith("- json."), line)

    def test_python_agrees(self):
        generator = Texts()
        texts = [generator.text() for _ in range(TEXTS)]
        accepted = 0
        for text, line in zip(texts, judge(texts)):
            try:
                expected = read(text)
            except ValueError:
                self.assertTrue(line.startswith("- json."), (text, line))
                continue
            self.assertTrue(line.startswith("+ "), (text, line))
            self.assertEqual(read(line[2:].encode()), expected, text)
            accepted += 1
        self.assertGreater(accepted, TEXTS // 5)
        self.assertLess(accepted, TEXTS * 4 // 5)

    def test_floats_are_the_nearest_and_come_back(self):
        draw = random.Random(SEED)
        numbers = []
        while len(numbers) < FLOATS:
            (number,) = struct.unpack("<d", draw.randbytes(8))
            if math.isfinite(number):
                numbers.append(repr(number))
            numbers.append(f"{draw.randrange(10**7)}.{draw.randrange(1000)}")
            digits = draw.randrange(10 ** draw.randrange(1, 30))
            numbers.append(f"{digits}e{draw.randrange(-330, 270)}")
            # Halfway between two neighbours, and a little beside it.
            whole = draw.randrange(2**53, 2**54) * 2 + 1
            numbers += [f"{whole}.0", f"{whole}.{'0' * 30}1"]
        (line,) = judge([b"#Float64[" + ",".join(numbers).encode() + b"]"])
        self.assertTrue(line.startswith("+ "), line[:200])
        for text, written in zip(numbers, json.loads(line[2:])):
            self.assertEqual(written, float(text), text)

    def test_numbers_of_narrow_types_are_rounded_once(self):
        draw = random.Random(SEED)
        for name, (bits, smallest, limit) in NARROW.items():
            texts, expected = [], []
            for _ in range(HALFWAYS):
                low, high, is_low_even = halfway(draw, bits, smallest, limit)
                exact, below, above = texts_around((low + high) / 2)
                texts += [exact, below, above, "-" + above]
                even = low if is_low_even else high
                expected += [even, low, high, -high]
            array = "[" + ",".join(texts) + "]"
            (line,) = judge([f"#{name}{array}".encode()])
            self.assertTrue(line.startswith("+ "), line[:200])
            for text, written, number in zip(
                texts, json.loads(line[2:]), expected
            ):
                right = float(number)
                allowed = [right]
                if name == "BFloat16" and SMALL_LOST and abs(right) < 2**-126:
                    allowed.append(0.0)
                self.assertIn(written, allowed, (name, text))


if __name__ == "__main__":
    unittest.main()
