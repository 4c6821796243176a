// Numbers in 8 bits: q stands for scale * (q - zero_point), q in 0 ... 255. One rule of rounding:
// to nearest even, of a fused multiply-add in float32, so that every instruction set gives the same
// bytes.

#ifndef DTNN_KERNELS_INT8_QUANTIZATION_H_
#define DTNN_KERNELS_INT8_QUANTIZATION_H_

#include <cstdint>

namespace dtnn {

struct Quantization {
  float scale = 1;  // positive and finite
  int32_t zero_point = 0;

  // For values in [low, high], both finite, low <= high: the range is extended to 0, which then has
  // a byte of its own, as padding and rectifiers need; an empty range becomes [0, 1].
  static Quantization OfRange(double low, double high);
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

// Values outside of the range become its ends. False: a value is NaN, and its byte undefined.
bool Quantize(const float* from, int64_t count, const Quantization& q, uint8_t* to);
void Dequantize(const uint8_t* from, int64_t count, const Quantization& q, float* to);

}  // namespace dtnn

#endif  // DTNN_KERNELS_INT8_QUANTIZATION_H_
