"""A program that logs a row per step in one of several ways, until it is killed or told to end.

Usage: sources.py SOURCE MANNER CHECKPOINTS
SOURCE: jsonl, file, csv, tensorboard, stdout. MANNER: append; anew (an attempt begins its file anew); rewrite (each row
rewrites the file, as pandas does); rotate. CHECKPOINTS: yes or no. The file `last` of the parent directory, if there
is one, has the number of steps after which the program ends; it writes its last step to `ended`."""
import json
import os
import struct
import sys
import time

source, manner, checkpoints = sys.argv[1:]
home = os.environ["SWEEP_DIR"]
path = {"jsonl": os.environ["SWEEP_METRICS"], "file": home + "/log.jsonl", "csv": home + "/log.csv",
        "tensorboard": home + "/tb/events.out.tfevents.1.a", "stdout": None}[source]
checkpoint = home + "/checkpoint"
table = []
for i in range(256):
    for _ in range(8):
        i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
    table.append(i)


def crc(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ table[(value ^ byte) & 255]
    value ^= 0xFFFFFFFF
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(number):
    data = b""
    while number > 127:
        data += bytes([number & 127 | 128])
        number >>= 7
    return data + bytes([number])


def field(number, data):
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def row(step):
    value = step * 7919 % 1000 + 0.5
    if source in ("jsonl", "file"):
        return (json.dumps({"step": step, "x": value}) + "\n").encode()
    if source == "csv":
        return b"%d,%.1f\n" % (step, value)
    if source == "stdout":
        return b"step %d x %.1f\n" % (step, value)
    scalar = field(1, b"x") + b"\x15" + struct.pack("<f", value)
    event = b"\x10" + varint(step) + field(5, field(1, scalar))
    length = struct.pack("<Q", len(event))
    return length + crc(length) + event + crc(event)


def write(fd, data):
    """In two parts, so that a kill may tear it."""
    middle = len(data) // 2
    os.write(fd, data[:middle])
    os.write(fd, data[middle:])


def open_log(flags):
    if path is None:
        return 1
    os.makedirs(os.path.dirname(path), exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o644)
    if source == "csv" and os.fstat(fd).st_size == 0:
        os.write(fd, b"step,x\n")
    return fd


def rotate(fd, number):
    if source == "tensorboard":  # a new file beside the old one
        global path
        path = home + "/tb/events.out.tfevents.%d.%d.b" % (number, int(os.environ["SWEEP_ATTEMPT"]))
    elif source != "stdout":
        os.rename(path, "%s.%d%03d" % (path, number, int(os.environ["SWEEP_ATTEMPT"])))
    if fd != 1:
        os.close(fd)
    return open_log(os.O_APPEND)


first = int(open(checkpoint).read()) + 1 if checkpoints == "yes" and os.path.exists(checkpoint) else 1
if manner == "rotate" and source == "tensorboard":
    path = home + "/tb/events.out.tfevents.%s.a" % os.environ["SWEEP_ATTEMPT"]
anew = manner != "append" and (manner != "rotate" or source == "csv")
log = open_log(os.O_TRUNC if manner in ("anew", "rewrite") else os.O_APPEND)
rows = [row(step) for step in range(1, first)] if manner == "rewrite" else []
step = first
while True:
    if manner == "rewrite":
        rows.append(row(step))
        new = path + ".new"
        with open(new, "wb") as file:
            file.write((b"step,x\n" if source == "csv" else b"") + b"".join(rows))
        os.replace(new, path)
    else:
        write(log, row(step))
    if step % 10 == 0 and checkpoints == "yes":
        with open(checkpoint + ".new", "w") as file:
            file.write(str(step))
        os.replace(checkpoint + ".new", checkpoint)
    if manner == "rotate" and step % 25 == 0:
        log = rotate(log, step)
    last = os.path.dirname(home) + "/last"
    if os.path.exists(last) and step >= first + int(open(last).read()):
        break
    step += 1
    time.sleep(0.002)
with open(os.path.dirname(home) + "/ended", "w") as file:
    file.write(str(step))
