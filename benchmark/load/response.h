/* Reads HTTP/1.1 responses: octets in, ends of responses out.
 *
 * A head that equals the last whole one octet for octet means what that one
 * meant, so that most responses cost one comparison. Everything else goes
 * through the parser, which accepts only what tells without doubt how long a
 * response is. */
#ifndef LEAN_RESPONSE_H
#define LEAN_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HEAD_OCTETS_MAX = 16 * 1024 };

enum framing { BY_LENGTH, BY_CHUNKS, BY_END };

/* What a head says. */
struct response_head {
    unsigned status;
    enum framing framing;
    bool closes;              /* the connection ends behind this response */
    uint64_t content_length;
};

/* The last head that was parsed in one piece; shared by the connections of a
 * thread. */
struct known_head {
    size_t length;            /* 0 while there is none */
    struct response_head meaning;
    char octets[1024];
};

enum response_state {
    IN_HEAD,
    IN_CONTENT,
    IN_CHUNK_SIZE,
    IN_CHUNK,
    IN_CHUNK_END,
    IN_TRAILERS,
    COMPLETE,
    MALFORMED
};

struct response_reader {
    enum response_state state;
    bool without_content;     /* the request was HEAD */
    struct response_head head;
    uint64_t left;            /* octets left of the content or chunk */
    uint64_t content;         /* octets of content so far */
    size_t held_length;
    char *held;               /* octets of a head or line that is not whole */
};

/* Prepares for the next response. */
static inline void response_begin(struct response_reader *reader)
{
    reader->state = IN_HEAD;
    reader->content = 0;
    reader->held_length = 0;
}

/* Reads on in `length` octets, at most to the end of the response, and returns
 * how many were used. Interim responses (1xx) are passed over. */
size_t response_read(struct response_reader *reader, struct known_head *known,
                     const char *octets, size_t length);

/* The peer ended: a response without a stated length is complete, any other
 * that has begun is MALFORMED. */
void response_end(struct response_reader *reader);

/* The short way: returns the length of a whole response with a known head at
 * the start of `octets`, or 0. */
static inline size_t response_match(const struct response_reader *reader,
                                    const struct known_head *known,
                                    const char *octets, size_t length)
{
    if (!known->length || reader->state != IN_HEAD || reader->held_length
        || length < known->length
        || memcmp(octets, known->octets, known->length))
        return 0;
    uint64_t whole = known->length + known->meaning.content_length;
    return length >= whole ? whole : 0;
}

#endif
