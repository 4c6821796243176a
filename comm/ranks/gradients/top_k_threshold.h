// Which of many numbers are the largest.

#ifndef DTNN_COMM_RANKS_GRADIENTS_TOP_K_THRESHOLD_H_
#define DTNN_COMM_RANKS_GRADIENTS_TOP_K_THRESHOLD_H_

#include <bit>
#include <cstdint>
#include <span>

namespace dtnn {

// A number's magnitude as an integer of the same order; NaN is above infinity, so that it is never
// lost among small numbers.
inline uint32_t Magnitude(float x) { return std::bit_cast<uint32_t>(x) & 0x7fffffffu; }

// The magnitude of the k-th largest number, 1 <= k; at least 1, so that it selects no zeros. 1 also
// where there are no more than k numbers. Two passes over the numbers.
uint32_t TopKThreshold(std::span<const float> numbers, int64_t k);

}  // namespace dtnn

#endif  // DTNN_COMM_RANKS_GRADIENTS_TOP_K_THRESHOLD_H_
