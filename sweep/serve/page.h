/* The page: page.html with page.css and the scripts in it, which are compiled into the program. */
#ifndef SWEEP_SERVE_PAGE_H
#define SWEEP_SERVE_PAGE_H
#include "core/text.h"

enum { SERVE_POLICY = 512 };

/* Appends the whole page, and makes the Content-Security-Policy under which it works: nothing is loaded from elsewhere,
 * and no script or style runs but these, which the policy names by their hashes. */
void serve_page_make(CoreText *page, char policy[SERVE_POLICY]);

#endif
