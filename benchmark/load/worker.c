/* The turns of one thread.
 *
 * When all answers to the batch of a connection are there, the next one is
 * sent: at once in a closed loop, and when requests are due in an open one. */
#define _GNU_SOURCE
#include "connection.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { POLLS_PER_CLOCK = 32 };

/* Sends at most `wanted` requests, the first of which was due at `due`, and
 * returns how many. */
static unsigned start_batch(struct worker *worker,
                            struct connection *connection, uint64_t due,
                            unsigned wanted)
{
    const struct options *options = worker->options;
    unsigned limit = options->requests_per_connection;
    unsigned asked = connection->descriptor < 0 ? 0 : connection->asked;
    unsigned count = wanted;
    if (limit && limit - asked < count)
        count = limit - asked;
    connection->says_close = false;
    for (unsigned i = 1; options->close_share && i <= count; i++) {
        worker->close_credit += options->close_share;
        if (worker->close_credit >= 100) {
            worker->close_credit -= 100;
            connection->says_close = true;
            count = i;
        }
    }
    connection->outstanding = count;
    connection->asked = asked + count;
    connection->due = due;
    worker->in_flight += count;
    carry_batch(worker, connection);
    return count;
}

/* What a connection without outstanding requests does. */
static void go_on(struct worker *worker, struct connection *connection)
{
    if (!worker->is_draining && worker->step == 0) {
        start_batch(worker, connection, worker->now,
                    worker->options->pipeline);
        return;
    }
    if (connection->idle)
        return;
    connection->idle = true;
    unsigned last = worker->idle_first + worker->idle_count++;
    worker->idle[last % worker->assignment->connections]
        = (unsigned)(connection - worker->connections);
}

static void finish_batch(struct worker *worker, struct connection *connection)
{
    unsigned limit = worker->options->requests_per_connection;
    if (limit && connection->asked >= limit) {
        if (worker->options->is_websocket) {
            connection->websocket.stage = WS_CLOSING;
            connection->awaiting_end = true;
            worker->awaiting_end++;
            send_close(worker, connection);
            return;
        }
        drop_connection(worker, connection);
    }
    go_on(worker, connection);
}

/* Gives up a connection together with what was asked on it. */
static void lose(struct worker *worker, struct connection *connection,
                 uint64_t *error)
{
    (*error)++;
    worker->counted->errors.unanswered += connection->outstanding;
    worker->in_flight -= connection->outstanding;
    connection->outstanding = 0;
    drop_connection(worker, connection);
    go_on(worker, connection);
}

static bool is_length_expected(struct worker *worker, uint64_t content)
{
    if (!worker->first_content) {
        uint64_t none = 0;
        bool is_first = __atomic_compare_exchange_n(
            worker->assignment->first_content, &none, content + 1, false,
            __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        worker->first_content = is_first ? content + 1 : none;
    }
    return worker->first_content == content + 1
        || worker->options->lengths_vary;
}

static void record_latency(struct worker *worker, uint64_t due, uint64_t until)
{
    struct statistics *statistics = worker->counted;
    if (worker->step != 0) {
        /* In an open loop it counts what was due within the measured time,
         * whenever it was answered. */
        if (due < worker->schedule->measured_from
            || due >= worker->schedule->measured_until)
            return;
        statistics = &worker->assignment->measured;
    }
    histogram_add(&statistics->latencies, until - due);
    windows_add(&statistics->windows, until - due);
}

static void count_response(struct worker *worker,
                           struct connection *connection, unsigned status,
                           uint64_t content)
{
    struct statistics *counted = worker->counted;
    counted->requests++;
    if (status != 200)
        counted->errors.status++;
    else if (!is_length_expected(worker, content))
        counted->errors.length++;
    record_latency(worker, connection->due, worker->now);
    connection->due += (uint64_t)worker->step;
    connection->outstanding--;
    worker->in_flight--;
}

/* Acts on what a WebSocket has brought; false if the connection is lost or
 * over. */
static bool take_event(struct worker *worker, struct connection *connection,
                       enum websocket_event event)
{
    struct errors *errors = &worker->counted->errors;
    switch (event) {
    case WS_INCOMPLETE: return true;
    case WS_ACCEPTED: carry_batch(worker, connection); return true;
    case WS_MESSAGE:
        if (!connection->outstanding)
            break;
        count_response(worker, connection, 200,
                       worker->options->message_octets);
        return true;
    case WS_CLOSED:
        drop_connection(worker, connection);
        go_on(worker, connection);
        return false;
    case WS_REFUSED:
        lose(worker, connection, &errors->status);
        return false;
    case WS_WRONG: break;
    }
    lose(worker, connection, &errors->malformed);
    return false;
}

static void take_frames(struct worker *worker, struct connection *connection,
                        const char *octets, size_t length)
{
    const struct options *options = worker->options;
    struct websocket_reader *reader = &connection->websocket;
    worker->counted->octets += length;
    while (length) {
        size_t used;
        enum websocket_event event
            = websocket_read(reader, options->echo, options->echo_length,
                             octets, length, &used);
        if (!take_event(worker, connection, event))
            return;
        octets += used;
        length -= used;
    }
    if (!connection->outstanding && !connection->sending
        && !connection->awaiting_end)
        finish_batch(worker, connection);
}

static void take_octets(struct worker *worker, struct connection *connection,
                        const char *octets, size_t length)
{
    struct response_reader *reader = &connection->reader;
    struct known_head *known = &worker->known;
    worker->counted->octets += length;
    while (length) {
        if (!connection->outstanding || connection->awaiting_end) {
            lose(worker, connection, &worker->counted->errors.malformed);
            return;
        }
        size_t used = response_match(reader, known, octets, length);
        if (used) {
            count_response(worker, connection, known->meaning.status,
                           known->meaning.content_length);
        } else {
            used = response_read(reader, known, octets, length);
            if (reader->state == MALFORMED) {
                lose(worker, connection, &worker->counted->errors.malformed);
                return;
            }
            if (reader->state == COMPLETE) {
                count_response(worker, connection, reader->head.status,
                               reader->content);
                connection->awaiting_end = reader->head.closes;
                response_begin(reader);
            }
        }
        if (connection->says_close && !connection->outstanding)
            connection->awaiting_end = true;
        worker->awaiting_end += connection->awaiting_end;
        octets += used;
        length -= used;
    }
    if (!connection->outstanding && !connection->sending
        && !connection->awaiting_end)
        finish_batch(worker, connection);
}

/* The server ended the connection, with an error if `result` is negative. */
static void take_end(struct worker *worker, struct connection *connection,
                     int result)
{
    struct statistics *counted = worker->counted;
    struct response_reader *reader = &connection->reader;
    if (result == 0 && connection->outstanding && !connection->awaiting_end
        && reader->state != IN_HEAD) {
        response_end(reader);
        if (reader->state == COMPLETE) {
            count_response(worker, connection, reader->head.status,
                           reader->content);
            connection->awaiting_end = true;
            worker->awaiting_end++;
        }
    }
    /* A WebSocket ends with the server's Close, not before. */
    if (result < 0 || worker->options->is_websocket
        || !(connection->awaiting_end || connection->idle)) {
        lose(worker, connection, &counted->errors.broken);
        return;
    }
    if (connection->idle || !connection->says_close || connection->outstanding)
        counted->closed_by_server++;
    drop_connection(worker, connection);
    if (connection->outstanding)
        carry_batch(worker, connection);
    else
        go_on(worker, connection);
}

static void take_receive(struct worker *worker, struct connection *connection,
                         const struct io_uring_cqe *completion)
{
    struct uring *ring = &worker->ring;
    uint32_t generation = connection->generation;
    unsigned buffer = completion->flags >> IORING_CQE_BUFFER_SHIFT;
    if (!(completion->flags & IORING_CQE_F_MORE))
        connection->receiving = false;
    if (completion->res > 0 && worker->options->is_websocket)
        take_frames(worker, connection, uring_buffer(ring, buffer),
                    (size_t)completion->res);
    else if (completion->res > 0)
        take_octets(worker, connection, uring_buffer(ring, buffer),
                    (size_t)completion->res);
    else if (completion->res != -ENOBUFS)
        take_end(worker, connection, completion->res);
    if (connection->generation == generation && !connection->receiving)
        receive(worker, connection);
}

static void take_connect(struct worker *worker, struct connection *connection,
                         int result)
{
    if (result < 0) {
        drop_connection(worker, connection);
        try_later(worker, connection);
        return;
    }
    carry_batch(worker, connection);
}

static void take_send(struct worker *worker, struct connection *connection,
                      int result)
{
    if (result < 0) {
        lose(worker, connection, &worker->counted->errors.broken);
        return;
    }
    connection->sending = false;
    if (!connection->outstanding && !connection->awaiting_end)
        finish_batch(worker, connection);
}

static void take_completion(struct worker *worker,
                            const struct io_uring_cqe *completion)
{
    struct connection *connection
        = &worker->connections[(uint32_t)completion->user_data];
    if (connection->generation == completion->user_data >> 40) {
        switch ((completion->user_data >> 32) & 0xff) {
        case RECEIVE: take_receive(worker, connection, completion); break;
        case SEND: take_send(worker, connection, completion->res); break;
        case CONNECT: take_connect(worker, connection, completion->res); break;
        }
    }
    if (completion->flags & IORING_CQE_F_BUFFER)
        uring_return_buffer(&worker->ring,
                            completion->flags >> IORING_CQE_BUFFER_SHIFT);
}

static void take_completions(struct worker *worker)
{
    struct uring *ring = &worker->ring;
    unsigned head = *ring->completion_head;
    unsigned tail = __atomic_load_n(ring->completion_tail, __ATOMIC_ACQUIRE);
    for (; head != tail; head++)
        take_completion(worker,
                        &ring->completions[head & ring->completion_mask]);
    uring_publish_buffers(ring);
    __atomic_store_n(ring->completion_head, head, __ATOMIC_RELEASE);
}

/* Evenly spread requests would be due in step with what the client itself does
 * for each: an answer a little late would often meet a client that sends. */
static double random_gap(struct worker *worker)
{
    const double most = 0x1p53;
    worker->random ^= worker->random << 13;
    worker->random ^= worker->random >> 7;
    worker->random ^= worker->random << 17;
    return -log(((double)(worker->random >> 11) + 1) / most) * worker->step;
}

static void advance_due(struct worker *worker)
{
    worker->due_count++;
    if (worker->options->is_random)
        worker->next_due += random_gap(worker);
    else
        worker->next_due = worker->first_due
            + worker->step * (double)worker->due_count;
}

/* Sends what is due in an open loop, as far as connections are free. */
static void send_due(struct worker *worker)
{
    unsigned connections = worker->assignment->connections;
    uint64_t until = worker->schedule->measured_until - 1;
    if (worker->now < until)
        until = worker->now;
    while (worker->idle_count && (uint64_t)worker->next_due <= until) {
        double due = worker->next_due;
        double late = ((double)until - due) / worker->step;
        unsigned wanted = worker->options->pipeline;
        if (late + 1 < wanted)
            wanted = (unsigned)late + 1;
        unsigned index = worker->idle[worker->idle_first];
        worker->idle_first = (worker->idle_first + 1) % connections;
        worker->idle_count--;
        worker->connections[index].idle = false;
        unsigned count = start_batch(worker, &worker->connections[index],
                                     (uint64_t)due, wanted);
        while (count--)
            advance_due(worker);
    }
}

static void try_again(struct worker *worker)
{
    unsigned count = worker->refused_count;
    worker->refused_count = 0;
    for (unsigned i = 0; i < count; i++)
        carry_batch(worker, &worker->connections[worker->refused[i]]);
}

/* What was due and never sent has waited at least until the end. */
static void count_unsent(struct worker *worker)
{
    uint64_t end = worker->schedule->measured_until;
    for (; worker->next_due < (double)end; advance_due(worker)) {
        worker->assignment->measured.errors.unanswered++;
        record_latency(worker, (uint64_t)worker->next_due, end);
    }
}

static void count_left(struct worker *worker)
{
    struct errors *errors = &worker->assignment->measured.errors;
    errors->unanswered += worker->in_flight;
    errors->unclosed += worker->awaiting_end;
    for (unsigned i = 0; i < worker->assignment->connections; i++) {
        struct connection *connection = &worker->connections[i];
        for (; worker->step != 0 && connection->outstanding;
             connection->outstanding--) {
            record_latency(worker, connection->due, worker->now);
            connection->due += (uint64_t)worker->step;
        }
    }
}

static void change_phase(struct worker *worker)
{
    const struct schedule *schedule = worker->schedule;
    if (!worker->is_measuring && worker->now >= schedule->measured_from) {
        worker->is_measuring = true;
        worker->counted = &worker->assignment->measured;
        worker->assignment->cpu_nanoseconds
            = clock_now(CLOCK_THREAD_CPUTIME_ID);
    }
    if (!worker->is_draining && worker->now >= schedule->measured_until) {
        worker->is_draining = true;
        worker->counted = &worker->discarded;
        worker->assignment->cpu_nanoseconds
            = clock_now(CLOCK_THREAD_CPUTIME_ID)
            - worker->assignment->cpu_nanoseconds;
    }
}

/* When the thread has something to do even if nothing completes. */
static uint64_t next_moment(const struct worker *worker)
{
    const struct schedule *schedule = worker->schedule;
    uint64_t moment = worker->is_draining ? schedule->last
        : worker->is_measuring            ? schedule->measured_until
                                          : schedule->measured_from;
    if (worker->step != 0 && worker->idle_count && !worker->is_draining
        && worker->next_due < (double)moment)
        moment = (uint64_t)worker->next_due + 1;
    if (worker->refused_count && worker->retry_at < moment)
        moment = worker->retry_at;
    return moment;
}

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Polls for completions and returns whether to go on without sleeping. A
 * server whose client never sleeps has nobody to wake. */
static bool poll_completions(struct worker *worker, uint64_t moment)
{
    struct uring *ring = &worker->ring;
    uint64_t end = worker->now + (uint64_t)worker->options->spin * 1000;
    if (uring_unsubmitted(ring))
        uring_enter(ring, 0, 1);
    for (;;) {
        for (unsigned i = 0; i < POLLS_PER_CLOCK; i++) {
            if (uring_wants_enter(ring))
                uring_enter(ring, 0, 1);
            if (uring_has_completions(ring))
                return true;
            relax();
        }
        worker->now = clock_now(CLOCK_MONOTONIC);
        if (worker->now >= moment)
            return true;
        if (worker->now >= end)
            return false;
    }
}

static void wait_for_something(struct worker *worker)
{
    uint64_t moment = next_moment(worker);
    if (!worker->options->spin || !poll_completions(worker, moment))
        uring_enter(&worker->ring,
                    moment > worker->now ? moment - worker->now : 0,
                    worker->gathered);
    worker->now = clock_now(CLOCK_MONOTONIC);
}

static void prepare(struct worker *worker, struct assignment *assignment)
{
    const struct options *options = assignment->options;
    unsigned count = assignment->connections;
    worker->options = options;
    worker->schedule = assignment->schedule;
    worker->assignment = assignment;
    worker->counted = &worker->discarded;
    worker->source = assignment->number;
    worker->connections = calloc(count, sizeof *worker->connections);
    worker->idle = calloc(count, sizeof *worker->idle);
    worker->refused = calloc(count, sizeof *worker->refused);
    if (!worker->connections || !worker->idle || !worker->refused) {
        fputs("lean: out of memory\n", stderr);
        exit(1);
    }
    if (options->rate > 0) {
        worker->step = 1e9 * options->threads / options->rate;
        worker->first_due = (double)worker->schedule->begin
            + 1e9 * assignment->number / options->rate;
        worker->next_due = worker->first_due;
        /* Of each thread other moments, in each run the same. */
        worker->random = 0x9E3779B97F4A7C15 * (assignment->number + 1);
    }
    for (unsigned i = 0; i < count; i++) {
        worker->connections[i].descriptor = -1;
        worker->connections[i].reader.without_content = options->is_head;
        response_begin(&worker->connections[i].reader);
    }
    /* In a closed loop the server has enough to do with the other connections
     * while some answers are gathered, and nobody to wake for each of them. */
    worker->gathered = options->rate > 0 ? 1
        : options->gather                ? options->gather
                                         : (count + 3) / 4;
    uring_open(&worker->ring, count);
}

void worker_run(struct assignment *assignment)
{
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker) {
        fputs("lean: out of memory\n", stderr);
        exit(1);
    }
    prepare(worker, assignment);
    do
        worker->now = clock_now(CLOCK_MONOTONIC);
    while (worker->now < worker->schedule->begin);
    change_phase(worker);
    for (unsigned i = 0; i < assignment->connections; i++)
        go_on(worker, &worker->connections[i]);
    do {
        wait_for_something(worker);
        change_phase(worker);
        take_completions(worker);
        if (worker->step != 0)
            send_due(worker);
        if (worker->step != 0 && worker->is_draining)
            count_unsent(worker);
        if (worker->refused_count && worker->now >= worker->retry_at)
            try_again(worker);
    } while (!worker->is_draining
             || ((worker->in_flight || worker->awaiting_end)
                 && worker->now < worker->schedule->last));
    count_left(worker);
}
