// Numbers as integers modulo 2^32 or 2^64, and back: round(2^fraction_bits x). Sums of integers
// have no rounding errors and wrap around, as masks need it; a sum is right as long as it stays
// below 2^(31 - fraction_bits) or 2^(63 - fraction_bits) in magnitude.

#ifndef DTNN_COMM_SECRETS_MASKED_FIXED_POINT_H_
#define DTNN_COMM_SECRETS_MASKED_FIXED_POINT_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"

namespace dtnn::masked {

// The most that one of `clients` numbers may be, so that their sum fits into a word.
double FixedPointLimit(int word_bits, int fraction_bits, int clients);

// As many words as values. InvalidArgument where a number is NaN, infinite or not below `limit` in
// magnitude. T is float or double, Word uint32_t or uint64_t.
template <typename T, typename Word>
absl::Status ToFixedPoint(std::span<const T> values, int fraction_bits, double limit,
                          std::span<Word> words);

template <typename T, typename Word>
void FromFixedPoint(std::span<const Word> words, int fraction_bits, std::span<T> values);

}  // namespace dtnn::masked

#endif  // DTNN_COMM_SECRETS_MASKED_FIXED_POINT_H_
