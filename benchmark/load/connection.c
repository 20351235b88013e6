/* Opening, closing, sending and receiving. */
#define _GNU_SOURCE
#include "connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <unistd.h>

enum {
    /* What the kernel takes at once on a connection with nothing in flight. */
    UNTRACKED_OCTETS_MAX = 4096,
    SOURCES = 32,
    RETRY_NANOSECONDS = 10 * 1000 * 1000
};

static uint64_t user_data(const struct worker *worker,
                          const struct connection *connection,
                          enum operation operation)
{
    return (uint64_t)connection->generation << 40 | (uint64_t)operation << 32
        | (uint64_t)(connection - worker->connections);
}

void receive(struct worker *worker, struct connection *connection)
{
    const struct options *options = worker->options;
    uring_reserve(&worker->ring, 1);
    struct io_uring_sqe *submission
        = uring_prepare(&worker->ring, IORING_OP_RECV, connection->descriptor,
                        user_data(worker, connection, RECEIVE));
    submission->flags = IOSQE_BUFFER_SELECT;
    submission->ioprio = IORING_RECVSEND_POLL_FIRST;
    /* A connection that ends with this batch needs no more than one receive,
     * and has none in flight then that would delay its close. */
    if (!options->requests_per_connection || options->is_websocket
        || options->requests_per_connection > options->pipeline)
        submission->ioprio |= IORING_RECV_MULTISHOT;
    connection->receiving = true;
}

static struct io_uring_sqe *prepare_send(struct worker *worker,
                                         struct connection *connection,
                                         const char *octets, size_t length)
{
    struct io_uring_sqe *submission
        = uring_prepare(&worker->ring, IORING_OP_SEND, connection->descriptor,
                        user_data(worker, connection, SEND));
    submission->addr = (uint64_t)(uintptr_t)octets;
    submission->len = (uint32_t)length;
    submission->msg_flags = MSG_NOSIGNAL | MSG_WAITALL;
    return submission;
}

static void send_batch(struct worker *worker, struct connection *connection,
                       uint8_t link)
{
    const struct options *options = worker->options;
    size_t single = options->request_length;
    unsigned count = connection->outstanding;
    const char *octets = options->octets;
    size_t length = count * single;
    if (connection->says_close) {
        octets += (options->pipeline - (count - 1)) * single;
        length += options->closing_length - single;
    }
    struct io_uring_sqe *submission
        = prepare_send(worker, connection, octets, length);
    connection->sending = length > UNTRACKED_OCTETS_MAX;
    submission->flags = connection->sending ? 0 : link | IOSQE_CQE_SKIP_SUCCESS;
}

/* Sends octets that the kernel takes at once. */
static void send_few(struct worker *worker, struct connection *connection,
                     const char *octets, size_t length, uint8_t link)
{
    struct io_uring_sqe *submission
        = prepare_send(worker, connection, octets, length);
    submission->flags = link | IOSQE_CQE_SKIP_SUCCESS;
}

void send_close(struct worker *worker, struct connection *connection)
{
    uring_reserve(&worker->ring, 1);
    send_few(worker, connection, worker->options->close, WS_CLOSE_OCTETS, 0);
}

/* Ports of connections that we close first stay taken for a second or more;
 * several source addresses give enough of them. */
static void choose_source(struct worker *worker, int descriptor)
{
    const struct options *options = worker->options;
    struct sockaddr_in source;
    int one = 1;
    if (!options->requests_per_connection
        || options->address.ss_family != AF_INET)
        return;
    memcpy(&source, &options->address, sizeof source);
    if (ntohl(source.sin_addr.s_addr) >> 24 != 127)
        return;
    source.sin_port = 0;
    source.sin_addr.s_addr
        = htonl(INADDR_LOOPBACK + worker->source++ % SOURCES);
    setsockopt(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one,
               sizeof one);
    if (bind(descriptor, (struct sockaddr *)&source, sizeof source))
        perror("lean: bind");
}

void try_later(struct worker *worker, struct connection *connection)
{
    worker->counted->errors.connect++;
    worker->refused[worker->refused_count++]
        = (unsigned)(connection - worker->connections);
    worker->retry_at = worker->now + RETRY_NANOSECONDS;
}

/* Opens a connection and sends the batch that waits for it: of a WebSocket, what
 * opens it, since the batch has to wait for the answer. */
static void open_connection(struct worker *worker,
                            struct connection *connection)
{
    const struct options *options = worker->options;
    int one = 1;
    int descriptor
        = socket(options->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) {
        try_later(worker, connection);
        return;
    }
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    choose_source(worker, descriptor);
    connection->descriptor = descriptor;
    connection->asked = connection->outstanding;
    response_begin(&connection->reader);
    websocket_begin(&connection->websocket);
    worker->counted->connections++;
    uring_reserve(&worker->ring, 3);
    struct io_uring_sqe *submission
        = uring_prepare(&worker->ring, IORING_OP_CONNECT, descriptor,
                        user_data(worker, connection, CONNECT));
    submission->addr = (uint64_t)(uintptr_t)&options->address;
    submission->off = options->address_length;
    if (!options->is_websocket
        && connection->outstanding * options->request_length
                + options->closing_length > UNTRACKED_OCTETS_MAX)
        return;
    submission->flags = IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
    if (options->is_websocket)
        send_few(worker, connection, options->handshake,
                 options->handshake_length, IOSQE_IO_LINK);
    else
        send_batch(worker, connection, IOSQE_IO_LINK);
    receive(worker, connection);
}

void drop_connection(struct worker *worker, struct connection *connection)
{
    if (connection->receiving || connection->sending)
        shutdown(connection->descriptor, SHUT_RDWR);
    uring_reserve(&worker->ring, 1);
    /* In its turn among the submissions, so that none that was prepared before
     * meets a descriptor that has been given out again. */
    uring_prepare(&worker->ring, IORING_OP_CLOSE, connection->descriptor,
                  user_data(worker, connection, CLOSE))
        ->flags = IOSQE_CQE_SKIP_SUCCESS;
    connection->generation = (connection->generation + 1) & 0xffffff;
    connection->descriptor = -1;
    connection->receiving = false;
    connection->sending = false;
    worker->awaiting_end -= connection->awaiting_end;
    connection->awaiting_end = false;
}

void carry_batch(struct worker *worker, struct connection *connection)
{
    if (connection->descriptor < 0) {
        open_connection(worker, connection);
        return;
    }
    uring_reserve(&worker->ring, 2);
    send_batch(worker, connection, 0);
    if (!connection->receiving)
        receive(worker, connection);
}
