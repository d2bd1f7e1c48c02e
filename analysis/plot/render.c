/* Writes the files of a figure (plot.h). Images are made in a temporary directory and then moved, so that an
 * interrupted call leaves no incomplete image. */
#include "analysis/plot/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "core/error.h"
#include "core/files.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/unicode.h"

extern char **environ;

/* ---- gnuplot ---------------------------------------------------------------------------------------------------- */

/* Reads the last line of gnuplot's error output. */
static void last_line(const char *path, char *line, size_t size) {
  char *text = NULL;
  size_t length = 0;
  line[0] = '\0';
  if (core_files_read(path, 0, &text, &length) != CORE_OK) return;
  for (char *save = NULL, *part = strtok_r(text, "\n", &save); part; part = strtok_r(NULL, "\n", &save)) {
    while (*part == ' ') part++;
    if (*part && *part != '^') snprintf(line, size, "%s", part);
  }
  free(text);
}

/* Finds gnuplot: the machine's, or else that of a portable package, whose font is where `font` says. */
static void find_gnuplot(char program[CORE_PATH_MAX], char font[CORE_PATH_MAX]) {
  font[0] = '\0';
  if (core_process_exists("gnuplot") || core_program_library_file("gnuplot", program) != CORE_OK) {
    snprintf(program, CORE_PATH_MAX, "gnuplot");
    return;
  }
  const int directory = (int)(strrchr(program, '/') - program);
  if (snprintf(font, CORE_PATH_MAX, "GDFONTPATH=%.*s", directory, program) >= CORE_PATH_MAX) font[0] = '\0';
}

/* Returns the environment without variables that change gnuplot's defaults, and with `font` if not empty; free() it. */
static char **plain_environment(char *font) {
  static const char *const prefixes[] = {"GNU", "GDFONTPATH=", "FIT_", "PAGER=", "XDG_CONFIG_HOME="};
  size_t count = 0, kept = 0;
  while (environ[count]) count++;
  char **plain = core_memory_zero_allocate(count + 2, sizeof *plain);
  for (size_t i = 0; i < count; i++) {
    bool drop = false;
    for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
      drop = drop || strncmp(environ[i], prefixes[k], strlen(prefixes[k])) == 0;
    if (!drop) plain[kept++] = environ[i];
  }
  if (font[0]) plain[kept] = font;
  return plain;
}

/* Starts one pass of the script, which makes one of the three images; the caller waits for the process. */
static int start_gnuplot(const char *directory, const char *script, int pass, pid_t *child) {
  char messages[CORE_PATH_MAX], program[CORE_PATH_MAX], font[CORE_PATH_MAX], variables[64];
  /* The shell changes the directory: posix_spawn's way needs glibc 2.29. -d: ignore gnuplotrc and ~/.gnuplot, which may
   * set terminals and encodings. */
  static char enter[] = "cd -- \"$0\" && exec \"$@\"";
  char *const arguments[] = {"sh", "-c", enter, (char *)directory, program, "-d", "-e",
                             variables, (char *)script, NULL};
  posix_spawn_file_actions_t actions;

  find_gnuplot(program, font);
  snprintf(variables, sizeof variables, "alone = 1; pass = %d", pass);
  TRY(core_files_path(messages, "%s/messages.%d", directory, pass));

  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);

  char **plain = plain_environment(font);
  const int fault = posix_spawn(child, "/bin/sh", &actions, NULL, arguments, plain);
  free(plain);
  posix_spawn_file_actions_destroy(&actions);
  if (fault == 0) return CORE_OK;

  errno = fault;
  return core_error_errno(CORE_FAIL, "a shell cannot be started for gnuplot");
}

static int finish_gnuplot(const char *directory, int pass, pid_t child) {
  char messages[CORE_PATH_MAX], line[400];
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) { /* interrupted by a signal; the child still runs */
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return CORE_OK;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return core_error(CORE_FAIL, "gnuplot is not installed (Debian: gnuplot-nox); the .gp and .csv files are written");
  TRY(core_files_path(messages, "%s/messages.%d", directory, pass));
  last_line(messages, line, sizeof line);
  return core_error(CORE_FAIL, "gnuplot failed: %s", line[0] ? line : "no message");
}

/* Makes SVG, PNG and PDF in parallel, because drawing takes longer than everything before it. */
static int run_gnuplot(const char *directory, const char *script) {
  enum { PASSES = 3 };
  pid_t children[PASSES];
  int code = CORE_OK, started = 0;
  while (started < PASSES) {
    code = start_gnuplot(directory, script, started + 1, &children[started]);
    if (code != CORE_OK) break;
    started++;
  }
  for (int i = 0; i < started; i++) {
    if (code == CORE_OK) code = finish_gnuplot(directory, i + 1, children[i]);
    else waitpid(children[i], NULL, 0); /* only the first error is reported */
  }
  return code;
}

/* ---- provenance inside the pictures ----------------------------------------------------------------------------- */

/* Appends fallback fonts, so that a machine without the font uses a similar one instead of the browser's serif. */
static void append_with_fonts(CoreText *out, const char *svg) {
  static const char font[] = "font-family=\"Helvetica\"";
  for (const char *match; (match = strstr(svg, font)); svg = match + sizeof font - 1) {
    core_text_append_bytes(out, svg, (size_t)(match - svg));
    core_text_append(out, "font-family=\"Helvetica, Arial, sans-serif\"");
  }
  core_text_append(out, svg);
}

/* Replaces gnuplot's <title> and <desc>. */
static int annotate_svg(const char *svg, const char *name, const char *provenance, CoreText *out) {
  const char *title = strstr(svg, "<title>"), *end = strstr(svg, "</desc>");
  if (!title || !end || end < title) return core_error(CORE_FAIL, "gnuplot wrote no SVG that this program knows");
  core_text_append_bytes(out, svg, (size_t)(title - svg));
  core_text_appendf(out, "<title>%s</title>\n<desc>", name);
  core_text_append_xml(out, provenance);
  append_with_fonts(out, end);
  return CORE_OK;
}

static void append_big_endian(CoreText *out, uint32_t value) {
  const unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16),
                                  (unsigned char)(value >> 8), (unsigned char)value};
  core_text_append_bytes(out, bytes, 4);
}

/* Inserts an iTXt chunk "Description" (uncompressed UTF-8) after the header chunk. */
static int annotate_png(const char *png, size_t size, const char *provenance, CoreText *out) {
  static const char keyword[] = "iTXtDescription\0\0\0\0"; /* and compression flag, method, language, translation */
  enum { SIGNATURE_AND_HEADER = 8 + 25 };
  if (size < SIGNATURE_AND_HEADER || memcmp(png, "\x89PNG\r\n\x1a\n", 8) != 0) {
    return core_error(CORE_FAIL, "gnuplot wrote no PNG");
  }

  CoreText chunk = {0};
  core_text_append_bytes(&chunk, keyword, sizeof keyword);
  core_text_append(&chunk, provenance);

  core_text_append_bytes(out, png, SIGNATURE_AND_HEADER);
  append_big_endian(out, (uint32_t)(chunk.length - 4));
  core_text_append_bytes(out, chunk.data, chunk.length);
  append_big_endian(out, (uint32_t)crc32_z(0, (const unsigned char *)chunk.data, chunk.length));
  core_text_append_bytes(out, png + SIGNATURE_AND_HEADER, size - SIGNATURE_AND_HEADER);

  core_text_free(&chunk);
  return CORE_OK;
}

/* Inserts comments before the last lines ("startxref", offset, "%%EOF"): no offset in the file points after them,
 * and PDF allows comments wherever white space is allowed (ISO 32000-1, 7.2.3). */
static int annotate_pdf(const char *pdf, size_t size, const char *provenance, CoreText *out) {
  static const char mark[] = "startxref";
  if (size < 8 || memcmp(pdf, "%PDF-", 5) != 0) return core_error(CORE_FAIL, "gnuplot wrote no PDF");

  size_t trailer = size;
  while (trailer > 0 && (size - trailer < sizeof mark - 1 || memcmp(pdf + trailer, mark, sizeof mark - 1) != 0))
    trailer--;
  if (trailer == 0) return core_error(CORE_FAIL, "gnuplot wrote a PDF without an end");

  core_text_append_bytes(out, pdf, trailer);
  for (const char *line = provenance; *line;) {
    size_t length = strcspn(line, "\n");
    core_text_append(out, "% ");
    core_text_append_bytes(out, line, length);
    core_text_append(out, "\n");
    line += length + (line[length] == '\n');
  }

  core_text_append_bytes(out, pdf + trailer, size - trailer);
  return CORE_OK;
}

/* Moves one image from the temporary directory to its destination, adding the provenance. */
static int place_picture(const char *from, const char *directory, const char *name, const char *kind,
                         const char *provenance) {
  char source[CORE_PATH_MAX], target[CORE_PATH_MAX];
  char *bytes = NULL;
  size_t size = 0;
  CoreText out = {0};
  TRY(core_files_path(source, "%s/%s.%s", from, name, kind));
  TRY(core_files_path(target, "%s/%s.%s", directory, name, kind));
  TRY(core_files_read(source, 0, &bytes, &size));
  int code = strcmp(kind, "svg") == 0   ? annotate_svg(bytes, name, provenance, &out)
             : strcmp(kind, "png") == 0 ? annotate_png(bytes, size, provenance, &out)
                                        : annotate_pdf(bytes, size, provenance, &out);
  if (code == CORE_OK) code = core_files_write_atomic(target, out.data, out.length);
  core_text_free(&out);
  free(bytes);
  return code;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static int write_csv(const char *directory, const char *name, const char *provenance, const char *csv) {
  char path[CORE_PATH_MAX];
  CoreText text = {0};
  TRY(core_files_path(path, "%s/%s.csv", directory, name));
  for (const char *line = provenance; *line;) {
    size_t length = strcspn(line, "\n");
    core_text_append_csv_comment(&text, line, length);
    line += length + (line[length] == '\n');
  }
  core_text_append(&text, csv);
  int code = core_files_write_atomic(path, text.data, text.length);
  core_text_free(&text);
  return code;
}

static int write_script(AnalysisPlot *plot, const char *directory, const char *temporary, const char *name,
                        const char *provenance) {
  char path[CORE_PATH_MAX], copy[CORE_PATH_MAX];
  CoreText script = {0};
  TRY(core_files_path(path, "%s/%s.gp", directory, name));
  TRY(core_files_path(copy, "%s/%s.gp", temporary, name));
  analysis_plot_script(plot, name, provenance, &script);
  int code = core_files_write_atomic(path, script.data, script.length);
  if (code == CORE_OK) code = core_files_write_atomic(copy, script.data, script.length);
  core_text_free(&script);
  return code;
}

static int render_in(AnalysisPlot *plot, const char *directory, const char *temporary, const char *name,
                     const char *provenance, const char *csv) {
  char script[CORE_PATH_MAX];
  TRY(write_csv(directory, name, provenance, csv));
  TRY(write_script(plot, directory, temporary, name, provenance));
  TRY(core_files_path(script, "%s.gp", name));
  TRY(run_gnuplot(temporary, script));
  TRY(place_picture(temporary, directory, name, "svg", provenance));
  TRY(place_picture(temporary, directory, name, "png", provenance));
  TRY(core_files_path(script, "%s/%s.pdf", temporary, name));
  return core_files_exists(script) ? place_picture(temporary, directory, name, "pdf", provenance) : CORE_OK;
}

int analysis_render(AnalysisPlot *plot, const char *directory, const char *name, const char *provenance,
                    const char *csv) {
  char temporary[CORE_PATH_MAX];
  TRY(core_files_make_directories(directory));
  TRY(core_files_path(temporary, "%s/.%s-XXXXXX", directory, name));
  if (!mkdtemp(temporary))
    return core_error_errno(CORE_FAIL, "%s: no file can be written here (choose another folder with -o)", directory);
  int code = render_in(plot, directory, temporary, name, provenance, csv);
  CoreText message = {0}; /* the first error is reported, not one of the cleanup */
  core_text_append(&message, core_error_message());
  core_files_remove_tree(temporary);
  if (code != CORE_OK) core_error(code, "%s", core_text_string(&message));
  core_text_free(&message);
  return code;
}
