/* Pictures of worlds: a level, or a world's present state as sim_batch_get_world gives it, as a short list of filled
 * shapes in world metres, in Kinetix's colours (spec kinetix.md 3.5). draw_svg.h and draw_image.h turn sheets of such
 * drawings into files' bytes. */
#ifndef SIM_DRAW_H
#define SIM_DRAW_H
#include "sim/physics/level.h"

typedef struct SimDrawColor { uint8_t red, green, blue; } SimDrawColor;
static const SimDrawColor SIM_DRAW_BLACK = {0, 0, 0}, SIM_DRAW_WHITE = {255, 255, 255};

/* A convex polygon or a disc. The black edge lies inside the border. */
enum { SIM_DRAW_CORNERS = 4 };
typedef struct SimDrawItem {
  SimDrawColor fill;
  float edge;                                     /* width in metres; 0: none */
  int corners;                                    /* 3 or 4, clockwise; 0: a disc */
  float x[SIM_DRAW_CORNERS], y[SIM_DRAW_CORNERS]; /* of a disc: its centre at [0] */
  float radius;
} SimDrawItem;

/* In the order of painting. A circle has a line that shows its rotation, a thruster has nozzle and flame. */
enum { SIM_DRAW_ITEMS = SIM_MAX_SHAPES + SIM_MAX_CIRCLES + SIM_MAX_JOINTS + 2 * SIM_MAX_THRUSTERS };
typedef struct SimDrawing {
  SimDrawItem item[SIM_DRAW_ITEMS];
  int count;
} SimDrawing;

/* What is seen of the world: a square, a little more than the arena of 5 m, so that walls and ceiling show. */
#define SIM_DRAW_LEFT (-0.1f)
#define SIM_DRAW_BOTTOM (-0.1f)
#define SIM_DRAW_WIDTH 5.2f

/* `level` must have passed sim_level_check. thrust: 0..1 of each thruster binding, for flames as long as the push; NULL
 * draws all at medium length. Bodies that are not finite are left out. */
void sim_draw_world(const SimLevel *level, const float *thrust, SimDrawing *drawing);

/* The fill's colour of a body: by role, grey or darker when fixated. */
SimDrawColor sim_draw_body_color(const SimShape *shape);

/* Every colour that fills an item, white among them: for palettes. */
enum { SIM_DRAW_COLORS = 14 };
void sim_draw_palette(SimDrawColor color[SIM_DRAW_COLORS]);

/* Corners of a polygon item moved inwards, each border by `distance`; false when nothing is left. */
bool sim_draw_inset(const SimDrawItem *item, float distance, float x[SIM_DRAW_CORNERS], float y[SIM_DRAW_CORNERS]);

/* ---- sheets: one drawing or many in rows, each with a label over it ---- */

enum { SIM_DRAW_LABEL = 96, SIM_DRAW_PIXELS_MIN = 32, SIM_DRAW_PIXELS_MAX = 2048, SIM_DRAW_SIDE_MAX = 8192 };
typedef struct SimDrawCell {
  SimDrawing drawing;
  char label[SIM_DRAW_LABEL]; /* any bytes */
} SimDrawCell;

typedef struct SimDrawSheet {
  int columns, rows;
  int pixels;               /* a cell's side */
  bool labelled;
  int count;                /* cells, row by row; at most columns * rows */
  const SimDrawCell *cell;
} SimDrawSheet;

/* Pixels of the whole sheet, and of the cell's drawing from the left and the top. */
int sim_draw_sheet_width(const SimDrawSheet *sheet);
int sim_draw_sheet_height(const SimDrawSheet *sheet);
int sim_draw_cell_left(const SimDrawSheet *sheet, int cell);
int sim_draw_cell_top(const SimDrawSheet *sheet, int cell);
enum { SIM_DRAW_LABEL_PIXELS = 16, SIM_DRAW_GAP_PIXELS = 8 }; /* a label's height; between cells and around them */

/* CORE_USAGE: no cells, cells of fewer or more pixels than the limits above, a picture of more than
 * SIM_DRAW_SIDE_MAX pixels a side. */
int sim_draw_sheet_check(const SimDrawSheet *sheet);

#endif
