"""A text is an address exactly if libc reads one, and it prints canonically.

Invariant: `IpAddr` and `SocketAddr` accept a text exactly if libc (with a plain
model of brackets and port) does, and read the same octets and port; what they
accept prints to text that parses to the same and prints the same; what they
refuse is reported with their own error, readable by `NetError.of`.
"""

from std.ffi import c_int, external_call

from flare.net import IpAddr, NetError, SocketAddr
from fuzz.harness import Histogram, run
from fuzz.random import Random, mutate


def _append(mut octets: List[UInt8], text: StringSlice):
    octets.extend(text.as_bytes())


def _append_quad(mut octets: List[UInt8], mut random: Random):
    for part in range(4):
        if part > 0:
            octets.append(46)
        var bound = 256
        if random.chance(30):
            bound = 10
        elif random.chance(5):
            bound = 1000
        _append(octets, String(random.below(bound)))


def _append_group(mut octets: List[UInt8], mut random: Random):
    if random.chance(40):
        octets.append(48)
        return
    var digits = 1 + random.below(4)
    if random.chance(2):
        digits = 5
    octets.extend(random.octets_of("0123456789abcdefABCDEF0fF", digits))


def _append_v6(mut octets: List[UInt8], mut random: Random):
    var quad = random.chance(25)
    var most = 6 if quad else 8
    var groups = most
    var gap = -1
    if random.chance(60):
        groups = random.below(most)
        gap = random.below(groups + 1)
    if random.chance(3):
        groups += 1
    for i in range(groups):
        if i == gap:
            _append(octets, "::")
        elif i > 0:
            octets.append(58)
        _append_group(octets, random)
    if gap == groups:
        _append(octets, "::")
    elif quad and groups > 0:
        octets.append(58)
    if quad:
        _append_quad(octets, random)


def _append_port(mut octets: List[UInt8], mut random: Random):
    octets.append(58)
    if random.chance(10):
        _append(octets, String(65530 + random.below(12)))
        return
    if random.chance(10):
        _append(octets, "00")
    _append(octets, String(random.below(100_000 if random.chance(5) else 1000)))


def _input(is_socket: Bool, mut random: Random) -> List[UInt8]:
    var octets = List[UInt8]()
    if random.chance(40):
        _append_quad(octets, random)
    elif is_socket:
        octets.append(91)
        _append_v6(octets, random)
        octets.append(93)
    else:
        _append_v6(octets, random)
    if is_socket:
        _append_port(octets, random)
    if random.chance(40):
        return mutate(octets, random)
    return octets^


def _libc_reads(octets: Span[UInt8, _]) -> Optional[IpAddr]:
    # libc would stop at a NUL that no address contains.
    var is_v6 = False
    for octet in octets:
        if octet == 0:
            return None
        is_v6 |= octet == 58
    var text = List[UInt8](octets)
    text.append(0)
    var read = Array[UInt8, 16](fill=0)
    var result = external_call["inet_pton", c_int](
        c_int(10 if is_v6 else 2), text.unsafe_ptr(), read.unsafe_ptr()
    )
    if result != 1:
        return None
    if is_v6:
        return IpAddr.v6(read)
    return IpAddr.v4(read[0], read[1], read[2], read[3])


def _model_reads(octets: Span[UInt8, _]) -> Optional[SocketAddr]:
    var colon = len(octets) - 1
    while colon >= 0 and octets[colon] != 58:
        colon -= 1
    if colon < 1 or colon + 1 == len(octets) or len(octets) - colon > 6:
        return None
    var port = 0
    for octet in octets[colon + 1 :]:
        if octet < 48 or octet > 57:
            return None
        port = port * 10 + Int(octet) - 48
    var brackets = octets[0] == 91 and octets[colon - 1] == 93
    var edge = 1 if brackets else 0
    if port > 65535 or colon < 2 * edge:
        return None
    var ip = _libc_reads(octets[edge : colon - edge])
    if not ip or ip.value().is_v6() != brackets:
        return None
    return SocketAddr(ip.value(), UInt16(port))


def _check_refusal(e: Error) raises:
    var error = NetError.of(e)
    if not error:
        raise Error("NetError.of does not read: ", e)
    if error.value().kind != NetError.BAD_ADDRESS:
        raise Error("the kind is wrong: ", e)
    if String(e).byte_length() > 160:
        raise Error("the text is too long: ", e)


def _fuzz_ip(octets: Span[UInt8, _], mut histogram: Histogram) raises:
    var wanted = _libc_reads(octets)
    var text = StringSlice(unsafe_from_utf8=octets)
    var ip: IpAddr
    try:
        ip = IpAddr.parse(text)
    except e:
        _check_refusal(e)
        histogram.count("refused address")
        if wanted:
            raise Error("libc reads ", wanted.value(), ": ", e)
        return
    if not wanted:
        raise Error("libc refuses what was read as ", ip)
    if wanted.value() != ip:
        raise Error("libc reads ", wanted.value(), ", not ", ip)
    var canonical = String(ip)
    if IpAddr.parse(canonical) != ip:
        raise Error("the canonical text reads differently: ", canonical)
    _check_canonical(ip, canonical)
    histogram.count_whole("read v6" if ip.is_v6() else "read v4")


def _check_canonical(ip: IpAddr, text: String) raises:
    var octets = ip.v6_octets()
    var in_quad_form = ip.is_v6()
    for i in range(12):
        in_quad_form &= octets[i] == 0
    if in_quad_form:
        # libc writes the last 32 bits of these as a dotted quad, against RFC
        # 5952 section 5.
        return
    var quad = ip.v4_octets()
    var written = Array[UInt8, 64](fill=0)
    _ = external_call["inet_ntop", Int](
        c_int(10 if ip.is_v6() else 2),
        octets.unsafe_ptr() if ip.is_v6() else quad.unsafe_ptr(),
        written.unsafe_ptr(),
        c_int(64),
    )
    var length = text.byte_length()
    if (
        StringSlice(unsafe_from_utf8=Span(written)[0:length]) != text
        or written[length] != 0
    ):
        raise Error("libc writes it differently: ", text)


def _fuzz_socket(octets: Span[UInt8, _], mut histogram: Histogram) raises:
    var wanted = _model_reads(octets)
    var text = StringSlice(unsafe_from_utf8=octets)
    var address: SocketAddr
    try:
        address = SocketAddr.parse(text)
    except e:
        _check_refusal(e)
        histogram.count("refused socket address")
        if wanted:
            raise Error("the model reads ", wanted.value(), ": ", e)
        return
    if not wanted or wanted.value() != address:
        raise Error("the model does not read ", address)
    if SocketAddr.parse(String(address)) != address:
        raise Error("the canonical text reads differently: ", address)
    if SocketAddr.from_storage(address.to_storage()).value() != address:
        raise Error("the kernel's layout changes ", address)
    histogram.count_whole("read socket address")


def fuzz_address(mut random: Random, mut histogram: Histogram) raises:
    """Parses one text and compares it with libc.

    Args:
        random: Draws the text.
        histogram: Counts what the text was.

    Raises:
        Error: If the invariant does not hold.
    """
    var is_socket = random.chance(40)
    var octets = _input(is_socket, random)
    histogram.input(octets)
    if is_socket:
        _fuzz_socket(octets, histogram)
    else:
        _fuzz_ip(octets, histogram)


def main() raises:
    """Runs the harness.

    Raises:
        Error: If the command line is wrong.
    """
    run(fuzz_address)
