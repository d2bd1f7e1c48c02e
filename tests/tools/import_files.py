#!/usr/bin/env python3
"""Writes files of other tools below a directory, by their published formats: runs of Weights & Biases (LevelDB's log
format; wandb_internal.proto), of TensorBoard (TFRecord, event.proto, the HParams plugin), and tables.

Return of step s: s / 100 + seed, times 2 for lr 0.01.   import_files.py DIRECTORY"""
import binascii, json, os, struct, sys

# ---- protocol buffers

def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])

def text(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data

def integer(field, number):
    return varint(field << 3) + varint(number)

def double(field, number):
    return varint(field << 3 | 1) + struct.pack("<d", number)

def single(field, number):
    return varint(field << 3 | 5) + struct.pack("<f", number)

# ---- Weights & Biases

def wandb_items(field, values):
    out = b""
    for name, value in values.items():
        keys = b"".join(text(2, part) for part in name.split("/")) if "/" in name else text(1, name)
        out += text(field, keys + text(16, json.dumps(value)))
    return out

def wandb_file(path, records):
    """Fragments records over blocks of 32 KiB, as LevelDB's log does."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    out = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
    for record in records:
        kind, first = 0, True
        while first or record:
            left = 32768 - len(out) % 32768
            if left < 7:
                out += bytes(left)
                left = 32768
            part, record = record[:left - 7], record[left - 7:]
            kind = (1 if first else 4) if not record else (2 if first else 3)
            seed = binascii.crc32(bytes([kind]))
            out += struct.pack("<IHB", binascii.crc32(part, seed), len(part), kind) + part
            first = False
    with open(path, "wb") as file:
        file.write(out)

def returned(step, lr, seed):
    return (step / 100 + seed) * (2 if lr == 0.01 else 1)

def wandb_run(directory, lr, seed, code=0):
    config = {"lr": lr, "seed": seed, "env": "Ant-v4", "net": {"size": 64}, "layers": [64, 64], "_wandb": {"cli": 1},
              "clip": True, "version": "3.10"}
    run = text(1, "id%d" % seed) + text(4, wandb_items(1, config)) + text(17, integer(1, 1700000000))
    records = [integer(1, 1) + text(17, run), integer(1, 2) + text(4, text(2, "x" * 70000))]
    for step in range(0, 1000, 100):
        row = {"_step": step // 100, "global_step": step, "charts/episodic_return": returned(step, lr, seed),
               "losses/approx_kl": 0.01 if step else "NaN", "video": {"_type": "video-file"}}
        records.append(text(2, wandb_items(1, row)))
    records.append(text(18, integer(1, code)))
    wandb_file(f"{directory}/run-{lr}-{seed}/run-{lr}-{seed}.wandb", records)

# ---- TensorBoard

table = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    table.append(byte)

def crc(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = table[(value ^ byte) & 255] ^ value >> 8
    value ^= 0xFFFFFFFF
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)

def events(path, values):
    """values: (step, value of a summary)"""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        for step, value in [(0, None)] + values:
            event = double(1, 1700000000.5) + integer(2, step)
            event += text(3, "brain.Event:2") if value is None else text(5, text(1, value))
            length = struct.pack("<Q", len(event))
            file.write(length + crc(length) + event + crc(event))

def scalar(tag, value):
    return text(1, tag) + single(2, value)

def tensorboard_run(directory, env, lr, seed, kind):
    settings = {"env_id": env, "lr": lr, "seed": seed, "target_kl": None, "anneal": True}
    if kind == "cleanrl":
        lines = ["|param|value|", "|-|-|"] + [f"|{name}|{value}|" for name, value in settings.items()]
        head = [(0, text(1, "hyperparameters/text_summary") + text(8, integer(1, 7) + text(8, "\n".join(lines))))]
    elif kind == "hparams":
        entries = b""
        for name, value in settings.items():
            struct_value = (integer(1, 0) if value is None else integer(4, int(value)) if isinstance(value, bool)
                            else text(3, value) if isinstance(value, str) else double(2, value))
            entries += text(1, text(1, name) + text(2, struct_value))
        plugin = text(1, "hparams") + text(2, text(3, entries))
        head = [(0, text(1, "_hparams_/session_start_info") + text(9, text(1, plugin)))]
    else:
        head = []
    rows = [(step, scalar("charts/episodic_return", returned(step, lr, seed))) for step in range(0, 1000, 100)]
    name = f"{directory}/{env}__{lr}__{seed}"
    events(f"{name}/events.out.tfevents.1700000000.host.1.0", rows if kind == "hparams" else head + rows)
    if kind == "hparams":  # in a directory of its own, named by the time, as add_hparams does
        events(f"{name}/1700000000.25/events.out.tfevents.1700000001.host.1.1", head + [(0, scalar("hp/acc", 0.5))])

# ---- all

root = sys.argv[1]
for lr in (0.1, 0.01):
    for seed in range(3):
        wandb_run(f"{root}/wandb", lr, seed, code=1 if (lr, seed) == (0.1, 2) else 0)
for kind in ("cleanrl", "hparams", "path"):
    for env in ("Ant-v4", "Hopper-v4"):
        for seed in range(3):
            tensorboard_run(f"{root}/{kind}", env, 0.01, seed, kind)
os.makedirs(f"{root}/tables", exist_ok=True)
with open(f"{root}/long.csv", "w") as long:
    long.write("step,env,lr,return,seed,note\n")
    for step in range(0, 1000, 100):
        for lr in (0.1, 0.01):
            for seed in range(3):
                long.write(f'{step},"Ant, v4",{lr},{returned(step, lr, seed)},{seed},x\n')
for seed in range(3):
    with open(f"{root}/tables/lr0.1_s{seed}.csv", "w") as short:
        short.write("# monitor\nstep;return\n" + "".join(f"{s};{returned(s, 0.1, seed)}\n" for s in range(0, 1000, 100)))
