#include "models/observe/report/charts/ticks.h"

#include <algorithm>
#include <cmath>

namespace dtnn {
namespace {

double StepFor(double range, int most) {
  const double least = range / std::max(most, 1);
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::vector<double> Ticks(double low, double high, int most) {
  // Halves, as the difference of two finite numbers may be infinite.
  const double size = std::max(std::abs(low), std::abs(high));
  if (size > 1e300) return {low, high};
  if (high - low <= 1e-9 * size || high == low) {
    const double room = size == 0 ? 1 : 0.1 * size;
    low -= room;
    high += room;
  }
  if (high - low < 1e-300) return {low, high};
  const double step = StepFor(high - low, most);
  const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
  std::vector<double> ticks;
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

std::vector<double> WholeTicks(double low, double high, int most) {
  low = std::ceil(low);
  high = std::floor(high);
  if (!(high > low) || high > 1e15) return {low};
  const double step = std::max(1.0, StepFor(high - low, most));
  std::vector<double> ticks;
  for (double tick = std::ceil(low / step) * step; tick <= high; tick += step) {
    ticks.push_back(tick);
  }
  return ticks;
}

}  // namespace dtnn
