/* sweep serve: access control, cached responses, files of runs, and the page's content security policy. */
#include "test.h"

#include <sodium.h>
#include <sys/stat.h>

#include "core/files.h"
#include "store/workspace/paths.h"
#include "sweep/serve/access.h"
#include "sweep/serve/cache.h"
#include "sweep/serve/routes.h"
#include "sweep/serve/series_cache.h"

static void test_tokens(void **state) {
  char token[SERVE_TOKEN], other[SERVE_TOKEN], given[256];
  assert_ok(serve_token_create(token));
  assert_ok(serve_token_create(other));
  assert_int_equal(strlen(token), 32);
  assert_string_not_equal(token, other);
  snprintf(given, sizeof given, "Bearer %s", token);
  assert_true(serve_token_is_valid(token, given, NULL));
  assert_true(serve_token_is_valid(token, NULL, token));
  assert_true(serve_token_is_valid(token, "Bearer wrong", token));
  assert_false(serve_token_is_valid(token, NULL, NULL));
  assert_false(serve_token_is_valid(token, "Bearer ", ""));
  assert_false(serve_token_is_valid(token, token, NULL)); /* no scheme */
  assert_false(serve_token_is_valid(token, NULL, other));
  snprintf(given, sizeof given, "%s0", token);
  assert_false(serve_token_is_valid(token, NULL, given));
  snprintf(given, sizeof given, "%.31s", token);
  assert_false(serve_token_is_valid(token, NULL, given));
}

static void test_hosts_and_origins(void **state) {
  static const char *const ours[] = {"127.0.0.1", "127.0.0.1:8321", "localhost:9000", "[::1]:1"};
  static const char *const others[] = {"", "example.org", "127.0.0.1.evil.example", "localhost.evil.example:80",
                                       "127.0.0.1:", "127.0.0.1:80x", "evil.example:127", "10.0.0.1:8321"};
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) assert_true(serve_host_is_loopback(ours[i]));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) assert_false(serve_host_is_loopback(others[i]));
  assert_false(serve_host_is_loopback(NULL));
  assert_true(serve_origin_is_same(NULL, NULL, "localhost:1"));
  assert_true(serve_origin_is_same("http://localhost:1", "same-origin", "localhost:1"));
  assert_false(serve_origin_is_same("http://localhost:2", NULL, "localhost:1"));
  assert_false(serve_origin_is_same("https://localhost:1", NULL, "localhost:1"));
  assert_false(serve_origin_is_same("null", NULL, "localhost:1"));
  assert_false(serve_origin_is_same(NULL, "cross-site", "localhost:1"));
  assert_false(serve_origin_is_same(NULL, "none", "localhost:1"));
}

static void test_cache(void **state) {
  ServeCache cache = SERVE_CACHE_INITIALIZER;
  CoreText body = {0}, found = {0};
  char key[32];

  core_text_append(&body, "one");
  serve_cache_put(&cache, "a", 1, &body);
  assert_true(serve_cache_find(&cache, "a", 1, &found));
  assert_string_equal(found.data, "one");
  assert_false(serve_cache_find(&cache, "a", 2, &found)); /* computed from older data */
  assert_false(serve_cache_find(&cache, "b", 1, &found));

  for (int i = 0; i < 3 * SERVE_CACHE_ENTRIES; i++) { /* "a" is requested every time, the others once */
    snprintf(key, sizeof key, "key %d", i);
    serve_cache_put(&cache, key, 1, &body);
    assert_true(serve_cache_find(&cache, "a", 1, &found));
  }

  assert_false(serve_cache_find(&cache, "key 0", 1, &found));
  assert_true(serve_cache_find(&cache, key, 1, &found));
  assert_int_equal(cache.bytes, 3 * SERVE_CACHE_ENTRIES);

  while (body.length < SERVE_CACHE_BYTES / 3) core_text_append_bytes(&body, key, sizeof key);
  for (int i = 0; i < 5; i++) {
    snprintf(key, sizeof key, "large %d", i);
    serve_cache_put(&cache, key, 1, &body);
    assert_true(cache.bytes <= SERVE_CACHE_BYTES);
  }

  assert_true(serve_cache_find(&cache, "large 4", 1, &found));
  serve_cache_free(&cache);
  assert_int_equal(cache.bytes, 0);
  core_text_free(&body);
  core_text_free(&found);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static const char id[] = "0123456789abcdef";

static void put(const char *root, const char *name) {
  char path[CORE_PATH_MAX];
  assert_ok(core_files_path(path, "%s/runs/01/%s/%s", root, id, name));
  assert_ok(core_files_write_atomic(path, "x", 1));
}

static void test_files(void **state) {
  char root[] = "/tmp/test-serve-XXXXXX", path[CORE_PATH_MAX], other[CORE_PATH_MAX];
  int64_t *iterations;
  size_t count;
  int fd;
  off_t size;

  assert_non_null(mkdtemp(root));
  assert_int_equal(serve_file_open(root, id, "log.txt", &fd, &size), SERVE_NOT_FOUND);
  assert_ok(store_path_list_videos(root, id, &iterations, &count));
  assert_int_equal(count, 0);
  free(iterations);

  assert_ok(core_files_path(path, "%s/runs/01/%s", root, id));
  assert_ok(core_files_make_directories(path));
  static const char *const names[] = {"video.20.gif", "video.3.gif", "video.0.gif", "video.03.gif", "video.-1.gif",
                                      "video.gif", "video..gif", "video.1.gif.part", "video.1e3.gif", "log.txt"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) put(root, names[i]);

  assert_ok(store_path_list_videos(root, id, &iterations, &count));
  assert_int_equal(count, 3);
  assert_int_equal(iterations[0], 0);
  assert_int_equal(iterations[1], 3);
  assert_int_equal(iterations[2], 20);
  free(iterations);

  assert_ok(serve_file_open(root, id, "log.txt", &fd, &size));
  assert_int_equal(size, 1);
  close(fd);
  assert_int_equal(serve_file_open(root, "../../../../etc", "passwd", &fd, &size), CORE_USAGE);

  assert_ok(core_files_path(path, "%s/runs/01", root));
  assert_ok(core_files_path(other, "%s/elsewhere", root));
  assert_int_equal(rename(path, other), 0);
  assert_int_equal(symlink(other, path), 0); /* a shard that is a link */
  assert_int_equal(serve_file_open(root, id, "log.txt", &fd, &size), CORE_FAIL);
  assert_ok(core_files_remove_tree(root));
}

/* Curves of a run are found until it has new rows; the metric used least recently makes room for another one. */
static void test_series_cache(void **state) {
  ServeSeriesCache cache = SERVE_SERIES_CACHE_INITIALIZER;
  AnalysisCurve curve = {0}, found = {0};
  char run[17], name[16];

  analysis_curve_add(&curve, 1, 2);
  analysis_curve_add(&curve, 3, 4);
  for (int i = 0; i < 200; i++) { /* more than the first table holds */
    snprintf(run, sizeof run, "%016x", 64 * i);
    serve_series_cache_keep(&cache, "kl", run, (uint64_t)i + 1, &curve);
  }

  assert_int_equal(cache.points, 2 * 200);
  assert_true(serve_series_cache_find(&cache, "kl", run, 200, &found));
  assert_int_equal(found.n, 2);
  assert_true(found.y[1] == 4);
  analysis_curve_free(&found);

  assert_false(serve_series_cache_find(&cache, "ddr", run, 200, &found));
  assert_false(serve_series_cache_find(&cache, "kl", run, 201, &found)); /* has new rows */
  assert_false(serve_series_cache_find(&cache, "kl", "ffffffffffffffff", 1, &found));

  serve_series_cache_keep(&cache, "kl", run, 201, &curve);
  assert_int_equal(cache.points, 2 * 200); /* in place of the old curve */

  for (int i = 0; i < SERVE_SERIES_CACHE_METRICS; i++) {
    snprintf(name, sizeof name, "metric %d", i);
    assert_false(serve_series_cache_find(&cache, name, run, 1, &found));
  }
  assert_int_equal(cache.points, 0);

  analysis_curve_free(&curve);
  serve_series_cache_free(&cache);
}

/* The policy lists the hashes of the page's inline scripts and styles, and the page has nothing that it forbids. */
static void test_page(void **state) {
  static const char *const tags[][2] = {{"<style>", "</style>"}, {"<script>", "</script>"}};
  CoreText page = {0};
  char policy[SERVE_POLICY], base64[64];
  unsigned char hash[32];
  serve_page_build(&page, policy);
  for (size_t i = 0; i < 2; i++) {
    const char *start = strstr(page.data, tags[i][0]) + strlen(tags[i][0]), *end = strstr(start, tags[i][1]);
    crypto_hash_sha256(hash, (const unsigned char *)start, (unsigned long long)(end - start));
    sodium_bin2base64(base64, sizeof base64, hash, sizeof hash, sodium_base64_VARIANT_ORIGINAL);
    assert_non_null(strstr(policy, base64));
    assert_null(strstr(end + 1, tags[i][0])); /* one of each */
  }
  assert_non_null(strstr(policy, "default-src 'none'"));
  assert_null(strstr(policy, "unsafe"));
  assert_null(strstr(page.data, " style=\""));
  assert_null(strstr(page.data, " onclick="));
  assert_null(strstr(page.data, "innerHTML"));
  core_text_free(&page);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tokens), cmocka_unit_test(test_hosts_and_origins),
                                     cmocka_unit_test(test_cache), cmocka_unit_test(test_series_cache),
                                     cmocka_unit_test(test_files),
                                     cmocka_unit_test(test_page)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
