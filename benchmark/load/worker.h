/* One thread of the client, and what it counts. */
#ifndef LEAN_WORKER_H
#define LEAN_WORKER_H

#include "histogram.h"
#include "options.h"

#include <stdint.h>
#include <time.h>

struct errors {
    uint64_t connect;         /* connections that could not be opened */
    uint64_t broken;          /* connections that ended unannounced */
    uint64_t malformed;       /* responses that cannot be read */
    uint64_t status;          /* responses with another status than 200 */
    uint64_t length;          /* contents of another length than the first */
    uint64_t unclosed;        /* connections not closed though asked to */
    uint64_t unanswered;      /* requests without a response */
};

struct statistics {
    uint64_t requests;        /* responses, read whole */
    uint64_t octets;          /* received, heads included */
    uint64_t connections;     /* begun */
    uint64_t closed_by_server; /* connections that it announced to end */
    struct errors errors;
    struct histogram latencies;
    struct windows windows;
};

/* The moments of a run, in nanoseconds of CLOCK_MONOTONIC. */
struct schedule {
    uint64_t begin;
    uint64_t measured_from;
    uint64_t measured_until;
    uint64_t last;            /* when to stop waiting for answers */
};

struct assignment {
    const struct options *options;
    const struct schedule *schedule;
    unsigned number;          /* of this thread */
    unsigned connections;     /* its part of them */
    /* Length of the first content plus 1; 0 until there is one. Shared by all
     * threads, written once. */
    uint64_t *first_content;
    /* CPU time of the thread within the measured time. */
    uint64_t cpu_nanoseconds;
    struct statistics measured;
};

static inline uint64_t clock_now(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Runs one thread from beginning to end. */
void worker_run(struct assignment *assignment);

#endif
