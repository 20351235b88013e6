/* Asks with next to nothing: PORT CONCURRENCY WARM_UP REQUESTS.
 *
 * A canned request is sent and the answer's length is looked at: what is left
 * is the kernel's, and no client asks for less. One connection blocks; several
 * wait in epoll. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { ANSWER_OCTETS_MAX = 4096, EVENTS_MAX = 64 };

static const char REQUEST[] =
    "GET /plaintext HTTP/1.1\r\nHost: localhost\r\n\r\n";

static void fail(const char *why) {
  perror(why);
  exit(1);
}

static int open_to(int port) {
  struct sockaddr_in server = {.sin_family = AF_INET,
                               .sin_port = htons((unsigned short)port)};
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int on = 1;
  int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (connection < 0 ||
      connect(connection, (struct sockaddr *)&server, sizeof server) != 0 ||
      setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
    fail("connect");
  return connection;
}

static void begin(int connection) {
  if (send(connection, REQUEST, sizeof REQUEST - 1, MSG_NOSIGNAL) !=
      sizeof REQUEST - 1)
    fail("send");
}

static void end(int connection) {
  char answer[ANSWER_OCTETS_MAX];
  static const char content[] = "Hello, World!";
  ssize_t octets = recv(connection, answer, sizeof answer, 0);
  ssize_t content_octets = sizeof content - 1;
  if (octets < content_octets ||
      memcmp(answer + octets - content_octets, content, sizeof content - 1))
    fail("recv");
}

static void ask_together(int epoll, const int *connections, long concurrency,
                         long requests) {
  struct epoll_event ready[EVENTS_MAX];
  long begun = 0;
  long done = 0;
  for (; begun < concurrency && begun < requests; begun++)
    begin(connections[begun]);
  while (done < requests) {
    int count = epoll_wait(epoll, ready, EVENTS_MAX, -1);
    if (count < 0) fail("epoll_wait");
    for (int i = 0; i < count; i++, done++) {
      end(ready[i].data.fd);
      if (begun < requests) {
        begin(ready[i].data.fd);
        begun++;
      }
    }
  }
}

static void ask(int epoll, const int *connections, long concurrency,
                long requests) {
  if (concurrency > 1) {
    ask_together(epoll, connections, concurrency, requests);
    return;
  }
  for (long i = 0; i < requests; i++) {
    begin(connections[0]);
    end(connections[0]);
  }
}

static void tell(const char *word) {
  char line[16];
  puts(word);
  fflush(stdout);
  if (!fgets(line, sizeof line, stdin)) return;
}

int main(int count, char **arguments) {
  if (count != 5) fail("PORT CONCURRENCY WARM_UP REQUESTS");
  long concurrency = atol(arguments[2]);
  int *connections = calloc((size_t)concurrency, sizeof *connections);
  int epoll = epoll_create1(0);
  if (!connections || epoll < 0) fail("begin");
  for (long i = 0; i < concurrency; i++) {
    connections[i] = open_to(atoi(arguments[1]));
    struct epoll_event event = {.events = EPOLLIN,
                                .data.fd = connections[i]};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, connections[i], &event) != 0)
      fail("epoll_ctl");
  }
  ask(epoll, connections, concurrency, atol(arguments[3]));
  tell("ready");
  ask(epoll, connections, concurrency, atol(arguments[4]));
  tell("done");
  return 0;
}
