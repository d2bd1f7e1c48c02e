/* EGL and OSMesa, opened by name (mujoco_render.h). Their types and constants are declared here, so that their headers
 * are not needed. Pixels go to a framebuffer created by MuJoCo, so the context has no surface. */
#include "trainer/envs/mujoco/mujoco_render.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/memory.h"

const MujocoCanvasLibraries MUJOCO_CANVAS_LIBRARIES = {"libEGL.so.1", {"libOSMesa.so.8", "libOSMesa.so.6"}};

/* Functions: result, name, arguments. */
#define EGL_FUNCTIONS(F) \
  F(void *, eglGetProcAddress, (const char *name)) \
  F(void *, eglGetDisplay, (void *native)) \
  F(unsigned, eglInitialize, (void *display, int32_t *major, int32_t *minor)) \
  F(unsigned, eglTerminate, (void *display)) \
  F(unsigned, eglBindAPI, (unsigned api)) \
  F(unsigned, eglChooseConfig, \
    (void *display, const int32_t *attributes, void **configs, int32_t size, int32_t *count)) \
  F(void *, eglCreateContext, (void *display, void *config, void *shared, const int32_t *attributes)) \
  F(unsigned, eglDestroyContext, (void *display, void *context)) \
  F(unsigned, eglMakeCurrent, (void *display, void *draw, void *read, void *context))
#define OSMESA_FUNCTIONS(F) \
  F(void *, OSMesaCreateContextExt, \
    (unsigned format, int32_t depth, int32_t stencil, int32_t accumulation, void *shared)) \
  F(void, OSMesaDestroyContext, (void *context)) \
  F(uint8_t, OSMesaMakeCurrent, (void *context, void *buffer, unsigned type, int32_t width, int32_t height))

#define F(result, name, arguments) result (*name) arguments;
typedef struct Egl { EGL_FUNCTIONS(F) } Egl;
typedef struct Osmesa { OSMESA_FUNCTIONS(F) } Osmesa;
#undef F

/* Constants of EGL and OpenGL, by their names. */
enum {
  EGL_OPENGL_API = 0x30a2, EGL_NONE = 0x3038, EGL_SURFACE_TYPE = 0x3033, EGL_PBUFFER_BIT = 1,
  EGL_RENDERABLE_TYPE = 0x3040, EGL_OPENGL_BIT = 8, EGL_RED_SIZE = 0x3024, EGL_GREEN_SIZE = 0x3023,
  EGL_BLUE_SIZE = 0x3022, EGL_DEPTH_SIZE = 0x3025, EGL_PLATFORM_DEVICE = 0x313f, EGL_PLATFORM_SURFACELESS = 0x31dd,
  GL_UNSIGNED_BYTE = 0x1401, GL_RGBA = 0x1908,
};
enum { DEVICES_MAX = 16, SIDE = 16, REASON = 200 };

struct MujocoCanvas {
  bool is_egl;
  Egl egl;
  Osmesa osmesa;
  void *display;             /* EGLDisplay */
  void *context;
  uint8_t buffer[4 * SIDE * SIDE]; /* surface required by OSMesa, unused */
};

static bool find_function(void *library, const char *file, const char *name, void **function, char reason[REASON]) {
  *function = dlsym(library, name);
  if (*function == NULL) snprintf(reason, REASON, "%s has no %s", file, name);
  return *function != NULL;
}

static void *open_library(const char *name, char reason[REASON]) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) snprintf(reason, REASON, "%.180s", dlerror());
  return library;
}

/* Makes the library's symbols global: libmujoco looks up eglGetProcAddress and then OSMesaGetProcAddress in the whole
 * process, so only the library that has a working context may be visible. */
static void make_global(const char *name) { dlopen(name, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD); }

/* ---- EGL --------------------------------------------------------------------------------------------------------- */

static bool try_display(MujocoCanvas *canvas, void *display) {
  static const int32_t attributes[] = {EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT,
                                   EGL_RED_SIZE, 8, EGL_GREEN_SIZE, 8, EGL_BLUE_SIZE, 8, EGL_DEPTH_SIZE, 24, EGL_NONE};
  const Egl *egl = &canvas->egl;
  int32_t major, minor, count = 0;
  void *config = NULL, *context = NULL;

  if (display == NULL || !egl->eglInitialize(display, &major, &minor)) return false;
  if (egl->eglBindAPI(EGL_OPENGL_API) && egl->eglChooseConfig(display, attributes, &config, 1, &count) && count > 0)
    context = egl->eglCreateContext(display, config, NULL, NULL);
  if (context != NULL && egl->eglMakeCurrent(display, NULL, NULL, context)) {
    canvas->display = display;
    canvas->context = context;
    return true;
  }

  if (context != NULL) egl->eglDestroyContext(display, context);
  egl->eglTerminate(display);
  return false;
}

/* Tries every device, which needs no display server, then surfaceless Mesa, then EGL's default display. */
static bool try_displays(MujocoCanvas *canvas) {
  const Egl *egl = &canvas->egl;
  unsigned (*query_devices)(int32_t, void **, int32_t *) = NULL;
  void *(*get_platform_display)(unsigned, void *, const int32_t *) = NULL;
  void *device[DEVICES_MAX];
  int32_t devices = 0;
  *(void **)&query_devices = egl->eglGetProcAddress("eglQueryDevicesEXT");
  *(void **)&get_platform_display = egl->eglGetProcAddress("eglGetPlatformDisplayEXT");
  if (query_devices && get_platform_display && query_devices(DEVICES_MAX, device, &devices))
    for (int i = 0; i < devices; i++)
      if (try_display(canvas, get_platform_display(EGL_PLATFORM_DEVICE, device[i], NULL))) return true;
  return (get_platform_display && try_display(canvas, get_platform_display(EGL_PLATFORM_SURFACELESS, NULL, NULL))) ||
         try_display(canvas, egl->eglGetDisplay(NULL));
}

static bool try_egl(MujocoCanvas *canvas, const char *name, char reason[REASON]) {
  void *library = open_library(name, reason);
  if (library == NULL) return false;
#define F(result, function, arguments) \
  if (!find_function(library, name, #function, (void **)&canvas->egl.function, reason)) return false;
  EGL_FUNCTIONS(F)
#undef F
  canvas->is_egl = try_displays(canvas);
  if (canvas->is_egl) make_global(name);
  else snprintf(reason, REASON, "%s has no display with OpenGL", name);
  return canvas->is_egl;
}

/* ---- OSMesa ------------------------------------------------------------------------------------------------------ */

static bool make_osmesa_current(MujocoCanvas *canvas) {
  return canvas->osmesa.OSMesaMakeCurrent(canvas->context, canvas->buffer, GL_UNSIGNED_BYTE, SIDE, SIDE);
}

static bool try_osmesa(MujocoCanvas *canvas, const char *name, char reason[REASON]) {
  void *library = open_library(name, reason);
  if (library == NULL) return false;
#define F(result, function, arguments) \
  if (!find_function(library, name, #function, (void **)&canvas->osmesa.function, reason)) return false;
  OSMESA_FUNCTIONS(F)
#undef F
  canvas->context = canvas->osmesa.OSMesaCreateContextExt(GL_RGBA, 24, 8, 0, NULL);
  if (canvas->context == NULL || !make_osmesa_current(canvas)) {
    snprintf(reason, REASON, "%s cannot create a context", name);
    if (canvas->context) canvas->osmesa.OSMesaDestroyContext(canvas->context);
    return false;
  }
  make_global(name);
  return true;
}

/* ---- canvas ------------------------------------------------------------------------------------------------------ */

int mujoco_canvas_create(const MujocoCanvasLibraries *libraries, MujocoCanvas **canvas) {
  char egl[REASON], osmesa[REASON], older[REASON];
  MujocoCanvas *created = core_memory_zero_allocate(1, sizeof *created);
  *canvas = created;
  if (try_egl(created, libraries->egl, egl)) return CORE_OK;
  if (try_osmesa(created, libraries->osmesa[0], osmesa) || try_osmesa(created, libraries->osmesa[1], older))
    return CORE_OK;
  free(created);
  *canvas = NULL;
  return core_error(CORE_USAGE, "MuJoCo cannot render with EGL (%s) or OSMesa (%s); install libegl1 or libosmesa6 "
                    "(Fedora: mesa-libEGL, mesa-libOSMesa). Training does not require them",
                    egl, osmesa);
}

void mujoco_canvas_make_current(MujocoCanvas *canvas) {
  const bool ok = canvas->is_egl ? canvas->egl.eglMakeCurrent(canvas->display, NULL, NULL, canvas->context)
                                   : make_osmesa_current(canvas);
  CORE_CHECK(ok);
}

const char *mujoco_canvas_name(const MujocoCanvas *canvas) { return canvas->is_egl ? "EGL" : "OSMesa"; }

/* Destroys the context. The libraries stay open, since libmujoco keeps pointers to their functions. */
void mujoco_canvas_destroy(MujocoCanvas **canvas) {
  MujocoCanvas *old = *canvas;
  if (old == NULL) return;
  if (old->is_egl) {
    old->egl.eglMakeCurrent(old->display, NULL, NULL, NULL);
    old->egl.eglDestroyContext(old->display, old->context);
    old->egl.eglTerminate(old->display);
  } else {
    old->osmesa.OSMesaDestroyContext(old->context);
  }
  free(old);
  *canvas = NULL;
}
