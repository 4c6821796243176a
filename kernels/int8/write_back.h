// From sums to results: y = sums * multiplier + offset + addend * addend_multiplier, by one
// fused multiply-add each, in float32; then a rectifier or the limits of bytes, and rounding to
// nearest even.

#ifndef DTNN_KERNELS_INT8_WRITE_BACK_H_
#define DTNN_KERNELS_INT8_WRITE_BACK_H_

#include <cstddef>
#include <cstdint>

namespace dtnn::int8 {

// Arrays are of filters.
struct ResultRule {
  const int32_t* compensation = nullptr;  // added to the sums: what the zero point has in them
  const float* multiplier = nullptr;
  const float* offset = nullptr;
  float addend_multiplier = 0;
  float low = 0;         // of a result: the zero point after a rectifier
  bool floats = false;   // results are float32, with a rectifier or without
  bool rectify = false;  // of these
};

struct ResultRows {
  const int32_t* sums = nullptr;
  int64_t sums_pitch = 0;
  const uint8_t* addend = nullptr;  // null: none
  int64_t addend_pitch = 0;
  std::byte* results = nullptr;
  int64_t results_pitch = 0;  // bytes
  int64_t rows = 0, filters = 0;
};

void WriteBack(const ResultRule& rule, const ResultRows& rows);

}  // namespace dtnn::int8

#endif  // DTNN_KERNELS_INT8_WRITE_BACK_H_
