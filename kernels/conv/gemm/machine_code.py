"""Reads objdump's listing of the kernels' library, and fails where an innermost loop of
multiplications writes a vector to the stack.

The shortest loop of a function that multiplies and adds is the innermost one: the compiler moves
rare code behind a function's end, so that longer ones may have such stores without running them.
"""

import re
import sys

KERNELS = re.compile(r"::(N_AVX[23]\w*)::.*\b(RunTile|RunDots|RunFilterBlock)(<.*?>)\(")
SPILL = re.compile(r"vmov\w+ +%[xyz]mm\d+,-?(0x[0-9a-f]+)?\(%r[sb]p\b")


def functions(lines):
    name, code = None, []
    for line in lines:
        if match := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            if name:
                yield name, code
            name, code = match[1], []
        elif match := re.match(r" +([0-9a-f]+):\s+(.*)", line):
            code.append((int(match[1], 16), match[2]))
    if name:
        yield name, code


def innermost(code):
    """The instructions of the shortest loop with a product, or None."""
    loops = []
    for address, text in code:
        match = re.match(r"j\w+ +([0-9a-f]+) ", text)
        if match and int(match[1], 16) <= address:
            body = [t for a, t in code if int(match[1], 16) <= a <= address]
            if any("vfmadd" in t for t in body):
                loops.append(body)
    return min(loops, key=len, default=None)


seen, spills = set(), []
for name, code in functions(sys.stdin):
    match = KERNELS.search(name)
    if not match:
        continue
    loop = innermost(code)
    if loop is None:
        sys.exit(f"{name}: no loop of products found")
    seen.add((match[1], match[2]))
    stores = sum(1 for text in loop if SPILL.match(text))
    if stores:
        spills.append(f"{match[1]} {match[2]}{match[3]}: {stores} stores to the stack in a loop of "
                      f"{sum('vfmadd' in text for text in loop)} products")
for target in {target for target, _ in seen} or {"AVX2 and later"}:
    for kernel in ("RunTile", "RunDots", "RunFilterBlock"):
        if (target, kernel) not in seen:
            sys.exit(f"no {kernel} of {target} found")
sys.exit("\n".join(spills) or None)
