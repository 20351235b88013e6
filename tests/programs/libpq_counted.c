/* Counts what a program gets from libpq and gives back, and tells at its end.
 *
 * It stands in the place of the library REAL: the loader finds it first. The
 * functions that count nothing lead straight to those of the real library. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define EACH(F)                                                               \
    F(PQcancel) F(PQcmdStatus) F(PQcmdTuples) F(PQconnectPoll)                \
    F(PQconnectionUsedPassword) F(PQconsumeInput) F(PQenterPipelineMode)      \
    F(PQerrorMessage) F(PQexitPipelineMode) F(PQflush) F(PQfname) F(PQftype) F(PQgetisnull)         \
    F(PQgetlength) F(PQgetvalue) F(PQinitOpenSSL) F(PQisBusy)                 \
    F(PQlibVersion) F(PQnfields) F(PQntuples) F(PQpipelineSync)               \
    F(PQputCopyData) F(PQputCopyEnd)                                          \
    F(PQresultErrorField) F(PQresultErrorMessage) F(PQresultStatus)           \
    F(PQsendPrepare) F(PQsendQueryParams) F(PQsendQueryPrepared)              \
    F(PQsetErrorVerbosity) F(PQsetNoticeReceiver) F(PQsetnonblocking)         \
    F(PQsocket) F(PQstatus) F(PQtransactionStatus)

/* What is got, and by which function it is given back. */
#define PAIRS(F)                                                              \
    F(results, PQgetResult, PQclear)                                          \
    F(cancels, PQgetCancel, PQfreeCancel)                                     \
    F(notices, PQnotifies, PQfreemem)

#define FORWARD(NAME)                                                         \
    static void *real_##NAME __attribute__((used));                           \
    void NAME(void) __attribute__((naked));                                   \
    void NAME(void) { __asm__("jmp *real_" #NAME "(%rip)"); }
EACH(FORWARD)

#define COUNT(WHAT, GET, FREE)                                                \
    static atomic_long WHAT, WHAT##_freed;                                    \
    static void *(*real_##GET)(void *);                                       \
    static void (*real_##FREE)(void *);                                       \
    void *GET(void *from)                                                     \
    {                                                                         \
        void *got = real_##GET(from);                                         \
        WHAT += got != NULL;                                                  \
        return got;                                                           \
    }                                                                         \
    void FREE(void *got)                                                      \
    {                                                                         \
        WHAT##_freed += got != NULL;                                          \
        real_##FREE(got);                                                     \
    }
PAIRS(COUNT)

static atomic_long connections, connections_freed;
static void *(*real_start)(const void *, const void *, int);
static void (*real_finish)(void *);

void *PQconnectStartParams(const void *names, const void *values, int expand)
{
    void *connection = real_start(names, values, expand);
    connections += connection != NULL;
    return connection;
}

void PQfinish(void *connection)
{
    connections_freed += connection != NULL;
    real_finish(connection);
}

static void *library;

static void *find(const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s has no %s\n", REAL, name);
        exit(2);
    }
    return found;
}

__attribute__((constructor)) static void load(void)
{
    library = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
#define FIND(NAME) real_##NAME = find(#NAME);
    EACH(FIND)
#define FIND_BOTH(WHAT, GET, FREE) FIND(GET) FIND(FREE)
    PAIRS(FIND_BOTH)
    real_start = find("PQconnectStartParams");
    real_finish = find("PQfinish");
}

#define TELL(WHAT, GET, FREE)                                                 \
    printf(#WHAT " %ld freed %ld\n", WHAT, WHAT##_freed);

__attribute__((destructor)) static void tell(void)
{
    PAIRS(TELL)
    TELL(connections, , )
    fflush(stdout);
}
