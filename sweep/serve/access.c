/* Tokens, hosts and origins. */
#include "sweep/serve/access.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "store/workspace/paths.h"
#include "sweep/serve/routes.h"

static const char token_characters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int serve_token_create(char token[SERVE_TOKEN]) {
  unsigned char random[16];
  if (sodium_init() < 0) return core_error(CORE_FAIL, "cannot initialize libsodium");
  randombytes_buf(random, sizeof random);
  sodium_bin2hex(token, SERVE_TOKEN, random, sizeof random);
  return CORE_OK;
}

static int write_token(const char *path, const char *token) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return core_error_errno(CORE_FAIL, "--token-file: cannot write %s", path);
  const bool written = dprintf(fd, "%s\n", token) == (int)strlen(token) + 1;
  if (close(fd) == 0 && written) return CORE_OK;
  return core_error_errno(CORE_FAIL, "--token-file: cannot write %s", path);
}

int serve_token_load(const char *path, char token[SERVE_TOKEN]) {
  struct stat status;
  char *text;
  size_t size;

  if (!core_files_exists(path)) {
    TRY(serve_token_create(token));
    return write_token(path, token);
  }
  if (stat(path, &status) == 0 && (status.st_mode & 077))
    return core_error(CORE_USAGE, "--token-file: %s can be read by other users; run: chmod 600 %s", path, path);

  TRY(core_files_read(path, 4096, &text, &size));
  const size_t length = strcspn(text, "\r\n");
  const bool is_valid = length >= SERVE_TOKEN_MIN && length < SERVE_TOKEN && strspn(text, token_characters) >= length;
  if (is_valid) snprintf(token, SERVE_TOKEN, "%.*s", (int)length, text);
  free(text);
  return is_valid ? CORE_OK
              : core_error(CORE_USAGE, "--token-file: the first line of %s is not a token: expected 16 to 64 letters, "
                                       "digits, '-' and '_'; remove the file to create a new token", path);
}

/* Compares hashes, so that the time depends neither on the length nor on the position of a difference. */
static bool is_same(const char *a, const char *b) {
  unsigned char hash[2][32];
  crypto_generichash(hash[0], sizeof hash[0], (const unsigned char *)a, strlen(a), NULL, 0);
  crypto_generichash(hash[1], sizeof hash[1], (const unsigned char *)b, strlen(b), NULL, 0);
  return sodium_memcmp(hash[0], hash[1], sizeof hash[0]) == 0;
}

bool serve_token_is_valid(const char *token, const char *authorization, const char *argument) {
  static const char scheme[] = "Bearer ";
  const bool is_bearer = authorization && strncmp(authorization, scheme, strlen(scheme)) == 0;
  const bool in_header = is_same(token, is_bearer ? authorization + strlen(scheme) : "");
  const bool in_argument = is_same(token, argument ? argument : "");
  return in_header | in_argument;
}

bool serve_host_is_loopback(const char *host) {
  static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
  if (!host) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const size_t length = strlen(names[i]);
    if (strncmp(host, names[i], length) != 0) continue;
    const char *tail = host + length;
    if (*tail == '\0') return true;
    if (*tail == ':' && tail[1] && strspn(tail + 1, "0123456789") == strlen(tail + 1)) return true;
  }
  return false;
}

bool serve_origin_is_same(const char *origin, const char *fetch_site, const char *host) {
  static const char scheme[] = "http://";
  if (fetch_site && strcmp(fetch_site, "same-origin") != 0) return false;
  if (!origin) return true;
  return host && strncmp(origin, scheme, strlen(scheme)) == 0 && strcmp(origin + strlen(scheme), host) == 0;
}

static int file_error(const char *name) {
  if (errno == ENOENT) return core_error(SERVE_NOT_FOUND, "the run has no %s", name);
  if (errno == ELOOP || errno == ENOTDIR)
    return core_error(CORE_FAIL, "%s: a directory of its path is a symbolic link or not a directory", name);
  return core_error_errno(CORE_FAIL, "cannot read %s", name);
}

/* Opens the directory `name` in `parent`, which is closed; -1: errno is set. */
static int open_directory(int parent, const char *name) {
  const int next = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), number = errno;
  close(parent);
  errno = number;
  return next;
}

int serve_file_open(const char *root, const char *id, const char *name, int *fd, off_t *size) {
  char path[CORE_PATH_MAX], folder[STORE_RUN_DIRECTORY], *save = NULL;
  struct stat status;
  *fd = -1;
  TRY(store_path_run_directory(id, folder));
  TRY(core_files_path(path, "%s/runs", root));

  int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  char *piece = strtok_r(folder + strlen("runs/"), "/", &save);
  for (; piece && directory >= 0; piece = strtok_r(NULL, "/", &save)) directory = open_directory(directory, piece);
  if (directory < 0) return file_error(name);

  const int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), number = errno;
  close(directory);
  errno = number;
  if (file < 0) return file_error(name);
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(file);
    return core_error(CORE_FAIL, "%s is not a regular file", name);
  }

  *fd = file;
  *size = status.st_size;
  return CORE_OK;
}
