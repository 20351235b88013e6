/* Asks with curl's library: PORT CONCURRENCY WARM_UP REQUESTS.
 *
 * One handle is performed again and again; several are driven together by the
 * library's own loop. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_OCTETS = 13, CONTENT_OCTETS_MAX = 4096, URL_OCTETS_MAX = 64 };

struct asker {
  CURL *handle;
  size_t octets;
  char content[CONTENT_OCTETS_MAX];
};

static void fail(const char *why) {
  fprintf(stderr, "%s\n", why);
  exit(1);
}

static size_t keep(char *octets, size_t one, size_t count, void *user) {
  struct asker *asker = user;
  if (asker->octets + one * count > CONTENT_OCTETS_MAX) return 0;
  memcpy(asker->content + asker->octets, octets, one * count);
  asker->octets += one * count;
  return one * count;
}

static void check(struct asker *asker, CURLcode code) {
  if (code != CURLE_OK) fail(curl_easy_strerror(code));
  if (asker->octets != ANSWER_OCTETS) fail("not the content");
  asker->octets = 0;
}

static void begin(struct asker *asker, const char *url) {
  asker->handle = curl_easy_init();
  if (!asker->handle) fail("no memory");
  asker->octets = 0;
  curl_easy_setopt(asker->handle, CURLOPT_URL, url);
  curl_easy_setopt(asker->handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(asker->handle, CURLOPT_WRITEFUNCTION, keep);
  curl_easy_setopt(asker->handle, CURLOPT_WRITEDATA, asker);
  curl_easy_setopt(asker->handle, CURLOPT_PRIVATE, asker);
}

static void ask_together(CURLM *multi, struct asker *askers, long concurrency,
                         long requests) {
  long begun = 0;
  long done = 0;
  for (; begun < concurrency && begun < requests; begun++)
    curl_multi_add_handle(multi, askers[begun].handle);
  while (done < requests) {
    int running = 0;
    int queued = 0;
    if (curl_multi_perform(multi, &running) != CURLM_OK) fail("no progress");
    for (CURLMsg *said; (said = curl_multi_info_read(multi, &queued));) {
      struct asker *asker = NULL;
      curl_easy_getinfo(said->easy_handle, CURLINFO_PRIVATE, (char **)&asker);
      check(asker, said->data.result);
      curl_multi_remove_handle(multi, asker->handle);
      done++;
      if (begun < requests) {
        curl_multi_add_handle(multi, asker->handle);
        begun++;
        running++;
      }
    }
    if (done < requests && curl_multi_poll(multi, NULL, 0, 1000, NULL))
      fail("no wait");
  }
}

static void ask(CURLM *multi, struct asker *askers, long concurrency,
                long requests) {
  if (concurrency > 1) {
    ask_together(multi, askers, concurrency, requests);
    return;
  }
  for (long i = 0; i < requests; i++)
    check(askers, curl_easy_perform(askers->handle));
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
  char url[URL_OCTETS_MAX];
  snprintf(url, sizeof url, "http://127.0.0.1:%s/plaintext", arguments[1]);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  CURLM *multi = curl_multi_init();
  struct asker *askers = calloc((size_t)concurrency, sizeof *askers);
  if (!multi || !askers) fail("no memory");
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, concurrency);
  for (long i = 0; i < concurrency; i++) begin(askers + i, url);
  ask(multi, askers, concurrency, atol(arguments[3]));
  tell("ready");
  ask(multi, askers, concurrency, atol(arguments[4]));
  tell("done");
  for (long i = 0; i < concurrency; i++) curl_easy_cleanup(askers[i].handle);
  curl_multi_cleanup(multi);
  free(askers);
  return 0;
}
