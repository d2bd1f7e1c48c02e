/* The translator of PTX to C, for tests: what nvcc made of our kernels is run by the host's processor
 * (docs/cuda-design.md).
 *
 * read.c cuts a file into statements; translate.c writes a function of C for each of PTX, instruction.c its
 * instructions, of which instructions.def lists the plain ones, operands.c their operands; library.c puts the functions
 * into files. machine.h is what that C is written with. */
#ifndef PTX_H
#define PTX_H
#include <stdbool.h>
#include <stddef.h>

#include "core/text.h"

enum { PTX_NAME_MAX = 256, PTX_OPERANDS_MAX = 12, PTX_SYMBOLS_MAX = 256, PTX_PARAMETERS_MAX = 16 };

/* ---- statements (read.c) ----------------------------------------------------------------------------------------- */

/* "ld.param.u64 %rd1, [x]" without its semicolon; what opens a body or a block (".visible .entry f(...)" or nothing)
 * without its brace; a closing brace; a label without its colon. */
typedef struct PtxStatement {
  enum { PTX_PLAIN, PTX_OPEN, PTX_CLOSE, PTX_LABEL } kind;
  char *text;                 /* spaces and newlines are single spaces, none at the ends */
  int line;                   /* where it begins */
} PtxStatement;

typedef struct PtxSource {
  const char *path;
  PtxStatement *statement;    /* of one target */
  size_t count, room;
} PtxSource;

/* Reads the part of a file that is for `target` ("sm_90"), the last where it is NULL. CORE_FAIL, CORE_USAGE name file
 * and line. The caller frees it. */
int ptx_read(const char *path, const char *target, PtxSource *source);
void ptx_source_free(PtxSource *source);

/* ---- types and names (operands.c) -------------------------------------------------------------------------------- */

typedef enum PtxType {
  PTX_TYPE_NONE, PTX_TYPE_PRED, PTX_TYPE_U8, PTX_TYPE_S8, PTX_TYPE_U16, PTX_TYPE_S16, PTX_TYPE_U32, PTX_TYPE_S32,
  PTX_TYPE_U64, PTX_TYPE_S64, PTX_TYPE_F32, PTX_TYPE_F64,
} PtxType;

/* "u32", "b32" and "s32" ...; PTX_TYPE_NONE: no type that is known. Of b types it is the unsigned one. */
PtxType ptx_type_of(const char *word);
unsigned ptx_type_bytes(PtxType type); /* of memory; 0: none */
const char *ptx_type_name(PtxType type); /* "U32", as in machine.h and instructions.def */

/* What a name stands for: %r0 to %r62 as one (`is_numbered`), a parameter, local memory, an array of the module or
 * shared memory. Of registers `type` says what they hold, of memory `bytes` how large it is. */
typedef struct PtxSymbol {
  enum { PTX_REGISTER, PTX_PARAMETER, PTX_LOCAL, PTX_ARRAY, PTX_SHARED, PTX_FUNCTION } kind;
  char name[PTX_NAME_MAX];    /* without % */
  bool is_numbered;
  long count;
  PtxType type;
  size_t bytes, alignment;
} PtxSymbol;

/* The module's, a function's and its blocks', in this order. The rest is for messages. */
typedef struct PtxScope {
  PtxSymbol symbol[PTX_SYMBOLS_MAX];
  size_t count;
  const char *path;
  int line;
  const char *text;
} PtxScope;

/* CORE_USAGE: the statement that is being translated is not understood; `what` says why. */
int ptx_refuse(const PtxScope *scope, const char *what, const char *word);
int ptx_declare(PtxScope *scope, PtxSymbol symbol);
const PtxSymbol *ptx_find_symbol(const PtxScope *scope, const char *name); /* the innermost; NULL: none */

typedef char PtxParts[PTX_OPERANDS_MAX][PTX_NAME_MAX];

/* An instruction cut into its parts: "@!%p1 ld.v2.u32 {%r1, %r2}, [%rd1+8]". */
typedef struct PtxInstruction {
  char guard[PTX_NAME_MAX];   /* "p1", or "" */
  bool is_negated;
  char name[PTX_NAME_MAX];    /* "ld.v2.u32" */
  PtxParts operand;
  size_t operands;
} PtxInstruction;
int ptx_cut(const PtxScope *scope, const char *text, PtxInstruction *instruction);
/* "{a, b}" or "(a, b)" or a single operand: its parts. */
int ptx_cut_vector(const PtxScope *scope, const char *operand, PtxParts part, size_t *parts);

/* C for an operand of an instruction: a register, a literal, a special register, the address of a symbol.
 * `is_wide_allowed`: the register may be wider than the type, and its lower bits count. */
int ptx_value(const PtxScope *scope, const char *operand, PtxType type, bool is_wide_allowed, CoreText *c);
/* C that assigns `value`, C of the given type, to a register. `is_extended`: the register may be wider, and gets zeros
 * or, of a signed type, the sign. */
int ptx_assign(const PtxScope *scope, const char *operand, PtxType type, bool is_extended, const char *value,
               CoreText *c);
/* "[%rd1+8]": C of the address as a number, and the symbol in it. */
int ptx_address(const PtxScope *scope, const char *operand, const PtxSymbol **symbol, CoreText *c);

/* ---- instructions (instruction.c) -------------------------------------------------------------------------------- */

/* What calls and memory need to know of the function around. */
typedef struct PtxContext {
  PtxScope *scope;
  int number;                 /* of the source, in its functions' names */
} PtxContext;

/* C for one instruction but for its guard: statements, or one that ends with a semicolon. */
int ptx_translate_instruction(const PtxContext *context, const PtxInstruction *instruction, CoreText *c);

/* ---- functions (translate.c) and libraries (library.c) ----------------------------------------------------------- */

typedef struct PtxFunction {
  char name[PTX_NAME_MAX];    /* of a kernel, its own; of a function, a name in C */
  bool is_kernel;
  size_t argument_bytes;      /* of a kernel */
  bool is_left_out;
  CoreText prototype, body;   /* C */
  size_t lines;
} PtxFunction;

typedef struct PtxModule {
  PtxFunction *function;
  size_t functions, room;
  PtxScope scope;             /* the module's own symbols */
  CoreText arrays, declarations, ranges; /* C: definitions, declarations, entries of ptx_arrays */
} PtxModule;

/* Adds what a source has. `number` tells its names from those of other sources. Of the kernel `without` (NULL: none)
 * only the name is taken: the emulator runs its own body. */
int ptx_translate(PtxModule *module, const PtxSource *source, int number, const char *without);

/* Writes `parts` files PREFIX.0.c ..., of about the same length. */
int ptx_write_library(const PtxModule *module, const char *prefix, int parts);
void ptx_module_free(PtxModule *module);

#endif
