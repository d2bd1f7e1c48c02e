/* Included into every file by the Makefile: unsafe libc calls are compile errors (after git's banned.h). */
#ifndef CORE_BANNED_H
#define CORE_BANNED_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define BANNED(call, instead) call##_is_banned_use_##instead
#undef strcpy
#define strcpy(...) BANNED(strcpy, core_text_copy)
#undef strcat
#define strcat(...) BANNED(strcat, core_text_append)
#undef strncpy
#define strncpy(...) BANNED(strncpy, core_text_copy)
#undef strncat
#define strncat(...) BANNED(strncat, core_text_append)
#undef sprintf
#define sprintf(...) BANNED(sprintf, snprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf, vsnprintf)
#undef gets
#define gets(...) BANNED(gets, fgets)
#undef strtok
#define strtok(...) BANNED(strtok, strtok_r)
#undef gmtime
#define gmtime(...) BANNED(gmtime, gmtime_r)
#undef localtime
#define localtime(...) BANNED(localtime, localtime_r)
#undef system
#define system(...) BANNED(system, posix_spawn)
#endif
