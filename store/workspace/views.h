/* Named views of the live page: annotations/views.json, {"clip against KL": "study&metrics=kl&group=ppo.epsilon"}. The
 * text is the part of the page's address after '#' (sweep/serve/address.js); no program but the page reads it. */
#ifndef STORE_VIEWS_H
#define STORE_VIEWS_H
#include <stddef.h>

#include "core/error.h"

enum { STORE_VIEWS_MAX = 200, STORE_VIEW_NAME = 81, STORE_VIEW_ADDRESS = 4001 /* bytes with their NUL */ };

typedef struct StoreView { char *name, *address; } StoreView;
typedef struct StoreViews { StoreView *view; size_t count; } StoreViews; /* sorted by name */

/* Reads the views; none without a file. Ignores those that store_views_save would refuse: others may write the file.
 * CORE_FAIL: the file is damaged or cannot be read. Caller frees, also after an error. */
int store_views_read(const char *root, StoreViews *views);
void store_views_free(StoreViews *views);

/* Saves a view, in place of one of the same name. CORE_USAGE: the name is empty, too long, not UTF-8 or has unsafe
 * characters (core_unicode_is_unsafe); the address is too long or has others than those of an encoded address; there
 * are too many views. CORE_FAIL: the file is damaged or cannot be written. */
int store_views_save(const char *root, const char *name, const char *address);
/* Removes a view. CORE_USAGE: there is none of that name. */
int store_views_remove(const char *root, const char *name);

#endif
