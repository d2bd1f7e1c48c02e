/* Types, names and operands of PTX, and their C. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ptx.h"

/* ---- types ------------------------------------------------------------------------------------------------------- */

static const struct { const char *name; unsigned bytes; } types[] = {
  [PTX_TYPE_NONE] = {"", 0}, [PTX_TYPE_PRED] = {"PRED", 0}, [PTX_TYPE_U8] = {"U8", 1}, [PTX_TYPE_S8] = {"S8", 1},
  [PTX_TYPE_U16] = {"U16", 2}, [PTX_TYPE_S16] = {"S16", 2}, [PTX_TYPE_U32] = {"U32", 4}, [PTX_TYPE_S32] = {"S32", 4},
  [PTX_TYPE_U64] = {"U64", 8}, [PTX_TYPE_S64] = {"S64", 8}, [PTX_TYPE_F32] = {"F32", 4}, [PTX_TYPE_F64] = {"F64", 8}};

PtxType ptx_type_of(const char *word) {
  static const struct { const char *word; PtxType type; } words[] = {
    {"pred", PTX_TYPE_PRED}, {"b8", PTX_TYPE_U8}, {"u8", PTX_TYPE_U8}, {"s8", PTX_TYPE_S8},
    {"b16", PTX_TYPE_U16}, {"u16", PTX_TYPE_U16}, {"s16", PTX_TYPE_S16},
    {"b32", PTX_TYPE_U32}, {"u32", PTX_TYPE_U32}, {"s32", PTX_TYPE_S32},
    {"b64", PTX_TYPE_U64}, {"u64", PTX_TYPE_U64}, {"s64", PTX_TYPE_S64},
    {"f32", PTX_TYPE_F32}, {"f64", PTX_TYPE_F64}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i].word, word) == 0) return words[i].type;
  return PTX_TYPE_NONE;
}
unsigned ptx_type_bytes(PtxType type) { return types[type].bytes; }
const char *ptx_type_name(PtxType type) { return types[type].name; }

static bool is_real(PtxType type) { return type == PTX_TYPE_F32 || type == PTX_TYPE_F64; }
static bool is_signed(PtxType type) {
  return type == PTX_TYPE_S8 || type == PTX_TYPE_S16 || type == PTX_TYPE_S32 || type == PTX_TYPE_S64;
}

/* ---- symbols ----------------------------------------------------------------------------------------------------- */

int ptx_refuse(const PtxScope *scope, const char *what, const char *word) {
  return core_error(CORE_USAGE, "%s:%d: %s: %s '%s'; the translator is tests/ptx, its table of instructions "
                    "tests/ptx/instructions.def", scope->path, scope->line, scope->text, what, word);
}

int ptx_declare(PtxScope *scope, PtxSymbol symbol) {
  if (scope->count == PTX_SYMBOLS_MAX) return ptx_refuse(scope, "too many names", symbol.name);
  scope->symbol[scope->count++] = symbol;
  return CORE_OK;
}

/* Whether the symbol is `name`, or a range of registers %r1 ... that contains it. */
static bool is_named(const PtxSymbol *symbol, const char *name) {
  const size_t length = strlen(symbol->name);
  if (!symbol->is_numbered) return strcmp(symbol->name, name) == 0;
  if (strncmp(symbol->name, name, length) != 0 || !isdigit((unsigned char)name[length])) return false;
  char *end;
  const long number = strtol(name + length, &end, 10);
  return *end == '\0' && number < symbol->count;
}

const PtxSymbol *ptx_find_symbol(const PtxScope *scope, const char *name) {
  if (*name == '%') name++;
  for (size_t i = scope->count; i-- > 0;)
    if (is_named(&scope->symbol[i], name)) return &scope->symbol[i];
  return NULL;
}

/* ---- splitting --------------------------------------------------------------------------------------------------- */

/* Reads the next part of a list, up to a comma outside brackets. */
static int next_part(const PtxScope *scope, const char **at, char part[PTX_NAME_MAX]) {
  size_t length = 0;
  int depth = 0;
  for (; **at != '\0' && (depth > 0 || **at != ','); (*at)++) {
    if (strchr("{([", **at)) depth++;
    if (strchr("})]", **at)) depth--;
    if (**at == ' ' && (length == 0 || (*at)[1] == ',' || (*at)[1] == '\0')) continue;
    if (length + 1 >= PTX_NAME_MAX) return ptx_refuse(scope, "an operand that is too long:", *at);
    part[length++] = **at;
  }
  part[length] = '\0';
  if (**at == ',') (*at)++;
  return CORE_OK;
}

static int cut_list(const PtxScope *scope, const char *text, PtxParts part, size_t *parts) {
  for (*parts = 0; text[strspn(text, " ")] != '\0'; ++*parts) {
    if (*parts == PTX_OPERANDS_MAX) return ptx_refuse(scope, "too many operands:", text);
    TRY(next_part(scope, &text, part[*parts]));
  }
  return CORE_OK;
}

int ptx_cut(const PtxScope *scope, const char *text, PtxInstruction *instruction) {
  *instruction = (PtxInstruction){0};
  if (*text == '@') {
    instruction->is_negated = text[1] == '!';
    text += instruction->is_negated ? 3 : 2; /* @!% */
    const size_t length = strcspn(text, " ");
    if (length >= PTX_NAME_MAX) return ptx_refuse(scope, "a name that is too long:", text);
    memcpy(instruction->guard, text, length);
    text += length + strspn(text + length, " ");
  }
  const size_t length = strcspn(text, " ");
  if (length >= PTX_NAME_MAX) return ptx_refuse(scope, "a name that is too long:", text);
  memcpy(instruction->name, text, length);
  return cut_list(scope, text + length, instruction->operand, &instruction->operands);
}

int ptx_cut_vector(const PtxScope *scope, const char *operand, PtxParts part, size_t *parts) {
  const size_t length = strlen(operand);
  if (length < 2 || !strchr("{(", operand[0])) return cut_list(scope, operand, part, parts);
  char inner[PTX_NAME_MAX];
  TRY(core_text_copy(inner, sizeof inner, operand + 1, "operand"));
  inner[length - 2] = '\0';
  return cut_list(scope, inner, part, parts);
}

/* ---- C for operands ---------------------------------------------------------------------------------------------- */

/* Parses a literal to the bits of a type: 42, -1, 0x2A, 0f3F800000, 0d3FF0000000000000. */
static bool read_literal(const char *word, PtxType type, unsigned long long *bits) {
  char *end;
  if (word[0] == '0' && (word[1] == 'f' || word[1] == 'F') && ptx_type_bytes(type) == 4)
    *bits = strtoull(word + 2, &end, 16);
  else if (word[0] == '0' && (word[1] == 'd' || word[1] == 'D') && ptx_type_bytes(type) == 8)
    *bits = strtoull(word + 2, &end, 16);
  else if (!is_real(type) && (isdigit((unsigned char)word[0]) || (word[0] == '-' && isdigit((unsigned char)word[1]))))
    *bits = strtoull(word, &end, 0);
  else return false;
  if (*end == 'U') end++;
  return *end == '\0' && end > word + (word[0] == '0' && isalpha((unsigned char)word[1]) ? 2 : 0);
}

static void append_literal(PtxType type, unsigned long long bits, CoreText *c) {
  if (type == PTX_TYPE_PRED) core_text_append(c, bits ? "true" : "false");
  else if (is_real(type)) core_text_appendf(c, "ptx_%s_of(0x%llxu)", type == PTX_TYPE_F32 ? "f32" : "f64", bits);
  else core_text_appendf(c, "(PTX_%s)%lluu", ptx_type_name(type), bits);
}

static const char *special(const char *operand) {
  static const char *const names[][2] = {
    {"%tid.x", "at->thread"}, {"%ntid.x", "at->threads"}, {"%ctaid.x", "at->block"}, {"%nctaid.x", "at->blocks"},
    {"%laneid", "(at->thread % 32)"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i][0], operand) == 0) return names[i][1];
  return NULL;
}

/* Appends a register as a type of the same width or narrower. */
static void append_register(const PtxSymbol *symbol, const char *name, PtxType type, CoreText *c) {
  const char *r = *name == '%' ? name + 1 : name;
  const char *real = ptx_type_bytes(type) == 4 ? "f32" : "f64";
  if (is_real(symbol->type) && !is_real(type)) core_text_appendf(c, "ptx_bits_%s(r_%s)", real, r);
  else if (!is_real(symbol->type) && is_real(type)) core_text_appendf(c, "ptx_%s_of(r_%s)", real, r);
  else if (symbol->type != type) core_text_appendf(c, "(PTX_%s)r_%s", ptx_type_name(type), r);
  else core_text_appendf(c, "r_%s", r);
}

/* Whether a register of type `held` can be read or written as `type`. */
static bool fits(PtxType held, PtxType type, bool is_wide_allowed) {
  if ((held == PTX_TYPE_PRED) != (type == PTX_TYPE_PRED)) return false;
  const unsigned a = ptx_type_bytes(held), b = ptx_type_bytes(type);
  return a == b || (is_wide_allowed && a > b && !is_real(held) && !is_real(type));
}

/* Appends the address of named memory. */
static void append_symbol_address(const PtxSymbol *symbol, CoreText *c) {
  if (symbol->kind == PTX_SHARED) core_text_append(c, "(uint64_t)0"); /* start of the block's dynamic memory */
  else core_text_appendf(c, "(uint64_t)(uintptr_t)%s_%s", symbol->kind == PTX_ARRAY ? "g" : "m", symbol->name);
}

int ptx_value(const PtxScope *scope, const char *operand, PtxType type, bool is_wide_allowed, CoreText *c) {
  unsigned long long bits;
  if (read_literal(operand, type, &bits)) return append_literal(type, bits, c), CORE_OK;
  if (special(operand) && ptx_type_bytes(type) == 4) return core_text_append(c, special(operand)), CORE_OK;
  const PtxSymbol *symbol = ptx_find_symbol(scope, operand);
  if (symbol == NULL) return ptx_refuse(scope, "an operand that is not known:", operand);
  if (symbol->kind == PTX_REGISTER) {
    if (!fits(symbol->type, type, is_wide_allowed)) return ptx_refuse(scope, "a register of another width:", operand);
    return append_register(symbol, operand, type, c), CORE_OK;
  }
  const bool is_address = type == PTX_TYPE_U64 || (type == PTX_TYPE_U32 && symbol->kind == PTX_SHARED);
  if (!is_address || symbol->kind == PTX_FUNCTION)
    return ptx_refuse(scope, "an address where none is expected:", operand);
  core_text_appendf(c, "(PTX_%s)", ptx_type_name(type));
  append_symbol_address(symbol, c);
  return CORE_OK;
}

int ptx_assign(const PtxScope *scope, const char *operand, PtxType type, bool is_extended, const char *value,
               CoreText *c) {
  const PtxSymbol *symbol = ptx_find_symbol(scope, operand);
  const char *r = *operand == '%' ? operand + 1 : operand;
  if (strcmp(operand, "_") == 0) return core_text_appendf(c, "(void)(%s); ", value), CORE_OK;
  if (symbol == NULL || symbol->kind != PTX_REGISTER) return ptx_refuse(scope, "no register:", operand);
  if (!fits(symbol->type, type, is_extended)) return ptx_refuse(scope, "a register of another width:", operand);
  const char *real = ptx_type_bytes(type) == 4 ? "f32" : "f64";
  if (is_real(type) && !is_real(symbol->type)) core_text_appendf(c, "r_%s = ptx_bits_%s(%s); ", r, real, value);
  else if (!is_real(type) && is_real(symbol->type)) core_text_appendf(c, "r_%s = ptx_%s_of(%s); ", r, real, value);
  else if (is_signed(type) && ptx_type_bytes(symbol->type) > ptx_type_bytes(type))
    core_text_appendf(c, "r_%s = (PTX_%s)(int64_t)(%s); ", r, ptx_type_name(symbol->type), value);
  else core_text_appendf(c, "r_%s = %s; ", r, value);
  return CORE_OK;
}

int ptx_address(const PtxScope *scope, const char *operand, const PtxSymbol **symbol, CoreText *c) {
  char name[PTX_NAME_MAX];
  const size_t length = strlen(operand);
  if (length < 3 || operand[0] != '[' || operand[length - 1] != ']') return ptx_refuse(scope, "no address:", operand);
  memcpy(name, operand + 1, length - 2);
  name[length - 2] = '\0';
  char *plus = strchr(name, '+'), *end = plus;
  const long offset = plus ? strtol(plus + 1, &end, 0) : 0;
  if (plus && (end == plus + 1 || *end != '\0')) return ptx_refuse(scope, "no address:", operand);
  if (plus) *plus = '\0';
  *symbol = ptx_find_symbol(scope, name);
  if (*symbol == NULL || (*symbol)->kind == PTX_FUNCTION) return ptx_refuse(scope, "no address:", operand);
  const unsigned bytes = (*symbol)->kind == PTX_REGISTER ? ptx_type_bytes((*symbol)->type) : 8;
  if (bytes != 4 && bytes != 8) return ptx_refuse(scope, "an address in a register of another width:", operand);
  core_text_append(c, bytes == 4 ? "(uint32_t)(" : "(");
  if ((*symbol)->kind == PTX_REGISTER) append_register(*symbol, name, bytes == 4 ? PTX_TYPE_U32 : PTX_TYPE_U64, c);
  else append_symbol_address(*symbol, c);
  core_text_appendf(c, " + (uint64_t)%ld)", offset);
  return CORE_OK;
}
