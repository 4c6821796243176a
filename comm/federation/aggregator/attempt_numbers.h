// Numbers of updates, as the aggregator holds them, and the sizes of what comes with them.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_NUMBERS_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_NUMBERS_H_

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace dtnn::federation {

// Bytes of a client's report.
inline constexpr size_t kMostReport = 8 << 10;

// No network has numbers beyond this, and squares of them must stay float32 (fedadam).
inline constexpr double kLargestNumber = 1e12;

inline bool AreNumbersOfNetworks(std::span<const float> values, double divisor) {
  const double most = kLargestNumber * std::abs(divisor);
  bool good = true;
  for (const float x : values) good &= std::abs(double(x)) <= most;  // not of NaN
  return good;
}

// Assigning {} would keep the memory.
template <typename T>
void Free(std::vector<T>& values) {
  values = std::vector<T>();
}

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_NUMBERS_H_
