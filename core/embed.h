/* Text files compiled into a program: CORE_EMBED(name, "directory/file") defines `name` as the file's bytes followed by
 * a NUL. The path is relative to the top directory; the Makefile lists the objects that depend on the file. */
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
