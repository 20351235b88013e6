/* The answers of the limit servers: made at start, found by a minimal scan.
 *
 * Nothing here reads more of a request than where its head ends and which
 * route it names. A server that checks what it receives cannot do less.
 */
#ifndef CANNED_H
#define CANNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { COMPUTED_OCTETS_MAX = 2048 };

/* Octets that somebody else owns. */
struct view {
    const char *octets;
    size_t length;
};

/* Octets that gather, in memory that grows. */
struct gathered {
    char *octets;
    size_t length;
    size_t capacity;
};

/* What one worker remembers between requests. */
struct turn {
    unsigned read_next;
    unsigned list_next;
    uint64_t generator;
    bool has_upgraded; /* the last answer was a 101 */
    char computed[COMPUTED_OCTETS_MAX];
};

struct options {
    int port;
    int workers;
    const char *products;
};

/* Reads --port, --workers and --products, or ends the program. */
struct options options_of(int count, char **arguments);

/* Makes every answer that does not depend on the request. */
void load_answers(const char *products);

/* Starts the counters and the generator of a worker. */
void turn_start(struct turn *turn);

/* Gives the whole answer to one request. A computed answer lies in `turn`
 * and lasts until the next call. */
struct view answer(struct turn *turn, const char *head, const char *head_end);

/* Opens a listening socket of its own for one worker, or ends the program. */
int listen_on(int port, int flags);

/* Runs `worker` on as many threads as `workers` says; does not return. */
void run_workers(int workers, void *(*worker)(void *));

/* Ends the program with the text of errno. */
void fail(const char *what);

/* Appends, or ends the program where no memory is left. */
void gather(struct gathered *into, const char *octets, size_t length);

/* Tells where the head at the front of the octets ends; NULL if it does not. */
static inline const char *end_of_head(const char *octets, const char *end)
{
    const char *mark = octets;
    while ((mark = memchr(mark, '\r', (size_t)(end - mark)))) {
        if (end - mark < 4)
            return NULL;
        if (!memcmp(mark, "\r\n\r\n", 4))
            return mark + 4;
        mark++;
    }
    return NULL;
}

#endif
