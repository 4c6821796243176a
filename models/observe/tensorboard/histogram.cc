#include "models/observe/tensorboard/histogram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace dtnn {

std::vector<double> Histogram(const Tensor& values) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::array<double, kHistogramBuckets> counts = {};
  DispatchFloating(values.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const std::span<const T> all(values.data<T>(), size_t(values.num_elements()));
    for (const T value : all) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, double(value));
      high = std::max(high, double(value));
    }
    // Halves, as differences of finite numbers may be infinite.
    const double width = high / 2 - low / 2;
    for (const T value : all) {
      if (!std::isfinite(value)) continue;
      const double part = width > 0 ? (double(value) / 2 - low / 2) / width : 1;
      const int bucket = std::min(int(part * kHistogramBuckets), kHistogramBuckets - 1);
      ++counts[size_t(bucket)];
    }
  });
  std::vector<double> rows;
  if (low > high) return rows;
  const auto edge = [&](int i) {
    const double part = double(i) / kHistogramBuckets;
    return i == kHistogramBuckets ? high : low * (1 - part) + high * part;
  };
  for (int i = 0; i < kHistogramBuckets; ++i) {
    rows.insert(rows.end(), {edge(i), edge(i + 1), counts[size_t(i)]});
  }
  return rows;
}

}  // namespace dtnn
