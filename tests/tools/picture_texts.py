"""Finds texts of SVG images that exceed the image or overlap another text, as measured by Pango, which librsvg uses, in
the fonts of this machine.

usage: picture_texts.py PICTURE.svg...
Exit status: 0 none, 1 some (one line each), 77 no Pango."""
import ctypes
import ctypes.util
import re
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
PANGO_SCALE = 1024
SLACK = 0.5  # pixels that hinting may add


class Measure:
    """Ink and logical extents of a line of text."""

    def __init__(self):
        self.pango = ctypes.CDLL("libpango-1.0.so.0")
        self.cairo = ctypes.CDLL("libpangocairo-1.0.so.0")
        self.gobject = ctypes.CDLL("libgobject-2.0.so.0")
        for library, name in ((self.cairo, "pango_cairo_font_map_new"), (self.pango, "pango_font_map_create_context"),
                              (self.pango, "pango_layout_new"), (self.pango, "pango_font_description_from_string")):
            getattr(library, name).restype = ctypes.c_void_p
        self.map = ctypes.c_void_p(self.cairo.pango_cairo_font_map_new())
        self.context = ctypes.c_void_p(self.pango.pango_font_map_create_context(self.map))
        self.layout = ctypes.c_void_p(self.pango.pango_layout_new(self.context))

    def width(self, text, families, size, bold):
        description = ctypes.c_void_p(self.pango.pango_font_description_from_string(families.encode()))
        self.pango.pango_font_description_set_absolute_size(description, ctypes.c_double(100 * size * PANGO_SCALE))
        if bold:
            self.pango.pango_font_description_set_weight(description, 700)
        self.pango.pango_layout_set_font_description(self.layout, description)
        data = text.encode()
        self.pango.pango_layout_set_text(self.layout, data, len(data))
        wide, high = ctypes.c_int(), ctypes.c_int()
        self.pango.pango_layout_get_size(self.layout, ctypes.byref(wide), ctypes.byref(high))
        self.pango.pango_font_description_free(description)
        return wide.value / PANGO_SCALE / 100


def parts(element, families, size):
    """(text, families, size, bold) of a text element and its spans."""
    bold = element.get("font-weight") == "bold"
    families, size = element.get("font-family", families), float(element.get("font-size", size))
    found = [(element.text or "", families, size, bold)]
    for child in element:
        found += parts(child, families, size)
        found.append((child.tail or "", families, size, bold))
    return [part for part in found if part[0]]


def boxes(root, measure):
    """(text, left, top, right, bottom, size) of each text."""
    for group in root.iter(SVG + "g"):
        transform = group.get("transform", "")
        at = re.search(r"translate\(([-0-9.]+),([-0-9.]+)\)", transform)
        turned = re.search(r"rotate\(([-0-9.]+)", transform)
        texts = group.findall(SVG + "text")
        if not at or not texts:
            continue
        pieces = parts(texts[0], group.get("font-family"), group.get("font-size"))
        text = "".join(piece[0] for piece in pieces)
        if not text.strip():
            continue
        x, y, size = float(at[1]), float(at[2]), float(group.get("font-size"))
        wide = sum(measure.width(*piece) for piece in pieces)
        anchor = {"start": 0, "middle": 0.5, "end": 1}[group.get("text-anchor", "start")]
        left, right, top, bottom = -anchor * wide, (1 - anchor) * wide, -0.75 * size, 0.2 * size
        angle = float(turned[1]) if turned else 0
        if angle == 0:
            yield text, x + left, y + top, x + right, y + bottom, angle
        elif angle in (-90, 270):
            yield text, x + top, y - right, x + bottom, y - left, angle
        elif angle in (-45, 315):  # names under an axis, which run parallel to one another
            slope = 0.7071
            yield text, x + slope * left, y - slope * right, x + slope * right, y - slope * left, angle


def overlap(a, b):
    if a[5] not in (0, -90, 270) or b[5] not in (0, -90, 270):
        return False
    return min(a[3], b[3]) - max(a[1], b[1]) > SLACK and min(a[4], b[4]) - max(a[2], b[2]) > SLACK


def faults(path, measure):
    root = tree.parse(path).getroot()
    width, height = float(root.get("width")), float(root.get("height"))
    found = list(boxes(root, measure))
    for i, box in enumerate(found):
        if box[1] < -SLACK or box[2] < -SLACK or box[3] > width + SLACK or box[4] > height + SLACK:
            yield f"{path}: leaves the picture of {width:g} x {height:g}: '{box[0]}' at {box[1]:.1f},{box[2]:.1f} to {box[3]:.1f},{box[4]:.1f}"
        for other in found[:i]:
            if overlap(box, other):
                yield f"{path}: '{box[0]}' lies over '{other[0]}'"


def main():
    try:
        measure = Measure()
    except OSError as error:
        print(f"no Pango: {error}")
        return 77
    found = 0
    for path in sys.argv[1:]:
        for fault in faults(path, measure):
            print(fault)
            found = 1
    return found


sys.exit(main())
