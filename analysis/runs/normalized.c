/* Normalized scores of games (normalized.h). */
#include "analysis/runs/normalized.h"

#include <math.h>
#include <string.h>

#include "core/error.h"

static const struct { const char *game; double random, human; } atari[] = {
#define ATARI(game, random, human) {game, random, human},
#define PROCGEN(game, easy_min, easy_max, hard_min, hard_max)
#include "analysis/runs/normalized.def"
#undef ATARI
#undef PROCGEN
};

static const struct { const char *game; double easy[2], hard[2]; } procgen[] = {
#define ATARI(game, random, human)
#define PROCGEN(game, easy_min, easy_max, hard_min, hard_max) {game, {easy_min, easy_max}, {hard_min, hard_max}},
#include "analysis/runs/normalized.def"
#undef ATARI
#undef PROCGEN
};

/* Text before and after the name of an Atari game in env.task. */
static const struct { const char *before, *after; } atari_tasks[] = {
  {"atari/", ""}, {"gym/ALE/", "-v5"}, {"envpool/", "-v5"}};

static bool is_game(const char *task, const char *before, const char *game, const char *after) {
  const size_t first = strlen(before), length = strlen(game);
  return strncmp(task, before, first) == 0 && strncmp(task + first, game, length) == 0 &&
         strcmp(task + first + length, after) == 0;
}

AnalysisBounds analysis_bounds_of(const AnalysisConfig *config) {
  const char *task = config->shared->env.task, *mode = config->shared->procgen.mode;
  const bool easy = strcmp(mode, "easy") == 0, hard = strcmp(mode, "hard") == 0;
  for (size_t i = 0; i < sizeof atari / sizeof *atari; i++)
    for (size_t k = 0; k < sizeof atari_tasks / sizeof *atari_tasks; k++)
      if (is_game(task, atari_tasks[k].before, atari[i].game, atari_tasks[k].after))
        return (AnalysisBounds){ANALYSIS_SCALE_HUMAN, atari[i].random, atari[i].human};
  if (easy || hard) {
    for (size_t i = 0; i < sizeof procgen / sizeof *procgen; i++) {
      const double *range = easy ? procgen[i].easy : procgen[i].hard;
      if (is_game(task, "procgen/", procgen[i].game, ""))
        return (AnalysisBounds){ANALYSIS_SCALE_MIN_MAX, range[0], range[1]};
    }
  }
  return (AnalysisBounds){ANALYSIS_SCALE_NONE, NAN, NAN};
}

double analysis_normalize(const AnalysisBounds *bounds, double episode_return) {
  return (episode_return - bounds->low) / (bounds->high - bounds->low);
}

/* Formats a task for messages: the constants of Procgen depend on the mode. */
static void name_task(const AnalysisConfig *config, CoreText *text) {
  core_text_append(text, config->shared->env.task);
  if (strncmp(config->shared->env.task, "procgen/", strlen("procgen/")) == 0)
    core_text_appendf(text, " (procgen.mode = %s)", config->shared->procgen.mode);
}

static const char way_out[] = "choose runs by --where env.task=..., or draw their returns: --measure final_return, of "
                              "curves --y episode_return";

int analysis_scale_common(const AnalysisSelection *selection, AnalysisScale *scale) {
  static const char *const names[] = {"no such constants", "human-normalized", "min-max normalized"};

  *scale = selection->count > 0 ? analysis_bounds_of(&selection->runs[0].config).scale : ANALYSIS_SCALE_NONE;
  for (size_t r = 1; r < selection->count; r++) {
    const AnalysisScale other = analysis_bounds_of(&selection->runs[r].config).scale;
    if (other == *scale) continue;

    CoreText text = {0};
    name_task(&selection->runs[0].config, &text);
    core_text_appendf(&text, " (%s) and ", names[*scale]);
    name_task(&selection->runs[r].config, &text);
    int code = core_error(CORE_FAIL, "normalized_score: %s (%s) are not on one scale; %s", core_text_string(&text),
                          names[other], way_out);
    core_text_free(&text);
    return code;
  }
  return CORE_OK;
}

int analysis_scale_missing(const AnalysisSelection *selection) {
  CoreText text = {0};
  if (selection->count > 0) name_task(&selection->runs[0].config, &text);
  int code = core_error(CORE_FAIL, "normalized_score: no constants to normalize returns of %s: there are some for 57 "
                        "Atari games and for Procgen, easy and hard;  %s", core_text_string(&text), way_out);
  core_text_free(&text);
  return code;
}

const char *analysis_scale_description(AnalysisScale scale) {
  static const char *const words[] = {
    "", " Human-normalized: 0 is a policy that acts at random, 1 a person (Agent57's table).",
    " Normalized between the least and the highest return of each game (Cobbe et al. 2020)."};
  return words[scale];
}
