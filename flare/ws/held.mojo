"""Holds messages of topics for which a connection had no room.

A message is held by reference: all slow subscribers share its memory.
"""

from .publication import Publication
from .socket_state import Socket, machine_of


def send_held(s: Socket):
    """Appends held messages to the output, as far as there is room.

    Args:
        s: The state.
    """
    ref own = s[].broadcast
    var sent = 0
    try:
        while sent < len(own.held) and may_append(s):
            var octets = own.held[sent].octets()
            var room = s[].stream.unsafe_room(len(octets))
            if room.octets == 0:
                break
            room.output[].append(octets)
            s[].stream.announce_output()
            own.held_octets -= own.held[sent].cost()
            sent += 1
    except:
        # The connection was lost, and nothing can be sent any more.
        drop_held(s)
        return
    if sent > 0:
        var rest = List[Publication](capacity=len(own.held) - sent)
        for i in range(sent, len(own.held)):
            rest.append(own.held[i])
        own.held = rest^


def may_append(s: Socket) -> Bool:
    """Returns whether a message may follow the octets in the output.

    Args:
        s: The state.

    Returns:
        False while another message is being written, which must not be torn
        apart.
    """
    return not s[].sending.is_busy and not machine_of(s).is_sending_message()


def drop_held(s: Socket):
    """Drops the held messages.

    Args:
        s: The state.
    """
    s[].broadcast.held.clear()
    s[].broadcast.held_octets = 0
