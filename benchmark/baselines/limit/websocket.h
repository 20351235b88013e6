/* The canned echo of a WebSocket (RFC 6455).
 *
 * Like the canned answers it looks for as little as it can: the key of the
 * handshake, and how long each frame is. It checks nothing else. */
#ifndef WEBSOCKET_H
#define WEBSOCKET_H

#include "canned.h"

#include <stdbool.h>

enum { ACCEPTANCE_OCTETS_MAX = 256 };

/* Writes the 101 and gives its length; 0 where the head has no key. */
size_t accept_websocket(char *into, const char *head, const char *head_end);

/* Appends what answers each whole frame, whose payload is unmasked in place,
 * up to a Close. Gives where the first frame begins that is not whole. */
const char *echo_frames(struct gathered *into, char *octets, const char *end,
                        bool *is_closed);

#endif
