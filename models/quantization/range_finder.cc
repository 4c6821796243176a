#include "models/quantization/range_finder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace dtnn {
namespace {

constexpr std::pair<RangeMethod, std::string_view> kMethods[] = {
    {RangeMethod::kMinMax, "minmax"},
    {RangeMethod::kPercentile, "percentile"},
    {RangeMethod::kEntropy, "entropy"},
};

// The share of values that the percentile cuts off at each end.
constexpr double kCutOff = 1e-4;

// The divergence of the values in the first `kept` bins, the last of which takes all beyond it,
// from what is left of them in `levels` steps: in each, its values spread over its bins that have
// any.
double Divergence(const std::vector<double>& bins, size_t kept, size_t levels) {
  std::vector<double> p(bins.begin(), bins.begin() + int64_t(kept));
  p.back() += std::accumulate(bins.begin() + int64_t(kept), bins.end(), 0.0);
  const double all = std::accumulate(p.begin(), p.end(), 0.0);
  const double inside = std::accumulate(bins.begin(), bins.begin() + int64_t(kept), 0.0);
  if (inside <= 0) return std::numeric_limits<double>::infinity();
  double divergence = 0;
  for (size_t level = 0; level < levels; ++level) {
    const size_t begin = level * kept / levels, end = (level + 1) * kept / levels;
    double sum = 0, used = 0;
    for (size_t i = begin; i < end; ++i) sum += bins[i], used += bins[i] > 0;
    for (size_t i = begin; i < end; ++i) {
      if (p[i] <= 0) continue;
      // Values that only the last bin's share of outliers has: a byte of their own is missing.
      const double q = bins[i] > 0 ? sum / used / inside : 1e-9;
      divergence += p[i] / all * std::log(p[i] / all / q);
    }
  }
  return divergence;
}

}  // namespace

std::string_view Name(RangeMethod method) { return kMethods[size_t(method)].second; }

std::optional<RangeMethod> ParseRangeMethod(std::string_view name) {
  for (const auto& [method, word] : kMethods) {
    if (word == name) return method;
  }
  return std::nullopt;
}

double RangeFinder::largest() const { return std::max(std::abs(ends_.low), std::abs(ends_.high)); }

bool RangeFinder::Extend(std::span<const float> values) {
  if (values.empty()) return true;
  float low = values[0], high = values[0], sum = 0;
  for (const float value : values) {
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value * 0;  // NaN if any is NaN or infinite
  }
  if (sum != 0) return false;
  ends_.low = any_ ? std::min(ends_.low, double(low)) : double(low);
  ends_.high = any_ ? std::max(ends_.high, double(high)) : double(high);
  any_ = true;
  return true;
}

void RangeFinder::Count(std::span<const float> values) {
  counts_.resize(kBins);
  if (largest() == 0) return;
  const double factor = kBins / 2 / largest();
  for (const float value : values) {
    if (value == 0) {
      ++zeros_;
      continue;
    }
    const auto bin = int(double(value) * factor + kBins / 2);
    ++counts_[size_t(std::clamp(bin, 0, kBins - 1))];
  }
}

ValueRange RangeFinder::Find(RangeMethod method) const {
  if (method == RangeMethod::kMinMax || counts_.empty() || ends_.low == ends_.high) return ends_;
  const ValueRange range = method == RangeMethod::kPercentile ? Percentile() : Entropy();
  return {std::max(range.low, ends_.low), std::min(range.high, ends_.high)};
}

ValueRange RangeFinder::Percentile() const {
  const auto values = double(std::accumulate(counts_.begin(), counts_.end(), int64_t{0}) + zeros_);
  int low = 0, high = kBins;
  for (double cut = 0; low < kBins / 2; ++low) {
    cut += double(counts_[size_t(low)]);
    if (cut > kCutOff * values) break;
  }
  for (double cut = 0; high > kBins / 2; --high) {
    cut += double(counts_[size_t(high - 1)]);
    if (cut > kCutOff * values) break;
  }
  return {Edge(low), Edge(high)};
}

ValueRange RangeFinder::Entropy() const {
  // Absolute values: both signs are cut off at one distance from zero.
  std::vector<double> bins(kBins / 2);
  for (size_t i = 0; i < bins.size(); ++i) {
    bins[i] = double(counts_[kBins / 2 + i] + counts_[kBins / 2 - 1 - i]);
  }
  const size_t levels = ends_.low < 0 && ends_.high > 0 ? 128 : 256;
  size_t best = bins.size();
  double least = Divergence(bins, best, levels);
  for (size_t kept = levels; kept < bins.size(); kept += 16) {
    const double divergence = Divergence(bins, kept, levels);
    if (divergence < least) least = divergence, best = kept;
  }
  const double most = double(best) / double(bins.size()) * largest();
  return {-most, most};
}

}  // namespace dtnn
