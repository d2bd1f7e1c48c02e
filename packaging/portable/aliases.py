#!/usr/bin/env python3
"""Makes the names that glibc's variables share one variable again in Zig's stub of libc.so.6.

The stub has all variables at one address. A linker that copies `environ` into a program must see that `__environ`, which
glibc itself uses, is the same variable, or the program's copy stays empty. So the names of a variable get an address of
their own, and all but the first are weak, as in glibc. Usage: aliases.py libc.so.6
"""
import struct
import sys
from pathlib import Path

VARIABLES = [["__environ", "_environ", "environ"], ["__progname_full", "program_invocation_name"],
             ["__progname", "program_invocation_short_name"], ["__timezone", "timezone"],
             ["__daylight", "daylight"], ["__tzname", "tzname"]]
SYMBOL = struct.Struct("<IBBHQQ")  # name, info, other, section, value, size
DYNSYM, WEAK, OBJECT = 11, 2, 1


def sections(data: bytearray) -> list[tuple[int, ...]]:
    start, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    return [struct.unpack_from("<IIQQQQIIQQ", data, start + i * size) for i in range(count)]


def main() -> None:
    path = Path(sys.argv[1])
    data = bytearray(path.read_bytes())
    headers = sections(data)
    symbols = next(header for header in headers if header[1] == DYNSYM)
    names = headers[symbols[6]][4]
    place = {name: (index, rank) for index, group in enumerate(VARIABLES) for rank, name in enumerate(group)}
    found = 0
    for offset in range(symbols[4], symbols[4] + symbols[5], SYMBOL.size):
        name, info, other, section, value, size = SYMBOL.unpack_from(data, offset)
        text = data[names + name:data.index(b"\0", names + name)].decode()
        if text not in place:
            continue
        index, rank = place[text]
        info = (WEAK << 4 | OBJECT) if rank else info
        SYMBOL.pack_into(data, offset, name, info, other, section, value + 64 * (index + 1), size)
        found += 1
    if found != len(place):
        sys.exit(f"{path}: {found} of the {len(place)} names are there")
    path.write_bytes(data)


main()
