/* Pictures of worlds: a level, or the current state of a world (sim_batch_get_world), as a short list of filled shapes
 * in world meters, in Kinetix' colors (its kinetix/render/renderer_pixels.py). draw_svg.c and draw_image.h
 * encode sheets of such drawings. */
#ifndef SIM_DRAW_H
#define SIM_DRAW_H
#include "core/text.h"
#include "sim/physics/level.h"

typedef struct SimDrawColor { uint8_t red, green, blue; } SimDrawColor;
static const SimDrawColor SIM_DRAW_BLACK = {0, 0, 0}, SIM_DRAW_WHITE = {255, 255, 255};

/* Convex polygon or disc. The black edge lies inside the outline. */
enum { SIM_DRAW_CORNERS = 4 };
typedef struct SimDrawItem {
  SimDrawColor fill;
  float edge;                                     /* width in meters; 0: none */
  int corners;                                    /* 3 or 4, clockwise; 0: a disc */
  float x[SIM_DRAW_CORNERS], y[SIM_DRAW_CORNERS]; /* corners; [0] holds the center of a disc */
  float radius;
} SimDrawItem;

/* Items in painting order. A circle has a line that shows its rotation, a thruster has a nozzle and a flame. */
enum { SIM_DRAW_ITEMS = SIM_SHAPES_MAX + SIM_CIRCLES_MAX + SIM_JOINTS_MAX + 2 * SIM_THRUSTERS_MAX };
typedef struct SimDrawing {
  SimDrawItem item[SIM_DRAW_ITEMS];
  int count;
} SimDrawing;

/* Visible part of the world: a square slightly larger than the arena of 5 m, so that walls and ceiling show. */
#define SIM_DRAW_LEFT (-0.1f)
#define SIM_DRAW_BOTTOM (-0.1f)
#define SIM_DRAW_WIDTH 5.2f

/* Draws a level that has passed sim_level_check. thrust: 0..1 for each thruster binding, the length of its flame; NULL:
 * medium length for all. Bodies that are not finite are omitted. */
void sim_draw_world(const SimLevel *level, const float *thrust, SimDrawing *drawing);

/* Returns the fill color of a body: by role, gray or darker if fixated. */
SimDrawColor sim_draw_body_color(const SimShape *shape);

/* Returns all colors that fill items, white included, for palettes. */
enum { SIM_DRAW_COLORS = 14 };
void sim_draw_palette(SimDrawColor color[SIM_DRAW_COLORS]);

/* Moves each side of a polygon item inwards by `distance` and writes the corners; returns false if nothing is left. */
bool sim_draw_inset(const SimDrawItem *item, float distance, float x[SIM_DRAW_CORNERS], float y[SIM_DRAW_CORNERS]);

/* ---- sheets: one drawing or many in rows, each with a label over it ---- */

enum { SIM_DRAW_LABEL = 96, SIM_DRAW_PIXELS_MIN = 32, SIM_DRAW_PIXELS_MAX = 2048, SIM_DRAW_SIDE_MAX = 8192 };
typedef struct SimDrawCell {
  SimDrawing drawing;
  char label[SIM_DRAW_LABEL]; /* may hold any bytes */
} SimDrawCell;

typedef struct SimDrawSheet {
  int columns, rows;
  int pixels;               /* side of a cell */
  bool labeled;
  int count;                /* cells, row by row; at most columns * rows */
  const SimDrawCell *cell;
} SimDrawSheet;

/* Return the size of the sheet in pixels, and the left and top pixel of a cell's drawing. */
int sim_draw_sheet_width(const SimDrawSheet *sheet);
int sim_draw_sheet_height(const SimDrawSheet *sheet);
int sim_draw_cell_left(const SimDrawSheet *sheet, int cell);
int sim_draw_cell_top(const SimDrawSheet *sheet, int cell);
enum { SIM_DRAW_LABEL_PIXELS = 16, SIM_DRAW_GAP_PIXELS = 8 }; /* height of a label; gap between cells and around them */

/* Checks the layout. CORE_USAGE: no cells, cells smaller or larger than the limits above, a picture with more than
 * SIM_DRAW_SIDE_MAX pixels a side. */
int sim_draw_sheet_check(const SimDrawSheet *sheet);

/* Appends an SVG document: vector graphics for browsers and drawing programs. CORE_USAGE: see sim_draw_sheet_check. */
int sim_draw_svg(const SimDrawSheet *sheet, CoreText *svg);

#endif
