# Run: mojo run -I . examples/01_addresses.mojo
# Prints: [2001:db8::1]:443
"""Parses addresses, asks what they are for, and prints them canonically."""

from flare.net import IpAddr, SocketAddr


def describe(text: StringSlice) raises -> String:
    var ip = IpAddr.parse(text)
    var words = String("v4" if ip.is_v4() else "v6")
    if ip.is_loopback():
        words += " loopback"
    if ip.is_private():
        words += " private"
    if ip.is_link_local():
        words += " link-local"
    if ip.is_multicast():
        words += " multicast"
    if ip.is_global():
        words += " global"
    return String(ip, " is ", words)


def main() raises:
    for text in [
        "192.168.1.100",
        "127.0.0.1",
        "1.1.1.1",
        "2606:4700:0:0:0:0:0:1111",
        "FE80::1",
        "ff02::1",
        # The mapped form cannot hide where an address leads.
        "::ffff:10.0.0.1",
    ]:
        print(describe(text))

    var address = SocketAddr.parse("[2001:DB8:0::1]:443")
    print(address, "has port", address.port, "and v6:", address.ip.is_v6())
    print("A server on this machine:", SocketAddr.localhost(8080))
    print("A server on every address:", SocketAddr.any_v6(8080))

    # Addresses are values: they compare, hash and copy.
    var names = Dict[IpAddr, String]()
    names[IpAddr.localhost_v4()] = "this machine"
    print("127.0.0.1 is", names[IpAddr.parse("127.0.0.1")])

    # The parser refuses texts that other programs might read differently.
    for text in ["010.0.0.1", "10.1", "fe80::1%eth0", "10.0.0.1\r\n"]:
        try:
            print("accepted:", IpAddr.parse(text))
        except e:
            print(e)
