/* The command line, and the requests that it asks for. */
#ifndef LEAN_OPTIONS_H
#define LEAN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct options {
    unsigned connections;
    unsigned threads;
    unsigned pipeline;
    double seconds;
    double warm_up;
    double grace;
    double rate;                      /* 0 in a closed loop */
    bool is_random;                   /* when requests are due */
    unsigned requests_per_connection; /* 0 without a limit */
    unsigned close_share;             /* in percent */
    unsigned gather;                  /* 0: a part of the connections */
    unsigned spin;                    /* microseconds */
    bool lengths_vary;
    bool is_head;
    bool is_websocket;                /* a request is a message then */
    unsigned message_octets;
    struct sockaddr_storage address;
    socklen_t address_length;
    /* `pipeline` requests in a row, and behind them one that says
     * `Connection: close`: a batch is a stretch of these octets. */
    char *octets;
    size_t request_length;
    size_t closing_length;
    /* Of a WebSocket: what opens it, the frame that answers each message, and
     * our Close. */
    char *handshake;
    size_t handshake_length;
    char *echo;
    size_t echo_length;
    char close[8];
};

/* Reads the arguments; ends the process with a message where they are wrong. */
void options_read(struct options *options, int count, char **arguments);

#endif
