#include "models/observe/report/charts/line_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/observe/report/charts/html.h"
#include "models/observe/report/charts/ticks.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr double kWidth = 400, kPlotHeight = 180;
constexpr double kLeft = 56, kRight = 14, kTop = 12, kBottom = 40, kLegendLine = 18;
constexpr size_t kMostPoints = 400, kMostMarkers = 40;

// The line patterns of series beyond the colours too: no two of the first 18 look alike.
std::string_view Pattern(size_t series) {
  constexpr std::string_view kPatterns[] = {"", " dash", " dots"};
  return kPatterns[(series % 2 == 0 ? series / kSvgColours : series / kSvgColours + 1) % 3];
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  // 0 at the low end, 1 at the high one. Halves, as differences of finite numbers may be infinite.
  double Part(double value) const { return (value / 2 - low / 2) / (high / 2 - low / 2); }
};

// Indices of the points to draw: all, or of each of some equal pieces the lowest, the highest and
// one that is NaN.
std::vector<size_t> PointsToDraw(const std::vector<double>& y) {
  std::vector<size_t> points;
  if (y.size() <= kMostPoints) {
    for (size_t i = 0; i < y.size(); ++i) points.push_back(i);
    return points;
  }
  constexpr size_t kPieces = kMostPoints / 2, kNone = ~size_t{0};
  for (size_t piece = 0; piece < kPieces; ++piece) {
    const size_t begin = piece * y.size() / kPieces, end = (piece + 1) * y.size() / kPieces;
    size_t low = kNone, high = kNone, gap = kNone;
    for (size_t i = begin; i < end; ++i) {
      if (!std::isfinite(y[i])) {
        gap = i;
        continue;
      }
      if (low == kNone || y[i] < y[low]) low = i;
      if (high == kNone || y[i] > y[high]) high = i;
    }
    for (const size_t point : {low, high, gap}) {
      if (point != kNone) points.push_back(point);
    }
  }
  points.push_back(0);
  points.push_back(y.size() - 1);
  std::ranges::sort(points);
  points.erase(std::ranges::unique(points).begin(), points.end());
  return points;
}

class Drawing {
 public:
  explicit Drawing(const LineChart& chart) : chart_(chart) {
    Range x, y;
    for (const LineSeries& series : chart.series) {
      for (size_t i = 0; i < series.y.size(); ++i) {
        if (!std::isfinite(series.y[i])) continue;
        x.Add(series.x[i]);
        y.Add(series.y[i]);
      }
    }
    empty_ = x.empty() || y.empty();
    if (empty_) return;
    if (chart.from_zero) y.Add(0);
    y_ticks_ = Ticks(y.low, y.high, 5);
    x_ticks_ = WholeTicks(x.low, x.high, 8);
    x_ = x.low == x.high ? Range{x.low - 0.5, x.high + 0.5} : x;
    y_ = {y_ticks_.front(), y_ticks_.back()};
  }

  SvgPicture Draw() {
    SvgPicture picture = {.id = chart_.id, .title = chart_.title, .width = kWidth};
    if (empty_) {
      picture.height = 60;
      picture.description = "There are no values yet.";
      picture.contents = SvgText(kWidth / 2, 34, "middle", "no values yet");
      return picture;
    }
    DrawAxes();
    for (size_t i = 0; i < chart_.series.size(); ++i) DrawSeries(i);
    picture.height = DrawLegend();
    picture.description = Describe();
    picture.contents = std::move(text_);
    return picture;
  }

 private:
  double X(double value) const { return kLeft + x_.Part(value) * (kWidth - kLeft - kRight); }
  double Y(double value) const { return kTop + kPlotHeight - y_.Part(value) * kPlotHeight; }

  void DrawAxes() {
    for (const double tick : y_ticks_) {
      StrAppend(&text_, "<path class=\"grid\" d=\"M", SvgNumber(kLeft), " ", SvgNumber(Y(tick)),
                "H", SvgNumber(kWidth - kRight), "\"/>\n",
                SvgText(kLeft - 6, Y(tick) + 4, "end", RoundNumber(tick)));
    }
    for (const double tick : x_ticks_) {
      StrAppend(&text_, SvgText(X(tick), kTop + kPlotHeight + 16, "middle", RoundNumber(tick)));
    }
    StrAppend(&text_, "<path class=\"axis\" d=\"M", SvgNumber(kLeft), " ",
              SvgNumber(kTop + kPlotHeight), "H", SvgNumber(kWidth - kRight), "\"/>\n",
              SvgText(kWidth - kRight, kTop + kPlotHeight + 32, "end", chart_.x_name));
  }

  void DrawSeries(size_t index) {
    const LineSeries& series = chart_.series[index];
    const std::vector<size_t> points = PointsToDraw(series.y);
    std::string path, markers;
    bool gap = true;
    const bool all_marked = points.size() <= kMostMarkers;
    for (size_t k = 0; k < points.size(); ++k) {
      const size_t i = points[k];
      if (!std::isfinite(series.y[i])) {
        gap = true;
        continue;
      }
      const double x = X(series.x[i]), y = Y(series.y[i]);
      StrAppend(&path, gap ? "M" : "L", SvgNumber(x), " ", SvgNumber(y));
      gap = false;
      if (all_marked || k + 1 == points.size()) AppendMarker(index, i, x, y, &markers);
    }
    if (path.empty()) return;
    StrAppend(&text_, "<path class=\"line c", index % kSvgColours, Pattern(index), "\" d=\"", path,
              "\"/>\n", markers);
  }

  // A point that says its value when the mouse is over it.
  void AppendMarker(size_t index, size_t i, double x, double y, std::string* text) const {
    const LineSeries& series = chart_.series[index];
    StrAppend(text, "<circle class=\"f", index % kSvgColours, "\" cx=\"", SvgNumber(x), "\" cy=\"",
              SvgNumber(y), "\" r=\"3\"><title>",
              HtmlText(StrCat(series.name, ", ", chart_.x_name, " ", RoundNumber(series.x[i]), ": ",
                              RoundNumber(series.y[i]))),
              "</title></circle>\n");
  }

  // Returns where it ends.
  double DrawLegend() {
    double y = kTop + kPlotHeight + kBottom;
    if (chart_.series.size() < 2) return y;  // the title says what it is
    for (size_t i = 0; i < chart_.series.size(); ++i) {
      StrAppend(&text_, "<path class=\"line c", i % kSvgColours, Pattern(i), "\" d=\"M",
                SvgNumber(kLeft), " ", SvgNumber(y + 2), "h24\"/>\n",
                SvgText(kLeft + 32, y + 6, "start", chart_.series[i].name));
      y += kLegendLine;
    }
    return y;
  }

  std::string Describe() const {
    std::string text;
    for (const LineSeries& series : chart_.series) {
      size_t first = series.y.size(), last = 0, low = 0, high = 0;
      for (size_t i = 0; i < series.y.size(); ++i) {
        if (!std::isfinite(series.y[i])) continue;
        if (first == series.y.size()) first = low = high = i;
        last = i;
        if (series.y[i] < series.y[low]) low = i;
        if (series.y[i] > series.y[high]) high = i;
      }
      if (first == series.y.size()) {
        StrAppend(&text, series.name, ": no values. ");
        continue;
      }
      const auto at = [&](size_t i) {
        return StrCat(RoundNumber(series.y[i]), " at ", chart_.x_name, " ",
                      RoundNumber(series.x[i]));
      };
      StrAppend(&text, series.name, ": from ", at(first), " to ", at(last), "; lowest ", at(low),
                ", highest ", at(high), ". ");
    }
    return text;
  }

  const LineChart& chart_;
  bool empty_ = false;
  Range x_, y_;
  std::vector<double> x_ticks_, y_ticks_;
  std::string text_;
};

}  // namespace

SvgPicture DrawLines(const LineChart& chart) { return Drawing(chart).Draw(); }

}  // namespace dtnn
