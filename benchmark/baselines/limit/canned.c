#define _GNU_SOURCE
#include "canned.h"
#include "websocket.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PRODUCTS = 500,
    LIST = 25,
    LISTS = PRODUCTS / LIST,
    PICKS = 100,
    BINS = 10,
    TOP = 5,
    BRANDS_MAX = 64,
    BRAND_OCTETS_MAX = 31,
    CONNECTIONS_WAITING_MAX = 4096,
    CACHE_LINE = 64,
    HUGE_PAGE = 2 << 20,
    ANSWERS_OCTETS_MAX = 8 << 20,
};

struct product {
    struct view json;
    double price;
    int brand;
};

struct brand {
    char name[BRAND_OCTETS_MAX + 1];
};

static const uint64_t GENERATOR_SEED = 0x9E3779B97F4A7C15;

static struct product products[PRODUCTS];
static struct brand brands[BRANDS_MAX];
static int brand_count;
static struct view plaintext, simple, not_found, reads[PRODUCTS], lists[LISTS];

void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void refuse(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(2);
}

void gather(struct gathered *into, const char *octets, size_t length)
{
    if (into->length + length > into->capacity) {
        into->capacity = 2 * (into->length + length);
        into->octets = realloc(into->octets, into->capacity);
        if (!into->octets)
            fail("memory");
    }
    memcpy(into->octets + into->length, octets, length);
    into->length += length;
}

struct options options_of(int count, char **arguments)
{
    struct options options = {0, 1, NULL};
    for (int i = 1; i + 1 < count; i += 2) {
        if (!strcmp(arguments[i], "--port"))
            options.port = atoi(arguments[i + 1]);
        else if (!strcmp(arguments[i], "--workers"))
            options.workers = atoi(arguments[i + 1]);
        else if (!strcmp(arguments[i], "--products"))
            options.products = arguments[i + 1];
        else
            refuse("flags: --port P --workers N --products FILE");
    }
    if (options.port < 1 || options.workers < 1 || !options.products)
        refuse("--port, --workers and --products are needed");
    return options;
}

static size_t write_head(char *into, const char *type, size_t length)
{
    return (size_t)sprintf(into,
                           "HTTP/1.1 200 OK\r\nServer: limit\r\n"
                           "Content-Type: %s\r\nContent-Length: %zu\r\n\r\n",
                           type, length);
}

/* Gives memory for an answer. All of it lies together, so that huge pages
 * hold it, and starts at different offsets of a page, because copies between
 * equal offsets are slow. */
static char *answer_memory(size_t length)
{
    static char *memory;
    static size_t used;
    if (!memory) {
        memory = aligned_alloc(HUGE_PAGE, ANSWERS_OCTETS_MAX);
        if (!memory)
            fail("memory");
        madvise(memory, ANSWERS_OCTETS_MAX, MADV_HUGEPAGE);
    }
    char *start = memory + used;
    used += (length + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    if (used > ANSWERS_OCTETS_MAX)
        refuse("the products are too large");
    return start;
}

static struct view whole_answer(const char *type, struct view content)
{
    char head[256];
    size_t head_length = write_head(head, type, content.length);
    char *whole = answer_memory(head_length + content.length);
    memcpy(whole, head, head_length);
    memcpy(whole + head_length, content.octets, content.length);
    return (struct view){whole, head_length + content.length};
}

static int brand_number(const char *name, size_t length)
{
    struct brand brand = {0};
    if (length > BRAND_OCTETS_MAX)
        refuse("the name of a brand is too long");
    memcpy(brand.name, name, length);
    for (int i = 0; i < brand_count; i++)
        if (!strcmp(brands[i].name, brand.name))
            return i;
    if (brand_count == BRANDS_MAX)
        refuse("too many brands");
    brands[brand_count] = brand;
    return brand_count++;
}

static struct product product_of(const char *line, size_t length)
{
    static const char brand_key[] = "\"brand\":\"", price_key[] = "\"price\":";
    struct gathered json = {0};
    gather(&json, line, length);
    const char *brand = strstr(line, brand_key);
    const char *price = strstr(line, price_key);
    if (!brand || !price)
        refuse("a product lacks brand or price");
    brand += strlen(brand_key);
    return (struct product){
        .json = {json.octets, json.length},
        .price = strtod(price + strlen(price_key), NULL),
        .brand = brand_number(brand, strcspn(brand, "\"")),
    };
}

static void load_products(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    int count = 0;
    if (!file)
        fail(path);
    while ((length = getline(&line, &capacity, file)) >= 0) {
        while (length && strchr("\r\n,", line[length - 1]))
            line[--length] = 0;
        if (line[0] != '{')
            continue;
        if (count == PRODUCTS)
            refuse("more than 500 products");
        products[count++] = product_of(line, (size_t)length);
    }
    if (count < PRODUCTS)
        refuse("fewer than 500 products");
    free(line);
    fclose(file);
}

void load_answers(const char *path)
{
    static const char json[] = "application/json";
    load_products(path);
    plaintext = whole_answer("text/plain", (struct view){"Hello, World!", 13});
    simple = whole_answer(json, (struct view){"{\"message\":\"hi\"}", 16});
    static const char absent[] =
        "HTTP/1.1 404 Not Found\r\nServer: limit\r\nContent-Length: 0\r\n\r\n";
    not_found = (struct view){absent, sizeof absent - 1};
    for (int i = 0; i < PRODUCTS; i++)
        reads[i] = whole_answer(json, products[i].json);
    for (int i = 0; i < LISTS; i++) {
        struct gathered array = {0};
        for (int j = 0; j < LIST; j++) {
            struct view product = products[i * LIST + j].json;
            gather(&array, j ? "," : "[", 1);
            gather(&array, product.octets, product.length);
        }
        gather(&array, "]", 1);
        lists[i] = whole_answer(json, (struct view){array.octets, array.length});
        free(array.octets);
    }
}

void turn_start(struct turn *turn)
{
    turn->read_next = turn->list_next = 0;
    turn->has_upgraded = false;
    turn->generator = GENERATOR_SEED;
}

static unsigned pick(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (unsigned)(*state * 0x2545F4914F6CDD1D >> 32) % PRODUCTS;
}

struct priced {
    double price;
    int brand;
};

/* The place of each is how many cost less, or as much and were drawn before.
 * Vectors count them in a fraction of the time of `qsort`. */
static void sort_by_price(struct priced *picks)
{
    int keys[PICKS];
    struct priced drawn[PICKS];
    memcpy(drawn, picks, sizeof drawn);
    for (int i = 0; i < PICKS; i++)
        keys[i] = (int)(picks[i].price * 100 + 0.5) * PICKS + i;
    for (int i = 0; i < PICKS; i++) {
        int place = 0;
        for (int j = 0; j < PICKS; j++)
            place += keys[j] < keys[i];
        picks[place] = drawn[i];
    }
}

static char *write_number(char *into, uint64_t number)
{
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count)
        *into++ = digits[--count];
    return into;
}

static char *write_text(char *into, const char *text)
{
    return stpcpy(into, text);
}

static char *write_top_brands(char *into, const struct priced *picks)
{
    int counts[BRANDS_MAX] = {0};
    for (int i = 0; i < PICKS; i++)
        counts[picks[i].brand]++;
    for (int place = 0; place < TOP; place++) {
        int best = -1;
        for (int i = 0; i < brand_count; i++) {
            if (!counts[i] || (best >= 0 && counts[i] < counts[best]))
                continue;
            if (best < 0 || counts[i] > counts[best] ||
                strcmp(brands[i].name, brands[best].name) < 0)
                best = i;
        }
        if (best < 0)
            break;
        into = write_text(into, place ? ",{\"brand\":\"" : "{\"brand\":\"");
        into = write_text(into, brands[best].name);
        into = write_text(into, "\",\"count\":");
        into = write_number(into, (uint64_t)counts[best]);
        *into++ = '}';
        counts[best] = 0;
    }
    return into;
}

static char *write_histogram(char *into, const struct priced *picks)
{
    unsigned bins[BINS] = {0};
    double low = picks[0].price, span = picks[PICKS - 1].price - low;
    for (int i = 0; i < PICKS; i++) {
        int bin = span > 0 ? (int)((picks[i].price - low) * BINS / span) : 0;
        bins[bin < BINS ? bin : BINS - 1]++;
    }
    for (int i = 0; i < BINS; i++) {
        if (i)
            *into++ = ',';
        into = write_number(into, bins[i]);
    }
    return into;
}

static size_t write_statistics(char *into, uint64_t *generator)
{
    struct priced picks[PICKS];
    for (int i = 0; i < PICKS; i++) {
        const struct product *picked = &products[pick(generator)];
        picks[i] = (struct priced){picked->price, picked->brand};
    }
    sort_by_price(picks);
    double sum = 0, squares = 0;
    for (int i = 0; i < PICKS; i++)
        sum += picks[i].price;
    double mean = sum / PICKS;
    for (int i = 0; i < PICKS; i++)
        squares += (picks[i].price - mean) * (picks[i].price - mean);
    char *end = write_text(into, "{\"count\":100,\"mean_cents\":");
    end = write_number(end, (uint64_t)llround(mean * 100));
    end = write_text(end, ",\"standard_deviation_cents\":");
    end = write_number(end, (uint64_t)llround(sqrt(squares / PICKS) * 100));
    end = write_text(end, ",\"histogram\":[");
    end = write_histogram(end, picks);
    end = write_text(end, "],\"top_brands\":[");
    end = write_top_brands(end, picks);
    end = write_text(end, "]}");
    return (size_t)(end - into);
}

static struct view compute(struct turn *turn)
{
    char content[1024];
    size_t length = write_statistics(content, &turn->generator);
    size_t head = write_head(turn->computed, "application/json", length);
    memcpy(turn->computed + head, content, length);
    return (struct view){turn->computed, head + length};
}

static struct view upgrade(struct turn *turn, const char *head,
                           const char *head_end)
{
    size_t length = accept_websocket(turn->computed, head, head_end);
    if (!length)
        return not_found;
    turn->has_upgraded = true;
    return (struct view){turn->computed, length};
}

static int starts_with(const char *head, const char *route, size_t length)
{
    return !memcmp(head, route, length);
}

#define IS(route) starts_with(head, route, sizeof route - 1)

struct view answer(struct turn *turn, const char *head, const char *head_end)
{
    /* No request for a route of ours is shorter than the longest comparison. */
    if (head_end - head < 16)
        return not_found;
    switch (head[5]) {
    case 'p':
        if (IS("GET /plaintext "))
            return plaintext;
        break;
    case 's':
        if (IS("GET /simple "))
            return simple;
        break;
    case 'r':
        if (IS("GET /read ")) {
            unsigned number = turn->read_next;
            turn->read_next = (number + 1) % PRODUCTS;
            return reads[number];
        }
        break;
    case 'l':
        if (IS("GET /list ")) {
            unsigned number = turn->list_next;
            turn->list_next = (number + 1) % LISTS;
            return lists[number];
        }
        break;
    case 'c':
        if (IS("GET /compute "))
            return compute(turn);
        break;
    case 'w':
        if (IS("GET /ws "))
            return upgrade(turn, head, head_end);
        break;
    }
    return not_found;
}

int listen_on(int port, int flags)
{
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | flags, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    /* Accepted sockets inherit it. */
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) ||
        listen(listener, CONNECTIONS_WAITING_MAX))
        fail("listen");
    return listener;
}

void run_workers(int workers, void *(*worker)(void *))
{
    pthread_t thread;
    for (int i = 1; i < workers; i++)
        if ((errno = pthread_create(&thread, NULL, worker, NULL)))
            fail("thread");
    worker(NULL);
    exit(1);
}
