// Counts of values up to each of some bounds, as Prometheus' histograms are.

#ifndef DTNN_APPS_MONITOR_HISTOGRAM_H_
#define DTNN_APPS_MONITOR_HISTOGRAM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dtnn {

class Histogram {
 public:
  // `bounds`: rising; they outlive it.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}

  void Add(double value) {
    ++counts_[size_t(std::ranges::lower_bound(bounds_, value) - bounds_.begin())];
    sum_ += value;
  }

  std::span<const double> bounds() const { return bounds_; }
  // Values up to each bound but above the one before; last, those above all.
  std::span<const int64_t> counts() const { return counts_; }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::vector<int64_t> counts_;
  double sum_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_APPS_MONITOR_HISTOGRAM_H_
