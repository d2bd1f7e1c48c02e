/* Colors, markers and styles (palette.h). The tables are published ones: Okabe & Ito 2008 (Color Universal Design),
 * matplotlib's viridis (van der Walt & Smith 2015), ColorBrewer's sequential schemes (Harrower & Brewer 2003). Hues are
 * those of Oklab (Ottosson 2020, https://bottosson.github.io/posts/oklab). */
#include "analysis/plot/palette.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

enum { STOPS = 7, RAMPS = 6, RAMP_GROUPS_MAX = 8, HUE_GROUPS_MAX = 40, LEVELS = 3 };

static const AnalysisStyle styles[] = {
  {"paper", 10, 672, 336, 1, 1, 0xffffff, 0x000000, 0x5f5f5f, 0xe3e3e3},
  {"slides", 16, 1120, 640, 1.5, 1.5, 0xffffff, 0x1a1a1a, 0x5f5f5f, 0xe3e3e3},
  {"dark", 16, 1120, 640, 1.5, 1.5, 0x16181d, 0xe8e8e8, 0xa8a8a8, 0x33363d},
};

/* Okabe's and Ito's six colors, and four more for pages. */
static const uint32_t names[ANALYSIS_NAME_COLORS] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9,
                                                     0x8c6bb1, 0x7f7f00, 0xa6611a, 0x808080};
enum { OKABE_ITO = 6 };

static const uint32_t viridis[STOPS] = {0x440154, 0x443983, 0x31688e, 0x21918c, 0x35b779, 0x90d743, 0xe3d51b};
static const uint32_t ramps[RAMPS][STOPS] = {
  {0x081d58, 0x253494, 0x225ea8, 0x1d91c0, 0x35a9c0, 0x55bcc0, 0x8ccfb5}, /* YlGnBu without its palest end */
  {0x67000d, 0x98101a, 0xbf1a1f, 0xe2342a, 0xf55d3e, 0xfb8060, 0xfca486}, /* Reds without its palest end */
  {0x3f007d, 0x54278f, 0x6a51a3, 0x807dba, 0x9e9ac8, 0xb3b1d6, 0xcccce5}, /* Purples */
  {0x1a1a1a, 0x404040, 0x5a5a5a, 0x777777, 0x969696, 0xb0b0b0, 0xc8c8c8}, /* Grays */
  {0x00441b, 0x006d2c, 0x238b45, 0x41ab5d, 0x74c476, 0x8fd08c, 0xa1d99b}, /* Greens without its palest end */
  {0x662506, 0x993404, 0xcc4c02, 0xec7014, 0xfe9929, 0xfeb24c, 0xfec44f}, /* YlOrBr without its palest end */
};

int analysis_style_find(const char *name, const AnalysisStyle **style) {
  const char *known[sizeof styles / sizeof *styles];
  *style = &styles[0];
  for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
    known[i] = styles[i].name;
    if (!name || strcmp(name, styles[i].name) == 0) {
      *style = &styles[i];
      return CORE_OK;
    }
  }
  const char *near = core_text_nearest(name, known, sizeof known / sizeof *known);
  if (near) return core_error(CORE_USAGE, "--style %s: did you mean %s?", name, near);
  return core_error(CORE_USAGE, "--style %s: expected paper, slides or dark", name);
}

uint32_t analysis_mix(uint32_t a, uint32_t b, double t) {
  uint32_t color = 0;
  for (int shift = 0; shift <= 16; shift += 8) {
    double from = (a >> shift) & 255, to = (b >> shift) & 255;
    color |= (uint32_t)lround(from + t * (to - from)) << shift;
  }
  return color;
}

static uint32_t ramp_color(const uint32_t stops[STOPS], double t) {
  double position = t * (STOPS - 1);
  int below = (int)position < STOPS - 2 ? (int)position : STOPS - 2;
  return analysis_mix(stops[below], stops[below + 1], position - below);
}

uint32_t analysis_ramp(double t) { return ramp_color(viridis, fmin(fmax(t, 0), 1)); }

uint32_t analysis_family_ramp(size_t family, double t) {
  return ramp_color(ramps[family % RAMPS], fmin(fmax(t, 0), 1));
}

/* Returns a channel of sRGB, 0 to 255, of a linear one; outside of 0 to 1 it is clamped. */
static uint32_t srgb_channel(double linear) {
  const double value = fmin(fmax(linear, 0), 1);
  const double gamma = value <= 0.0031308 ? 12.92 * value : 1.055 * pow(value, 1 / 2.4) - 0.055;
  return (uint32_t)lround(255 * gamma);
}

/* Returns the sRGB color of an Oklab lightness, chroma and hue in radians. */
static uint32_t oklab_color(double lightness, double chroma, double hue) {
  const double a = chroma * cos(hue), b = chroma * sin(hue);
  const double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
  const double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
  const double s = pow(lightness - 0.0894841775 * a - 1.2914855480 * b, 3);
  const uint32_t red = srgb_channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s);
  const uint32_t green = srgb_channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s);
  const uint32_t blue = srgb_channel(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s);
  return red << 16 | green << 8 | blue;
}

uint32_t analysis_hue(double t, size_t level, const AnalysisStyle *style) {
  static const double first = 4.6, span = 5.5, chroma = 0.15; /* radians: from blue down to purple */
  static const double light[LEVELS] = {0.50, 0.70, 0.60}, dark[LEVELS] = {0.62, 0.84, 0.73};
  const bool dark_page = (style->background & 255) < 128;
  return oklab_color((dark_page ? dark : light)[level % LEVELS], chroma, first - span * t);
}

uint32_t analysis_name_color(size_t index) { return names[index % ANALYSIS_NAME_COLORS]; }

uint32_t analysis_text_on(uint32_t color) { /* black or white, by ITU-R BT.601's luma */
  double luma = 0.299 * ((color >> 16) & 255) + 0.587 * ((color >> 8) & 255) + 0.114 * (color & 255);
  return luma > 140 ? 0x000000 : 0xffffff;
}

/* Returns the position of a rank on a ramp. On a dark page the dark end would be invisible, so the lighter part is
 * used, reversed. */
static double ramp_position(size_t rank, size_t count, const AnalysisStyle *style) {
  double t = count > 1 ? (double)rank / (double)(count - 1) : 0.35;
  if (count == 2 || count == 3) t = 0.1 + 0.6 * t; /* sufficiently distinct without the pale end */
  bool dark_page = (style->background & 255) < 128;
  return dark_page ? 0.25 + 0.75 * t : t;
}

static bool keys_are_numbers(const AnalysisFamily *family) {
  for (size_t k = 0; k < family->key_count; k++) {
    if (!core_config_is_number(family->keys[k]->kind)) return false;
  }
  return family->key_count > 0;
}

/* Returns the index of the group's value of `row` among the values of its family, in order of appearance. */
static size_t value_rank(const AnalysisGrouping *grouping, size_t group, const CoreConfigRow *row) {
  size_t rank = 0;
  CoreText value = {0}, other = {0};
  const AnalysisGroup *groups = grouping->groups;
  const char *wanted = analysis_key_value(groups[group].config, row, &value);

  for (size_t g = 0; g < group; g++) {
    if (strcmp(analysis_key_value(groups[g].config, row, &other), wanted) == 0) break;
    bool seen = false; /* count each value once, at its first group */
    for (size_t e = 0; e < g && !seen; e++) {
      CoreText earlier = {0};
      seen = strcmp(analysis_key_value(groups[e].config, row, &earlier), core_text_string(&other)) == 0;
      core_text_free(&earlier);
    }
    rank += !seen;
  }

  core_text_free(&value);
  core_text_free(&other);
  return rank;
}

/* Returns the color of group `first + i`, the i-th of a family. */
static uint32_t group_color(const AnalysisGrouping *grouping, size_t f, size_t first, size_t i,
                            const AnalysisStyle *style) {
  const AnalysisFamily *family = &grouping->families[f];
  const bool has_several = grouping->family_count > 1, has_numbers = keys_are_numbers(family);
  const size_t count = family->group_count;
  const double t = ramp_position(i, count, style);
  if (has_several && grouping->count == grouping->family_count && grouping->count <= OKABE_ITO)
    return names[first + i]; /* one group of each: treated as names, whatever their keys */
  if (has_several && (has_numbers || count == 1)) return ramp_color(ramps[f % RAMPS], t);
  if (!has_numbers && grouping->count <= OKABE_ITO) return names[first + i];
  if (count > RAMP_GROUPS_MAX && count <= HUE_GROUPS_MAX)
    return analysis_hue((double)i / (double)(count - 1), i, style);
  return ramp_color(viridis, count > 1 ? t : 0.3);
}

uint32_t *analysis_colors_create(const AnalysisGrouping *grouping, const AnalysisStyle *style) {
  uint32_t *colors = core_memory_zero_allocate(grouping->count + 1, sizeof *colors);
  for (size_t f = 0, first = 0; f < grouping->family_count; first += grouping->families[f++].group_count)
    for (size_t i = 0; i < grouping->families[f].group_count; i++)
      colors[first + i] = group_color(grouping, f, first, i, style);
  return colors;
}

AnalysisMark *analysis_marks_create(const AnalysisGrouping *grouping, const AnalysisStyle *style) {
  AnalysisMark *marks = core_memory_zero_allocate(grouping->count + 1, sizeof *marks);
  uint32_t *colors = analysis_colors_create(grouping, style);
  for (size_t f = 0, first = 0; f < grouping->family_count; first += grouping->families[f++].group_count) {
    const AnalysisFamily *family = &grouping->families[f];
    const CoreConfigRow *last = family->key_count > 1 ? family->keys[family->key_count - 1] : NULL;
    for (size_t i = 0; i < family->group_count; i++) {
      AnalysisMark *mark = &marks[first + i];
      mark->color = colors[first + i];
      if (grouping->family_count > 1) mark->shape = (AnalysisShape)(f % ANALYSIS_SHAPES);
      else if (last) mark->shape = (AnalysisShape)(value_rank(grouping, i, last) % ANALYSIS_SHAPES);
    }
  }

  free(colors);
  return marks;
}
