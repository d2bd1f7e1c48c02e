/* Backend that uses slurmrestd. Address and token come from the environment, as with Slurm's own tools:
 *
 *   SLURMRESTD       unix:/run/slurmrestd.sock (the same user needs no token), or http://host:6820, https://...
 *   SLURM_JWT        the token (`scontrol token` prints it), else
 *   SLURM_JWT_FILE   a file with the token that no other user may read
 *   SLURM_JWT_USER   the token's user, if it is not the current one
 *   SLURMRESTD_TIMEOUT   seconds to wait for an answer (60)
 *
 * The token is read once and sent in one header only: the server's messages are searched for it before they are
 * printed. slurmrestd does not report the cluster's configuration, needs slurmdbd for accounting, and has no test
 * submission and no requeue. Limits come from slurm.conf if it is readable; other functions of the table are NULL. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.h"
#include "core/http.h"
#include "core/memory.h"
#include "core/terminal.h"
#include "slurm/command_internal.h"
#include "slurm/rest_internal.h"

enum { TOKEN_MAX = 8192, URL_MAX = 512, MESSAGE_MAX = 400 };

/* Error numbers of slurm_errno.h that determine the kind of a failure. */
enum {
  ERROR_AUTHENTICATION = 1007, ERROR_CONNECTION = 1800, ERROR_CONNECTION_OLD = 1001,
  ERROR_TIMEOUT = 5004, ERROR_SEND = 1801, ERROR_RECEIVE = 1802,
};

typedef struct Rest {
  CoreHttp *http;
  char socket[CORE_HTTP_SOCKET_MAX + 1]; /* "": TCP */
  char base[URL_MAX / 2];                /* "http://host:6820" */
  char user[128];
  char *token;                           /* NULL: none */
  int timeout_s;
  int version;
} Rest;

/* ---- the address and the token ----------------------------------------------------------------------------------- */

static int read_address(Rest *rest, const char *address) {
  if (strncmp(address, "unix:", 5) == 0) {
    if (address[5] != '/') return core_error(CORE_USAGE, "SLURMRESTD = %.80s: a socket's path is absolute", address);
    if (strlen(address + 5) > CORE_HTTP_SOCKET_MAX)
      return core_error(CORE_USAGE, "SLURMRESTD: the socket's path has %zu characters; a UNIX socket's has at most %d",
                        strlen(address + 5), CORE_HTTP_SOCKET_MAX);
    snprintf(rest->base, sizeof rest->base, "http://localhost");
    return core_text_copy(rest->socket, sizeof rest->socket, address + 5, "SLURMRESTD");
  }

  TRY(core_http_check_url(address, "SLURMRESTD"));
  size_t length = strlen(address);
  while (length > 0 && address[length - 1] == '/') length--;
  if (length >= sizeof rest->base ||
      strcspn(strstr(address, "//") + 2, "/?#") != length - (size_t)(strstr(address, "//") + 2 - address))
    return core_error(CORE_USAGE, "SLURMRESTD: expected unix:/path or http://host:port, with nothing behind it");

  snprintf(rest->base, sizeof rest->base, "%.*s", (int)length, address);
  return CORE_OK;
}

/* Sets the token, which must be one line of a JWT's characters: letters, digits, '-', '_', '.', '=' for padding. */
static int set_token(Rest *rest, const char *text, const char *source) {
  size_t length = strcspn(text, " \t\r\n");
  if (strncmp(text, "SLURM_JWT=", 10) == 0) { /* as scontrol token prints it */
    text += 10;
    length -= 10;
  }
  if (length == 0 || length > TOKEN_MAX || text[length + strspn(text + length, " \t\r\n")] ||
      strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/") != length)
    return core_error(CORE_USAGE,
                      "%s is not a token: expected one line of letters, digits and -_. as scontrol token prints it",
                      source);
  rest->token = core_memory_allocate(length + 1);
  memcpy(rest->token, text, length);
  rest->token[length] = '\0';
  return CORE_OK;
}

static int read_token_file(Rest *rest, const char *path) {
  struct stat status;
  char *data;
  size_t size;

  if (stat(path, &status) < 0) return core_error_errno(CORE_USAGE, "SLURM_JWT_FILE %s", path);
  if (!S_ISREG(status.st_mode) || (status.st_mode & 077) != 0 || (status.st_uid != geteuid() && status.st_uid != 0))
    return core_error(CORE_USAGE,
                      "SLURM_JWT_FILE %s: other users can read it, or it is not yours; "
                      "chmod 600 it and request a new token",
                      path);

  TRY(core_files_read(path, 2 * TOKEN_MAX, &data, &size));
  const int code = strlen(data) == size ? set_token(rest, data, "the file of SLURM_JWT_FILE")
                                        : core_error(CORE_USAGE, "SLURM_JWT_FILE %s is not a text file", path);
  explicit_bzero(data, size);
  free(data);
  return code;
}

static int read_token(Rest *rest) {
  const char *token = getenv("SLURM_JWT"), *path = getenv("SLURM_JWT_FILE");
  if (token && *token) return set_token(rest, token, "SLURM_JWT");
  if (path && *path) return read_token_file(rest, path);
  if (*rest->socket) return CORE_OK;
  return core_error(CORE_USAGE, "SLURMRESTD is a network address and needs a token: set SLURM_JWT=$(scontrol token) "
                                "or SLURM_JWT_FILE to its path");
}

static void read_user(Rest *rest) {
  const struct passwd *entry = getpwuid(geteuid());
  const char *given = getenv("SLURM_JWT_USER"), *name = given && *given ? given : entry ? entry->pw_name : "";
  if (core_text_check_name(name, "user") == CORE_OK) snprintf(rest->user, sizeof rest->user, "%s", name);
}

static int read_timeout(Rest *rest) {
  const char *text = getenv("SLURMRESTD_TIMEOUT");
  int64_t seconds = SLURM_CALL_S;
  if (text && *text && (!core_text_to_int(text, &seconds) || seconds < 1 || seconds > 600))
    return core_error(CORE_USAGE, "SLURMRESTD_TIMEOUT = %.40s: expected seconds, 1 to 600", text);
  rest->timeout_s = (int)seconds;
  return CORE_OK;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static int garbled(const char *what, SlurmFault *fault) {
  *fault = SLURM_GARBLED;
  return core_error(CORE_FAIL, "slurmrestd gave an unexpected answer: %s", what);
}

static SlurmFault fault_of_number(int64_t number) {
  switch (number) {
    case REST_ERROR_JOB_ID:
    case REST_ERROR_ALREADY_DONE: return SLURM_NOT_THERE;
    case ERROR_CONNECTION:
    case ERROR_CONNECTION_OLD: return SLURM_UNREACHABLE;
    case ERROR_AUTHENTICATION: /* by the server or the client */
    case ERROR_SEND:
    case ERROR_RECEIVE:
    case ERROR_TIMEOUT: return SLURM_TIMED_OUT;
    default: return SLURM_REFUSED;
  }
}

/* Makes a request's headers in `memory`, which the caller wipes. */
static void make_headers(const Rest *rest, bool has_body, char *memory, size_t size, const char *headers[5]) {
  size_t count = 0;
  headers[count++] = "Accept: application/json";
  if (has_body) headers[count++] = "Content-Type: application/json";
  if (rest->token) {
    const int length = snprintf(memory, size, "X-SLURM-USER-TOKEN: %s", rest->token) + 1;
    headers[count++] = memory;
    if (*rest->user) {
      snprintf(memory + length, size - (size_t)length, "X-SLURM-USER-NAME: %s", rest->user);
      headers[count++] = memory + length;
    }
  }
  headers[count] = NULL;
}

static int send_request(Rest *rest, const char *method, const char *path, const char *body, CoreHttpAnswer *answer,
                        SlurmFault *fault) {
  char url[2 * URL_MAX], memory[TOKEN_MAX + 256];
  const char *headers[5];
  CoreHttpFault problem;

  snprintf(url, sizeof url, "%s%s", rest->base, path);
  make_headers(rest, body != NULL, memory, sizeof memory, headers);
  const CoreHttpRequest request = {.method = method,
                                   .url = url,
                                   .unix_socket = *rest->socket ? rest->socket : NULL,
                                   .headers = headers,
                                   .body = body,
                                   .timeout_s = rest->timeout_s,
                                   .answer_max = (size_t)256 << 20};

  const int code = core_http_send(rest->http, &request, answer, &problem);
  explicit_bzero(memory, sizeof memory);
  if (code == CORE_OK) return CORE_OK;
  *fault = problem == CORE_HTTP_TIMED_OUT ? SLURM_TIMED_OUT
           : problem == CORE_HTTP_BROKEN  ? SLURM_GARBLED
                                          : SLURM_UNREACHABLE;
  return core_error_context(CORE_FAIL, "slurmrestd");
}

/* Replaces a message of the server that contains the token. */
static void redact_token(const Rest *rest, char *message) {
  if (rest->token && strstr(message, rest->token))
    snprintf(message, MESSAGE_MAX, "(message withheld: it contains the token)");
}

static int report_refusal(const Rest *rest, bool is_query, const CoreHttpAnswer *answer, const json_t *json,
                   SlurmFault *fault) {
  char message[MESSAGE_MAX];
  int64_t number = 0;

  /* Newer versions answer 403 for another user's job, with a message. */
  const bool has_message = rest_read_error(json, &number, message, sizeof message);
  if (!has_message && (answer->status == 401 || answer->status == 403)) {
    *fault = SLURM_REFUSED;
    return core_error(CORE_FAIL, "slurmrestd rejects user or token%s",
                      rest->token ? "; scontrol token prints a new one"
                                  : ": set SLURM_JWT, or ask the same user's slurmrestd");
  }
  if (!has_message) {
    char what[64];
    snprintf(what, sizeof what, "HTTP status %d without an error", answer->status);
    return garbled(what, fault);
  }

  redact_token(rest, message);
  *fault = fault_of_number(number);
  /* Listings report -1 if slurmctld could not be reached. */
  if (number == -1 && is_query && (strstr(message, "looking for") || strstr(message, "Unspecified error")))
    *fault = SLURM_UNREACHABLE;

  if (*fault == SLURM_UNREACHABLE) return core_error(CORE_FAIL, "cannot reach Slurm: %s", message);
  return core_error(CORE_FAIL, "slurmrestd: %s", message);
}

/* Sends a request and parses the answer. CORE_OK needs HTTP status 200 and an object without errors; `lenient` ignores
 * the errors of an answer with a job_id. */
static int send_and_parse(Rest *rest, const char *method, const char *path, const char *body, bool lenient,
                          json_t **json, SlurmFault *fault) {
  CoreHttpAnswer answer = {0};
  const bool is_query = strcmp(method, "GET") == 0;
  char url[URL_MAX], message[MESSAGE_MAX];
  int64_t number;
  int code;
  *json = NULL;
  *fault = SLURM_FINE;

  if (rest->version) snprintf(url, sizeof url, "/slurm/v0.0.%d/%s", rest->version, path);
  else snprintf(url, sizeof url, "%s", path);
  TRY_GOTO(code, done, send_request(rest, method, url, body, &answer, fault));

  json_error_t where;
  *json = json_loadb(core_text_string(&answer.body), answer.body.length, JSON_REJECT_DUPLICATES, &where);
  const bool has_errors = rest_read_error(*json, &number, message, sizeof message);
  if (answer.status != 200 && !(lenient && json_object_get(*json, "job_id")))
    code = report_refusal(rest, is_query, &answer, *json, fault);
  else if (!json_is_object(*json)) code = garbled("not JSON", fault);
  else if (has_errors && !lenient) code = report_refusal(rest, is_query, &answer, *json, fault);
done:
  core_text_free(&answer.body);
  if (code != CORE_OK) {
    json_decref(*json);
    *json = NULL;
  }
  return code;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void rest_close(void *backend) {
  Rest *rest = backend;
  if (!rest) return;
  core_http_close(&rest->http);
  if (rest->token) explicit_bzero(rest->token, strlen(rest->token));
  free(rest->token);
  free(rest);
}

static int discover(Rest *rest, SlurmFault *fault) {
  json_t *document;
  TRY(send_and_parse(rest, "GET", "/openapi/v3", NULL, false, &document, fault));
  rest->version = rest_read_version(document);
  json_decref(document);
  if (rest->version > 0) return CORE_OK;
  *fault = SLURM_ABSENT;
  return core_error(CORE_FAIL, "the server of SLURMRESTD offers none of Slurm's API versions v0.0.%d to v0.0.%d",
                    REST_VERSION_MIN, REST_VERSION_MAX);
}

static int rest_open(void **backend, SlurmFault *fault) {
  const char *address = getenv("SLURMRESTD");
  *backend = NULL;
  *fault = SLURM_ABSENT;

  if (!address || !*address)
    return core_error(CORE_FAIL, "slurm.api = rest needs SLURMRESTD = unix:/path or http://host:port of slurmrestd");

  Rest *rest = core_memory_zero_allocate(1, sizeof *rest);
  int code;
  TRY_GOTO(code, done, core_http_open(&rest->http));
  *fault = SLURM_REFUSED;
  TRY_GOTO(code, done, read_address(rest, address));
  TRY_GOTO(code, done, read_token(rest));
  TRY_GOTO(code, done, read_timeout(rest));
  read_user(rest);
  code = discover(rest, fault);
done:
  if (code == CORE_OK) *backend = rest;
  else rest_close(rest);
  return code;
}

/* ---- limits and partitions --------------------------------------------------------------------------------------- */

static int rest_limits(void *backend, SlurmLimits *limits, SlurmFault *fault) {
  const char *path = getenv("SLURM_CONF");
  char *conf = NULL;
  size_t size;
  json_t *answer;
  TRY(send_and_parse(backend, "GET", "ping", NULL, false, &answer, fault));
  if (core_files_read(path && *path ? path : "/etc/slurm/slurm.conf", 0, &conf, &size) != CORE_OK) conf = NULL;
  slurm_limits_parse(conf ? conf : "", limits);
  free(conf);
  rest_read_release(answer, limits->version, sizeof limits->version);
  limits->accounting = false; /* not available through this backend */
  json_decref(answer);
  return CORE_OK;
}

static int rest_partitions(void *backend, SlurmPartition **partitions, size_t *count, SlurmFault *fault) {
  const Rest *rest = backend;
  json_t *answer, *nodes = NULL, *record;
  size_t i;
  int code;

  TRY(send_and_parse(backend, "GET", "partitions", NULL, false, &answer, fault));
  TRY_GOTO(code, done, send_and_parse(backend, "GET", "nodes", NULL, false, &nodes, fault));
  json_t *list = json_object_get(answer, "partitions"), *machines = json_object_get(nodes, "nodes");
  if (!json_is_array(list) || !json_is_array(machines)) {
    code = garbled("no list of partitions or nodes", fault);
    goto done;
  }

  *partitions = core_memory_zero_allocate(json_array_size(list) + 1, sizeof **partitions);
  json_array_foreach(list, i, record) {
    if (code == CORE_OK && !rest_read_partition(record, &(*partitions)[(*count)++]))
      code = garbled("a partition without a name", fault);
  }
  json_array_foreach(machines, i, record) {
    if (code == CORE_OK && !rest_read_node(record, *partitions, *count))
      code = garbled("a node without a state", fault);
  }

  const bool is_untold = rest->version >= REST_VERSION_OBJECTS && rest->version < REST_VERSION_DEFAULT;
  if (*count == 1 && is_untold) (*partitions)[0].is_default = true;
  if (code != CORE_OK) {
    free(*partitions);
    *partitions = NULL;
    *count = 0;
  }
done:
  json_decref(answer);
  json_decref(nodes);
  return code;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* An answer may have errors next to a job_id (for a held job, say): the id decides. */
static int rest_submit(void *backend, const SlurmJob *job, int64_t *id, SlurmFault *fault) {
  Rest *rest = backend;
  char *body, message[MESSAGE_MAX];
  json_t *answer;
  int64_t number = 0;

  *fault = SLURM_REFUSED;
  TRY(rest_job_write(job, rest->version, &body));
  int code = send_and_parse(rest, "POST", "job/submit", body, true, &answer, fault);
  free(body);
  if (code != CORE_OK) return code;

  const json_t *value = json_object_get(answer, "job_id");
  if (!rest_read_number(value, id) || *id <= 0 || *id > UINT32_MAX) {
    if (!rest_read_error(answer, &number, message, sizeof message))
      code = garbled("a submission without a job_id", fault);
    else {
      redact_token(rest, message);
      *fault = fault_of_number(number);
      code = core_error(CORE_FAIL, "slurmrestd: %s", message);
    }
  }
  json_decref(answer);
  return code;
}

static int rest_list(void *backend, const SlurmSelection *selection, SlurmTasks *tasks, SlurmFault *fault) {
  Rest *rest = backend;
  json_t *answer, *record;
  size_t i;
  const size_t before = tasks->count;

  TRY(send_and_parse(rest, "GET", "jobs", NULL, false, &answer, fault));
  const json_t *jobs = json_object_get(answer, "jobs");
  int code = json_is_array(jobs) ? CORE_OK : garbled("no list of jobs", fault);
  json_array_foreach(jobs, i, record) {
    if (code == CORE_OK && rest_read_job(record, selection, rest->user, tasks) != CORE_OK) {
      char message[MESSAGE_MAX];
      snprintf(message, sizeof message, "%s", core_error_message());
      redact_token(rest, message);
      code = garbled(message, fault);
    }
  }

  if (code != CORE_OK) tasks->count = before;
  json_decref(answer);
  return code;
}

/* Sends one request per id; jobs that no longer exist are not an error. */
static int control_tasks(Rest *rest, const char *method, const char *body, const SlurmId *ids, size_t count,
                    SlurmFault *fault) {
  char path[96], name[48];
  for (size_t i = 0; i < count; i++) {
    json_t *answer;
    snprintf(path, sizeof path, "job/%s", slurm_id_format(ids[i], name));
    const int code = send_and_parse(rest, method, path, body, false, &answer, fault);
    json_decref(answer);
    if (code == CORE_OK) continue;
    if (*fault != SLURM_NOT_THERE) return code;
    *fault = SLURM_FINE;
  }
  return CORE_OK;
}

/* Cancels all ids in one request, since DELETE job/1_5 cancels the whole array 1 in slurmrestd 23.02 to 24.05. */
static int cancel_list(Rest *rest, const SlurmId *ids, size_t count, SlurmFault *fault) {
  json_t *names = json_array(), *answer;
  char name[48];
  for (size_t i = 0; i < count; i++) json_array_append_new(names, core_json_text(slurm_id_format(ids[i], name)));
  json_t *request = json_pack("{s:o}", "jobs", names);
  char *body = json_dumps(request, JSON_COMPACT);
  json_decref(request);
  int code = send_and_parse(rest, "DELETE", "jobs/", body, false, &answer, fault);
  json_decref(answer);
  free(body);
  if (code != CORE_OK && *fault == SLURM_NOT_THERE) {
    *fault = SLURM_FINE;
    code = CORE_OK;
  }
  return code;
}

static int rest_cancel(void *backend, const SlurmId *ids, size_t count, SlurmFault *fault) {
  Rest *rest = backend;
  if (count == 0) return CORE_OK;
  if (rest->version >= REST_VERSION_LISTS) return cancel_list(rest, ids, count, fault);

  if (rest->version >= REST_VERSION_OBJECTS) {
    for (size_t i = 0; i < count; i++) {
      if (ids[i].task < 0) continue;
      *fault = SLURM_REFUSED;
      return core_error(CORE_USAGE,
                        "slurmrestd of this version (v0.0.%d) would cancel all of array %lld for one of its tasks; use "
                        "slurm.api = cli",
                        rest->version, (long long)ids[i].job);
    }
  }

  return control_tasks(rest, "DELETE", NULL, ids, count, fault);
}

/* Holds or releases tasks through their job ids, which a listing of pending jobs provides. */
static int hold_numbers(Rest *rest, const char *body, const SlurmId *ids, size_t count, SlurmFault *fault) {
  json_t *answer;
  size_t number_count = 0;

  TRY(send_and_parse(rest, "GET", "jobs", NULL, false, &answer, fault));
  const json_t *jobs = json_object_get(answer, "jobs");
  int64_t *numbers = core_memory_allocate((json_array_size(jobs) + 1) * sizeof *numbers);
  *fault = SLURM_REFUSED;
  int code = json_is_array(jobs) ? rest_update_numbers(jobs, ids, count, numbers, &number_count)
                                 : garbled("no list of jobs", fault);
  if (code == CORE_FAIL) *fault = SLURM_GARBLED;

  for (size_t i = 0; i < number_count; i++) {
    if (code != CORE_OK) break;
    code = control_tasks(rest, "POST", body, &(SlurmId){numbers[i], -1}, 1, fault);
  }
  if (code == CORE_OK) *fault = SLURM_FINE;
  free(numbers);
  json_decref(answer);
  return code;
}

static int rest_hold(void *backend, const SlurmId *ids, size_t count, bool hold, SlurmFault *fault) {
  Rest *rest = backend;
  const char *body = hold ? "{\"hold\":true}" : "{\"hold\":false}";
  if (rest->version < REST_VERSION_WHOLE_ARRAYS) return control_tasks(rest, "POST", body, ids, count, fault);
  return hold_numbers(rest, body, ids, count, fault);
}

const SlurmApi slurm_api_rest = {.name = "rest",
                                 .open = rest_open,
                                 .close = rest_close,
                                 .limits = rest_limits,
                                 .partitions = rest_partitions,
                                 .submit = rest_submit,
                                 .list = rest_list,
                                 .cancel = rest_cancel,
                                 .hold = rest_hold};
