/* Translates a PTX file to C functions, one per kernel or function. */
#include <stdlib.h>
#include <string.h>

#include "core/device/device.h"
#include "core/memory.h"
#include "ptx.h"

/* ---- declarations ------------------------------------------------------------------------------------------------ */

/* Reads the next word of a declaration, up to a space. Returns false at its end. */
static bool next_word(const char **at, char word[PTX_NAME_MAX]) {
  *at += strspn(*at, " ");
  const size_t length = strcspn(*at, " ");
  if (length == 0 || length >= PTX_NAME_MAX) return false;
  memcpy(word, *at, length);
  word[length] = '\0';
  *at += length;
  return true;
}

/* ".param .align 8 .b8 name[16]", ".param .b64 name", ".extern .shared .align 128 .b8 name[]": the text
 * after the name of the space. *rest becomes an array's initializer. */
static int read_variable(const PtxScope *scope, const char *text, int kind, PtxSymbol *symbol, const char **rest) {
  char word[PTX_NAME_MAX];
  *symbol = (PtxSymbol){.kind = kind, .alignment = 1};
  while (next_word(&text, word) && word[0] == '.') {
    if (strcmp(word, ".align") == 0 && next_word(&text, word)) symbol->alignment = strtoul(word, NULL, 10);
    else if (ptx_type_of(word + 1) != PTX_TYPE_NONE) symbol->type = ptx_type_of(word + 1);
    else return ptx_refuse(scope, "a declaration that is not known:", word);
  }
  char *bracket = strchr(word, '[');
  symbol->bytes = ptx_type_bytes(symbol->type) * (bracket ? strtoul(bracket + 1, NULL, 10) : 1);
  if (bracket) *bracket = '\0';
  if (symbol->alignment < ptx_type_bytes(symbol->type)) symbol->alignment = ptx_type_bytes(symbol->type);
  if (symbol->type == PTX_TYPE_NONE || word[0] == '.' || word[0] == '\0')
    return ptx_refuse(scope, "a declaration that is not known:", scope->text);
  *rest = text;
  return core_text_copy(symbol->name, sizeof symbol->name, word, "name");
}

/* ".reg .b32 %r<63>" or ".reg .b64 %SP, %SPL": symbols, and C that declares them. */
static int translate_registers(PtxScope *scope, const char *text, CoreText *c) {
  char word[PTX_NAME_MAX];
  PtxParts part;
  size_t parts;
  const PtxType type = next_word(&text, word) && word[0] == '.' ? ptx_type_of(word + 1) : PTX_TYPE_NONE;
  TRY(ptx_cut_vector(scope, text, part, &parts));
  if (type == PTX_TYPE_NONE || parts == 0) return ptx_refuse(scope, "registers of an unknown type:", text);
  const char *rubbish = type == PTX_TYPE_F32 ? "ptx_f32_of((uint32_t)PTX_RUBBISH)"
                        : type == PTX_TYPE_F64 ? "ptx_f64_of(PTX_RUBBISH)" : "PTX_RUBBISH";
  for (size_t i = 0; i < parts; i++) {
    PtxSymbol symbol = {.kind = PTX_REGISTER, .type = type};
    char *bracket = strchr(part[i], '<');
    symbol.is_numbered = bracket != NULL;
    symbol.count = bracket ? strtol(bracket + 1, NULL, 10) : 1;
    if (bracket) *bracket = '\0';
    TRY(core_text_copy(symbol.name, sizeof symbol.name, part[i] + (part[i][0] == '%'), "register"));
    TRY(ptx_declare(scope, symbol));
    for (long k = 0; k < symbol.count; k++) {
      core_text_appendf(c, "PTX_%s r_%s", ptx_type_name(type), symbol.name);
      if (symbol.is_numbered) core_text_appendf(c, "%ld", k);
      core_text_appendf(c, " = (PTX_%s)%s; ", ptx_type_name(type), rubbish);
    }
  }
  return CORE_OK;
}

/* Declares memory of a function or of a call. */
static int translate_memory(PtxScope *scope, const char *text, int kind, CoreText *c) {
  PtxSymbol symbol;
  const char *rest;
  TRY(read_variable(scope, text, kind, &symbol, &rest));
  TRY(ptx_declare(scope, symbol));
  core_text_appendf(c, "unsigned char m_%s[%zu] __attribute__((aligned(%zu))); ", symbol.name, symbol.bytes,
                    symbol.alignment);
  core_text_appendf(c, "memset(m_%s, (int)(PTX_RUBBISH & 255), %zu);", symbol.name, symbol.bytes);
  return CORE_OK;
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

static int translate_plain(const PtxContext *context, const char *text, CoreText *c) {
  PtxInstruction in;
  if (strncmp(text, ".reg ", 5) == 0) return translate_registers(context->scope, text + 5, c);
  if (strncmp(text, ".param ", 7) == 0) return translate_memory(context->scope, text + 7, PTX_PARAMETER, c);
  if (strncmp(text, ".local ", 7) == 0) return translate_memory(context->scope, text + 7, PTX_LOCAL, c);
  if (strncmp(text, ".pragma \"nounroll\"", 18) == 0) return CORE_OK;
  if (strncmp(text, ".pragma \"used_bytes_mask ", 25) == 0) return CORE_OK;
  TRY(ptx_cut(context->scope, text, &in));
  if (in.guard[0] != '\0') {
    core_text_appendf(c, "if (%s", in.is_negated ? "!" : "");
    TRY(ptx_value(context->scope, in.guard, PTX_TYPE_PRED, false, c));
    core_text_append(c, ") ");
  }
  return ptx_translate_instruction(context, &in, c);
}

/* Keeps the line numbers of the C those of the PTX file. */
static void go_to_line(const PtxScope *scope, int *at, int line, CoreText *c) {
  enum { NEAR = 8 };
  if (line < *at || line > *at + NEAR) core_text_appendf(c, "\n#line %d \"%s\"\n", line, scope->path);
  else while (*at < line) core_text_append(c, "\n"), ++*at;
  *at = line;
}

/* Translates the statements of a body, from the one after its opening brace; *i moves past its closing brace. */
static int translate_body(const PtxContext *context, const PtxSource *source, size_t *i, CoreText *c) {
  enum { DEPTH_MAX = 8 };
  PtxScope *scope = context->scope;
  size_t outside[DEPTH_MAX];
  int depth = 0, line = 0;
  for (; *i < source->count; ++*i) {
    const PtxStatement *s = &source->statement[*i];
    scope->line = s->line;
    scope->text = s->text;
    go_to_line(scope, &line, s->line, c);
    if (s->kind == PTX_OPEN) {
      if (s->text[0] != '\0' || depth == DEPTH_MAX)
        return ptx_refuse(scope, "a brace where none is expected after", s->text);
      outside[depth++] = scope->count;
      core_text_append(c, "{");
    } else if (s->kind == PTX_CLOSE) {
      core_text_append(c, "}");
      if (depth == 0) return ++*i, CORE_OK;
      scope->count = outside[--depth];
    } else if (s->kind == PTX_LABEL) {
      if (s->text[0] != '$') return ptx_refuse(scope, "no label:", s->text);
      core_text_appendf(c, "%s:;", s->text + 1);
    } else TRY(translate_plain(context, s->text, c));
  }
  return ptx_refuse(scope, "the file ends within", "a function");
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* Demangles "_Z17ops_sample_kernel9OpsSample" to "ops_sample". */
static int read_kernel_name(const PtxScope *scope, const char *mangled, char name[PTX_NAME_MAX]) {
  char *start;
  const unsigned long length = strncmp(mangled, "_Z", 2) == 0 ? strtoul(mangled + 2, &start, 10) : 0;
  const size_t end = strlen("_kernel");
  if (length <= end || length >= PTX_NAME_MAX || strlen(start) < length ||
      strncmp(start + length - end, "_kernel", end) != 0)
    return ptx_refuse(scope, "a kernel that core/device/device_entries.inc did not make:", mangled);
  memcpy(name, start, length - end);
  name[length - end] = '\0';
  return CORE_OK;
}

/* Declares the parameters in brackets, as symbols of the scope and as C. Lists may be long. */
static int translate_parameters(PtxScope *scope, const char *list, CoreText *c) {
  const char *at = list + (list[0] == '(');
  while (*at != '\0' && *at != ')') {
    char one[2 * PTX_NAME_MAX];
    PtxSymbol symbol;
    const char *rest, *word = one;
    const size_t length = strcspn(at, ",)");
    if (length >= sizeof one) return ptx_refuse(scope, "a name that is too long:", at);
    memcpy(one, at, length);
    one[length] = '\0';
    word += strspn(word, " ");
    if (*word != '\0' && strncmp(word, ".param ", 7) != 0) return ptx_refuse(scope, "no parameter:", one);
    if (*word != '\0') {
      TRY(read_variable(scope, word + 7, PTX_PARAMETER, &symbol, &rest));
      TRY(ptx_declare(scope, symbol));
      core_text_appendf(c, ", unsigned char *m_%s", symbol.name);
    }
    at += length + (at[length] == ',');
  }
  return CORE_OK;
}

/* ".func (.param .b32 r) name(.param .b64 a, ...)" or ".visible .entry name(...)" in parts; brackets are kept. */
typedef struct Head {
  bool is_kernel;
  char results[PTX_NAME_MAX], name[PTX_NAME_MAX];
  const char *parameters; /* parameters, within the text */
} Head;

static int read_head(const PtxScope *scope, const char *text, Head *head) {
  *head = (Head){0};
  while (*text == '.' || *text == ' ') {
    const size_t length = strcspn(text, " ");
    if (strncmp(text, ".entry", 6) == 0) head->is_kernel = true;
    else if (*text == '.' && strncmp(text, ".func", 5) != 0 && strncmp(text, ".visible", 8) != 0)
      return ptx_refuse(scope, "a function of an unknown kind:", text);
    text += *text == ' ' ? 1 : length;
  }
  if (*text == '(') {
    const size_t length = strcspn(text, ")") + 1;
    if (length >= PTX_NAME_MAX) return ptx_refuse(scope, "a name that is too long:", text);
    memcpy(head->results, text, length);
    text += length + strspn(text + length, " ");
  }
  const size_t length = strcspn(text, " (");
  if (length == 0 || length >= PTX_NAME_MAX) return ptx_refuse(scope, "no function:", text);
  memcpy(head->name, text, length);
  text += length + strspn(text + length, " ");
  head->parameters = text;
  const size_t rest = strlen(text);
  if (rest > 0 && (text[0] != '(' || text[rest - 1] != ')')) return ptx_refuse(scope, "a function's directive:", text);
  return CORE_OK;
}

static PtxFunction *add_function(PtxModule *module) {
  if (module->functions == module->capacity) {
    module->capacity = module->capacity ? 2 * module->capacity : 64;
    module->function = core_memory_resize(module->function, module->capacity * sizeof *module->function);
  }
  module->function[module->functions] = (PtxFunction){0};
  return &module->function[module->functions++];
}

/* Writes a function's name, prototype and first line: for a kernel as the emulator calls it, else a name with
 * the source's index, and a pointer per parameter, results first. */
static int translate_head(const PtxContext *context, const Head *head, size_t symbols_before, PtxFunction *function) {
  PtxScope *scope = context->scope;
  CoreText *prototype = &function->prototype, unused = {0};
  function->is_kernel = head->is_kernel;
  if (!head->is_kernel) {
    core_text_appendf(prototype, "void f%d_%s(const CoreDeviceThread *at", context->number, head->name);
    TRY(translate_parameters(scope, head->results, prototype));
    TRY(translate_parameters(scope, head->parameters, prototype));
    return core_text_append(prototype, ")"), CORE_OK;
  }
  TRY(read_kernel_name(scope, head->name, function->name));
  const int code = translate_parameters(scope, head->parameters, &unused);
  core_text_free(&unused);
  TRY(code);
  if (scope->count != symbols_before + 1) return ptx_refuse(scope, "another number of arguments than one:", head->name);
  const PtxSymbol *arguments = &scope->symbol[scope->count - 1];
  function->argument_bytes = arguments->bytes;
  core_text_appendf(prototype, "void %s(const CoreDeviceThread *at, const void *arguments)", function->name);
  core_text_appendf(&function->body, "const void *const m_%s = arguments; ", arguments->name);
  core_text_append(&function->body, "ptx_recent = (PtxRange){0, 0}; ");
  core_text_appendf(&function->body, "ptx_arguments = (PtxRange){(uint64_t)(uintptr_t)arguments,"
                    " (uint64_t)(uintptr_t)arguments + %zu}; ", arguments->bytes);
  core_text_append(&function->body, "static bool is_noted; if (!is_noted) is_noted = true, ptx_note(__func__); ");
  core_text_append(&function->body, "if (ptx_watches) ptx_watch_begin(at, __func__); ");
  return CORE_OK;
}

/* Translates the function whose head is at *i. */
static int translate_function(PtxModule *module, const PtxSource *source, size_t *i, int number) {
  PtxScope *scope = core_memory_allocate(sizeof *scope);
  *scope = module->scope;
  const PtxContext context = {scope, number};
  PtxFunction *function = add_function(module);
  const size_t first = *i;
  Head head;
  int code = read_head(scope, source->statement[*i].text, &head);
  if (code == CORE_OK) code = translate_head(&context, &head, module->scope.count, function);
  core_text_append(&function->body, "uint32_t carry = 0;");
  ++*i;
  if (code == CORE_OK) code = translate_body(&context, source, i, &function->body);
  function->lines = *i - first;
  free(scope);
  return code;
}

/* ---- the module -------------------------------------------------------------------------------------------------- */

/* ".global .align 16 .b8 name[128] = {70, ...}". Names are unique in the module, across sources. */
static int translate_array(PtxModule *module, const char *text) {
  PtxSymbol symbol;
  const char *rest;
  TRY(read_variable(&module->scope, text, PTX_ARRAY, &symbol, &rest));
  if (symbol.type != PTX_TYPE_U8)
    return ptx_refuse(&module->scope, "an array of other things than bytes:", symbol.name);
  core_text_appendf(&module->declarations, "extern unsigned char g_%s[%zu];\n", symbol.name, symbol.bytes);
  core_text_appendf(&module->arrays, "unsigned char g_%s[%zu] __attribute__((aligned(%zu)))%s;\n", symbol.name,
                    symbol.bytes, symbol.alignment, rest);
  core_text_appendf(&module->ranges, "  {g_%s, g_%s + %zu},\n", symbol.name, symbol.name, symbol.bytes);
  return ptx_declare(&module->scope, symbol);
}

/* Declares functions and arrays, which may be used before their definition. */
static int declare_all(PtxModule *module, const PtxSource *source) {
  PtxScope *scope = &module->scope;
  Head head;
  for (size_t i = 0; i < source->count; i++) {
    const PtxStatement *s = &source->statement[i];
    PtxSymbol symbol;
    const char *rest;
    scope->line = s->line;
    scope->text = s->text;
    if (s->kind == PTX_OPEN && s->text[0] != '\0') {
      TRY(read_head(scope, s->text, &head));
      symbol = (PtxSymbol){.kind = PTX_FUNCTION};
      TRY(core_text_copy(symbol.name, sizeof symbol.name, head.name, "function"));
      if (!head.is_kernel) TRY(ptx_declare(scope, symbol));
    } else if (strncmp(s->text, ".global ", 8) == 0) {
      TRY(translate_array(module, s->text + 8));
    } else if (strncmp(s->text, ".extern .shared ", 16) == 0) {
      TRY(read_variable(scope, s->text + 16, PTX_SHARED, &symbol, &rest));
      TRY(ptx_declare(scope, symbol));
    }
  }
  return CORE_OK;
}

int ptx_translate(PtxModule *module, const PtxSource *source, int number) {
  module->scope = (PtxScope){.path = source->path};
  TRY(declare_all(module, source));
  for (size_t i = 0; i < source->count;) {
    const PtxStatement *s = &source->statement[i];
    module->scope.line = s->line;
    module->scope.text = s->text;
    const bool is_declared = strncmp(s->text, ".global ", 8) == 0 || strncmp(s->text, ".extern .shared ", 16) == 0 ||
                             strncmp(s->text, ".func ", 6) == 0;
    if (s->kind == PTX_OPEN && s->text[0] != '\0') TRY(translate_function(module, source, &i, number));
    else if (s->kind == PTX_PLAIN && is_declared) i++;
    else return ptx_refuse(&module->scope, "a statement that is not known outside of functions:", s->text);
  }
  return CORE_OK;
}

void ptx_module_free(PtxModule *module) {
  for (size_t i = 0; i < module->functions; i++) {
    core_text_free(&module->function[i].prototype);
    core_text_free(&module->function[i].body);
  }
  free(module->function);
  core_text_free(&module->arrays);
  core_text_free(&module->declarations);
  core_text_free(&module->ranges);
}
