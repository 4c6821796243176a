#include "comm/reduce_in_order.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace dtnn {
namespace {

// Elements that are combined at a time in a buffer on the stack.
constexpr int64_t kBlock = 512;

// In the unsigned type of the same size where T is an integer: overflow wraps.
template <ReduceOp op, typename T>
T Combine(T a, T b) {
  if constexpr (op == ReduceOp::kMin) {
    return b < a ? b : a;
  } else if constexpr (op == ReduceOp::kMax) {
    return a < b ? b : a;
  } else if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return T(Unsigned(Unsigned(a) + Unsigned(b)));
  } else {
    return a + b;
  }
}

template <ReduceOp op, typename T, typename Count>
void CombineTo(T* __restrict sum, const T* __restrict x, Count count) {
  for (int64_t i = 0; i < count; ++i) sum[i] = Combine<op>(sum[i], x[i]);
}

template <ReduceOp op, typename T>
void Reduce(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
            int64_t elements) {
  T sum[kBlock];
  for (int64_t begin = 0; begin < elements; begin += kBlock) {
    const int64_t count = std::min(kBlock, elements - begin);
    const size_t bytes = size_t(count) * sizeof(T), offset = size_t(begin) * sizeof(T);
    std::memcpy(sum, inputs[0] + offset, bytes);
    for (const std::byte* input : inputs.subspan(1)) {
      const T* x = reinterpret_cast<const T*>(input + offset);
      if (count == kBlock) {
        CombineTo<op>(sum, x, std::integral_constant<int64_t, kBlock>());  // the compiler unrolls
      } else {
        CombineTo<op>(sum, x, count);
      }
    }
    for (std::byte* output : outputs) std::memcpy(output + offset, sum, bytes);
  }
}

template <typename T>
void Reduce(ReduceOp op, std::span<const std::byte* const> inputs,
            std::span<std::byte* const> outputs, int64_t elements) {
  switch (op) {
    case ReduceOp::kSum:
      return Reduce<ReduceOp::kSum, T>(inputs, outputs, elements);
    case ReduceOp::kMin:
      return Reduce<ReduceOp::kMin, T>(inputs, outputs, elements);
    case ReduceOp::kMax:
      return Reduce<ReduceOp::kMax, T>(inputs, outputs, elements);
  }
}

}  // namespace

void ReduceInOrder(ReduceOp op, DType dtype, std::span<const std::byte* const> inputs,
                   std::span<std::byte* const> outputs, int64_t elements) {
  switch (dtype) {
    case DType::kFloat32:
      return Reduce<float>(op, inputs, outputs, elements);
    case DType::kFloat64:
      return Reduce<double>(op, inputs, outputs, elements);
    case DType::kUint8:
      return Reduce<uint8_t>(op, inputs, outputs, elements);
    case DType::kInt32:
      return Reduce<int32_t>(op, inputs, outputs, elements);
    case DType::kInt64:
      return Reduce<int64_t>(op, inputs, outputs, elements);
    case DType::kFloat16:
    case DType::kBfloat16:
      break;  // communicators refuse them
  }
}

}  // namespace dtnn
