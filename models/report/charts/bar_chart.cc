#include "models/report/charts/bar_chart.h"

#include <algorithm>
#include <numeric>

#include "models/report/charts/html.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr double kWidth = 400, kNames = 130, kLabels = 130, kRow = 22, kBar = 14, kLegendLine = 18;
constexpr size_t kMostNameBytes = 20;

double Sum(const std::vector<double>& values) {
  return std::reduce(values.begin(), values.end(), 0.0);
}

// The end of a name says most of it: "block3/conv2".
std::string Shortened(const std::string& name) {
  if (name.size() <= kMostNameBytes) return name;
  size_t begin = name.size() - kMostNameBytes;
  while (begin < name.size() && (name[begin] & 0xc0) == 0x80) ++begin;
  return "\u2026" + name.substr(begin);
}

}  // namespace

SvgPicture DrawBars(const BarChart& chart) {
  SvgPicture picture = {.id = chart.id, .title = chart.title, .width = kWidth};
  double most = 0;
  for (const BarChart::Row& row : chart.rows) most = std::max(most, Sum(row.values));
  double y = 4;
  for (const BarChart::Row& row : chart.rows) {
    StrAppend(&picture.contents, SvgText(kNames - 6, y + 12, "end", Shortened(row.name)));
    double x = kNames;
    StrAppend(&picture.description, row.name, ": ", row.label, ". ");
    for (size_t i = 0; i < row.values.size(); ++i) {
      const double width = most > 0 ? row.values[i] / most * (kWidth - kNames - kLabels) : 0;
      if (width < 0.01) continue;
      StrAppend(&picture.contents, "<rect class=\"edge f", i % kSvgColours, "\" x=\"", SvgNumber(x),
                "\" y=\"", SvgNumber(y), "\" width=\"", SvgNumber(width), "\" height=\"",
                SvgNumber(kBar), "\"><title>",
                HtmlText(StrCat(row.name, ", ", chart.pieces[i], ": ", RoundNumber(row.values[i]))),
                "</title></rect>\n");
      x += width;
    }
    StrAppend(&picture.contents, SvgText(x + 5, y + 12, "start", row.label));
    y += kRow;
  }
  for (size_t i = 0; chart.pieces.size() > 1 && i < chart.pieces.size(); ++i) {
    StrAppend(&picture.contents, "<rect class=\"f", i % kSvgColours, "\" x=\"", SvgNumber(kNames),
              "\" y=\"", SvgNumber(y + 3), "\" width=\"12\" height=\"12\"/>\n",
              SvgText(kNames + 18, y + 13, "start", chart.pieces[i]));
    y += kLegendLine;
  }
  picture.height = y + 4;
  return picture;
}

}  // namespace dtnn
