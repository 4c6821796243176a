#include "models/observe/report/charts/bar_chart.h"

#include <algorithm>
#include <numeric>

#include "models/observe/report/charts/html.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr double kWidth = 430, kNames = 160, kLabels = 130, kRow = 22, kBar = 14, kLegendLine = 18;
constexpr size_t kMostNameBytes = 24;  // "123_BatchNormalization" fits

double Sum(const std::vector<double>& values) {
  return std::reduce(values.begin(), values.end(), 0.0);
}

// The beginning of a name tells it from others: "12_BatchNormalization".
std::string Shortened(const std::string& name) {
  if (name.size() <= kMostNameBytes) return name;
  size_t end = kMostNameBytes;
  while (end > 0 && (name[end] & 0xc0) == 0x80) --end;
  return name.substr(0, end) + "\u2026";
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
