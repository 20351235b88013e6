/* uWebSockets, over the C interface of the library that the package socketify
   brings: an echo of WebSocket messages at /ws.

       uwebsockets PORT */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct options {
    const char *names[6];
    int prefers_low_memory;
};

struct place {
    int port;
    const char *host;
    int options;
};

struct behavior {
    int compression;
    unsigned payload_octets_max;
    unsigned short idle_seconds;
    unsigned backlog_octets_max;
    bool closes_on_backlog, resets_idle_on_send, pings;
    unsigned short lifetime_minutes;
    void (*upgrade)(void *answer, void *request, void *context, void *data);
    void (*open)(void *socket, void *data);
    void (*message)(void *socket, const char *octets, size_t count, int opcode,
                    void *data);
    void (*drain)(void *socket, void *data);
    void (*ping)(void *socket, const char *octets, size_t count, void *data);
    void (*pong)(void *socket, const char *octets, size_t count, void *data);
    void (*close)(void *socket, int code, const char *octets, size_t count,
                  void *data);
    void (*subscription)(void *socket, const char *topic, size_t count, int now,
                         int before, void *data);
};

void *uws_create_app(int has_tls, struct options options);
void uws_ws(int has_tls, void *app, const char *pattern,
            struct behavior behavior, void *data);
void uws_app_listen_with_config(int has_tls, void *app, struct place place,
                                void (*done)(void *listener, struct place,
                                             void *data),
                                void *data);
void uws_app_any(int has_tls, void *app, const char *pattern,
                 void (*handler)(void *answer, void *request, void *data),
                 void *data);
void uws_res_write_status(int has_tls, void *answer, const char *status,
                          size_t count);
void uws_res_end(int has_tls, void *answer, const char *octets, size_t count,
                 bool closes);
void uws_app_run(int has_tls, void *app);
int uws_ws_send(int has_tls, void *socket, const char *octets, size_t count,
                int opcode);

static void echo(void *socket, const char *octets, size_t count, int opcode,
                 void *data)
{
    (void)data;
    uws_ws_send(0, socket, octets, count, opcode);
}

static void absent(void *answer, void *request, void *data)
{
    (void)request;
    (void)data;
    uws_res_write_status(0, answer, "404 Not Found", 13);
    uws_res_end(0, answer, "", 0, false);
}

static void listening(void *listener, struct place place, void *data)
{
    (void)place;
    (void)data;
    if (!listener)
        exit(1);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    void *app = uws_create_app(0, (struct options){0});
    struct behavior behavior = {
        .payload_octets_max = 1 << 20,
        .idle_seconds = 120,
        .backlog_octets_max = 1 << 20,
        .pings = true,
        .message = echo,
    };
    uws_ws(0, app, "/ws", behavior, NULL);
    uws_app_any(0, app, "/*", absent, NULL);
    struct place place = {atoi(argv[1]), "127.0.0.1", 0};
    uws_app_listen_with_config(0, app, place, listening, NULL);
    uws_app_run(0, app);
    return 0;
}
