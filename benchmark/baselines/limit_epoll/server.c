/* The limit on epoll: one receive and one send per batch of requests.
 *
 * Input and output are the worker's, so that a connection owns memory only
 * while a request is not whole or the peer does not read. Registrations stay
 * level-triggered: no second receive has to find the socket empty.
 */
#define _GNU_SOURCE
#include "../limit/canned.h"
#include "../limit/websocket.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { INPUT_OCTETS = 64 * 1024, EVENTS = 512, DESCRIPTORS_MAX = 1 << 20 };

struct connection {
    struct gathered partial; /* the front of a request that is not whole */
    struct gathered unsent;
    size_t unsent_start;
    bool is_websocket;
    bool is_over; /* once all is sent */
};

struct worker {
    int poll;
    struct connection *connections; /* by descriptor */
    struct turn turn;
    struct gathered output;
    char input[INPUT_OCTETS];
};

static struct options options;
static size_t descriptors_max;

static void watch(struct worker *worker, int descriptor, int how, uint32_t what)
{
    struct epoll_event event = {.events = what, .data.fd = descriptor};
    if (epoll_ctl(worker->poll, how, descriptor, &event))
        fail("epoll_ctl");
}

static void drop(struct worker *worker, int descriptor)
{
    struct connection *connection = &worker->connections[descriptor];
    free(connection->partial.octets);
    free(connection->unsent.octets);
    *connection = (struct connection){0};
    close(descriptor);
}

static void accept_all(struct worker *worker, int listener)
{
    int descriptor;
    while ((descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if ((size_t)descriptor < descriptors_max)
            watch(worker, descriptor, EPOLL_CTL_ADD, EPOLLIN);
        else
            close(descriptor);
    }
}

static void send_now(struct worker *worker, int descriptor, struct view octets)
{
    struct connection *connection = &worker->connections[descriptor];
    ssize_t sent = send(descriptor, octets.octets, octets.length, MSG_NOSIGNAL);
    if (sent == (ssize_t)octets.length) {
        if (connection->is_over)
            drop(worker, descriptor);
        return;
    }
    if (sent < 0 && errno != EAGAIN) {
        drop(worker, descriptor);
        return;
    }
    size_t done = sent < 0 ? 0 : (size_t)sent;
    gather(&connection->unsent, octets.octets + done, octets.length - done);
    /* A peer that does not read is not read from either. */
    watch(worker, descriptor, EPOLL_CTL_MOD, EPOLLOUT);
}

static void send_rest(struct worker *worker, int descriptor)
{
    struct connection *connection = &worker->connections[descriptor];
    struct gathered *unsent = &connection->unsent;
    ssize_t sent = send(descriptor, unsent->octets + connection->unsent_start,
                        unsent->length - connection->unsent_start,
                        MSG_NOSIGNAL);
    if (sent < 0) {
        if (errno != EAGAIN)
            drop(worker, descriptor);
        return;
    }
    connection->unsent_start += (size_t)sent;
    if (connection->unsent_start < unsent->length)
        return;
    if (connection->is_over) {
        drop(worker, descriptor);
        return;
    }
    connection->unsent_start = unsent->length = 0;
    watch(worker, descriptor, EPOLL_CTL_MOD, EPOLLIN);
}

static void receive(struct worker *worker, int descriptor)
{
    struct connection *connection = &worker->connections[descriptor];
    size_t kept = connection->partial.length;
    if (kept)
        memcpy(worker->input, connection->partial.octets, kept);
    ssize_t received =
        recv(descriptor, worker->input + kept, INPUT_OCTETS - kept, 0);
    if (received <= 0) {
        if (!received || errno != EAGAIN)
            drop(worker, descriptor);
        return;
    }
    connection->partial.length = 0;
    char *request = worker->input;
    const char *next, *end = worker->input + kept + received;
    struct view output = {0};
    worker->output.length = 0;
    while (!connection->is_websocket && (next = end_of_head(request, end))) {
        struct view one = answer(&worker->turn, request, next);
        request += next - request;
        connection->is_websocket = worker->turn.has_upgraded;
        worker->turn.has_upgraded = false;
        /* A single answer is sent from where it lies. */
        if (request == end && !worker->output.length)
            output = one;
        else
            gather(&worker->output, one.octets, one.length);
    }
    if (connection->is_websocket && request < end) {
        if (output.length)
            gather(&worker->output, output.octets, output.length);
        next = echo_frames(&worker->output, request, end,
                           &connection->is_over);
        request += next - request;
    }
    if (request < end) {
        if (end - request == INPUT_OCTETS) {
            drop(worker, descriptor);
            return;
        }
        gather(&connection->partial, request, (size_t)(end - request));
    }
    if (worker->output.length)
        output = (struct view){worker->output.octets, worker->output.length};
    if (output.length)
        send_now(worker, descriptor, output);
}

static void *run(void *unused)
{
    struct worker *worker = calloc(1, sizeof *worker);
    int listener = listen_on(options.port, SOCK_NONBLOCK);
    struct epoll_event events[EVENTS];
    (void)unused;
    worker->connections = calloc(descriptors_max, sizeof *worker->connections);
    worker->poll = epoll_create1(0);
    turn_start(&worker->turn);
    watch(worker, listener, EPOLL_CTL_ADD, EPOLLIN);
    for (;;) {
        int count = epoll_wait(worker->poll, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            int descriptor = events[i].data.fd;
            if (descriptor == listener)
                accept_all(worker, listener);
            else if (worker->connections[descriptor].unsent.length)
                send_rest(worker, descriptor);
            else
                receive(worker, descriptor);
        }
    }
    return NULL;
}

int main(int count, char **arguments)
{
    struct rlimit descriptors;
    options = options_of(count, arguments);
    getrlimit(RLIMIT_NOFILE, &descriptors);
    descriptors.rlim_cur = descriptors.rlim_max;
    setrlimit(RLIMIT_NOFILE, &descriptors);
    descriptors_max = descriptors.rlim_cur < DESCRIPTORS_MAX
                          ? (size_t)descriptors.rlim_cur
                          : DESCRIPTORS_MAX;
    load_answers(options.products);
    run_workers(options.workers, run);
}
