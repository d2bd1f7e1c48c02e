/* Off-screen OpenGL for MuJoCo's images: EGL, OSMesa if EGL is absent, and the message if both are. Skips libraries
 * that the machine does not have. tests/cli/test_mujoco_pictures.sh checks the images. */
#include "test.h"

#include "core/error.h"
#include "trainer/envs/mujoco/mujoco_render.h"

static const char *const absent = "libabsent-from-everywhere.so.1";

static void make(const MujocoCanvasLibraries *libraries, const char *name) {
  MujocoCanvas *canvas = NULL;
  if (mujoco_canvas_create(libraries, &canvas) != CORE_OK) {
    assert_null(canvas);
    assert_message("libosmesa6");
    print_message("%s\n", core_error_message());
    skip();
  }
  assert_string_equal(mujoco_canvas_name(canvas), name);
  mujoco_canvas_make_current(canvas);
  mujoco_canvas_destroy(&canvas);
  assert_null(canvas);
}

static void test_osmesa(void **state) {
  MujocoCanvasLibraries libraries = MUJOCO_CANVAS_LIBRARIES;
  libraries.egl = absent;
  make(&libraries, "OSMesa");
}

static void test_egl(void **state) {
  MujocoCanvasLibraries libraries = MUJOCO_CANVAS_LIBRARIES;
  libraries.osmesa[0] = libraries.osmesa[1] = absent;
  make(&libraries, "EGL");
}

/* libm is a library, but no EGL. */
static void test_neither(void **state) {
  MujocoCanvas *canvas = NULL;
  const MujocoCanvasLibraries none = {absent, {absent, absent}}, wrong = {"libm.so.6", {"libm.so.6", absent}};
  assert_int_equal(mujoco_canvas_create(&none, &canvas), CORE_USAGE);
  assert_null(canvas);
  assert_message(absent);
  assert_message("install libegl1 or libosmesa6");
  assert_message("Training does not");
  assert_int_equal(mujoco_canvas_create(&wrong, &canvas), CORE_USAGE);
  assert_message("libm.so.6 has no egl");
  assert_message("libm.so.6 has no OSMesa");
  mujoco_canvas_destroy(&canvas);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_neither),
    cmocka_unit_test(test_osmesa),
    cmocka_unit_test(test_egl),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
