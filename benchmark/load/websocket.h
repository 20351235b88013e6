/* The client's end of a WebSocket (RFC 6455): octets in, ends of messages out.
 *
 * A server that echoes sends the same octets for each message. So its frames
 * are not parsed but compared with the only ones that are right: those of one
 * text frame, not masked, as short as they can be. */
#ifndef LEAN_WEBSOCKET_H
#define LEAN_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WS_HANDSHAKE_OCTETS_MAX = 4096 };

enum websocket_stage { WS_HANDSHAKE, WS_OPEN, WS_CLOSING };

struct websocket_reader {
    enum websocket_stage stage;
    size_t matched;           /* octets of the frame that has begun */
    size_t close_length;      /* of the server's Close */
    size_t held_length;
    char *held;               /* the front of a head that is not whole */
};

enum websocket_event {
    WS_INCOMPLETE,            /* all octets were used */
    WS_ACCEPTED,              /* the handshake is over */
    WS_MESSAGE,
    WS_CLOSED,                /* the server has answered our Close */
    WS_REFUSED,               /* something else than 101 */
    WS_WRONG                  /* not what a right server sends */
};

/* Prepares for the answer to a handshake. */
static inline void websocket_begin(struct websocket_reader *reader)
{
    reader->stage = WS_HANDSHAKE;
    reader->matched = 0;
    reader->held_length = 0;
}

/* Reads on up to the next event, and says how many octets were used. `echo` is
 * the frame that is expected over and over. */
enum websocket_event websocket_read(struct websocket_reader *reader,
                                    const char *echo, size_t echo_length,
                                    const char *octets, size_t length,
                                    size_t *used);

/* The field lines of a handshake. */
extern const char WS_HANDSHAKE_FIELDS[];

enum { WS_HEAD_OCTETS_MAX = 14, WS_CLOSE_OCTETS = 8 };

/* Writes a text frame: masked with `key`, or as a server does where it is 0.
 * Returns its length, at most WS_HEAD_OCTETS_MAX more than `length`. */
size_t websocket_write_text(char *into, const char *payload, size_t length,
                            uint32_t key);

/* Writes a masked Close with code 1000, of WS_CLOSE_OCTETS. */
void websocket_write_close(char *into);

#endif
