/* A frame is drawn before a step and added at the next one: the last frame of a .gif is shown longer, and is known only
 * when the attempt has ended (evaluation_video.h). */
#include "trainer/run/evaluation_video.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"
#include "sim/draw/draw_image.h"
#include "store/workspace/paths.h"
#include "trainer/picture/picture.h"

enum { PIXELS = 240 };
static const double VIDEO_S_MAX = 10, FRAME_S = 0.04; /* simulated seconds: in total, and per frame at least */

struct EvaluationVideo {
  Picture *picture;
  int every, most;            /* steps per frame, and maximum recorded steps */
  bool has_frame;             /* whether rgb has a frame that is not added yet */
  int code;                   /* code of the first failure */
  char problem[256];
  uint8_t rgb[PIXELS * PIXELS * 3];
};

int evaluation_video_check(const CoreConfig *config, const Env *env) {
  char every[32];
  if (config->eval.video_every == 0 || config->eval.count == 0) return CORE_OK;
  snprintf(every, sizeof every, "%lld", (long long)config->eval.video_every);
  if (!env->picture) return env_unsupported(env, "eval.video_every", every, "pictures", "eval.video_every to 0");
  if (sim_draw_image_available()) return CORE_OK;
  return core_error(CORE_USAGE, "eval.video_every = %s: this trainer was built without libgd; set it to 0, or install "
                                "libgd (libgd-dev, gd-devel) and build again", every);
}

static void note(EvaluationVideo *video, int code) {
  if (code == CORE_OK || video->code != CORE_OK) return;
  video->code = code;
  snprintf(video->problem, sizeof video->problem, "%s", core_error_message());
}

static int add_frame(EvaluationVideo *video, bool last) {
  video->has_frame = false;
  return picture_add_pixels(video->picture, &(SimDrawPixels){PIXELS, PIXELS, video->rgb}, last);
}

static void look(void *context, Env *env, int step) {
  EvaluationVideo *video = context;
  if (video->code != CORE_OK || step % video->every != 0 || step > video->most) return;
  if (video->has_frame) note(video, add_frame(video, false));
  note(video, env->picture->draw(env, 0, PIXELS, PIXELS, video->rgb));
  video->has_frame = video->code == CORE_OK;
}

void evaluation_video_begin(Training *training, const char *root, const char *id, EvaluationVideo **video) {
  char path[CORE_PATH_MAX], name[STORE_VIDEO_NAME];
  const int64_t every = training->config.eval.video_every;
  const Env *env = training->evaluator.env;
  *video = NULL;
  if (every == 0 || !env || training_evaluation_number(training) % every != 0) return;

  EvaluationVideo *created = core_memory_zero_allocate(1, sizeof *created);
  const double step_s = env->picture->step_seconds(env);
  created->every = (int)ceil(FRAME_S / step_s - 1e-6);
  created->most = (int)(VIDEO_S_MAX / step_s);

  store_video_name(training->position.iteration, name);
  note(created, store_path_run(root, id, name, path));
  if (created->code == CORE_OK)
    note(created, picture_create(path, PICTURE_PIXELS, created->every * step_s, &created->picture));
  training->evaluator.watcher = (EvaluateWatcher){look, created};
  *video = created;
}

void evaluation_video_end(Training *training, Progress *progress, bool is_finished, EvaluationVideo **video) {
  EvaluationVideo *created = *video;
  training->evaluator.watcher = (EvaluateWatcher){0};
  if (!created) return;
  if (is_finished && created->has_frame) note(created, add_frame(created, true));
  if (is_finished && created->code == CORE_OK) note(created, picture_write(created->picture));
  if (is_finished && created->code != CORE_OK)
    progress_message(progress, "warning: no video of this evaluation: %s", created->problem);
  picture_destroy(&created->picture);
  free(created);
  *video = NULL;
}
