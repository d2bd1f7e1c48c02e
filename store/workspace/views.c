/* The file of views (views.h): small, read and replaced as a whole, under the lock of annotations. */
#include "store/workspace/views.h"

#include <stdlib.h>
#include <string.h>

#include "core/files.h"
#include "core/json.h"
#include "core/memory.h"
#include "core/unicode.h"

enum { FILE_MAX = 2 << 20, LOCK_WAIT_S = 5 };

/* Characters that encodeURIComponent and URLSearchParams leave or make, and the separators between the parts. */
static const char address_characters[] =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'()%&=+,:/";

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static int check_name(const char *name) {
  if (!*name) return core_error(CORE_USAGE, "name: a view needs a name");
  if (strlen(name) >= STORE_VIEW_NAME)
    return core_error(CORE_USAGE, "name: longer than %d bytes; choose a shorter one", STORE_VIEW_NAME - 1);
  for (const char *cursor = name; *cursor;) {
    const uint32_t code = core_unicode_next(&cursor);
    if (code == CORE_UNICODE_INVALID || core_unicode_is_unsafe(code))
      return core_error(CORE_USAGE, "name: contains a control character or is not UTF-8; choose another one");
  }
  return CORE_OK;
}

static int check_address(const char *address) {
  const size_t length = strlen(address);
  if (length == 0 || length >= STORE_VIEW_ADDRESS)
    return core_error(CORE_USAGE, "address: expected 1 to %d bytes; the view has %zu", STORE_VIEW_ADDRESS - 1, length);
  if (strspn(address, address_characters) == length) return CORE_OK;
  return core_error(CORE_USAGE, "address: contains characters that an encoded address has not");
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static size_t find_place(const StoreViews *views, const char *name) {
  size_t place = 0;
  while (place < views->count && strcmp(views->view[place].name, name) < 0) place++;
  return place;
}

static StoreView *find_view(const StoreViews *views, const char *name) {
  const size_t place = find_place(views, name);
  return place < views->count && strcmp(views->view[place].name, name) == 0 ? &views->view[place] : NULL;
}

static int put_view(StoreViews *views, const char *name, const char *address) {
  TRY(check_name(name));
  TRY(check_address(address));
  StoreView *found = find_view(views, name);
  if (found) {
    free(found->address);
    found->address = core_text_duplicate(address);
    return CORE_OK;
  }

  if (views->count == STORE_VIEWS_MAX)
    return core_error(CORE_USAGE, "too many views: %d is the maximum; remove some", STORE_VIEWS_MAX);
  const size_t place = find_place(views, name);
  views->view = core_memory_resize(views->view, (views->count + 1) * sizeof *views->view);
  memmove(&views->view[place + 1], &views->view[place], (views->count - place) * sizeof *views->view);
  views->view[place] = (StoreView){core_text_duplicate(name), core_text_duplicate(address)};
  views->count++;
  return CORE_OK;
}

static void drop_view(StoreViews *views, StoreView *view) {
  const size_t place = (size_t)(view - views->view);
  free(view->name);
  free(view->address);
  views->count--;
  memmove(view, view + 1, (views->count - place) * sizeof *view);
}

void store_views_free(StoreViews *views) {
  while (views->count > 0) drop_view(views, &views->view[views->count - 1]);
  free(views->view);
  *views = (StoreViews){NULL, 0};
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static int make_path(const char *root, const char *name, char path[CORE_PATH_MAX]) {
  return core_files_path(path, "%s/annotations/%s", root, name);
}

int store_views_read(const char *root, StoreViews *views) {
  char path[CORE_PATH_MAX], *data;
  size_t size;
  const char *name;
  json_t *value;
  json_error_t error;

  *views = (StoreViews){NULL, 0};
  TRY(make_path(root, "views.json", path));
  if (!core_files_exists(path)) return CORE_OK;
  TRY(core_files_read(path, FILE_MAX, &data, &size));
  json_t *object = json_loadb(data, size, 0, &error);
  free(data);
  if (!json_is_object(object)) {
    json_decref(object);
    return core_error(CORE_FAIL, "%s: not a JSON object; correct or remove the file", path);
  }

  json_object_foreach(object, name, value) {
    const char *address = json_string_value(value);
    if (address && put_view(views, name, address) != CORE_OK) core_error_clear();
  }
  json_decref(object);
  return CORE_OK;
}

static int write_file(const char *path, const StoreViews *views) {
  CoreText text = {0};
  json_t *object = json_object();
  for (size_t i = 0; i < views->count; i++)
    json_object_set_new(object, views->view[i].name, core_json_text(views->view[i].address));
  core_json_append(object, 2, &text);
  core_text_append(&text, "\n");
  const int code = core_files_write_atomic(path, text.data, text.length);
  core_text_free(&text);
  json_decref(object);
  return code;
}

static int remove_view(StoreViews *views, const char *name) {
  StoreView *found = find_view(views, name);
  if (!found) return core_error(CORE_USAGE, "name: there is no such view");
  drop_view(views, found);
  return CORE_OK;
}

/* Saves the view; address NULL: removes it. */
static int change(const char *root, const char *name, const char *address) {
  char path[CORE_PATH_MAX], lock_path[CORE_PATH_MAX], directory[CORE_PATH_MAX];
  StoreViews views;
  int lock;
  TRY(make_path(root, "views.json", path));
  TRY(make_path(root, ".lock", lock_path));
  TRY(core_files_parent(path, directory, NULL));
  TRY(core_files_make_directories(directory));
  TRY(core_files_lock_within(lock_path, LOCK_WAIT_S, &lock));

  int code = store_views_read(root, &views);
  if (code == CORE_OK) code = address ? put_view(&views, name, address) : remove_view(&views, name);
  if (code == CORE_OK) code = write_file(path, &views);
  store_views_free(&views);
  core_files_unlock(&lock);
  return code;
}

int store_views_save(const char *root, const char *name, const char *address) { return change(root, name, address); }
int store_views_remove(const char *root, const char *name) { return change(root, name, NULL); }
