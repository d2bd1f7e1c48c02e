/* Videos of the report (report.h): the agents of the best configurations in their last evaluation with a video
 * (eval.video_every), embedded in the page. */
#include <math.h>
#include <stdlib.h>

#include "analysis/report/report.h"
#include "analysis/runs/select.h"
#include "core/files.h"
#include "core/memory.h"
#include "store/workspace/paths.h"

enum { VIDEOS_MAX = 8, VIDEO_BYTES_MAX = 1 << 20 };

typedef struct Candidate { size_t run; double score; } Candidate;

static int by_score(const void *a, const void *b) {
  const Candidate *x = a, *y = b;
  if (isnan(x->score) != isnan(y->score)) return isnan(x->score) ? 1 : -1;
  if (!isnan(x->score) && x->score != y->score) return x->score < y->score ? 1 : -1;
  return (x->run > y->run) - (x->run < y->run);
}

/* Returns the run's last video as a data URL; NULL: it has none, or one too large for a page. */
static char *read_last(const char *root, const char *id, int64_t *iteration) {
  int64_t *iterations = NULL;
  size_t count = 0, size = 0;
  char name[STORE_VIDEO_NAME], path[CORE_PATH_MAX], *bytes = NULL, *text = NULL;

  int code = store_path_list_videos(root, id, &iterations, &count);
  if (code == CORE_OK && count > 0) {
    *iteration = iterations[count - 1];
    store_video_name(*iteration, name);
    code = store_path_run(root, id, name, path);
    if (code == CORE_OK) code = core_files_read(path, VIDEO_BYTES_MAX, &bytes, &size);
    if (code == CORE_OK) text = analysis_report_base64("data:image/gif;base64,", bytes, size);
  }

  if (code != CORE_OK) core_error_clear();
  free(bytes);
  free(iterations);
  return text;
}

/* Adds the best run with a video of each configuration, the best configurations first. */
void analysis_report_add_videos(const AnalysisReport *report, json_t *root) {
  const size_t runs = report->selection.count;
  char workspace[CORE_PATH_MAX];
  json_t *list = json_array();

  json_object_set_new(root, "videos", list);
  if (!analysis_database_in_workspace(report->path, workspace)) return;

  Candidate *order = core_memory_allocate((runs + 1) * sizeof *order);
  bool *shown = core_memory_zero_allocate(report->groups.count + 1, sizeof *shown);

  for (size_t r = 0; r < runs; r++) order[r] = (Candidate){r, report->measured[r].value[ANALYSIS_MEASURE_final]};
  if (runs) qsort(order, runs, sizeof *order, by_score);
  for (size_t i = 0; i < runs && json_array_size(list) < VIDEOS_MAX; i++) {
    const size_t r = order[i].run, group = report->groups.group_of[r];
    int64_t iteration = 0;
    char *image = shown[group] ? NULL : read_last(workspace, report->selection.runs[r].id, &iteration);
    if (!image) continue;

    shown[group] = true;
    json_array_append_new(list, json_pack("{s:s, s:o, s:I, s:o, s:s}", "id", report->selection.runs[r].id, "label",
                                          analysis_report_text(report->groups.groups[group].label), "iteration",
                                          (json_int_t)iteration, "score", analysis_report_number(order[i].score),
                                          "image", image));
    free(image);
  }

  free(order);
  free(shown);
}
