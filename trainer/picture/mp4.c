/* ffmpeg as a child process that encodes frames (mp4.h). It writes a temporary file, which is renamed at the end. */
#include "trainer/picture/mp4.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/memory.h"

struct Mp4 {
  char path[CORE_PATH_MAX];
  char temporary[CORE_PATH_MAX]; /* file that ffmpeg writes; "": renamed */
  size_t frame_bytes;
  pid_t pid;                     /* process id of ffmpeg; 0: not running */
  int input;                     /* parent's end of the socket; -1: closed */
};

/* Starts ffmpeg. Frames go through a socket because, unlike a write to a pipe, send() can suppress SIGPIPE. */
static int start(Mp4 *mp4, const char *const *arguments) {
  int ends[2];
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, defaults;

  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return core_error_errno(CORE_FAIL, "cannot create a socket for ffmpeg");
  sigemptyset(&none);
  sigfillset(&defaults);

  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  const int error = posix_spawnp(&mp4->pid, arguments[0], &actions, &attributes, (char *const *)arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  mp4->input = ends[0];

  if (error == 0) return CORE_OK;
  mp4->pid = 0;
  errno = error;
  if (error != ENOENT) return core_error_errno(CORE_FAIL, "cannot start ffmpeg");
  return core_error(CORE_USAGE, "%.200s: .mp4 requires ffmpeg, which is not in PATH; install ffmpeg, or choose .gif",
                    mp4->path);
}

int mp4_create(const char *path, int width, int height, double frame_s, Mp4 **mp4) {
  char size[32], rate[32], target[CORE_PATH_MAX + 8];
  Mp4 *created = core_memory_zero_allocate(1, sizeof *created);

  created->input = -1;
  created->frame_bytes = (size_t)width * (size_t)height * 3;
  snprintf(size, sizeof size, "%dx%d", width, height);
  snprintf(rate, sizeof rate, "%.6f", 1 / frame_s);
  int code = core_files_path(created->path, "%s", path);
  if (code == CORE_OK) code = core_files_path(created->temporary, "%s.%d.part", path, (int)getpid());
  snprintf(target, sizeof target, "file:%s", created->temporary);

  /* Players expect yuv420p, which requires even width and height. */
  const char *const arguments[] = {
    "ffmpeg", "-loglevel", "error", "-nostdin", "-y", "-f", "rawvideo", "-pixel_format", "rgb24", "-video_size", size,
    "-framerate", rate, "-i", "pipe:0", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-movflags",
    "+faststart", "-f", "mp4", target, NULL};

  if (code == CORE_OK) code = start(created, arguments);
  if (code != CORE_OK) mp4_destroy(&created);
  *mp4 = created;
  return code;
}

static int failed(const Mp4 *mp4) {
  return core_error(CORE_FAIL, "%.200s: ffmpeg failed; its messages are above", mp4->path);
}

int mp4_add_frame(Mp4 *mp4, const uint8_t *rgb) {
  for (size_t sent = 0; sent < mp4->frame_bytes;) {
    const ssize_t n = send(mp4->input, rgb + sent, mp4->frame_bytes - sent, MSG_NOSIGNAL);
    if (n > 0) sent += (size_t)n;
    else if (errno != EINTR) return failed(mp4);
  }
  return CORE_OK;
}

/* Closes ffmpeg's input and waits for it. Returns its exit code; -1: it was killed. */
static int wait_for_exit(Mp4 *mp4) {
  int status = -1;
  if (mp4->input >= 0) close(mp4->input);
  mp4->input = -1;
  while (mp4->pid > 0 && waitpid(mp4->pid, &status, 0) < 0 && errno == EINTR) {}
  mp4->pid = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int mp4_finish(Mp4 *mp4) {
  if (wait_for_exit(mp4) != 0) return failed(mp4);
  if (rename(mp4->temporary, mp4->path) != 0) return core_error_errno(CORE_FAIL, "%.300s", mp4->path);
  mp4->temporary[0] = '\0';
  return CORE_OK;
}

void mp4_destroy(Mp4 **mp4) {
  if (*mp4 == NULL) return;
  if ((*mp4)->pid > 0) kill((*mp4)->pid, SIGKILL);
  wait_for_exit(*mp4);
  if ((*mp4)->temporary[0]) unlink((*mp4)->temporary);
  free(*mp4);
  *mp4 = NULL;
}
