// The numbers that an option takes; no bounds where every number means something.

#ifndef DTNN_MODELS_RUN_OPTIONS_OPTION_RANGE_H_
#define DTNN_MODELS_RUN_OPTIONS_OPTION_RANGE_H_

#include <cmath>
#include <limits>
#include <string>

namespace dtnn {

struct OptionRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;   // low itself is outside
  bool high_open = false;  // high itself is outside
  double hole = 0;         // what is nearer to 0 than this is outside

  bool Takes(double x) const {
    return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high) &&
           std::abs(x) >= hole;
  }
  // " >= 1 and <= 5"; empty where there are no bounds.
  std::string ToText() const;

  friend bool operator==(const OptionRange&, const OptionRange&) = default;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OPTIONS_OPTION_RANGE_H_
