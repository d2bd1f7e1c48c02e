/* Manual pages: the sections of --help (help.h) between the header and the references of man(1). */
#include "core/command/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/text.h"
#include "core/version.h"

typedef struct Page {
  const CoreProgram *program;
  const CoreCommand *command; /* NULL: page of the program */
  CoreHelp help;
} Page;

/* Prints "sweep-plan" in troff. */
static void append_name(const Page *page, CoreText *text) {
  core_text_append(text, page->program->name);
  if (!page->command) return;
  core_text_append(text, "\\-");
  for (const char *c = page->command->name; *c; c++)
    core_text_append_bytes(text, *c == '-' ? "\\-" : c, *c == '-' ? 2 : 1);
}

static void print_head(Page *page, const char *summary) {
  CoreText name = {0};
  append_name(page, &name);
  fprintf(page->help.out, ".TH \"%s\" \"1\" \"%s\" \"%s %s\" \"User Commands\"\n.nh\n.ad l\n", core_text_string(&name),
          core_date(), page->program->name, core_version());
  core_help_heading(&page->help, "Name");
  fprintf(page->help.out, "%s \\-\n", core_text_string(&name));
  core_help_text(&page->help, summary);
  core_text_free(&name);
}

static void print_references(Page *page) {
  static const char *const programs[] = {"sweep", "trainer", "analyze"};
  const char *program = page->program->name;
  core_help_heading(&page->help, "See also");

  if (page->command) {
    fprintf(page->help.out, ".BR %s (1),\n", program);
  } else {
    for (const CoreCommand *command = page->program->commands; command->name; command++) {
      const Page other = {.program = page->program, .command = command};
      CoreText name = {0};
      append_name(&other, &name);
      if (command->summary) fprintf(page->help.out, ".BR %s (1),\n", core_text_string(&name));
      core_text_free(&name);
    }
  }

  size_t left = sizeof programs / sizeof *programs;
  for (size_t i = 0; i < left; i++)
    if (strcmp(programs[i], program) != 0) fprintf(page->help.out, ".BR %s (1),\n", programs[i]);
  fputs("and the directory share/doc/sweep of the installation.\n", page->help.out);
}

static void print_command(const CoreManual *manual, const CoreOption *table, void *to) {
  Page *page = to;
  core_help_heading(&page->help, "Synopsis");
  core_help_usage(&page->help, manual->usage);
  core_help_heading(&page->help, "Description");
  core_help_text(&page->help, manual->about);
  if (!page->command) core_options_help_commands(&page->help, page->program);
  core_options_help(&page->help, table);
  if (manual->more) manual->more(&page->help);
}

/* The page of a program with a default command is that command's, with the other commands added. */
static void print_program(Page *page) {
  const CoreProgram *program = page->program;
  CoreText summary = {0}, usage = {0};
  core_text_append_bytes(&summary, program->intro, strcspn(program->intro, ".:\n"));
  print_head(page, core_text_string(&summary));

  if (program->usual) {
    core_options_describe(core_options_find(program, program->usual), print_command, page);
  } else {
    core_text_appendf(&usage, "%s COMMAND [OPTIONS] ...\n%s --help | --version | --completion bash|zsh|fish",
                      program->name, program->name);
    core_help_heading(&page->help, "Synopsis");
    core_help_usage(&page->help, core_text_string(&usage));
    core_help_heading(&page->help, "Description");
    core_help_text(&page->help, program->intro);
    core_options_help_commands(&page->help, program);
  }

  core_text_free(&summary);
  core_text_free(&usage);
}

static int write_page(const CoreProgram *program, const CoreCommand *command, const char *directory) {
  char path[CORE_PATH_MAX], *text = NULL;
  size_t size = 0;
  TRY(core_files_path(path, "%s/%s%s%s.1", directory, program->name, command ? "-" : "", command ? command->name : ""));
  Page page = {.program = program, .command = command, .help = {.out = open_memstream(&text, &size), .manual = true}};
  CORE_CHECK(page.help.out);

  if (command) {
    print_head(&page, command->summary);
    core_options_describe(command, print_command, &page);
  } else {
    print_program(&page);
  }

  print_references(&page);
  fclose(page.help.out);
  const int code = core_files_write_unsynced(path, text, size);
  free(text);
  return code;
}

int core_manual_write(const CoreProgram *program, const char *directory) {
  TRY(core_files_make_directories(directory));
  TRY(write_page(program, NULL, directory));
  for (const CoreCommand *command = program->commands; command->name; command++)
    if (command->summary) TRY(write_page(program, command, directory));
  return CORE_OK;
}
