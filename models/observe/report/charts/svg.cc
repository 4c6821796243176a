#include "models/observe/report/charts/svg.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "models/observe/report/charts/html.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr std::string_view kGenerator = " data-generator=\"DTNN\"";

std::string Format(const SvgPicture& picture, std::string_view attributes) {
  return StrCat("<svg", attributes, " role=\"img\" viewBox=\"0 0 ", SvgNumber(picture.width), " ",
                SvgNumber(picture.height), "\" aria-labelledby=\"", picture.id, "-title ",
                picture.id, "-desc\">\n<title id=\"", picture.id, "-title\">",
                HtmlText(picture.title), "</title>\n<desc id=\"", picture.id, "-desc\">",
                HtmlText(picture.description), "</desc>\n", picture.contents, "</svg>\n");
}

}  // namespace

// Each colour has a contrast of at least 3:1 with the background, and of most pairs one is darker,
// so that they differ without colour too (Okabe and Ito's, darkened).
std::string_view SvgStyle() {
  return R"(
:root{--page:#fff;--text:#1b1f24;--faint:#57606a;--grid:#d0d7de;
--c0:#0067a3;--c1:#c04f00;--c2:#00795a;--c3:#a3327a;--c4:#6a5acd;--c5:#555}
@media(prefers-color-scheme:dark){:root{--page:#14181d;--text:#e6edf3;--faint:#9da7b3;--grid:#39424d;
--c0:#5ab4f0;--c1:#ff9b52;--c2:#3ccba0;--c3:#e88bc0;--c4:#a99bff;--c5:#c8c8c8}}
svg text{fill:var(--text);font:12px system-ui,sans-serif}
.grid{stroke:var(--grid);fill:none}.axis{stroke:var(--faint);fill:none}
.c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}
.c3{stroke:var(--c3)}.c4{stroke:var(--c4)}.c5{stroke:var(--c5)}
.f0{fill:var(--c0)}.f1{fill:var(--c1)}.f2{fill:var(--c2)}
.f3{fill:var(--c3)}.f4{fill:var(--c4)}.f5{fill:var(--c5)}
.line{fill:none;stroke-width:2;stroke-linejoin:round}
.dash{stroke-dasharray:6 3}.dots{stroke-dasharray:2 3}
.page{fill:var(--page)}.edge{stroke:var(--page);stroke-width:.5}
)";
}

std::string SvgNumber(double value) {
  std::string text = absl::StrFormat("%.2f", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

bool IsSvgFile(std::string_view start) {
  return start.substr(0, start.find('>')).find(kGenerator) != start.npos;
}

std::string FormatSvg(const SvgPicture& picture) { return Format(picture, ""); }

std::string FormatSvgFile(const SvgPicture& picture) {
  constexpr double kTitle = 24;  // drawn too, as nothing else says it
  SvgPicture titled = picture;
  titled.height += kTitle;
  titled.contents = StrCat("<style>", SvgStyle(), "</style>\n<rect class=\"page\" width=\"100%\" ",
                           "height=\"100%\"/>\n", SvgText(8, 17, "start", picture.title),
                           "<g transform=\"translate(0 ", SvgNumber(kTitle), ")\">\n",
                           picture.contents, "</g>\n");
  return Format(titled,
                StrCat(kGenerator, " xmlns=\"http://www.w3.org/2000/svg\" width=\"",
                       SvgNumber(titled.width), "\" height=\"", SvgNumber(titled.height), "\""));
}

std::string SvgText(double x, double y, std::string_view anchor, std::string_view text) {
  return StrCat("<text x=\"", SvgNumber(x), "\" y=\"", SvgNumber(y), "\" text-anchor=\"", anchor,
                "\">", HtmlText(text), "</text>\n");
}

}  // namespace dtnn
