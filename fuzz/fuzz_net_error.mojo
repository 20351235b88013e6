"""Every error of a socket operation is read back from its text, and no other.

Invariant: the text of any `NetError`, with or without a detail behind it, is
read back field by field; whatever else `NetError.of` accepts is the exact text
of the error it gives, followed by nothing or by a colon, a blank and a detail.
"""

from flare.net import IpAddr, NetError, SocketAddr
from flare.net.error_text import NET_KINDS, NET_OPERATIONS
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate


def _error(mut random: Random) -> NetError:
    var operations = materialize[NET_OPERATIONS]()
    var error = NetError(
        random.below(comptime (len(NET_KINDS))), random.pick(operations)
    )
    if random.chance(60):
        error.errno = random.between(1, 4095 if random.chance(30) else 133)
    if random.chance(60):
        var ip = IpAddr.from_v4_number(UInt32(random.next() >> 32))
        if random.chance(40):
            var octets = Array[UInt8, 16](fill=0)
            for i in range(16):
                if random.chance(30):
                    octets[i] = random.octet()
            ip = IpAddr.v6(octets)
        error.address = SocketAddr(ip, UInt16(random.below(65536)))
    return error


def _check_intact(wanted: NetError, text: String) raises:
    var read = NetError.of(Error(text))
    if not read:
        raise Error("the text is not read")
    ref error = read.value()
    if (
        error.kind != wanted.kind
        or error.operation != wanted.operation
        or error.errno != wanted.errno
        or Bool(error.address) != Bool(wanted.address)
    ):
        raise Error("a field differs: ", error)
    if wanted.address and error.address.value() != wanted.address.value():
        raise Error("the address differs: ", error)


def fuzz_net_error(mut random: Random, mut histogram: Histogram) raises:
    """Reads the text of one error, intact or damaged.

    Args:
        random: Draws the error and the damage.
        histogram: Counts what became of it.

    Raises:
        Error: If the invariant does not hold.
    """
    var error = _error(random)
    var text = String(error)
    if random.chance(30):
        text += ': a reason: "text"'
    if random.chance(40):
        histogram.input(text.as_bytes())
        _check_intact(error, text)
        histogram.count_whole("intact, read")
        return
    var octets = mutate(text.as_bytes(), random)
    histogram.input(octets)
    var damaged = String(StringSlice(unsafe_from_utf8=octets))
    var read = NetError.of(Error(damaged))
    if not read:
        histogram.count("damaged, not read")
        return
    var again = String(read.value())
    if damaged != again and not damaged.startswith(again + ": "):
        raise Error("this text is not its own: ", again)
    histogram.count_whole("damaged, read")


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_net_error)
