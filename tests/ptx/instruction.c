/* C for PTX instructions: those of instructions.def become calls of machine.h's functions, the others are translated
 * here. Unknown instructions are errors. */
#include <stdio.h>
#include <string.h>

#include "ptx.h"

/* ---- plain instructions ------------------------------------------------------------------------------------------ */

typedef struct Row {
  const char *name;
  enum { PLAIN, WITH_CARRY, ATOM } kind;
  PtxType result, source[4];
} Row;

#define T(type) PTX_TYPE_##type
#define PTX1(name, R, A, value) {#name, PLAIN, T(R), {T(A)}},
#define PTX2(name, R, A, B, value) {#name, PLAIN, T(R), {T(A), T(B)}},
#define PTX3(name, R, A, B, C, value) {#name, PLAIN, T(R), {T(A), T(B), T(C)}},
#define PTX4(name, R, A, B, C, D, value) {#name, PLAIN, T(R), {T(A), T(B), T(C), T(D)}},
#define PTX_WITH_CARRY(name, sources, writes, sum) \
  {#name, WITH_CARRY, T(U32), {T(U32), T(U32), (sources) > 2 ? T(U32) : T(NONE)}},
#define PTX_ATOM(name, type, after) {#name, ATOM, T(type), {T(type)}},
static const Row rows[] = {
#include "instructions.def"
};

static const Row *find_row(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}

static int translate_row(const PtxScope *scope, const Row *row, const PtxInstruction *in, CoreText *c) {
  CoreText call = {0};
  size_t sources = 0;
  while (sources < 4 && row->source[sources] != PTX_TYPE_NONE) sources++;
  if (in->operands != sources + 1) return ptx_refuse(scope, "another number of operands than has", row->name);
  const bool is_conversion = strncmp(row->name, "cvt_", 4) == 0;
  core_text_appendf(&call, "ptx_%s(", row->name);
  int code = CORE_OK;
  for (size_t i = 0; i < sources && code == CORE_OK; i++) {
    if (i > 0) core_text_append(&call, ", ");
    code = ptx_value(scope, in->operand[1 + i], row->source[i], is_conversion, &call);
  }
  if (row->kind == WITH_CARRY) core_text_append(&call, sources == 2 ? ", 0, &carry" : ", &carry");
  core_text_append(&call, ")");
  if (code == CORE_OK) code = ptx_assign(scope, in->operand[0], row->result, false, core_text_string(&call), c);
  core_text_free(&call);
  return code;
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

static PtxType unsigned_of(unsigned bytes) {
  return bytes == 1 ? PTX_TYPE_U8 : bytes == 2 ? PTX_TYPE_U16 : bytes == 4 ? PTX_TYPE_U32 : bytes == 8 ? PTX_TYPE_U64
         : PTX_TYPE_NONE;
}

/* mov.b64 {%r1, %r2}, %rd1; and the reverse. The first part is the lowest. */
static int translate_pack(const PtxScope *scope, const PtxInstruction *in, PtxType type, CoreText *c) {
  PtxParts part;
  size_t parts;
  const bool is_packed = in->operand[1][0] == '{';
  TRY(ptx_cut_vector(scope, in->operand[is_packed ? 1 : 0], part, &parts));
  const unsigned bytes = parts == 2 || parts == 4 ? ptx_type_bytes(type) / (unsigned)parts : 0;
  const PtxType piece = unsigned_of(bytes), whole = unsigned_of(ptx_type_bytes(type));
  if (piece == PTX_TYPE_NONE) return ptx_refuse(scope, "a vector of another length:", in->operand[is_packed ? 1 : 0]);
  CoreText value = {0};
  int code = CORE_OK;
  if (is_packed) {
    for (size_t i = 0; i < parts && code == CORE_OK; i++) {
      core_text_appendf(&value, "%s(PTX_%s)(", i > 0 ? " | " : "", ptx_type_name(whole));
      code = ptx_value(scope, part[i], piece, false, &value);
      core_text_appendf(&value, ") << %u", 8 * bytes * (unsigned)i);
    }
    if (code == CORE_OK) code = ptx_assign(scope, in->operand[0], whole, false, core_text_string(&value), c);
  } else {
    core_text_appendf(c, "{ const PTX_%s whole = ", ptx_type_name(whole));
    code = ptx_value(scope, in->operand[1], whole, false, c);
    core_text_append(c, "; ");
    for (size_t i = 0; i < parts && code == CORE_OK; i++) {
      core_text_clear(&value);
      core_text_appendf(&value, "(PTX_%s)(whole >> %u)", ptx_type_name(piece), 8 * bytes * (unsigned)i);
      code = ptx_assign(scope, part[i], piece, false, core_text_string(&value), c);
    }
    core_text_append(c, "}");
  }
  core_text_free(&value);
  return code;
}

static int translate_move(const PtxScope *scope, const PtxInstruction *in, const char *type_word, CoreText *c) {
  const PtxType type = ptx_type_of(type_word);
  if (type == PTX_TYPE_NONE || in->operands != 2) return ptx_refuse(scope, "a move of an unknown type:", in->name);
  if (in->operand[0][0] == '{' || in->operand[1][0] == '{') return translate_pack(scope, in, type, c);
  CoreText value = {0};
  int code = ptx_value(scope, in->operand[1], type, false, &value);
  if (code == CORE_OK) code = ptx_assign(scope, in->operand[0], type, false, core_text_string(&value), c);
  core_text_free(&value);
  return code;
}

/* Translates cvta.to.SPACE.u64 (a generic address to one of the space) and cvta.SPACE.u64 (the reverse). */
static int translate_address_space(const PtxScope *scope, const PtxInstruction *in, CoreText *c) {
  const bool is_shared = strstr(in->name, ".shared.") != NULL, is_to = strncmp(in->name, "cvta.to.", 8) == 0;
  const char *space = in->name + (is_to ? 8 : 5);
  if (strcmp(space, "global.u64") != 0 && strcmp(space, "shared.u64") != 0 && strcmp(space, "local.u64") != 0 &&
      strcmp(space, "param.u64") != 0)
    return ptx_refuse(scope, "an instruction that is not known:", in->name);
  CoreText value = {0};
  int code = ptx_value(scope, in->operand[1], PTX_TYPE_U64, false, &value);
  if (is_shared) core_text_appendf(&value, " %c (uint64_t)(uintptr_t)at->shared", is_to ? '-' : '+');
  if (code == CORE_OK) code = ptx_assign(scope, in->operand[0], PTX_TYPE_U64, false, core_text_string(&value), c);
  core_text_free(&value);
  return code;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Parts of "ld.global.nc.v2.f64". */
typedef struct Access {
  enum { GENERIC, GLOBAL, SHARED, LOCAL, PARAMETER } space;
  unsigned numbers;
  PtxType type;
} Access;

static int read_access(const PtxScope *scope, const char *name, Access *access) {
  static const char *const spaces[] = {"", ".global", ".shared", ".local", ".param"};
  char copy[PTX_NAME_MAX];
  TRY(core_text_copy(copy, sizeof copy, name, "instruction"));
  *access = (Access){GENERIC, 1, PTX_TYPE_NONE};
  char *at = strchr(copy, '.');
  for (int i = 1; i < 5 && at; i++) {
    const size_t length = strlen(spaces[i]);
    if (strncmp(at, spaces[i], length) != 0 || at[length] != '.') continue;
    access->space = i;
    at += length;
    break;
  }
  if (at && access->space == GLOBAL && strncmp(at, ".nc.", 4) == 0) at += 3; /* read-only data */
  if (at && strncmp(at, ".v2.", 4) == 0) access->numbers = 2, at += 3;
  else if (at && strncmp(at, ".v4.", 4) == 0) access->numbers = 4, at += 3;
  if (at) access->type = ptx_type_of(at + 1);
  if (ptx_type_bytes(access->type) == 0) return ptx_refuse(scope, "an access that is not known:", name);
  return CORE_OK;
}

/* Appends C for the host address of `bytes` bytes. */
static int append_place(const PtxScope *scope, const Access *access, const char *operand, CoreText *c) {
  static const char *const functions[] = {
    "ptx_generic(", "ptx_global(", "ptx_shared(at, ", "ptx_local(", "ptx_within("};
  const PtxSymbol *symbol = NULL, *around = NULL;
  CoreText address = {0};
  int code = ptx_address(scope, operand, &symbol, &address);
  if (code == CORE_OK && access->space >= LOCAL) {
    /* indirect: the function's only local memory, or a caller's; a kernel's only parameter */
    const int kind = access->space == LOCAL ? PTX_LOCAL : PTX_PARAMETER;
    if ((int)symbol->kind == kind) around = symbol;
    for (size_t i = 0; i < scope->count && !around; i++)
      if ((int)scope->symbol[i].kind == kind) around = &scope->symbol[i];
    if (around == NULL && access->space == PARAMETER)
      code = ptx_refuse(scope, "an access where there is no such memory:", operand);
  }
  if (code == CORE_OK) {
    core_text_append(c, functions[access->space]);
    if (around) core_text_appendf(c, "m_%s, %zu, ", around->name, around->bytes);
    else if (access->space == LOCAL) core_text_append(c, "NULL, 0, ");
    core_text_appendf(c, "%s, %u, PTX_NOW)", core_text_string(&address),
                      access->numbers * ptx_type_bytes(access->type));
  }
  core_text_free(&address);
  return code;
}

static int translate_access(const PtxScope *scope, const PtxInstruction *in, CoreText *c) {
  Access access;
  PtxParts part;
  char address[64];
  size_t parts;
  const bool is_load = in->name[0] == 'l';
  if (in->operands != 2) return ptx_refuse(scope, "another number of operands than has", in->name);
  TRY(read_access(scope, in->name, &access));
  TRY(ptx_cut_vector(scope, in->operand[is_load ? 0 : 1], part, &parts));
  if (parts != access.numbers) return ptx_refuse(scope, "a vector of another length:", in->name);
  const bool is_watched = access.space <= SHARED;
  core_text_append(c, "{ const uint64_t address = ");
  TRY(append_place(scope, &access, in->operand[is_load ? 1 : 0], c));
  core_text_append(c, "; ");
  if (is_watched && is_load)
    core_text_appendf(c, "ptx_shared_by(at, address, %u, PTX_READ, PTX_NOW); ",
                      access.numbers * ptx_type_bytes(access.type));
  for (size_t i = 0; i < parts; i++) {
    const char *type = ptx_type_name(access.type);
    char load[128];
    snprintf(address, sizeof address, "address + %zuu", i * ptx_type_bytes(access.type));
    if (is_load) {
      snprintf(load, sizeof load, "ptx_load_%s(%s)", type, address);
      TRY(ptx_assign(scope, part[i], access.type, true, load, c));
    } else {
      if (is_watched) core_text_appendf(c, "PTX_STORE_SHARED(%s, %s, ", type, address);
      else core_text_appendf(c, "ptx_store_%s(%s, ", type, address);
      TRY(ptx_value(scope, part[i], access.type, true, c));
      core_text_append(c, "); ");
    }
  }
  core_text_append(c, "}");
  return CORE_OK;
}

/* atom.global.add.u64 %rd1, [%rd2], 1; without a space the address is generic. */
static int translate_atom(const PtxScope *scope, const PtxInstruction *in, CoreText *c) {
  char name[PTX_NAME_MAX];
  const bool is_global = strncmp(in->name, "atom.global.", 12) == 0;
  snprintf(name, sizeof name, "atom_%s", in->name + (is_global ? 12 : 5));
  for (char *at = name; *at; at++) if (*at == '.') *at = '_';
  const Row *row = find_row(name);
  if (row == NULL || in->operands != 3) return ptx_refuse(scope, "an instruction that is not known:", in->name);
  CoreText call = {0};
  const Access access = {is_global ? GLOBAL : GENERIC, 1, row->result};
  core_text_appendf(&call, "ptx_%s(ptx_shared_by(at, ", row->name);
  int code = append_place(scope, &access, in->operand[1], &call);
  core_text_appendf(&call, ", %u, PTX_ATOMIC, PTX_NOW), ", ptx_type_bytes(row->result));
  if (code == CORE_OK) code = ptx_value(scope, in->operand[2], row->source[0], false, &call);
  core_text_append(&call, ")");
  if (code == CORE_OK) code = ptx_assign(scope, in->operand[0], row->result, false, core_text_string(&call), c);
  core_text_free(&call);
  return code;
}

/* ---- tensor cores and asynchronous copies ------------------------------------------------------------------------ */

/* Appends C for `count` operands of a vector, separated by commas. */
static int append_vector(const PtxScope *scope, const char *operand, PtxType type, size_t count, CoreText *c) {
  PtxParts part;
  size_t parts;
  TRY(ptx_cut_vector(scope, operand, part, &parts));
  if (parts != count) return ptx_refuse(scope, "a vector of another length:", operand);
  for (size_t i = 0; i < parts; i++) {
    if (i > 0) core_text_append(c, ", ");
    TRY(ptx_value(scope, part[i], type, false, c));
  }
  return CORE_OK;
}

/* Appends C that assigns the elements of `array` to the registers of a vector of four. */
static int assign_vector(const PtxScope *scope, const char *operand, PtxType type, const char *array, CoreText *c) {
  PtxParts part;
  size_t parts;
  TRY(ptx_cut_vector(scope, operand, part, &parts));
  if (parts != 4) return ptx_refuse(scope, "a vector of another length:", operand);
  for (size_t i = 0; i < parts; i++) {
    char element[32];
    snprintf(element, sizeof element, "%s[%zu]", array, i);
    TRY(ptx_assign(scope, part[i], type, false, element, c));
  }
  return CORE_OK;
}

/* mma {d0, ..., d3}, {a0, ..., a3}, {b0, b1}, {c0, ..., c3}: d = a b + c. */
static int translate_multiply(const PtxScope *scope, const PtxInstruction *in, CoreText *c) {
  if (strcmp(in->name, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") != 0 || in->operands != 4)
    return ptx_refuse(scope, "an instruction that is not known:", in->name);
  core_text_append(c, "{ float sum[1][4] = {{");
  TRY(append_vector(scope, in->operand[3], PTX_TYPE_F32, 4, c));
  core_text_append(c, "}}; uint32_t left[1][4] = {{");
  TRY(append_vector(scope, in->operand[1], PTX_TYPE_U32, 4, c));
  core_text_append(c, "}}; const uint32_t right[2] = {");
  TRY(append_vector(scope, in->operand[2], PTX_TYPE_U32, 2, c));
  core_text_append(c, "}; ptx_services->multiply_tiles(at, 1, sum, 1, left, right); ");
  TRY(assign_vector(scope, in->operand[0], PTX_TYPE_F32, "sum[0]", c));
  return core_text_append(c, "}"), CORE_OK;
}

static int translate_load_matrices(const PtxScope *scope, const PtxInstruction *in, CoreText *c) {
  const bool is_transposed = strcmp(in->name, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16") == 0;
  const Access access = {SHARED, 4, PTX_TYPE_U32};
  if ((!is_transposed && strcmp(in->name, "ldmatrix.sync.aligned.m8n8.x4.shared.b16") != 0) || in->operands != 2)
    return ptx_refuse(scope, "an instruction that is not known:", in->name);
  core_text_append(c, "{ uint32_t loaded[4]; ptx_load_matrices(at, ");
  TRY(append_place(scope, &access, in->operand[1], c));
  core_text_appendf(c, ", %s, loaded, PTX_NOW); ", is_transposed ? "true" : "false");
  TRY(assign_vector(scope, in->operand[0], PTX_TYPE_U32, "loaded", c));
  return core_text_append(c, "}"), CORE_OK;
}

/* cp.async.cg.shared.global [%r1], [%rd1], 16, %r2: the last operand is the number of bytes that are read; the others
 * become 0. */
static int translate_copy(const PtxScope *scope, const PtxInstruction *in, CoreText *c) {
  const Access shared = {SHARED, 4, PTX_TYPE_U32};
  const PtxSymbol *symbol;
  if (strcmp(in->name, "cp.async.commit_group") == 0 && in->operands == 0)
    return core_text_append(c, "ptx_services->copy_commit(at);"), CORE_OK;
  if (strcmp(in->name, "cp.async.wait_group") == 0 && in->operands == 1) {
    core_text_append(c, "ptx_copy_wait(at, (int)");
    TRY(ptx_value(scope, in->operand[0], PTX_TYPE_U32, false, c));
    return core_text_append(c, ", PTX_NOW);"), CORE_OK;
  }
  if (strcmp(in->name, "cp.async.cg.shared.global") != 0 || in->operands < 3 || in->operands > 4 ||
      strcmp(in->operand[2], "16") != 0)
    return ptx_refuse(scope, "an instruction that is not known:", in->name);
  core_text_append(c, "ptx_copy_async(at, ");
  TRY(append_place(scope, &shared, in->operand[0], c));
  core_text_append(c, ", ");
  TRY(ptx_address(scope, in->operand[1], &symbol, c));
  core_text_append(c, ", ");
  TRY(ptx_value(scope, in->operands == 4 ? in->operand[3] : "16", PTX_TYPE_U32, false, c));
  return core_text_append(c, ", PTX_NOW);"), CORE_OK;
}

/* ---- control flow ------------------------------------------------------------------------------------------------ */

static bool is_label(const char *name) { return name[0] == '$' && name[1] == 'L'; }

static int translate_branch(const PtxScope *scope, const PtxInstruction *in, CoreText *c) {
  if (in->operands != 1 || !is_label(in->operand[0])) return ptx_refuse(scope, "no label:", in->operand[0]);
  core_text_appendf(c, "goto %s;", in->operand[0] + 1);
  return CORE_OK;
}

/* call.uni (retval0), function, (param0, param1); the results and the arguments are optional. */
static int translate_call(const PtxContext *context, const PtxInstruction *in, CoreText *c) {
  PtxParts part;
  size_t at = 0, parts;
  const bool results = in->operands > 0 && in->operand[0][0] == '(';
  const char *function = in->operand[results ? 1 : 0];
  const PtxSymbol *symbol = ptx_find_symbol(context->scope, function);
  if (symbol == NULL || symbol->kind != PTX_FUNCTION)
    return ptx_refuse(context->scope, "no function of this file:", function);
  core_text_appendf(c, "f%d_%s(at", context->number, function);
  for (at = 0; at < in->operands; at++) {
    if (in->operand[at][0] != '(') continue;
    TRY(ptx_cut_vector(context->scope, in->operand[at], part, &parts));
    for (size_t i = 0; i < parts; i++) {
      const PtxSymbol *parameter = ptx_find_symbol(context->scope, part[i]);
      if (parameter == NULL || parameter->kind != PTX_PARAMETER)
        return ptx_refuse(context->scope, "no parameter:", part[i]);
      core_text_appendf(c, ", m_%s", part[i]);
    }
  }
  core_text_append(c, ");");
  return CORE_OK;
}

/* vote.sync.ballot.b32 %r1, %p1, %r2; the last operand is the mask of the voting lanes. */
static int translate_ballot(const PtxScope *scope, const PtxInstruction *in, CoreText *c) {
  CoreText call = {0};
  core_text_append(&call, "ptx_ballot(at, ");
  int code = in->operands == 3 ? ptx_value(scope, in->operand[1], PTX_TYPE_PRED, false, &call)
                               : ptx_refuse(scope, "another number of operands than has", in->name);
  core_text_append(&call, ", ");
  if (code == CORE_OK) code = ptx_value(scope, in->operand[2], PTX_TYPE_U32, false, &call);
  core_text_append(&call, ", PTX_NOW)");
  if (code == CORE_OK) code = ptx_assign(scope, in->operand[0], PTX_TYPE_U32, false, core_text_string(&call), c);
  core_text_free(&call);
  return code;
}

static int translate_barrier(const PtxScope *scope, const PtxInstruction *in, CoreText *c) {
  if (in->operands != 1) return ptx_refuse(scope, "another number of operands than has", in->name);
  if (strcmp(in->name, "bar.sync") == 0) {
    if (strcmp(in->operand[0], "0") != 0) return ptx_refuse(scope, "a barrier of a part of the block:", in->operand[0]);
    return core_text_append(c, "ptx_bar_sync(at);"), CORE_OK;
  }
  core_text_append(c, "ptx_bar_warp_sync(at, ");
  TRY(ptx_value(scope, in->operand[0], PTX_TYPE_U32, false, c));
  return core_text_append(c, ", PTX_NOW);"), CORE_OK;
}

int ptx_translate_instruction(const PtxContext *context, const PtxInstruction *in, CoreText *c) {
  const PtxScope *scope = context->scope;
  const char *name = in->name;
  char row_name[PTX_NAME_MAX];
  if (strncmp(name, "ld.", 3) == 0 || strncmp(name, "st.", 3) == 0) return translate_access(scope, in, c);
  if (strncmp(name, "atom.", 5) == 0) return translate_atom(scope, in, c);
  if (strncmp(name, "mma.", 4) == 0) return translate_multiply(scope, in, c);
  if (strncmp(name, "ldmatrix.", 9) == 0) return translate_load_matrices(scope, in, c);
  if (strncmp(name, "cp.async.", 9) == 0) return translate_copy(scope, in, c);
  if (strncmp(name, "mov.", 4) == 0) return translate_move(scope, in, name + 4, c);
  if (strncmp(name, "cvta.", 5) == 0) return translate_address_space(scope, in, c);
  if (strcmp(name, "bra") == 0 || strcmp(name, "bra.uni") == 0) return translate_branch(scope, in, c);
  if (strcmp(name, "call") == 0 || strcmp(name, "call.uni") == 0) return translate_call(context, in, c);
  if (strcmp(name, "ret") == 0) return core_text_append(c, "return;"), CORE_OK;
  if (strcmp(name, "vote.sync.ballot.b32") == 0) return translate_ballot(scope, in, c);
  if (strcmp(name, "bar.sync") == 0 || strcmp(name, "bar.warp.sync") == 0) return translate_barrier(scope, in, c);
  TRY(core_text_copy(row_name, sizeof row_name, name, "instruction"));
  for (char *at = row_name; *at; at++) if (*at == '.') *at = '_';
  const Row *row = find_row(row_name);
  if (row == NULL || row->kind == ATOM) return ptx_refuse(scope, "an instruction that is not known:", name);
  return translate_row(scope, row, in, c);
}
