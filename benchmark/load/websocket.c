/* Handshake and frames of the client's end. */
#define _GNU_SOURCE
#include "websocket.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The key of RFC 6455 section 1.3, and what a server makes of it. */
const char WS_HANDSHAKE_FIELDS[]
    = "Upgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
static const char ACCEPT_NAME[] = "\r\nsec-websocket-accept:";
static const char ACCEPT_VALUE[] = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";
static const char EXTENSIONS_NAME[] = "\r\nsec-websocket-extensions:";

enum { TEXT = 0x81, CLOSE = 0x88, MASKED = 0x80, CONTROL_OCTETS_MAX = 125 };

static const char *find_field(const char *head, const char *name)
{
    const char *found = strcasestr(head, name);
    if (!found)
        return NULL;
    found += strlen(name);
    return found + strspn(found, " \t");
}

/* Judges a whole head, which ends with a NUL. */
static enum websocket_event judge_head(const char *head)
{
    static const char switching[] = "HTTP/1.1 101 ";
    if (strncmp(head, switching, strlen(switching)))
        return WS_REFUSED;
    const char *accept = find_field(head, ACCEPT_NAME);
    if (!accept || strncmp(accept, ACCEPT_VALUE, strlen(ACCEPT_VALUE))
        || find_field(head, EXTENSIONS_NAME))
        return WS_WRONG;
    return WS_ACCEPTED;
}

static enum websocket_event read_head(struct websocket_reader *reader,
                                      const char *octets, size_t length,
                                      size_t *used)
{
    size_t before = reader->held_length;
    if (!reader->held)
        reader->held = malloc(WS_HANDSHAKE_OCTETS_MAX + 1);
    if (!reader->held)
        return WS_WRONG;
    size_t room = WS_HANDSHAKE_OCTETS_MAX - before;
    size_t taken = length < room ? length : room;
    memcpy(reader->held + before, octets, taken);
    reader->held_length += taken;
    *used = taken;
    size_t from = before < 3 ? 0 : before - 3;
    char *end = memmem(reader->held + from, reader->held_length - from,
                       "\r\n\r\n", 4);
    if (!end)
        return taken < length ? WS_WRONG : WS_INCOMPLETE;
    *used = (size_t)(end - reader->held) + 4 - before;
    end[4] = '\0';
    reader->held_length = 0;
    enum websocket_event event = judge_head(reader->held);
    if (event == WS_ACCEPTED)
        reader->stage = WS_OPEN;
    return event;
}

static enum websocket_event read_close(struct websocket_reader *reader,
                                       const char *octets, size_t length,
                                       size_t *used)
{
    for (*used = 0; *used < length;) {
        unsigned char octet = (unsigned char)octets[(*used)++];
        size_t place = reader->matched++;
        if (place == 0 && octet != CLOSE)
            return WS_WRONG;
        if (place == 1 && octet > CONTROL_OCTETS_MAX)
            return WS_WRONG;
        if (place == 1)
            reader->close_length = 2 + (size_t)octet;
        if (place >= 1 && reader->matched == reader->close_length)
            return WS_CLOSED;
    }
    return WS_INCOMPLETE;
}

enum websocket_event websocket_read(struct websocket_reader *reader,
                                    const char *echo, size_t echo_length,
                                    const char *octets, size_t length,
                                    size_t *used)
{
    if (reader->stage == WS_HANDSHAKE)
        return read_head(reader, octets, length, used);
    if (reader->stage == WS_CLOSING)
        return read_close(reader, octets, length, used);
    size_t missing = echo_length - reader->matched;
    *used = length < missing ? length : missing;
    if (memcmp(octets, echo + reader->matched, *used))
        return WS_WRONG;
    reader->matched += *used;
    if (reader->matched < echo_length)
        return WS_INCOMPLETE;
    reader->matched = 0;
    return WS_MESSAGE;
}

static size_t write_head(unsigned char *into, unsigned char first,
                         size_t length, unsigned char masked)
{
    unsigned count = length <= CONTROL_OCTETS_MAX ? 0
        : length <= 0xffff                        ? 2
                                                  : 8;
    into[0] = first;
    into[1] = masked
        | (unsigned char)(count == 0 ? length : count == 2 ? 126 : 127);
    for (unsigned i = 0; i < count; i++)
        into[2 + i] = (unsigned char)(length >> 8 * (count - 1 - i));
    return 2 + count;
}

size_t websocket_write_text(char *into, const char *payload, size_t length,
                            uint32_t key)
{
    char mask[4];
    size_t at = write_head((unsigned char *)into, TEXT, length,
                           key ? MASKED : 0);
    memcpy(mask, &key, sizeof mask);
    if (key) {
        memcpy(into + at, mask, sizeof mask);
        at += sizeof mask;
    }
    for (size_t i = 0; i < length; i++)
        into[at + i] = payload[i] ^ mask[i % sizeof mask];
    return at + length;
}

void websocket_write_close(char *into)
{
    /* The mask is zero: it need not be unpredictable here. */
    static const char octets[WS_CLOSE_OCTETS]
        = {(char)CLOSE, (char)(MASKED | 2), 0, 0, 0, 0, 1000 >> 8,
           (char)(1000 & 0xff)};
    memcpy(into, octets, sizeof octets);
}
