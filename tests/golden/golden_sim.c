/* golden_sim DIR: replays trajectories (traj_*.tsv) and single-step cases (unit_*.tsv) that the reference simulator
 * wrote, and reports the largest deviation of every quantity and its ratio to the tolerance that the directory's
 * sensitivity tables justify. Level files are looked for in DIR and in DIR/../kinetix_levels.
 * Exit code: 0 all within tolerance, 1 not, 2 wrong use. */
#include "golden_traj.h"
#include "golden_unit.h"

typedef struct Totals { int cases, failed; double worst; char worst_name[160]; } Totals;

static bool is_golden(const char *name, const char *prefix) {
  size_t length = strlen(name);
  return strncmp(name, prefix, strlen(prefix)) == 0 && length > 4 && strcmp(name + length - 4, ".tsv") == 0;
}

static void replay(const char *directory, const char *name, const TrajSensitivity *sensitivity, Totals *totals) {
  char path[CORE_PATH_MAX], title[64], extent[64] = "";
  GoldenReport report = {0};
  snprintf(title, sizeof title, "%.*s", (int)strlen(name) - 4, name);
  int code = core_files_path(path, "%s/%s", directory, name);
  if (code == CORE_OK && is_golden(name, "traj_")) code = golden_traj(directory, path, sensitivity, &report, extent);
  else if (code == CORE_OK) code = golden_unit(path, &report, extent);
  totals->cases++;
  if (code != CORE_OK) {
    printf("not ok %s: %s\n", title, core_error_message());
    totals->failed++;
    return;
  }
  golden_print(&report, title, extent);
  totals->failed += !golden_is_ok(&report);
  if (golden_worst_ratio(&report) > totals->worst) {
    totals->worst = golden_worst_ratio(&report);
    snprintf(totals->worst_name, sizeof totals->worst_name, "%s, %s, %s", title, golden_names[report.worst],
             report.worst_at);
  }
}

static int load_sensitivity(const char *directory, TrajSensitivity *table) {
  static const char *const names[] = {"sensitivity.tsv", "sensitivity_isa.tsv"};
  char path[CORE_PATH_MAX];
  for (int i = 0; i < 2; i++) {
    TRY(core_files_path(path, "%s/%s", directory, names[i]));
    TRY(traj_sensitivity_add(table, path));
  }
  return CORE_OK;
}

int main(int argc, char **argv) {
  char **names = NULL;
  size_t count = 0;
  TrajSensitivity sensitivity = {0};
  Totals totals = {0};
  if (argc != 2 || argv[1][0] == '-') {
    fprintf(stderr, "Usage: golden_sim DIR\n  DIR: a folder with traj_*.tsv and unit_*.tsv files\n");
    return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : CORE_USAGE;
  }
  if (core_files_list(argv[1], &names, &count) != CORE_OK || load_sensitivity(argv[1], &sensitivity) != CORE_OK) {
    fprintf(stderr, "golden_sim: %s\n", core_error_message());
    return CORE_USAGE;
  }
  for (size_t i = 0; i < count; i++) {
    if (is_golden(names[i], "traj_") || is_golden(names[i], "unit_")) replay(argv[1], names[i], &sensitivity, &totals);
    free(names[i]);
  }
  free(names);
  free(sensitivity.rows);
  if (totals.cases == 0) {
    fprintf(stderr, "golden_sim: no traj_*.tsv or unit_*.tsv in %s\n", argv[1]);
    return CORE_USAGE;
  }
  printf("%d of %d cases ok; largest deviation / tolerance %.3f (%s)\n", totals.cases - totals.failed, totals.cases,
         totals.worst, totals.worst_name);
  return totals.failed ? CORE_FAIL : CORE_OK;
}
