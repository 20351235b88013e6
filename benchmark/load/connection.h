/* The connections of a thread, and what it prepares for the kernel.
 *
 * A connection carries one batch of requests at a time. Small requests are
 * sent without a completion if they succeed: their answers say so. A connection
 * that is to be opened does it in one chain: connect, send, receive.
 *
 * What still comes for a connection that was dropped carries an old generation
 * and is ignored. */
#ifndef LEAN_CONNECTION_H
#define LEAN_CONNECTION_H

#include "response.h"
#include "uring.h"
#include "websocket.h"
#include "worker.h"

enum operation { CONNECT, SEND, RECEIVE, CLOSE };

struct connection {
    int descriptor;           /* -1 while there is none */
    uint32_t generation;
    unsigned outstanding;     /* requests of the batch without an answer */
    unsigned asked;           /* requests of this connection so far */
    bool receiving;
    bool sending;
    bool says_close;          /* the last request of the batch does */
    bool awaiting_end;
    bool idle;                /* in the queue of those */
    uint64_t due;             /* when the first outstanding request was */
    struct response_reader reader;
    struct websocket_reader websocket;
};

struct worker {
    struct uring ring;
    const struct options *options;
    const struct schedule *schedule;
    struct assignment *assignment;
    struct connection *connections;
    struct known_head known;
    uint64_t now;
    struct statistics *counted; /* the measured ones, or those discarded */
    uint64_t first_content;     /* its length plus 1, once it is known */
    uint64_t in_flight;         /* requests */
    uint64_t awaiting_end;      /* connections */
    bool is_measuring;
    bool is_draining;
    unsigned gathered;        /* completions to wait for at a time */
    unsigned close_credit;
    unsigned source;
    double step;              /* between requests of an open loop, or 0 */
    double first_due;
    double next_due;          /* the request of an open loop to send next */
    uint64_t due_count;       /* requests of an open loop before it */
    uint64_t random;
    unsigned *idle;           /* a queue of connections */
    unsigned idle_first;
    unsigned idle_count;
    unsigned *refused;        /* connections to be tried again */
    unsigned refused_count;
    uint64_t retry_at;
    struct statistics discarded;
};

/* Sends the outstanding requests of a connection, which is opened for it if
 * need be. */
void carry_batch(struct worker *worker, struct connection *connection);

/* Sends our Close of a WebSocket. */
void send_close(struct worker *worker, struct connection *connection);

/* Keeps a receive in flight, so that octets and the end are noticed. */
void receive(struct worker *worker, struct connection *connection);

/* Closes a connection; what was outstanding on it is the caller's concern. */
void drop_connection(struct worker *worker, struct connection *connection);

/* Counts a connection that could not be opened, and opens it after a while. */
void try_later(struct worker *worker, struct connection *connection);

#endif
