/* The limit on io_uring: one system call per turn of the loop.
 *
 * Accepts and receives are multishot and the kernel picks the receive buffers.
 * What a turn answers is queued as it is found, and goes to the kernel with the
 * call that waits for the next completions. A connection has one send in
 * flight; answers to what arrives meanwhile gather behind it.
 */
#define _GNU_SOURCE
#include "../limit/canned.h"
#include "../limit/websocket.h"
#include "ring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
    ENTRIES = 4096,
    CONNECTIONS_MAX = 16384,
    BUFFERS = 512,
    BUFFER_OCTETS = 4096,
    REQUEST_OCTETS_MAX = 64 * 1024,
};

enum operation { ACCEPT, RECEIVE, SEND, END };

struct connection {
    struct view sending;
    struct gathered waiting; /* answers behind the send in flight */
    bool is_sending;
    bool is_receiving;
    bool is_broken;
    bool is_websocket;
    bool is_over; /* once all is sent */
    struct gathered flying; /* memory of the send in flight, if gathered */
    struct gathered partial; /* the front of a request that is not whole */
};

struct worker {
    struct ring ring;
    struct buffers buffers;
    int listener;
    struct turn turn;
    struct connection *connections; /* by slot of the table of files */
};

static struct options options;

static struct io_uring_sqe *submit(struct worker *worker, enum operation what,
                                   unsigned slot)
{
    struct io_uring_sqe *submission = ring_submission(&worker->ring);
    submission->user_data = (uint64_t)what << 32 | slot;
    return submission;
}

static void start_accepting(struct worker *worker)
{
    struct io_uring_sqe *submission = submit(worker, ACCEPT, 0);
    submission->opcode = IORING_OP_ACCEPT;
    submission->fd = worker->listener;
    submission->ioprio = IORING_ACCEPT_MULTISHOT;
    submission->file_index = IORING_FILE_INDEX_ALLOC;
}

static void start_receiving(struct worker *worker, unsigned slot)
{
    struct io_uring_sqe *submission = submit(worker, RECEIVE, slot);
    submission->opcode = IORING_OP_RECV;
    submission->fd = (int)slot;
    submission->flags = IOSQE_FIXED_FILE | IOSQE_BUFFER_SELECT;
    submission->ioprio = IORING_RECV_MULTISHOT;
    worker->connections[slot].is_receiving = true;
}

static void start_sending(struct worker *worker, unsigned slot)
{
    struct connection *connection = &worker->connections[slot];
    struct io_uring_sqe *submission = submit(worker, SEND, slot);
    submission->opcode = IORING_OP_SEND;
    submission->fd = (int)slot;
    submission->flags = IOSQE_FIXED_FILE;
    submission->addr = (uintptr_t)connection->sending.octets;
    submission->len = (unsigned)connection->sending.length;
    /* The kernel sends the rest itself where the socket is full. */
    submission->msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
    connection->is_sending = true;
}

static void send_waiting(struct worker *worker, unsigned slot)
{
    struct connection *connection = &worker->connections[slot];
    struct gathered landed = connection->flying;
    connection->flying = connection->waiting;
    landed.length = 0;
    connection->waiting = landed;
    connection->sending = (struct view){connection->flying.octets,
                                        connection->flying.length};
    start_sending(worker, slot);
}

/* Ends both directions, so that a receive in flight completes. */
static void break_off(struct worker *worker, unsigned slot)
{
    struct io_uring_sqe *submission = submit(worker, END, slot);
    submission->opcode = IORING_OP_SHUTDOWN;
    submission->fd = (int)slot;
    submission->flags = IOSQE_FIXED_FILE | IOSQE_CQE_SKIP_SUCCESS;
    submission->len = SHUT_RDWR;
    worker->connections[slot].is_broken = true;
}

/* Ends the receive in flight, so that the connection can be closed. */
static void stop_receiving(struct worker *worker, unsigned slot)
{
    struct io_uring_sqe *submission = submit(worker, END, 0);
    submission->opcode = IORING_OP_ASYNC_CANCEL;
    submission->flags = IOSQE_CQE_SKIP_SUCCESS;
    submission->addr = (uint64_t)RECEIVE << 32 | slot;
}

static void close_if_over(struct worker *worker, unsigned slot)
{
    struct connection *connection = &worker->connections[slot];
    if (connection->is_sending || connection->is_receiving)
        return;
    struct io_uring_sqe *submission = submit(worker, END, slot);
    submission->opcode = IORING_OP_CLOSE;
    submission->file_index = slot + 1;
    submission->flags = IOSQE_CQE_SKIP_SUCCESS;
    free(connection->waiting.octets);
    free(connection->flying.octets);
    free(connection->partial.octets);
    *connection = (struct connection){0};
}

/* Answers every whole request and keeps what is behind the last one. */
static void answer_all(struct worker *worker, unsigned slot,
                       char *request, const char *end)
{
    struct connection *connection = &worker->connections[slot];
    const char *next;
    while (!connection->is_websocket && (next = end_of_head(request, end))) {
        struct view one = answer(&worker->turn, request, next);
        request += next - request;
        connection->is_websocket = worker->turn.has_upgraded;
        worker->turn.has_upgraded = false;
        /* A single answer that lasts is sent from where it lies. */
        if (request == end && !connection->is_sending &&
            !connection->waiting.length && one.octets != worker->turn.computed) {
            connection->sending = one;
            start_sending(worker, slot);
        } else {
            gather(&connection->waiting, one.octets, one.length);
        }
    }
    if (connection->is_websocket && request < end) {
        next = echo_frames(&connection->waiting, request, end,
                           &connection->is_over);
        request += next - request;
    }
    if (connection->waiting.length && !connection->is_sending)
        send_waiting(worker, slot);
    connection->partial.length = 0;
    if (request < end)
        gather(&connection->partial, request, (size_t)(end - request));
}

static void received(struct worker *worker, unsigned slot,
                     const struct io_uring_cqe *completion)
{
    struct connection *connection = &worker->connections[slot];
    if (completion->res > 0) {
        unsigned number = completion->flags >> IORING_CQE_BUFFER_SHIFT;
        char *octets =
            worker->buffers.memory + (size_t)number * BUFFER_OCTETS;
        size_t length = (size_t)completion->res;
        if (connection->is_broken || connection->is_over) {
            /* What follows a refusal or a Close is not looked at. */
        } else if (!connection->partial.length) {
            answer_all(worker, slot, octets, octets + length);
        } else {
            struct gathered whole = connection->partial;
            connection->partial = (struct gathered){0};
            gather(&whole, octets, length);
            answer_all(worker, slot, whole.octets, whole.octets + whole.length);
            free(whole.octets);
        }
        buffers_return(&worker->buffers, number, BUFFERS, BUFFER_OCTETS);
        if (connection->partial.length > REQUEST_OCTETS_MAX &&
            !connection->is_broken)
            break_off(worker, slot);
    }
    if (completion->flags & IORING_CQE_F_MORE)
        return;
    connection->is_receiving = false;
    if (completion->res > 0 || completion->res == -ENOBUFS)
        start_receiving(worker, slot);
    else
        close_if_over(worker, slot);
}

static void sent(struct worker *worker, unsigned slot, int result)
{
    struct connection *connection = &worker->connections[slot];
    connection->is_sending = false;
    if (result <= 0) {
        connection->waiting.length = 0;
        if (connection->is_receiving)
            break_off(worker, slot);
    } else if ((size_t)result < connection->sending.length) {
        connection->sending.octets += result;
        connection->sending.length -= (size_t)result;
        start_sending(worker, slot);
    } else if (connection->waiting.length) {
        send_waiting(worker, slot);
    } else if (connection->is_over && connection->is_receiving) {
        stop_receiving(worker, slot);
    }
    if (!connection->is_receiving)
        close_if_over(worker, slot);
}

static void completed(struct worker *worker,
                      const struct io_uring_cqe *completion)
{
    unsigned slot = (unsigned)completion->user_data;
    switch ((enum operation)(completion->user_data >> 32)) {
    case ACCEPT:
        if (completion->res >= 0)
            start_receiving(worker, (unsigned)completion->res);
        if (!(completion->flags & IORING_CQE_F_MORE))
            start_accepting(worker);
        break;
    case RECEIVE:
        received(worker, slot, completion);
        break;
    case SEND:
        sent(worker, slot, completion->res);
        break;
    case END:
        break;
    }
}

static void *run(void *unused)
{
    struct worker *worker = calloc(1, sizeof *worker);
    struct ring *ring = &worker->ring;
    (void)unused;
    worker->connections = calloc(CONNECTIONS_MAX, sizeof *worker->connections);
    ring_open(ring, ENTRIES, CONNECTIONS_MAX);
    buffers_open(&worker->buffers, ring, BUFFERS, BUFFER_OCTETS);
    turn_start(&worker->turn);
    worker->listener = listen_on(options.port, 0);
    start_accepting(worker);
    for (;;) {
        ring_turn(ring);
        unsigned head = *ring->complete_head;
        unsigned tail =
            __atomic_load_n(ring->complete_tail, __ATOMIC_ACQUIRE);
        for (; head != tail; head++)
            completed(worker, &ring->completions[head & ring->complete_mask]);
        buffers_publish(&worker->buffers);
        __atomic_store_n(ring->complete_head, head, __ATOMIC_RELEASE);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    options = options_of(count, arguments);
    load_answers(options.products);
    run_workers(options.workers, run);
}
