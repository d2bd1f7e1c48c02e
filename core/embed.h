/* Text files that are compiled into a program: CORE_EMBED(name, "folder/file") defines `name`, the file's bytes with a
 * NUL behind them. The path is from the top folder; the Makefile says which objects are made anew when it changes. */
#ifndef CORE_EMBED_H
#define CORE_EMBED_H

#define CORE_EMBED(name, path)           \
  __asm__(".section .rodata\n"           \
          ".global " #name "\n"          \
          #name ":\n"                    \
          ".incbin \"" path "\"\n"       \
          ".byte 0\n"                    \
          ".previous\n");                \
  extern const char name[]

#endif
