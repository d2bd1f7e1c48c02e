/* Translator of PTX to C, for tests: runs the kernels that nvcc compiled on the host's processor
 * (docs/cuda-design.md).
 *
 * read.c splits a file into statements. translate.c writes a C function for each PTX function, instruction.c its
 * instructions, of which instructions.def lists the plain ones, and operands.c their operands. library.c writes the
 * functions to files. machine.h is the runtime of the generated C. */
#ifndef PTX_H
#define PTX_H
#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

enum { PTX_NAME_MAX = 256, PTX_OPERANDS_MAX = 12, PTX_SYMBOLS_MAX = 256, PTX_PARAMETERS_MAX = 16 };

/* ---- statements (read.c) ----------------------------------------------------------------------------------------- */

/* PTX_PLAIN: "ld.param.u64 %rd1, [x]" without its semicolon. PTX_OPEN: the head of a body or block (".visible .entry
 * f(...)" or nothing) without its brace. PTX_CLOSE: a closing brace. PTX_LABEL: a label without its colon. */
typedef struct PtxStatement {
  enum { PTX_PLAIN, PTX_OPEN, PTX_CLOSE, PTX_LABEL } kind;
  char *text;                 /* text with white space collapsed to single spaces and trimmed */
  int line;                   /* line of its first character */
} PtxStatement;

typedef struct PtxSource {
  const char *path;
  PtxStatement *statement;    /* statements of one target */
  size_t count, capacity;
} PtxSource;

/* Reads the section of a file for `target` ("sm_90"; NULL: the last section). The messages of CORE_FAIL and CORE_USAGE
 * name file and line. Free `source` with ptx_source_free. */
int ptx_read(const char *path, const char *target, PtxSource *source);
void ptx_source_free(PtxSource *source);

/* ---- types and names (operands.c) -------------------------------------------------------------------------------- */

typedef enum PtxType {
  PTX_TYPE_NONE, PTX_TYPE_PRED, PTX_TYPE_U8, PTX_TYPE_S8, PTX_TYPE_U16, PTX_TYPE_S16, PTX_TYPE_U32, PTX_TYPE_S32,
  PTX_TYPE_U64, PTX_TYPE_S64, PTX_TYPE_F32, PTX_TYPE_F64,
} PtxType;

/* Returns the type named "u32", "b32", "s32", ...; the unsigned one for b types; PTX_TYPE_NONE for an unknown name. */
PtxType ptx_type_of(const char *word);
unsigned ptx_type_bytes(PtxType type); /* size in memory; 0: none */
const char *ptx_type_name(PtxType type); /* "U32", as in machine.h and instructions.def */

/* Symbol: a range of registers %r0 to %r62 (`is_numbered`), a parameter, local memory, an array of the module or shared
 * memory. `type` is the type of registers, `bytes` the size of memory. */
typedef struct PtxSymbol {
  enum { PTX_REGISTER, PTX_PARAMETER, PTX_LOCAL, PTX_ARRAY, PTX_SHARED, PTX_FUNCTION } kind;
  char name[PTX_NAME_MAX];    /* without % */
  bool is_numbered;
  long count;
  PtxType type;
  size_t bytes, alignment;
} PtxSymbol;

/* Symbols of the module, a function and its blocks, in this order. The other fields locate messages. */
typedef struct PtxScope {
  PtxSymbol symbol[PTX_SYMBOLS_MAX];
  size_t count;
  const char *path;
  int line;
  const char *text;
} PtxScope;

/* Reports that the statement cannot be translated, for the reason `what`. Returns CORE_USAGE. */
int ptx_refuse(const PtxScope *scope, const char *what, const char *word);
int ptx_declare(PtxScope *scope, PtxSymbol symbol);
const PtxSymbol *ptx_find_symbol(const PtxScope *scope, const char *name); /* innermost symbol; NULL: none */

typedef char PtxParts[PTX_OPERANDS_MAX][PTX_NAME_MAX];

/* An instruction split into its parts: "@!%p1 ld.v2.u32 {%r1, %r2}, [%rd1+8]". */
typedef struct PtxInstruction {
  char guard[PTX_NAME_MAX];   /* "p1", or "" */
  bool is_negated;
  char name[PTX_NAME_MAX];    /* "ld.v2.u32" */
  PtxParts operand;
  size_t operands;
} PtxInstruction;
int ptx_cut(const PtxScope *scope, const char *text, PtxInstruction *instruction);
/* Splits "{a, b}", "(a, b)" or a single operand into its parts. */
int ptx_cut_vector(const PtxScope *scope, const char *operand, PtxParts part, size_t *parts);

/* Appends C for an operand of an instruction: a register, a literal, a special register or the address of a symbol.
 * `is_wide_allowed`: the register may be wider than the type; its lower bits are used. */
int ptx_value(const PtxScope *scope, const char *operand, PtxType type, bool is_wide_allowed, CoreText *c);
/* Appends C that assigns `value`, a C expression of the given type, to a register. `is_extended`: the register may be
 * wider; the value is zero-extended or, if the type is signed, sign-extended. */
int ptx_assign(const PtxScope *scope, const char *operand, PtxType type, bool is_extended, const char *value,
               CoreText *c);
/* Appends C for the address "[%rd1+8]" as an integer, and returns its symbol. */
int ptx_address(const PtxScope *scope, const char *operand, const PtxSymbol **symbol, CoreText *c);

/* ---- instructions (instruction.c) -------------------------------------------------------------------------------- */

/* Context of the enclosing function for calls and memory accesses. */
typedef struct PtxContext {
  PtxScope *scope;
  int number;                 /* index of the source, part of its functions' names */
} PtxContext;

/* Appends C for one instruction without its guard: statements that end with a semicolon. */
int ptx_translate_instruction(const PtxContext *context, const PtxInstruction *instruction, CoreText *c);

/* ---- functions (translate.c) and libraries (library.c) ----------------------------------------------------------- */

typedef struct PtxFunction {
  char name[PTX_NAME_MAX];    /* name of the kernel, or C name of the function */
  bool is_kernel;
  size_t argument_bytes;      /* size of a kernel's arguments */
  CoreText prototype, body;   /* C */
  size_t lines;
} PtxFunction;

typedef struct PtxModule {
  PtxFunction *function;
  size_t functions, capacity;
  PtxScope scope;             /* the module's own symbols */
  CoreText arrays, declarations, ranges; /* C: definitions, declarations, entries of ptx_arrays */
} PtxModule;

/* Adds the functions of a source. `number` makes its names unique among sources. */
int ptx_translate(PtxModule *module, const PtxSource *source, int number);

/* Writes `parts` files PREFIX.0.c ... of similar length. */
int ptx_write_library(const PtxModule *module, const char *prefix, int parts);
void ptx_module_free(PtxModule *module);

#endif
