#!/usr/bin/env python3
"""What nvcc and ptxas make of the kernels that run over activations, for an H100.

    machine_code.py PTXAS TABLE FILE.ptx...

Of every instance of EachVector and SumsOfBlocks with vectors of 16 bytes: it loads 16 bytes at once, an EachVector
stores nothing else, no integer is divided in 64 bits, no register is spilled; and it takes as many registers as TABLE
says, for this version of ptxas. No instance moves numbers of 16 bits by bytes: ptxas 13.0 stores another lower byte of
one that was just rounded (as the number, converted to an integer). Exit code 1, and a line for each that differs. DTNN_MACHINE_CODE_TABLE=FILE writes the
table anew.
"""

import os
import re
import subprocess
import sys

# Bytes of an element.
SIZES = {"Bfloat16": 2, "Float16": 2, "float": 4, "double": 8}
# What they store besides are the places of the largest elements, and signs.
OTHER_STORES = ["PoolForwardRowsBody", "(NormAddend)2"]
# What moves such bytes beside numbers of 16 bits.
WITH_BYTES = ["unsigned char", "(NormAddend)2", "(NormCut)2", "NormSignsBody"]


def entries(text):
    """Name and instructions of each kernel."""
    for match in re.finditer(r"\.entry (\w+)\(.*?\n\{\n(.*?)\n\}\n", text, re.DOTALL):
        yield match.group(1), match.group(2)


def demangled(names):
    answer = subprocess.run(["c++filt"], input="\n".join(names), text=True, capture_output=True, check=True).stdout
    namespaces = r"dtnn::|gpu::|compiled_by_nvcc::|pool::"
    wrapper = r"^void RunFunctor<|>\(.*"
    return [re.sub(wrapper, "", re.sub(namespaces, "", line)).strip() for line in answer.split("\n")]


def has_full_vectors(name):
    """Of NormDataBody<Bfloat16, 8>: 16 bytes."""
    body = re.search(r"(?:EachVector|SumsOfBlocks)<\w+<(.*?)>", name)
    if body is None:
        return False
    arguments = [argument.strip() for argument in body.group(1).split(",")]
    sizes = [SIZES[argument] for argument in arguments if argument in SIZES]
    lanes = [int(argument) for argument in arguments if argument.isdigit()]
    # A cast's vectors are full in its narrower type.
    return bool(sizes) and bool(lanes) and lanes[0] > 1 and lanes[0] * min(sizes) == 16


def wrong(name, code):
    loads = re.findall(r"\bld\.global\S*", code)
    stores = re.findall(r"\bst\.global\S*", code)
    whole = re.compile(r"v4\.[fub]32|v2\.[fub]64")
    if not any(whole.search(load) for load in loads):
        yield "loads no 16 bytes at once: " + ", ".join(sorted(set(loads)))
    narrow = sorted({store for store in stores if not whole.search(store)})
    if name.startswith("EachVector") and not any(other in name for other in OTHER_STORES) and narrow:
        yield "stores less than 16 bytes at once: " + ", ".join(narrow)
    divisions = re.findall(r"\b(?:div|rem)\.[su]64", code)
    if divisions:
        yield f"divides integers of 64 bits {len(divisions)} times"


def resources(ptxas, path):
    """By kernel: what it spills, as ptxas says it, and how many registers it takes."""
    text = subprocess.run([ptxas, "-v", "-arch=sm_90", path, "-o", "/dev/null"], text=True, capture_output=True, check=True)
    pattern = r"Function properties for (\w+)\n\s*(.*spill.*)\n.*Used (\d+) registers"
    return {name: (line.strip(), registers) for name, line, registers in re.findall(pattern, text.stderr + text.stdout)}


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    ptxas, table = sys.argv[1:3]
    version = re.search(r"V[\d.]+", subprocess.run([ptxas, "--version"], text=True, capture_output=True, check=True).stdout)
    lines, findings = [f"ptxas {version.group(0)}"], []
    for path in sys.argv[3:]:
        with open(path, encoding="utf-8") as file:
            kernels = list(entries(file.read()))
        used = resources(ptxas, path)
        for (mangled, code), name in zip(kernels, demangled([name for name, _ in kernels])):
            has_bytes = any(other in name for other in WITH_BYTES)
            if "loat16" in name and not has_bytes and re.search(r"\b[ls][dt]\.global\S*\.[bus]8", code):
                findings.append(f"{path}: {name}: moves numbers of 16 bits by bytes")
            if not has_full_vectors(name):
                continue
            spilled, registers = used[mangled]
            lines.append(f"{name} {registers}")
            findings += [f"{path}: {name}: {problem}" for problem in wrong(name, code)]
            if not spilled.startswith("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"):
                findings.append(f"{path}: {name}: spills: {spilled}")
    lines[1:] = sorted(lines[1:])
    renewed = os.environ.get("DTNN_MACHINE_CODE_TABLE")
    if renewed:
        with open(renewed, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    else:
        with open(table, encoding="utf-8") as file:
            expected = file.read().split("\n")[:-1]
        if expected[0] != lines[0]:
            print(f"registers are not compared: {table} is of {expected[0]}, this is {lines[0]}")
        else:
            findings += [f"{table}: expected {line}" for line in expected if line not in lines]
            findings += [f"{table}: found {line}" for line in lines if line not in expected]
    print("\n".join(findings + [f"{len(lines) - 1} kernels with vectors of 16 bytes, {len(findings)} findings"]))
    sys.exit(1 if findings or len(lines) == 1 else 0)


if __name__ == "__main__":
    main()
