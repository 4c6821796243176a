#include "kernels/int8/quantize_tensor.h"

#include <algorithm>
#include <atomic>

#include "tensor/rounding.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

// Elements of a chunk of a loop.
constexpr int64_t kGrain = 16384;

// Calls use(bytes, floats, count) for rows or, of dense bytes, for chunks.
template <class Use>
void ForEachRow(const Tensor& bytes, const Tensor& floats, const Use& use) {
  const bool one_row = bytes.dense();
  const int64_t columns = bytes.shape()[bytes.shape().rank() - 1];
  const int64_t row = one_row ? kGrain : columns, pitch = one_row ? kGrain : bytes.PixelPitch();
  const int64_t count = bytes.num_elements();
  ParallelFor(0, CeilDiv(count, row), CeilDiv(kGrain, row), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      use(bytes.data<uint8_t>() + i * pitch, floats.data<float>() + i * row,
          std::min(row, count - i * row));
    }
  });
}

}  // namespace

bool QuantizeTensor(const Tensor& from, const Tensor& to, const Quantization& q) {
  std::atomic<bool> numbers = true;
  ForEachRow(to, from, [&](uint8_t* bytes, const float* floats, int64_t count) {
    if (!Quantize(floats, count, q, bytes)) numbers.store(false, std::memory_order_relaxed);
  });
  return numbers;
}

void DequantizeTensor(const Tensor& from, const Tensor& to, const Quantization& q) {
  ForEachRow(from, to, [&](const uint8_t* bytes, float* floats, int64_t count) {
    Dequantize(bytes, count, q, floats);
  });
}

}  // namespace dtnn
