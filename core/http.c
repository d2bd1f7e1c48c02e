/* HTTP client on libcurl (http.h). Redirects, .netrc, other protocols and signals are disabled.  libcurl is loaded when
 * the first connection is opened: it depends on some thirty libraries, whose relocation would cost each start of the
 * program (one per array task) 5 ms of processor time. */
#include "core/http.h"

#include <string.h>

#include "core/files.h"
#include "core/memory.h"
#include "core/process.h"

#if CORE_HAS_CURL
#define CURL_DISABLE_TYPECHECK /* its macros would shadow the function table's names */
#define CURL_DISABLE_DEPRECATION /* an older library may be loaded, which knows the older options only */
#include <curl/curl.h>
#include <dlfcn.h>
#endif

enum { CONNECT_S = 10, ANSWER_MAX = 64 << 20 };

/* ---- addresses --------------------------------------------------------------------------------------------------- */

static const char *after_scheme(const char *url) {
  if (strncmp(url, "http://", 7) == 0) return url + 7;
  if (strncmp(url, "https://", 8) == 0) return url + 8;
  return NULL;
}

int core_http_check_url(const char *url, const char *what) {
  const char *host = after_scheme(url);
  if (!host) return core_error(CORE_USAGE, "%s: an address begins with https:// or http://", what);
  const size_t length = strcspn(host, "/?#");
  if (length == 0 || length > 255 || *host == ':') return core_error(CORE_USAGE, "%s: the address names no host", what);
  if (memchr(host, '@', length))
    return core_error(CORE_USAGE, "%s: the address holds a name or password; they would be seen in lists of processes",
                      what);
  for (const char *c = url; *c; c++)
    if (*c <= ' ' || *c > '~' || strchr("\"<>\\^`{|}", *c))
      return core_error(CORE_USAGE, "%s: the address holds a blank or another character that must be written %%XX",
                        what);
  return CORE_OK;
}

const char *core_http_host(const char *url, char *buffer) {
  const char *host = after_scheme(url);
  if (!host) return "(no address)";
  snprintf(buffer, CORE_HTTP_HOST, "%.*s", (int)(host - url) + (int)strcspn(host, "/?#@"), url);
  return buffer;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

bool core_http_is_built(void) { return CORE_HAS_CURL; }

#if CORE_HAS_CURL
#define CURL_FUNCTIONS(X) \
  X(curl_global_init) X(curl_easy_init) X(curl_easy_cleanup) X(curl_easy_reset) X(curl_easy_setopt) \
  X(curl_easy_perform) X(curl_easy_getinfo) X(curl_easy_strerror) X(curl_slist_append) X(curl_slist_free_all)

#define MEMBER(name) __typeof__(&name) name;
typedef struct Library { CURL_FUNCTIONS(MEMBER) } Library;
#undef MEMBER
static Library library;

struct CoreHttp { CURL *curl; };

/* File with the certificates of authorities, for the packaged library; NULL: the library knows its system's. */
static const char *authorities;

/* Opens the library of a portable package, which is built for no particular system: where Debian, Fedora and SUSE have
 * certificates. */
static void *open_packaged(void) {
  static const char *const places[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                       "/etc/ssl/ca-bundle.pem"};
  char path[CORE_PATH_MAX];
  if (core_program_library_file("libcurl-packaged.so", path) != CORE_OK) return NULL;
  authorities = getenv("SSL_CERT_FILE");
  for (size_t i = 0; !authorities && i < sizeof places / sizeof *places; i++)
    if (core_files_exists(places[i])) authorities = places[i];
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Loads the system's library, which its updates mend, else the packaged one. */
static int load_library(void) {
  static const char name[] = "libcurl.so.4"; /* soname of all builds since 2006 */
  void *file = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!file) file = open_packaged();
  if (!file)
    return core_error(CORE_FAIL, "libcurl cannot be loaded (%s); install it (Debian: libcurl4, Fedora: libcurl)",
                      dlerror());
#define LOAD(function)                                                                        \
  void *address_of_##function = dlsym(file, #function);                                       \
  if (!address_of_##function) return core_error(CORE_FAIL, "%s has no %s", name, #function); \
  memcpy(&library.function, &address_of_##function, sizeof library.function);
  CURL_FUNCTIONS(LOAD)
#undef LOAD
  return CORE_OK;
}

typedef struct Sink { CoreText *text; size_t most; bool full; } Sink;

static size_t take(char *bytes, size_t size, size_t count, void *context) {
  Sink *sink = context;
  const size_t length = size * count;
  sink->full = length > sink->most - sink->text->length;
  if (sink->full) return 0;
  core_text_append_bytes(sink->text, bytes, length);
  return length;
}

int core_http_open(CoreHttp **http) {
  static bool is_begun; /* libcurl requires initialization before threads start */
  *http = NULL;
  if (!is_begun) TRY(load_library());
  if (!is_begun && library.curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
    return core_error(CORE_FAIL, "libcurl cannot be initialized");
  is_begun = true;
  CURL *curl = library.curl_easy_init();
  if (!curl) return core_error(CORE_FAIL, "libcurl cannot be initialized");
  *http = core_memory_allocate(sizeof **http);
  (*http)->curl = curl;
  return CORE_OK;
}

void core_http_close(CoreHttp **http) {
  if (!*http) return;
  library.curl_easy_cleanup((*http)->curl);
  free(*http);
  *http = NULL;
}

static CoreHttpFault fault_of(CURLcode code) {
  switch (code) {
    case CURLE_OK: return CORE_HTTP_FINE;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION: return CORE_HTTP_UNREACHABLE;
    case CURLE_OPERATION_TIMEDOUT: return CORE_HTTP_TIMED_OUT;
    default: return CORE_HTTP_BROKEN;
  }
}

static struct curl_slist *make_headers(const CoreHttpRequest *request) {
  /* slurmrestd and small servers do not support "Expect: 100-continue", which would delay each request by a second. */
  struct curl_slist *list = library.curl_slist_append(NULL, "Expect:");
  for (const char *const *header = request->headers; header && *header; header++)
    list = library.curl_slist_append(list, *header);
  return list;
}

static void set_options(CURL *curl, const CoreHttpRequest *request, struct curl_slist *headers, Sink *sink) {
  library.curl_easy_reset(curl); /* keeps open connections */
  library.curl_easy_setopt(curl, CURLOPT_URL, request->url);
  library.curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  if (authorities) library.curl_easy_setopt(curl, CURLOPT_CAINFO, authorities);

  library.curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  library.curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  library.curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)request->timeout_s);
  library.curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT,
                           (long)(request->timeout_s < CONNECT_S ? request->timeout_s : CONNECT_S));
  library.curl_easy_setopt(curl, CURLOPT_USERAGENT, "sweep");
  library.curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  library.curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
  library.curl_easy_setopt(curl, CURLOPT_WRITEDATA, sink);

  if (request->unix_socket) {
    library.curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, request->unix_socket);
    library.curl_easy_setopt(curl, CURLOPT_PROXY, "");
  }
  if (request->body) library.curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
  library.curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
}

int core_http_send(CoreHttp *http, const CoreHttpRequest *request, CoreHttpAnswer *answer, CoreHttpFault *fault) {
  char host[CORE_HTTP_HOST];
  long status = 0;
  Sink sink = {.text = &answer->body, .most = request->answer_max ? request->answer_max : ANSWER_MAX};
  struct curl_slist *headers = make_headers(request);

  core_text_clear(&answer->body);
  set_options(http->curl, request, headers, &sink);
  const CURLcode code = library.curl_easy_perform(http->curl);
  library.curl_slist_free_all(headers);
  if (fault) *fault = fault_of(code);
  library.curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &status);
  answer->status = (int)status;

  if (code == CURLE_OK) return CORE_OK;
  core_text_clear(&answer->body);
  const char *name = request->unix_socket ? request->unix_socket : core_http_host(request->url, host);
  if (sink.full) return core_error(CORE_FAIL, "%s: its answer is longer than %zu bytes", name, sink.most);
  /* libcurl's constant text, without parts of the URL */
  return core_error(CORE_FAIL, "%s: %s", name, library.curl_easy_strerror(code));
}
#else
struct CoreHttp { int none; };

int core_http_open(CoreHttp **http) {
  *http = NULL;
  return core_error(
    CORE_FAIL,
    "this program was built without libcurl; install it (Debian: libcurl4-openssl-dev, Fedora: libcurl-devel) "
    "and build again");
}

void core_http_close(CoreHttp **http) { *http = NULL; }

int core_http_send(CoreHttp *http, const CoreHttpRequest *request, CoreHttpAnswer *answer, CoreHttpFault *fault) {
  if (fault) *fault = CORE_HTTP_UNBUILT;
  return core_http_open(&http);
}
#endif
