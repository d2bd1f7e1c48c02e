/* Scans lines of standard error (reason.h). */
#include "sweep/program/reason.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sweep/program/tail.h"

enum { LINE_MAX_BYTES = 2048, AGE_MAX = 200 /* lines for which a reason outranks later lines */ };
static const char traceback[] = "Traceback (most recent call last)";

static bool begins(const char *text, const char *start) { return strncmp(text, start, strlen(start)) == 0; }

static bool contains_any(const char *text, const char *const *parts) {
  for (; *parts; parts++)
    if (strstr(text, *parts)) return true;
  return false;
}

static bool begins_any(const char *text, const char *const *starts) {
  for (; *starts; starts++)
    if (begins(text, *starts)) return true;
  return false;
}

/* ---- cleaning ---------------------------------------------------------------------------------------------------- */

/* Returns the length of a character for boxes (U+2500 to U+257F) at `text`. */
static size_t box_length(const char *text) {
  const unsigned char *bytes = (const unsigned char *)text;
  return bytes[0] == 0xe2 && (bytes[1] == 0x94 || bytes[1] == 0x95) && bytes[2] ? 3 : 0;
}

/* Whether the character at `text` is one of the control characters U+0080 to U+009F. */
static bool is_control(const char *text) {
  return (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] < 0xa0;
}

/* Copies what a terminal would show of a line: the text after its last carriage return, without escape sequences,
 * control characters and the right side of a box. */
static void clean(const char *line, size_t length, char cleaned[LINE_MAX_BYTES]) {
  char copy[LINE_MAX_BYTES];
  size_t used = 0, start = length;

  while (length > 0 && strchr(" \t\r", line[length - 1])) length--;
  for (start = length; start > 0 && line[start - 1] != '\r'; start--) continue;
  snprintf(copy, sizeof copy, "%.*s", length - start < sizeof copy ? (int)(length - start) : (int)sizeof copy - 1,
           line + start);

  for (const char *c = copy; *c;) {
    const size_t escape = program_escape_length(c);
    if (escape == 0 && !is_control(c) && ((unsigned char)*c >= ' ' || *c == '\t')) cleaned[used++] = *c;
    c += escape ? escape : is_control(c) ? 2 : 1;
  }
  cleaned[used] = '\0';

  for (bool is_blank = true; is_blank && used > 0;) {
    const size_t last = used >= 3 && box_length(cleaned + used - 3) ? 3 : strchr(" \t", cleaned[used - 1]) != NULL;
    is_blank = last > 0;
    used -= last;
  }
  cleaned[used] = '\0';
}

/* Returns the text without what launchers put before each line of a rank: "[rank0]: ", "[1,0]<stderr>:", "3: ",
 * "(train pid=123) ". */
static const char *skip_label(const char *text) {
  int end = 0, number;
  if (sscanf(text, "[rank%d]:%n", &number, &end) == 1 && end > 0) return text + end + (text[end] == ' ');
  if (sscanf(text, "[%*d,%d]<stderr>:%n", &number, &end) == 1 && end > 0) return text + end + (text[end] == ' ');
  if (sscanf(text, "%*1[0-9]%*[0-9]: %n", &end) == 0 && end > 0) return text + end;
  if (isdigit((unsigned char)text[0]) && text[1] == ':' && text[2] == ' ') return text + 3;
  const char *close = text[0] == '(' ? strchr(text, ')') : NULL, *process = close ? strstr(text, "pid=") : NULL;
  if (process && process < close) return close + 1 + (close[1] == ' ');
  return text;
}

/* Returns the text without time stamps and process ids at its start, which would make equal failures differ:
 * "2024-01-01 10:00:00,123 ", "[2024-01-01T10:00:00Z] ", "10:00:00 ", "==123==". */
static const char *skip_stamp(const char *text) {
  const char *rest = text;
  bool has_digit = false;
  int end = 0, number;
  if (sscanf(text, "==%d==%n", &number, &end) == 1 && end > 0) return text + end + strspn(text + end, " ");
  while (*rest) {
    const size_t length = strcspn(rest, " ");
    const size_t stamp = strspn(rest, "0123456789-:.,/TZ+[](){}|");
    if (stamp < length || length == 0) break;
    has_digit |= strcspn(rest, "0123456789") < length;
    rest += length + strspn(rest + length, " ");
  }
  return has_digit && *rest && strcspn(text, ":-") < (size_t)(rest - text) ? rest : text;
}

static void set_text(char target[PROGRAM_REASON], const char *text) {
  size_t length = strlen(text);
  if (length >= PROGRAM_REASON) {
    length = PROGRAM_REASON - 1;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) length--; /* at a character's start */
  }
  memmove(target, text, length);
  target[length] = '\0';
}

/* ---- kinds of lines ---------------------------------------------------------------------------------------------- */

/* Returns the length of a dotted name at `text`, such as torch.cuda.OutOfMemoryError; 0: none. */
static size_t name_length(const char *text) {
  size_t length = 0;
  if (!isalpha((unsigned char)*text) && *text != '_') return 0;
  while (isalnum((unsigned char)text[length]) || (text[length] && strchr("._$<>", text[length]))) length++;
  return length;
}

/* Whether a line, outside of a traceback, is "SomeError" or "SomeError: text". */
static bool is_exception(const char *text) {
  static const char *const ends[] = {"Error", "Exception", "Interrupt", "SystemExit", "Failure", "Fault"};
  const size_t length = name_length(text);
  if (length == 0 || (text[length] && (text[length] != ':' || text[length + 1] == ':'))) return false;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    const size_t size = strlen(ends[i]);
    if (length > size && strncmp(text + length - size, ends[i], size) == 0 && text[length - size - 1] != '.')
      return true;
  }
  return false;
}

/* Whether the exception only tells that another process has failed, or that this one was asked to end. */
static bool is_wrapper(const char *text) {
  static const char *const names[] = {
    "ChildFailedError", "CalledProcessError", "EOFError", "BrokenPipeError", "ConnectionResetError", "SystemExit",
    "KeyboardInterrupt", "ExceptionGroup", "BaseExceptionGroup", "ProcessRaisedException", "ProcessExitedException",
    "BrokenProcessPool", "DistBackendError", "DistNetworkError", "DistStoreError", "RayTaskError",
    "RemoteTraceback", "_RemoteTraceback", NULL};
  size_t length = name_length(text), start = length;
  while (start > 0 && text[start - 1] != '.') start--;
  for (const char *const *name = names; *name; name++)
    if (strlen(*name) == length - start && strncmp(text + start, *name, length - start) == 0) return true;
  return false;
}

/* Whether the line is never a reason by itself. */
static bool is_noise(const char *text) {
  static const char *const starts[] = {
    "wandb:", "Set the environment variable HYDRA_FULL_ERROR", "For simplicity, JAX has removed", "note: ", "srun: ",
    "make: ***", "The above exception", "During handling of the above", "Exception ignored in", "Execution halted",
    "Aborted", "Calls: ", "Stacktrace:", "stack backtrace:", "goroutine ", "exit status ", "Node.js v", "npm ",
    "mpirun ", "prterun ", "Error executing job with overrides", "terminate called without an active exception",
    "ABORTING", "Primary job ", "Root Cause", "Process ", "error: Recipe ", "hint: ", "help: ", NULL};
  static const char *const parts[] = {"Warning: ", "warnings.warn(", "(See above for error)", "INFO", "DEBUG",
                                      "WARNING", "it/s", "s/it", "%|", "HYDRA_FULL_ERROR", NULL};
  bool has_letter = false;
  for (const char *c = text; *c; c++) has_letter |= isalpha((unsigned char)*c) || (unsigned char)*c >= 0x80;
  return !has_letter || begins_any(text, starts) || contains_any(text, parts);
}

/* Whether a shell says that a process was killed by a signal: "run.sh: line 3: 123 Killed    python3 p.py". */
static bool is_job_message(const char *text) {
  static const char *const names[] = {"Killed", "Terminated", "Segmentation fault", "Aborted", "Bus error", "Floating",
                                      "Illegal instruction", "CPU time limit", "File size limit", NULL};
  const char *line = strstr(text, ": line ");
  int number, process, end = 0;
  if (line && sscanf(line, ": line %d: %d %n", &number, &process, &end) == 2 && end > 0)
    return begins_any(line + end, names);
  return begins_any(text, names) && strlen(text) < 40;
}

/* Whether the line reports an error. */
static bool is_error(const char *text) {
  static const char *const starts[] = {"Error", "ERROR", "error", "Fatal", "FATAL", "fatal", "CRITICAL", "panic: ",
                                       "ValueError", NULL};
  static const char *const parts[] = {": error: ", " ERROR", "[ERROR]", " CRITICAL", "[CRITICAL]", "|ERROR|",
                                      ": fatal: ",
                                      "command not found", "No such file or directory", "Permission denied",
                                      "bad interpreter", " FATAL", "Disk quota exceeded", "No space left", NULL};
  return begins_any(text, starts) || contains_any(text, parts) || is_exception(text);
}

/* Whether the line is the message of a crash that needs no traceback. */
static bool is_crash(const char *text) {
  static const char *const starts[] = {"Fatal Python error: ", "panic: ", "fatal error: ", "Caused by: ",
                                       "Fatal error: exception ", "Fortran runtime error: ", "ERROR: LoadError: ",
                                       "double free or corruption", "free(): ", "malloc(): ", "corrupted ",
                                       "munmap_chunk()", "SUMMARY: ", "*** stack smashing detected",
                                       "*** buffer overflow",
                                       "ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "Error in ", NULL};
  static const char *const parts[] = {"Assertion `", "runtime error: ", "ERROR: AddressSanitizer", NULL};
  return begins_any(text, starts) || contains_any(text, parts);
}

/* ---- the scan ---------------------------------------------------------------------------------------------------- */

/* Offers a reason: a better or equal one replaces the last, and so does any once that one is old. */
static void offer(ProgramReason *reason, ProgramReasonRank rank, const char *text) {
  if (rank < reason->rank && reason->lines - reason->line < AGE_MAX) return;
  set_text(reason->text, text);
  reason->rank = rank;
  reason->line = reason->lines;
}

/* Appends what a message says in its next line. */
static void extend(ProgramReason *reason, const char *separator, const char *text) {
  char joined[2 * LINE_MAX_BYTES];
  snprintf(joined, sizeof joined, "%s%s%s", reason->text, separator, text);
  set_text(reason->text, joined);
  reason->line = reason->lines;
}

/* Ends a traceback with its exception. One without a text gets the failed assertion, or its place. */
static void end_traceback(ProgramReason *reason, const char *text) {
  char line[2 * LINE_MAX_BYTES];
  const bool is_bare = !text[name_length(text)];
  const ProgramReasonRank rank = reason->is_ignored ? PROGRAM_REASON_NOISE
                                 : is_wrapper(text) ? PROGRAM_REASON_WRAPPER : PROGRAM_REASON_EXCEPTION;
  snprintf(line, sizeof line, "%s%s%s", text, is_bare && *reason->source ? ": " : "", is_bare ? reason->source : "");
  offer(reason, rank, line);
  if (reason->line == reason->lines && text[strlen(text) - 1] == ':') reason->prefix = " ";
  reason->is_in_traceback = false;
  reason->is_ignored = false;
  *reason->source = '\0';
}

/* Notes the place of a frame, or the assertion in its source line, for an exception without a text. */
static void add_frame_line(ProgramReason *reason, const char *text) {
  char path[LINE_MAX_BYTES], function[256] = "", place[2 * LINE_MAX_BYTES];
  int number;
  if (begins(text, "assert")) set_text(reason->source, text);
  if (sscanf(text, "File \"%1023[^\"]\", line %d, in %255[^\n]", path, &number, function) < 2) return;
  const char *slash = strrchr(path, '/');
  snprintf(place, sizeof place, "%s:%d%s%s", slash ? slash + 1 : path, number, *function ? ", in " : "", function);
  set_text(reason->source, place);
}

/* Whether a line can be the end of a traceback: "Name", or "Name: text". */
static bool ends_traceback(const char *text) {
  const size_t length = name_length(text);
  return length > 0 && (!text[length] || text[length] == ':') && !is_noise(text);
}

/* Adds a line of a traceback; false: the line is not part of one. */
static bool add_traceback_line(ProgramReason *reason, const char *line) {
  const char *text = line;
  bool is_indented = *line == ' ' || *line == '\t';
  while (*text == ' ' || *text == '\t' || *text == '|' || *text == '+' || box_length(text) > 0) {
    is_indented |= box_length(text) > 0;
    text += box_length(text) ? box_length(text) : 1;
  }

  if (strstr(line, traceback)) {
    reason->is_in_traceback = true;
    *reason->source = '\0';
    return true;
  }
  if (begins(text, "File \"") && strstr(text, "\", line ")) reason->is_in_traceback = is_indented = true;
  if (!reason->is_in_traceback) return false;

  if (begins(line, "  | ") || begins(line, "    | ")) is_indented = !is_exception(text); /* a group's exception */
  if (is_indented) add_frame_line(reason, text);
  else if (ends_traceback(text)) end_traceback(reason, text);
  else return false; /* a line of another process */
  return true;
}

/* Adds a message that continues in the next line; false: it is none. */
static bool add_crash(ProgramReason *reason, const char *text) {
  char message[LINE_MAX_BYTES], place[LINE_MAX_BYTES];
  if (sscanf(text, "terminate called after throwing an instance of '%1023[^']", message) == 1 ||
      sscanf(text, "%*[^ ] terminating due to uncaught exception of type %1023s", message) == 1) {
    offer(reason, PROGRAM_REASON_EXCEPTION, message);
    return true;
  }

  if (begins(text, "what():")) {
    if (reason->rank == PROGRAM_REASON_EXCEPTION) extend(reason, ": ", text + 7 + strspn(text + 7, " "));
    return true;
  }

  const char *panicked = begins(text, "thread '") ? strstr(text, " panicked at ") : NULL;
  if (panicked) { /* without the thread's name and number */
    const size_t length = strlen(panicked);
    offer(reason, PROGRAM_REASON_EXCEPTION, panicked + 1);
    if (panicked[length - 1] == ':') reason->prefix = " ";
    return true;
  }

  if (begins(text, "Exception in thread ")) {
    const char *name = strrchr(text, '"');
    if (!name || !name[1]) return false;
    snprintf(place, sizeof place, "%s", name + 1 + strspn(name + 1, " "));
    offer(reason, PROGRAM_REASON_EXCEPTION, place);
    return true;
  }

  if (!is_crash(text)) return false;
  offer(reason, PROGRAM_REASON_EXCEPTION, begins(text, "Caused by: ") ? text + 11 : text);
  if (text[strlen(text) - 1] == ':') reason->prefix = " ";
  return true;
}

void program_reason_add(ProgramReason *reason, const char *bytes, size_t length) {
  char cleaned[LINE_MAX_BYTES];
  clean(bytes, length, cleaned);
  const char *line = skip_label(cleaned), *text = line;
  while (*text == ' ' || *text == '\t' || box_length(text) > 0) text += box_length(text) ? box_length(text) : 1;
  if (!*text) return;
  reason->lines++;

  const char *separator = reason->prefix;
  reason->prefix = NULL;
  if (separator && strcspn(text, "=-") > 0 && !strstr(line, traceback)) {
    extend(reason, separator, text);
    return;
  }

  reason->is_ignored |= begins(text, "Exception ignored in") || begins(text, "--- Logging error ---");
  if (add_traceback_line(reason, line)) return;
  text = skip_stamp(text);
  if (begins(text, "setup failed with exit code ")) {
    char message[LINE_MAX_BYTES + PROGRAM_REASON];
    snprintf(message, sizeof message, "%s%s%s", text, *reason->text ? ": " : "", reason->text);
    offer(reason, PROGRAM_REASON_EXCEPTION, message);
    return;
  }
  if (add_crash(reason, text)) return;

  const bool is_continued = *line == ' ' || *line == '\t', is_box = begins(line, "\xe2\x95\xad"); /* its top */
  if (is_box || is_noise(text) || is_job_message(text)) offer(reason, PROGRAM_REASON_NOISE, text);
  else if (is_error(text)) offer(reason, PROGRAM_REASON_ERROR, text);
  else offer(reason, is_continued ? PROGRAM_REASON_NOISE : PROGRAM_REASON_LINE, text);
}
