/* ffmpeg as a child that reads frames (video.h). It writes beside the file, which appears whole or not at all. */
#include "trainer/picture/video.h"

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

struct Video {
  char path[CORE_PATH_MAX], part[CORE_PATH_MAX]; /* the file, and what ffmpeg writes */
  size_t frame;                                  /* bytes */
  pid_t pid;                                     /* 0: not running */
  int input;                                     /* our end of the socket; -1: closed */
};

/* A socket, since a write to one whose reader has ended can be told not to raise SIGPIPE. */
static int start(Video *video, const char *const *arguments) {
  int ends[2];
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, defaults;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return core_error_errno(CORE_FAIL, "cannot make a socket for ffmpeg");
  sigemptyset(&none);
  sigfillset(&defaults);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int number = posix_spawnp(&video->pid, arguments[0], &actions, &attributes, (char *const *)arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  video->input = ends[0];
  if (number == 0) return CORE_OK;
  video->pid = 0;
  errno = number;
  if (number != ENOENT) return core_error_errno(CORE_FAIL, "cannot start ffmpeg");
  return core_error(CORE_USAGE, "%.200s: a .mp4 needs ffmpeg, and PATH has none; install ffmpeg, or choose .gif",
                    video->path);
}

int video_create(const char *path, int width, int height, double frame_s, Video **video) {
  char size[32], rate[32], target[CORE_PATH_MAX + 8];
  Video *made = core_memory_zero_allocate(1, sizeof *made);
  made->input = -1;
  made->frame = (size_t)width * (size_t)height * 3;
  snprintf(size, sizeof size, "%dx%d", width, height);
  snprintf(rate, sizeof rate, "%.6f", 1 / frame_s);
  int code = core_files_path(made->path, "%s", path);
  if (code == CORE_OK) code = core_files_path(made->part, "%s.%d.part", path, (int)getpid());
  snprintf(target, sizeof target, "file:%s", made->part);
  /* Players want yuv420p, which has sides of even length. */
  const char *const arguments[] = {
    "ffmpeg", "-loglevel", "error", "-nostdin", "-y", "-f", "rawvideo", "-pixel_format", "rgb24", "-video_size", size,
    "-framerate", rate, "-i", "pipe:0", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-movflags",
    "+faststart", "-f", "mp4", target, NULL};
  if (code == CORE_OK) code = start(made, arguments);
  if (code != CORE_OK) video_destroy(&made);
  *video = made;
  return code;
}

static int failed(const Video *video) {
  return core_error(CORE_FAIL, "%.200s: ffmpeg did not write it; what it says stands above", video->path);
}

int video_add(Video *video, const uint8_t *rgb) {
  for (size_t sent = 0; sent < video->frame;) {
    const ssize_t now = send(video->input, rgb + sent, video->frame - sent, MSG_NOSIGNAL);
    if (now > 0) sent += (size_t)now;
    else if (errno != EINTR) return failed(video);
  }
  return CORE_OK;
}

/* Its exit code, or -1. */
static int wait_for(Video *video) {
  int status = -1;
  if (video->input >= 0) close(video->input);
  video->input = -1;
  while (video->pid > 0 && waitpid(video->pid, &status, 0) < 0 && errno == EINTR) {}
  video->pid = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int video_finish(Video *video) {
  if (wait_for(video) != 0) return failed(video);
  if (rename(video->part, video->path) != 0) return core_error_errno(CORE_FAIL, "%.300s", video->path);
  video->part[0] = '\0';
  return CORE_OK;
}

void video_destroy(Video **video) {
  if (*video == NULL) return;
  if ((*video)->pid > 0) kill((*video)->pid, SIGKILL);
  wait_for(*video);
  if ((*video)->part[0]) unlink((*video)->part);
  free(*video);
  *video = NULL;
}
