#include "models/run/tables/rate_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_format.h"

namespace dtnn {
namespace {

constexpr size_t kMostLines = 20;
constexpr int kBar = 40;

}  // namespace

std::string FormatRateRange(const LearningRateRange& range) {
  const auto& points = range.points;
  const double most = std::ranges::max(points, {}, &LearningRateRange::Point::loss).loss;
  const size_t each = (points.size() + kMostLines - 1) / kMostLines;
  std::string text = "  learning rate        loss\n";
  for (size_t first = 0; first < points.size(); first += each) {
    const LearningRateRange::Point& point = points[std::min(first + each, points.size()) - 1];
    const auto length = size_t(std::lround(kBar * std::max(0.0, point.loss) / most));
    absl::StrAppendFormat(&text, "  %13.1e %11.4g  %s\n", point.rate, point.loss,
                          std::string(length, '#'));
  }
  absl::StrAppendFormat(&text,
                        "**** Learning rate: %g, a tenth of the rate at which the loss was least\n",
                        range.suggestion);
  return text;
}

}  // namespace dtnn
