"""SVG for the scripts here: light or dark as the system is, with words for screen readers."""
import math
import os
import sys
from xml.sax.saxutils import escape

# As models/observe/report/charts/svg.cc has them, and two more.
STYLE = """
:root{--page:#fff;--text:#1b1f24;--faint:#57606a;--grid:#d0d7de;--c0:#0067a3;--c1:#c04f00;--c2:#00795a;
--c3:#a3327a;--c4:#6a5acd;--c5:#555;--c6:#d6604d;--c7:#8a6d00}
@media(prefers-color-scheme:dark){:root{--page:#14181d;--text:#e6edf3;--faint:#9da7b3;--grid:#39424d;
--c0:#5ab4f0;--c1:#ff9b52;--c2:#3ccba0;--c3:#e88bc0;--c4:#a99bff;--c5:#c8c8c8;--c6:#ff9385;--c7:#e0c050}}
text{fill:var(--text);font:12px system-ui,sans-serif}
.mono{font:12px ui-monospace,"DejaVu Sans Mono",monospace;white-space:pre}
.faint{fill:var(--faint)}
"""


def color(number):
    return f"var(--c{number % 8})"


class Picture:
    def __init__(self, width, height, title, description):
        self.width, self.height, self.title, self.description = width, height, title, description
        self.parts = []

    def rect(self, x, y, width, height, fill, title=None, more=""):
        inner = f"<title>{escape(title)}</title>" if title else ""
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
                          f'fill="{fill}"{more}>{inner}</rect>')

    def dot(self, x, y, radius, fill, title):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill}" '
                          f'fill-opacity=".75"><title>{escape(title)}</title></circle>')

    def path(self, path, stroke="var(--faint)", width=1, more=""):
        self.parts.append(f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{width}"{more}/>')

    def text(self, x, y, text, anchor="start", kind="", length=None):
        more = f' text-anchor="{anchor}"' * (anchor != "start") + f' class="{kind}"' * (kind != "")
        if length:  # whatever the font is
            more += f' textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs"'
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>')

    def legend(self, x, y, names, columns, step):
        """Names and their colours, by rows."""
        for i, (name, fill) in enumerate(names):
            left, top = x + step * (i % columns), y + 18 * (i // columns)
            self.rect(left, top, 12, 12, fill)
            self.text(left + 18, top + 11, name)

    def svg(self):
        size = f'width="{self.width}" height="{self.height}"'
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {self.width} {self.height}" '
            'role="img" aria-labelledby="title desc">', f'<title id="title">{escape(self.title)}</title>',
            f'<desc id="desc">{escape(self.description)}</desc>', f"<style>{STYLE}</style>",
            f'<rect {size} fill="var(--page)"/>', *self.parts, "</svg>"])


def ticks(most, count=5):
    """Round numbers from 0 to `most`, about `count`."""
    step = 10 ** math.floor(math.log10(most / count))
    step *= next(factor for factor in (1, 2, 5, 10) if most / (factor * step) <= count)
    return [i * step for i in range(int(most / step + 1e-9) + 1)]


def number(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def run_main(main):
    """A file that is missing, or is something else, is told in a line."""
    program = os.path.basename(sys.argv[0])
    try:
        main()
    except OSError as error:
        sys.exit(f"{program}: {error.filename}: {error.strerror}")
    except (ValueError, LookupError, TypeError) as error:
        sys.exit(f"{program}: the file is not of the expected kind (--help): {error!r}")
