/* A load client that leaves the server no rest.
 *
 * Each thread owns an io_uring and its part of the connections. A turn enters
 * the kernel once: it hands over all requests that became possible and takes
 * all octets that have come. See options.c for the command line; the result is
 * one JSON object on the standard output. */
#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void *thread_main(void *assignment)
{
    /* The kernel may otherwise delay the end of a wait by 50 microseconds. */
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    worker_run(assignment);
    return NULL;
}

/* A server that is not there is worth a message, not a measurement. */
static void require_server(const struct options *options)
{
    int descriptor = socket(options->address.ss_family, SOCK_STREAM, 0);
    if (descriptor < 0
        || connect(descriptor, (const struct sockaddr *)&options->address,
                   options->address_length)) {
        fprintf(stderr, "lean: cannot connect: %s\n", strerror(errno));
        exit(1);
    }
    close(descriptor);
}

static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_NOFILE, &limit)) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* The end may be brought forward by an interrupt. */
static struct schedule schedule;

static void on_interrupt(int number)
{
    (void)number;
    uint64_t now = clock_now(CLOCK_MONOTONIC);
    if (now < schedule.measured_until) {
        schedule.last -= schedule.measured_until - now;
        schedule.measured_until = now;
    }
}

static void plan(const struct options *options)
{
    schedule.begin = clock_now(CLOCK_MONOTONIC) + 1000000;
    schedule.measured_from
        = schedule.begin + (uint64_t)(options->warm_up * 1e9);
    schedule.measured_until
        = schedule.measured_from + (uint64_t)(options->seconds * 1e9);
    schedule.last
        = schedule.measured_until + (uint64_t)(options->grace * 1e9);
    signal(SIGINT, on_interrupt);
}

static void merge(struct statistics *total, const struct statistics *part)
{
    total->requests += part->requests;
    total->octets += part->octets;
    total->connections += part->connections;
    total->closed_by_server += part->closed_by_server;
    total->errors.connect += part->errors.connect;
    total->errors.broken += part->errors.broken;
    total->errors.malformed += part->errors.malformed;
    total->errors.status += part->errors.status;
    total->errors.length += part->errors.length;
    total->errors.unclosed += part->errors.unclosed;
    total->errors.unanswered += part->errors.unanswered;
    histogram_merge(&total->latencies, &part->latencies);
    histogram_merge(&total->windows.tails, &part->windows.tails);
}

static void print_report(const struct options *options,
                         const struct statistics *total, uint64_t cpu)
{
    const struct errors *errors = &total->errors;
    const struct histogram *latencies = &total->latencies;
    printf("{\"requests\": %" PRIu64 ", \"seconds\": %.3f, \"rate\": %.1f,"
           " \"octets\": %" PRIu64 ", \"connections\": %" PRIu64
           ", \"closed_by_server\": %" PRIu64 ", \"cpu_us\": %.1f,\n",
           total->requests, options->seconds,
           (double)total->requests / options->seconds, total->octets,
           total->connections, total->closed_by_server, (double)cpu / 1e3);
    printf(" \"errors\": {\"connect\": %" PRIu64 ", \"broken\": %" PRIu64
           ", \"malformed\": %" PRIu64 ", \"status\": %" PRIu64
           ", \"length\": %" PRIu64 ", \"unclosed\": %" PRIu64
           ", \"unanswered\": %" PRIu64 "},\n",
           errors->connect, errors->broken, errors->malformed, errors->status,
           errors->length, errors->unclosed, errors->unanswered);
    printf(" \"latency_us\": {\"count\": %" PRIu64 ", \"p50\": %.2f,"
           " \"p90\": %.2f, \"p99\": %.2f, \"p99.9\": %.2f,"
           " \"max\": %.2f, \"window_p99\": %.2f}}\n",
           latencies->count, histogram_quantile(latencies, 0.5) / 1e3,
           histogram_quantile(latencies, 0.9) / 1e3,
           histogram_quantile(latencies, 0.99) / 1e3,
           histogram_quantile(latencies, 0.999) / 1e3,
           (double)latencies->max / 1e3,
           histogram_quantile(&total->windows.tails, 0.5) / 1e3);
}

int main(int count, char **arguments)
{
    static struct options options;
    static struct statistics total;
    uint64_t first_content = 0;
    uint64_t cpu = 0;
    signal(SIGPIPE, SIG_IGN);
    options_read(&options, count, arguments);
    raise_descriptor_limit();
    require_server(&options);
    plan(&options);
    struct assignment *assignments
        = calloc(options.threads, sizeof *assignments);
    pthread_t *threads = calloc(options.threads, sizeof *threads);
    for (unsigned i = 0; i < options.threads; i++) {
        assignments[i].options = &options;
        assignments[i].schedule = &schedule;
        assignments[i].number = i;
        assignments[i].connections = options.connections / options.threads
            + (i < options.connections % options.threads);
        assignments[i].first_content = &first_content;
        if (i && pthread_create(&threads[i], NULL, thread_main,
                                &assignments[i])) {
            fputs("lean: cannot start a thread\n", stderr);
            return 1;
        }
    }
    /* The first one is this thread: a process with a single thread has no
     * locks to take for its descriptors. */
    thread_main(&assignments[0]);
    for (unsigned i = 0; i < options.threads; i++) {
        if (i)
            pthread_join(threads[i], NULL);
        merge(&total, &assignments[i].measured);
        cpu += assignments[i].cpu_nanoseconds;
    }
    print_report(&options, &total, cpu);
    return 0;
}
