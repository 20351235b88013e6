/* Reads the command line and writes the requests. */
#define _GNU_SOURCE
#include "options.h"
#include "websocket.h"

#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char USAGE[]
    = "usage: lean [options] HOST PORT PATH\n"
      "Asks for PATH over and over and prints what came of it as JSON.\n\n"
      "  -c N             connections (64)\n"
      "  -t N             threads, which share the connections (1)\n"
      "  -d SECONDS       how long to measure (5)\n"
      "  -w SECONDS       warm-up before, which is not counted (0)\n"
      "  -g SECONDS       how long to wait for the last answers (1)\n"
      "  -p N             requests sent in one go on a connection (1)\n"
      "  -R N             requests per second in an open loop; a latency\n"
      "                   counts from when its request was due\n"
      "  -n N             requests on a connection, then the client closes it\n"
      "  -m METHOD        GET, or POST where there is content\n"
      "  -b FILE          content to send\n"
      "  -H 'NAME: VALUE' a field line; may be repeated\n"
      "  --close-share P  percent of requests that say Connection: close\n"
      "  --lengths-vary   contents need not be as long as the first one\n"
      "  --gather N       answers that a thread of a closed loop waits for,\n"
      "                   0.1 ms at most (a quarter of its connections)\n"
      "  --random         requests of an open loop are due at random moments\n"
      "                   (a Poisson process), not evenly spread\n"
      "  --spin US        how long to poll before sleeping (0)\n"
      "  --websocket      PATH echoes messages: a request is one of them; with\n"
      "                   -n the client then closes the WebSocket, too\n"
      "  --message N      octets of a message (5: hello)\n";

/* Far below what one send may carry. */
enum { BATCH_OCTETS_MAX = 1 << 30 };

struct text {
    char *octets;
    size_t length;
};

/* What the command line says of a request. */
struct request {
    const char *method;
    const char *host;
    const char *port;
    const char *path;
    struct text fields;
    struct text content;
    bool has_host;
    bool has_content;
};

static void refuse(const char *what, const char *value)
{
    fprintf(stderr, "lean: %s%s%s\n", what, value ? ": " : "",
            value ? value : "");
    exit(2);
}

static void append(struct text *text, const char *octets, size_t length)
{
    text->octets = realloc(text->octets, text->length + length + 1);
    if (!text->octets)
        refuse("out of memory", NULL);
    memcpy(text->octets + text->length, octets, length);
    text->length += length;
    text->octets[text->length] = '\0';
}

static void append_text(struct text *text, const char *octets)
{
    append(text, octets, strlen(octets));
}

static double number(const char *option, const char *value, double least,
                     double most)
{
    char *end;
    double result = strtod(value, &end);
    if (end == value || *end || !(result >= least && result <= most)) {
        fprintf(stderr, "lean: %s: from %g to %g, not %s\n", option, least,
                most, value);
        exit(2);
    }
    return result;
}

static unsigned whole(const char *option, const char *value, double least,
                      double most)
{
    double result = number(option, value, least, most);
    if (result != (double)(unsigned)result)
        refuse("not a whole number", value);
    return (unsigned)result;
}

static void read_content(struct request *request, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        refuse(path, strerror(errno));
    char part[65536];
    size_t length;
    append(&request->content, "", 0);
    while ((length = fread(part, 1, sizeof part, file)))
        append(&request->content, part, length);
    if (ferror(file))
        refuse("cannot read", path);
    fclose(file);
    request->has_content = true;
}

static void add_field(struct request *request, const char *line)
{
    if (!strchr(line, ':') || strpbrk(line, "\r\n"))
        refuse("not a field line", line);
    request->has_host |= !strncasecmp(line, "host:", 5);
    append_text(&request->fields, line);
    append_text(&request->fields, "\r\n");
}

static void write_request(struct text *text, const struct request *request,
                          bool closes)
{
    char length[64];
    append_text(text, request->method);
    append_text(text, " ");
    append_text(text, request->path);
    append_text(text, " HTTP/1.1\r\n");
    if (!request->has_host) {
        bool is_v6 = strchr(request->host, ':');
        append_text(text, is_v6 ? "Host: [" : "Host: ");
        append_text(text, request->host);
        append_text(text, is_v6 ? "]:" : ":");
        append_text(text, request->port);
        append_text(text, "\r\n");
    }
    if (request->fields.length)
        append(text, request->fields.octets, request->fields.length);
    if (request->has_content) {
        snprintf(length, sizeof length, "Content-Length: %zu\r\n",
                 request->content.length);
        append_text(text, length);
    }
    append_text(text, closes ? "Connection: close\r\n\r\n" : "\r\n");
    if (request->has_content)
        append(text, request->content.octets, request->content.length);
}

static void write_requests(struct options *options,
                           const struct request *request)
{
    struct text text = {0};
    for (unsigned i = 0; i < options->pipeline; i++)
        write_request(&text, request, false);
    size_t length = text.length;
    options->request_length = length / options->pipeline;
    if (options->close_share)
        write_request(&text, request, true);
    options->closing_length = text.length - length;
    options->octets = text.octets;
    if (length > BATCH_OCTETS_MAX)
        refuse("the requests of a batch are too long", NULL);
}

static void write_handshake(struct options *options,
                            const struct request *request)
{
    struct text text = {0};
    struct request opening = *request;
    opening.fields = (struct text){0};
    if (request->fields.length)
        append(&opening.fields, request->fields.octets,
               request->fields.length);
    append_text(&opening.fields, WS_HANDSHAKE_FIELDS);
    write_request(&text, &opening, false);
    free(opening.fields.octets);
    options->handshake = text.octets;
    options->handshake_length = text.length;
}

/* Each message of a batch has a mask of its own. */
static void write_messages(struct options *options)
{
    static const char hello[] = "hello";
    size_t length = options->message_octets;
    size_t most = length + WS_HEAD_OCTETS_MAX;
    char *payload = malloc(length + 1);
    options->octets = malloc(options->pipeline * most);
    options->echo = malloc(most);
    if (!payload || !options->octets || !options->echo)
        refuse("out of memory", NULL);
    for (size_t i = 0; i < length; i++)
        payload[i] = hello[i % (sizeof hello - 1)];
    for (unsigned i = 0; i < options->pipeline; i++)
        options->request_length = websocket_write_text(
            options->octets + i * options->request_length, payload, length,
            0x9E3779B9 * (i + 1));
    options->echo_length
        = websocket_write_text(options->echo, payload, length, 0);
    websocket_write_close(options->close);
    free(payload);
    if (options->pipeline * options->request_length > BATCH_OCTETS_MAX)
        refuse("the messages of a batch are too long", NULL);
}

static void find_address(struct options *options,
                         const struct request *request)
{
    struct addrinfo *found;
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    int error = getaddrinfo(request->host, request->port, &wanted, &found);
    if (error)
        refuse(request->host, gai_strerror(error));
    memcpy(&options->address, found->ai_addr, found->ai_addrlen);
    options->address_length = found->ai_addrlen;
    freeaddrinfo(found);
}

enum {
    CLOSE_SHARE = 256,
    LENGTHS_VARY,
    GATHER,
    RANDOM,
    SPIN,
    WEBSOCKET,
    MESSAGE
};

static const struct option LONG_OPTIONS[] = {
    {"close-share", required_argument, NULL, CLOSE_SHARE},
    {"lengths-vary", no_argument, NULL, LENGTHS_VARY},
    {"gather", required_argument, NULL, GATHER},
    {"random", no_argument, NULL, RANDOM},
    {"spin", required_argument, NULL, SPIN},
    {"websocket", no_argument, NULL, WEBSOCKET},
    {"message", required_argument, NULL, MESSAGE},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static void read_option(struct options *options, struct request *request,
                        int option, const char *value)
{
    const char name[] = {'-', (char)option, '\0'};
    switch (option) {
    case 'c': options->connections = whole(name, value, 1, 65536); break;
    case 't': options->threads = whole(name, value, 1, 256); break;
    case 'd': options->seconds = number(name, value, 0.01, 86400); break;
    case 'w': options->warm_up = number(name, value, 0, 86400); break;
    case 'g': options->grace = number(name, value, 0, 86400); break;
    case 'p': options->pipeline = whole(name, value, 1, 1024); break;
    case 'R': options->rate = number(name, value, 0.1, 1e8); break;
    case 'n':
        options->requests_per_connection = whole(name, value, 1, 1e9);
        break;
    case 'm': request->method = value; break;
    case 'b': read_content(request, value); break;
    case 'H': add_field(request, value); break;
    case CLOSE_SHARE:
        options->close_share = whole("--close-share", value, 0, 100);
        break;
    case LENGTHS_VARY: options->lengths_vary = true; break;
    case GATHER: options->gather = whole("--gather", value, 1, 65536); break;
    case RANDOM: options->is_random = true; break;
    case SPIN: options->spin = whole("--spin", value, 0, 1e6); break;
    case WEBSOCKET: options->is_websocket = true; break;
    case MESSAGE:
        options->message_octets = whole("--message", value, 0, 1 << 24);
        break;
    case 'h': fputs(USAGE, stdout); exit(0);
    default: fputs(USAGE, stderr); exit(2);
    }
}

void options_read(struct options *options, int count, char **arguments)
{
    struct request request = {0};
    int option;
    *options = (struct options){.connections = 64, .threads = 1,
                                .pipeline = 1, .seconds = 5, .grace = 1,
                                .message_octets = 5};
    while ((option = getopt_long(count, arguments, "c:t:d:w:g:p:R:n:m:b:H:h",
                                 LONG_OPTIONS, NULL)) != -1)
        read_option(options, &request, option, optarg);
    if (count - optind != 3) {
        fputs(USAGE, stderr);
        exit(2);
    }
    request.host = arguments[optind];
    request.port = arguments[optind + 1];
    request.path = arguments[optind + 2];
    if (request.path[0] != '/' || strpbrk(request.path, " \r\n"))
        refuse("not a path", request.path);
    if (!request.method)
        request.method = request.has_content ? "POST" : "GET";
    options->is_head = !strcmp(request.method, "HEAD");
    if (options->threads > options->connections)
        refuse("more threads than connections", NULL);
    if (options->is_random && (options->rate == 0 || options->pipeline > 1))
        refuse("--random needs -R, and no -p", NULL);
    if (options->is_websocket
        && (options->close_share || strcmp(request.method, "GET")))
        refuse("--websocket asks with GET, and closes with -n only", NULL);
    find_address(options, &request);
    if (options->is_websocket) {
        write_handshake(options, &request);
        write_messages(options);
    } else {
        write_requests(options, &request);
    }
}
