"""Makes the names of definitions out of the types of the program.

Names consist of letters, digits, `_` and `.`, as OpenAPI requires.
"""

from std.collections import List

comptime _UNDERSCORE: UInt8 = 95
comptime _DOT: UInt8 = 46


def schema_names(types: List[StaticString]) -> List[String]:
    """Returns a name for each type.

    A name does not depend on the order of the types, so it stays the same when
    the program adds a route.

    Args:
        types: The full names of the types, each once.

    Returns:
        The names, all different: `Item`, `Page_Item`, or, if another type has
        that name, `shop.store.Item`.
    """
    var short = List[String]()
    for type in types:
        short.append(_name(type, False))
    var names = List[String]()
    for i in range(len(types)):
        var name = short[i]
        if _occurs(short, name, but=i):
            name = _name(types[i], True)
        var number = 2
        var own = name
        while _occurs(names, own, but=-1):
            own = String(name, "_", number)
            number += 1
        names.append(own^)
    return names^


def _occurs(names: List[String], name: String, *, but: Int) -> Bool:
    for i in range(len(names)):
        if i != but and names[i] == name:
            return True
    return False


def _name(type: StaticString, keeps_modules: Bool) -> String:
    var text = _with_short_numbers(String(type))
    var octets = text.as_bytes()
    var name = String()
    var start = 0
    for i in range(len(octets) + 1):
        if i < len(octets) and _is_of_name(octets[i]):
            continue
        var word = text[byte=start:i]
        start = i + 1
        if not keeps_modules:
            var dot = word.rfind(".")
            word = word[byte = dot + 1 :]
        if not word:
            continue
        if name:
            name.write("_")
        name.write(word)
    return name^


def _with_short_numbers(var text: String) -> String:
    # Numbers are vectors of one element: `SIMD[DType.float64, 1]`.
    if text.find("SIMD[DType.") < 0:
        return text^
    return (
        text.replace(", 1]", "")
        .replace("SIMD[DType.uint", "UInt")
        .replace("SIMD[DType.int", "Int")
        .replace("SIMD[DType.float", "Float")
    )


def _is_of_name(octet: UInt8) -> Bool:
    var lower = octet | 32
    return (
        (lower >= 97 and lower <= 122)
        or (octet >= 48 and octet <= 57)
        or octet == _UNDERSCORE
        or octet == _DOT
    )
