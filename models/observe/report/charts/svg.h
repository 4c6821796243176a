// Vector pictures inside a page, or as files of their own. Each is one image to a screen reader:
// its title and a description of what it shows. Colours are classes that the style below defines,
// dark ones where the reader's system is dark.

#ifndef DTNN_MODELS_OBSERVE_REPORT_CHARTS_SVG_H_
#define DTNN_MODELS_OBSERVE_REPORT_CHARTS_SVG_H_

#include <string>
#include <string_view>

namespace dtnn {

// The classes: "c0" to "c5" of strokes (lines) and "f0" to "f5" of fills, "grid", "axis".
inline constexpr int kSvgColours = 6;
std::string_view SvgStyle();

// A coordinate: two decimals at most.
std::string SvgNumber(double value);

// `id`: unique in its page; letters, digits and dashes. Title and description are texts, the
// contents SVG in a box of width x height.
struct SvgPicture {
  std::string id = {}, title = {}, description = {};
  double width = 0, height = 0;
  std::string contents = {};
};
std::string FormatSvg(const SvgPicture& picture);
// A file of its own, with the style, and with the title above it.
std::string FormatSvgFile(const SvgPicture& picture);
// Whether a file that begins with `start` is such a file.
bool IsSvgFile(std::string_view start);

// A text at a place; `anchor`: start, middle or end.
std::string SvgText(double x, double y, std::string_view anchor, std::string_view text);

}  // namespace dtnn

#endif  // DTNN_MODELS_OBSERVE_REPORT_CHARTS_SVG_H_
