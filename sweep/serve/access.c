/* Tokens, hosts and origins (access.h). */
#include "sweep/serve/access.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int serve_token_make(char token[SERVE_TOKEN]) {
  unsigned char random[16];
  if (sodium_init() < 0) return core_error(CORE_FAIL, "libsodium cannot be initialised");
  randombytes_buf(random, sizeof random);
  sodium_bin2hex(token, SERVE_TOKEN, random, sizeof random);
  return CORE_OK;
}

static int write_new(const char *path, const char *token) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return core_error_errno(CORE_FAIL, "--token-file: cannot write %s", path);
  const bool written = dprintf(fd, "%s\n", token) == (int)strlen(token) + 1;
  if (close(fd) == 0 && written) return CORE_OK;
  return core_error_errno(CORE_FAIL, "--token-file: cannot write %s", path);
}

int serve_token_keep(const char *path, char token[SERVE_TOKEN]) {
  struct stat status;
  char *text;
  size_t size;
  if (!core_files_exists(path)) {
    TRY(serve_token_make(token));
    return write_new(path, token);
  }
  if (stat(path, &status) == 0 && (status.st_mode & 077))
    return core_error(CORE_USAGE, "--token-file: others may read %s; take that right from them: chmod 600 %s", path,
                      path);
  TRY(core_files_read(path, 4096, &text, &size));
  const size_t length = strcspn(text, "\r\n");
  const bool good = length >= SERVE_TOKEN_LEAST && length < SERVE_TOKEN && strspn(text, letters) >= length;
  if (good) snprintf(token, SERVE_TOKEN, "%.*s", (int)length, text);
  free(text);
  return good ? CORE_OK
              : core_error(CORE_USAGE, "--token-file: the first line of %s is no token: 16 to 64 letters, digits, '-' "
                                       "and '_'; remove the file, and one is made", path);
}

/* Hashes of equal length are compared, so that neither length nor place of a difference changes the time. */
static bool is_same(const char *a, const char *b) {
  unsigned char hash[2][32];
  crypto_generichash(hash[0], sizeof hash[0], (const unsigned char *)a, strlen(a), NULL, 0);
  crypto_generichash(hash[1], sizeof hash[1], (const unsigned char *)b, strlen(b), NULL, 0);
  return sodium_memcmp(hash[0], hash[1], sizeof hash[0]) == 0;
}

bool serve_token_is_given(const char *token, const char *authorization, const char *argument) {
  static const char scheme[] = "Bearer ";
  const bool bears = authorization && strncmp(authorization, scheme, strlen(scheme)) == 0;
  const bool first = is_same(token, bears ? authorization + strlen(scheme) : "");
  const bool second = is_same(token, argument ? argument : "");
  return first | second;
}

bool serve_host_is_loopback(const char *host) {
  static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
  if (!host) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const size_t length = strlen(names[i]);
    if (strncmp(host, names[i], length) != 0) continue;
    const char *rest = host + length;
    if (*rest == '\0') return true;
    if (*rest == ':' && rest[1] && strspn(rest + 1, "0123456789") == strlen(rest + 1)) return true;
  }
  return false;
}

bool serve_origin_is_own(const char *origin, const char *fetch_site, const char *host) {
  static const char scheme[] = "http://";
  if (fetch_site && strcmp(fetch_site, "same-origin") != 0) return false;
  if (!origin) return true;
  return host && strncmp(origin, scheme, strlen(scheme)) == 0 && strcmp(origin + strlen(scheme), host) == 0;
}
