"""Must not build: an object of JSON has no keys of this type."""

from flare.json import FromJson, decode


struct Stock(FromJson):
    var by_number: Dict[Int, Int]


def main() raises:
    _ = decode[Stock]('{"by_number":{}}')
