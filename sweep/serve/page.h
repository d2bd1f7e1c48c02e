/* The page: page.html with page.css and the scripts, which are compiled into the program. */
#ifndef SWEEP_SERVE_PAGE_H
#define SWEEP_SERVE_PAGE_H
#include "core/text.h"

enum { SERVE_POLICY = 512 };

/* Appends the page and writes the Content-Security-Policy under which it works: nothing is loaded from elsewhere, and
 * only this style and this script, named by their hashes, are allowed. */
void serve_page_build(CoreText *page, char policy[SERVE_POLICY]);

#endif
