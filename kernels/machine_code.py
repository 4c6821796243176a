#!/usr/bin/env python3
"""What nvcc and ptxas make of the kernels that run over activations, for an H100.

    machine_code.py PTXAS FILE.ptx...

Of every instance of EachVector and SumsOfBlocks with vectors of 16 bytes: it loads 16 bytes at once, an EachVector
stores nothing else, no integer is divided in 64 bits, no register is spilled. Exit code 1, and a line for each that
differs.
"""

import re
import subprocess
import sys

# Bytes of an element.
SIZES = {"Bfloat16": 2, "Float16": 2, "float": 4, "double": 8}
# What they store besides are the places of the largest elements.
OTHER_STORES = ["PoolForwardRowsBody"]


def entries(text):
    """Name and instructions of each kernel."""
    for match in re.finditer(r"\.entry (\w+)\(.*?\n\{\n(.*?)\n\}\n", text, re.DOTALL):
        yield match.group(1), match.group(2)


def demangled(names):
    answer = subprocess.run(["c++filt"], input="\n".join(names), text=True, capture_output=True, check=True).stdout
    namespaces = r"dtnn::|gpu::|compiled_by_nvcc::|pool::"
    wrapper = r"^void RunFunctor<|>\(.*"
    return [re.sub(wrapper, "", re.sub(namespaces, "", line)) for line in answer.split("\n")]


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


def spills(ptxas, path):
    """What ptxas says of each kernel, where it is not 0 bytes."""
    text = subprocess.run([ptxas, "-v", "-arch=sm_90", path, "-o", "/dev/null"], text=True, capture_output=True, check=True)
    pattern = r"Function properties for (\w+)\n\s*(.*spill.*)"
    return {name: line for name, line in re.findall(pattern, text.stderr + text.stdout)
            if not line.startswith("0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    looked_at = bad = 0
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            kernels = list(entries(file.read()))
        spilled = spills(sys.argv[1], path)
        for (mangled, code), name in zip(kernels, demangled([name for name, _ in kernels])):
            if not has_full_vectors(name):
                continue
            looked_at += 1
            problems = list(wrong(name, code))
            if mangled in spilled:
                problems.append("spills: " + spilled[mangled].strip())
            for problem in problems:
                bad += 1
                print(f"{path}: {name}: {problem}")
    print(f"{looked_at} kernels with vectors of 16 bytes, {bad} findings")
    sys.exit(1 if bad or looked_at == 0 else 0)


if __name__ == "__main__":
    main()
