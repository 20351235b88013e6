"""Reads and writes JSON without any struct, and imports two names only."""

from flare.json import decode, dumps


def main() raises:
    var name = decode[String]('"a"')
    var sizes = decode[Dict[String, List[Optional[Float32]]]](
        '{"b":[0.5,null],"a":[]}'
    )
    print(name, dumps(sizes))
