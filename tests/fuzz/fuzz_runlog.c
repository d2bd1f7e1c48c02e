/* A run log's text -> the reader, twice: unchanged, and with every line's checksum corrected, so that the code
 * behind the checksums is reached, too. Checks that offsets never decrease, and that a second read from the end
 * finds nothing. */
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "fuzz/fuzz.h"
#include "store/runlog/runlog.h"
#include "store/workspace/crc32_internal.h"

static int count_row(void *context, const StoreIteration *iteration, const StoreEvaluation *evaluation,
                     const StoreLayer *layer, const StoreMetric *metric) {
  FUZZ_CHECK((iteration != NULL) + (evaluation != NULL) + (layer != NULL) + (metric != NULL) == 1);
  if (evaluation) FUZZ_CHECK(memchr(evaluation->level_set, '\0', sizeof evaluation->level_set));
  if (metric) FUZZ_CHECK(*metric->name && memchr(metric->name, '\0', sizeof metric->name));
  if (layer) FUZZ_CHECK(memchr(layer->network, '\0', sizeof layer->network) && layer->layer >= 0);
  ++*(int64_t *)context;
  return CORE_OK;
}

static void read_log(const uint8_t *data, size_t size) {
  const char *path = fuzz_file(data, size);
  int64_t rows = 0, end = 0, again = 0, more = 0;
  StoreLogDamage damage = {0};
  if (store_runlog_read(path, 0, count_row, &rows, &end, &damage) != CORE_OK) return;
  FUZZ_CHECK(end >= 0 && (size_t)end <= size && rows >= 0 && damage.lines >= 0);
  FUZZ_CHECK(store_runlog_read(path, end, count_row, &more, &again, &damage) == CORE_OK);
  FUZZ_CHECK(more == 0 && again == end);
}

/* The text with the right checksum behind each line's last tab, and that of line 2 at the end of line 1. */
static void correct(const char *data, size_t size, CoreText *log) {
  const char *end = data + size, *first_end = memchr(data, '\n', size);
  if (!first_end) return;
  const char *names = first_end + 1, *names_end = memchr(names, '\n', (size_t)(end - names));
  const char *space = memrchr(data, ' ', (size_t)(first_end - data));
  if (!names_end || !space) return;
  core_text_append_bytes(log, data, (size_t)(space - data));
  core_text_appendf(log, " %08x\n", store_crc32(names, (size_t)(names_end - names)));
  core_text_append_bytes(log, names, (size_t)(names_end + 1 - names));
  for (const char *line = names_end + 1, *stop; (stop = memchr(line, '\n', (size_t)(end - line))); line = stop + 1) {
    const char *tab = memrchr(line, '\t', (size_t)(stop - line));
    size_t length = (size_t)((tab ? tab : stop) - line);
    core_text_append_bytes(log, line, length);
    core_text_appendf(log, "\t%08x\n", store_crc32(line, length));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  CoreText log = {0};
  read_log(data, size);
  correct((const char *)data, size, &log);
  if (log.length > 0) read_log((const uint8_t *)log.data, log.length);
  core_text_free(&log);
  return 0;
}
