/* A webhook for test scripts: prints its address, then each message that it gets, a line each. Ends with its standard
 * input. */
#include "http_server.h"

static void answer(HttpServer *server, const HttpCall *call, HttpReply *reply) {
  printf("%s %s\n", call->path, call->body);
  fflush(stdout);
}

int main(void) {
  static HttpServer server = {.answer = answer};
  http_server_start(&server, NULL);
  printf("%s\n", server.url);
  fflush(stdout);
  while (getchar() != EOF) continue;
  http_server_stop(&server);
  return 0;
}
