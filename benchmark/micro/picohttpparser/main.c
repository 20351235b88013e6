/* Measures picohttpparser on the messages of ../requests.
 *
 * The layout, the batches and the line for each case are those of
 * ../requests.mojo and ../measure.mojo. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "picohttpparser.h"

enum { COPIES = 16, LINE = 64, STEP = 11, BATCHES = 21, FIELDS = 100 };
enum { BATCH_NS = 1000000, WARM_UP_NS = 20000000, NAMES = 4 };

struct messages {
    size_t count;
    size_t octets;
    const char *starts[COPIES * NAMES];
    size_t lengths[COPIES * NAMES];
};

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static struct messages load(const char *directory, const char **names,
                            size_t count)
{
    struct messages m = {.count = COPIES * count};
    static char files[NAMES][65536];
    size_t lengths[NAMES];
    for (size_t i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.http", directory, names[i]);
        FILE *f = fopen(path, "rb");
        if (f == NULL)
            fail(path);
        lengths[i] = fread(files[i], 1, sizeof files[i], f);
        fclose(f);
        m.octets += lengths[i];
    }
    m.octets /= count;
    size_t room = 0;
    for (size_t i = 0; i < count; i++)
        room += COPIES * (lengths[i] + 4 * LINE);
    char *memory = aligned_alloc(LINE, (room + LINE) / LINE * LINE);
    size_t total = LINE;
    for (size_t k = 0; k < m.count; k++) {
        size_t n = lengths[k % count];
        char *start = memory + total + k / count * STEP % LINE;
        memcpy(start, files[k % count], n);
        m.starts[k] = start;
        m.lengths[k] = n;
        total += (n + 2 * LINE - 1) / LINE * LINE + LINE;
    }
    return m;
}

static inline size_t read_head(const struct messages *m, size_t i, int response)
{
    static struct phr_header fields[FIELDS];
    size_t k = i & (m->count - 1);
    size_t count = FIELDS, method_octets, target_octets;
    const char *method, *target;
    int minor, status, end;
    if (response)
        end = phr_parse_response(m->starts[k], m->lengths[k], &minor, &status,
                                 &target, &target_octets, fields, &count, 0);
    else
        end = phr_parse_request(m->starts[k], m->lengths[k], &method,
                                &method_octets, &target, &target_octets,
                                &minor, fields, &count, 0);
    if (end != (int)m->lengths[k])
        fail("not one whole head");
    __asm__ volatile("" : : "r"(fields) : "memory");
    return count;
}

static int64_t batch(const struct messages *m, size_t calls, int response)
{
    int64_t began = now();
    for (size_t i = 0; i < calls; i++) {
        size_t count = read_head(m, i, response);
        __asm__ volatile("" : : "r"(count) : "memory");
    }
    return now() - began;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, const char *directory, const char **names,
                    size_t count, int response)
{
    struct messages m = load(directory, names, count);
    size_t calls = 1;
    for (int64_t spent = 0;;) {
        int64_t took = batch(&m, calls, response);
        spent += took;
        if (took < BATCH_NS)
            calls *= 2;
        else if (spent >= WARM_UP_NS)
            break;
    }
    double ns[BATCHES];
    for (int i = 0; i < BATCHES; i++)
        ns[i] = (double)batch(&m, calls, response) / (double)calls;
    qsort(ns, BATCHES, sizeof ns[0], ascending);
    double median = ns[BATCHES / 2];
    printf("picohttpparser/%s\t%.2f\t%.2f\t%.0f\n", name, ns[0], median,
           (double)m.octets / median * 1e9);
}

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : "benchmark/micro/requests";
    const char *names[] = {"browser", "wrk", "curl", "api", "cookie"};
    const char *mixed[] = {"browser", "wrk", "api", "curl"};
    const char *response[] = {"response"};
    for (size_t i = 0; i < 5; i++)
        measure(names[i], directory, &names[i], 1, 0);
    measure("mixed", directory, mixed, 4, 0);
    measure("response", directory, response, 1, 1);
    return 0;
}
