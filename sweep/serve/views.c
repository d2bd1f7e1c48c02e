/* Routes of named views (store/workspace/views.h). */
#include "store/workspace/views.h"

#include <pthread.h>

#include "sweep/serve/routes.h"

int serve_api_views(const ServeContext *context, json_t **value) {
  StoreViews views;
  json_t *list = json_array();
  const int code = store_views_read(context->serve->root, &views); /* a damaged file is no reason to show nothing */
  for (size_t i = 0; i < views.count; i++)
    json_array_append_new(list, json_pack("{s:o, s:o}", "name", core_json_text(views.view[i].name), "address",
                                          core_json_text(views.view[i].address)));
  *value = json_pack("{s:o, s:o}", "view", list, "problem",
                     code == CORE_OK ? json_null() : core_json_text(core_error_message()));
  store_views_free(&views);
  core_error_clear();
  return CORE_OK;
}

int serve_views_change(const ServeContext *context, json_t **value) {
  const char *name = serve_request_argument(context->request, "name");
  const char *address = serve_request_argument(context->request, "address");
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* that of the file is one of processes, not of threads */
  const char *root = context->serve->root;
  if (!name) return core_error(CORE_USAGE, "name=NAME is missing");

  pthread_mutex_lock(&lock);
  const int code = address && *address ? store_views_save(root, name, address) : store_views_remove(root, name);
  pthread_mutex_unlock(&lock);
  TRY(code);
  return serve_api_views(context, value);
}
