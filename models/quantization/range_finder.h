// The range of some values that bytes should cover, found in two passes over them: the first finds
// their ends, the second counts. Rare large values make the steps between bytes coarse for all
// others, so two of the methods cut them off.

#ifndef DTNN_MODELS_QUANTIZATION_RANGE_FINDER_H_
#define DTNN_MODELS_QUANTIZATION_RANGE_FINDER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/plan/int8_types.h"

namespace dtnn {

enum class RangeMethod : uint8_t {
  kMinMax,      // all values
  kPercentile,  // all but one of 10000 at each end
  kEntropy,     // whose distribution in bytes has the least divergence (Kullback and Leibler)
};
// "minmax", "percentile", "entropy".
std::string_view Name(RangeMethod method);
std::optional<RangeMethod> ParseRangeMethod(std::string_view name);

class RangeFinder {
 public:
  // First pass. False: a value is NaN or infinite.
  bool Extend(std::span<const float> values);
  // Second pass, of the same values; kMinMax needs none.
  void Count(std::span<const float> values);

  ValueRange Find(RangeMethod method) const;

 private:
  // Bins of [-m, m], where m is the largest absolute value.
  static constexpr int kBins = 4096;
  double Edge(int bin) const { return (2.0 * bin / kBins - 1) * largest(); }
  double largest() const;
  ValueRange Percentile() const;
  ValueRange Entropy() const;

  ValueRange ends_;
  bool any_ = false;
  int64_t zeros_ = 0;            // zero has a byte of its own
  std::vector<int64_t> counts_;  // of all other values
};

}  // namespace dtnn

#endif  // DTNN_MODELS_QUANTIZATION_RANGE_FINDER_H_
