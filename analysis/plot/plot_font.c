/* Widths of text (plot_internal.h), from the advance widths of DejaVu Sans 2.37 in thousandths of the font size.
 * Figures request Helvetica, Arial, sans-serif: DejaVu Sans, which replaces them on many Linux machines, is the
 * widest of these, so that what fits its widths fits all. */
#include <stddef.h>
#include <stdint.h>

#include "analysis/plot/plot_internal.h"
#include "core/text.h"
#include "core/unicode.h"

static const short ascii[] = {
  318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
  636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
  748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
  615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
  337, 636, 838};

static const short ascii_bold[] = {
  348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696, 696, 696, 696, 696,
  696, 696, 696, 400, 400, 838, 838, 838, 580, 1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775, 637, 995,
  837, 850, 733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838, 500, 500, 675, 716, 593, 716,
  678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687, 716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712,
  365, 712, 838};

static const short latin[] = {
  318, 401, 636, 636, 636, 636, 337, 500, 500, 1000, 471, 612, 838, 361, 1000, 500, 500, 838, 401, 401, 500, 636, 636,
  318, 500, 401, 471, 612, 969, 969, 969, 531, 684, 684, 684, 684, 684, 684, 974, 698, 632, 632, 632, 632, 295, 295,
  295, 295, 775, 748, 787, 787, 787, 787, 787, 838, 787, 732, 732, 732, 732, 611, 605, 630, 613, 613, 613, 613, 613,
  613, 982, 550, 615, 615, 615, 615, 278, 278, 278, 278, 612, 634, 612, 612, 612, 612, 612, 838, 612, 634, 634, 634,
  634, 592, 635, 592, 684, 613, 684, 613, 684, 613, 698, 550, 698, 550, 698, 550, 698, 550, 770, 635, 775, 635, 632,
  615, 632, 615, 632, 615, 632, 615, 632, 615, 775, 635, 775, 635, 775, 635, 775, 635, 752, 634, 916, 695, 295, 278,
  295, 278, 295, 278, 295, 278, 295, 278, 590, 556, 295, 278, 656, 579, 579, 557, 278, 557, 278, 557, 375, 557, 342,
  562, 284, 748, 634, 748, 634, 748, 634, 813, 748, 634, 787, 612, 787, 612, 787, 612, 1070, 1023, 695, 411, 695, 411,
  695, 411, 635, 521, 635, 521, 635, 521, 635, 521, 611, 392, 611, 392, 611, 392, 732, 634, 732, 634, 732, 634, 732,
  634, 732, 634, 732, 634, 989, 818, 611, 592, 611, 685, 525, 685, 525, 685, 525, 352};

static const short greek[] = {
  654, 568, 862, 647, 278, 278, 748, 650, 800, 800, 500, 549, 550, 549, 337, 295, 800, 800, 800, 800, 500, 500, 692,
  318, 746, 871, 408, 800, 812, 800, 825, 826, 338, 684, 686, 557, 684, 632, 685, 752, 787, 295, 656, 684, 863, 748,
  632, 787, 752, 603, 800, 632, 611, 611, 787, 685, 787, 764, 295, 611, 659, 541, 634, 338, 579, 659, 638, 592, 612,
  541, 544, 634, 612, 338, 589, 592, 636, 559, 558, 612, 602, 635, 587, 634, 602, 579, 660, 578, 660, 837, 338, 579,
  612, 579, 837, 656, 614, 619, 699, 842, 699, 660, 837, 664, 787, 612, 648, 587, 575, 458, 660, 660, 865, 627, 934,
  837, 758, 659, 792, 615, 687, 607, 768, 625, 699, 612, 611, 536, 664, 635, 550, 278, 787, 615, 615, 605, 635, 698,
  863, 651, 635, 703, 698, 703};

static const short cyrillic[] = {
  632, 632, 786, 610, 698, 635, 295, 295, 295, 1094, 1045, 786, 710, 748, 609, 752, 684, 686, 686, 610, 781, 632,
  1077, 641, 748, 748, 710, 752, 863, 752, 787, 752, 603, 698, 611, 609, 861, 685, 776, 686, 1069, 1094, 833, 882,
  686, 698, 1080, 695, 613, 617, 589, 525, 691, 615, 901, 532, 650, 650, 604, 639, 754, 654, 612, 654, 635, 550, 583,
  592, 855, 592, 681, 591, 915, 942, 707, 790, 589, 549, 842, 602, 615, 615, 625, 525, 549, 521, 278, 278, 278, 902,
  898, 652, 604, 650, 592, 654};

static const short punctuation[] = {
  361, 361, 636, 500, 1000, 1000, 500, 500, 318, 318, 318, 318, 518, 518, 518, 518, 500, 500, 590, 590, 334, 667,
  1000, 318, 0, 0, 0, 0, 0, 0, 0, 200, 1342, 1735, 227, 374, 520, 227, 374, 520, 339, 400, 400};

static const short signs[] = {
  838, 838, 838, 838, 838, 838};

static const short mathematics[] = {
  684, 636, 517, 632, 632, 871, 669, 669, 871, 871, 718, 871, 871, 718, 636, 757, 757, 674, 838, 838, 838, 337, 637,
  838, 626, 626, 637, 637, 637, 714, 833, 838, 896, 896, 838, 500, 500, 500, 500, 732, 732, 732, 732, 521, 789, 1057,
  521, 789, 1057, 521, 521, 521, 636, 636, 260, 636, 838, 838, 838, 838, 838, 838, 838, 838, 375, 838, 838, 838, 838,
  838, 838, 838, 838, 838, 838, 838, 838, 838, 838, 838, 838, 838, 839, 839, 1000, 1000, 838, 838, 838, 838, 838, 838,
  838, 838, 838, 838, 838, 838, 838, 838, 838, 838, 838, 838, 838, 838, 1047, 1047, 464, 838, 838, 838};

/* Width tables by first character. */
static const struct { uint32_t first; const short *width; size_t count; } tables[] = {
  {0x20, ascii, sizeof ascii / sizeof *ascii},
  {0xa0, latin, sizeof latin / sizeof *latin},
  {0x370, greek, sizeof greek / sizeof *greek},
  {0x400, cyrillic, sizeof cyrillic / sizeof *cyrillic},
  {0x2010, punctuation, sizeof punctuation / sizeof *punctuation},
  {0x2190, signs, sizeof signs / sizeof *signs},
  {0x2200, mathematics, sizeof mathematics / sizeof *mathematics},
};

/* Returns the width relative to the font size. Letters of other scripts, and pictograms, have at most that of a
 * square. */
static double character_width(uint32_t c, bool bold) {
  static const double BOLD = 1.2; /* ratio of bold to plain letters outside ASCII */
  if (bold && c >= 0x20 && c - 0x20 < sizeof ascii_bold / sizeof *ascii_bold) return ascii_bold[c - 0x20] / 1000.0;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    if (c < tables[i].first || c - tables[i].first >= tables[i].count) continue;
    return tables[i].width[c - tables[i].first] / 1000.0 * (bold ? BOLD : 1);
  }
  const bool combining = (c >= 0x300 && c < 0x370) || (c >= 0x200b && c < 0x2010) || (c >= 0xfe00 && c < 0xfe10);
  return combining ? 0 : 1.1;
}

size_t plot_font_character(const char *text, double font_px, bool bold, double *width) {
  const char *end = text;
  *width = font_px * character_width(core_unicode_next(&end), bold);
  return (size_t)(end - text);
}

static double text_width(const char *text, double font_px, bool bold) {
  double width = 0;
  while (*text) {
    double of_character;
    text += plot_font_character(text, font_px, bold, &of_character);
    width += of_character;
  }
  return width;
}

double plot_layout_text_width(const char *text, double font_px) { return text_width(text, font_px, false); }
double plot_layout_bold_width(const char *text, double font_px) { return text_width(text, font_px, true); }
