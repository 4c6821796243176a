#include "layers/initializer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tensor/parallel_for.h"

namespace dtnn {

double Initializer::Limit() const {
  // The variance of U(-l, l) is l^2 / 3; scale / fan is the variance wanted.
  const bool glorot = kind == InitializerKind::kGlorotUniform;
  const double fan = glorot ? double(fan_in + fan_out) / 2 : double(fan_in);
  const double variance = (glorot ? 1.0 : 2.0) / std::max(1.0, fan);
  return std::sqrt(3 * variance);
}

void Initializer::Fill(const Tensor& tensor, const Philox& random) const {
  DispatchFloating(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* values = tensor.data<T>();
    const int64_t count = tensor.num_elements();
    if (kind == InitializerKind::kZeros || kind == InitializerKind::kOnes) {
      std::fill_n(values, count, T(kind == InitializerKind::kOnes ? 1 : 0));
      return;
    }
    const double limit = Limit();
    // Four neighbours share a block: drawing them one by one would compute it four times.
    ParallelFor(0, (count + 3) / 4, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const std::array<uint32_t, 4> bits = random.Block(uint64_t(block));
        const int64_t first = 4 * block, present = std::min<int64_t>(4, count - first);
        for (int64_t i = 0; i < present; ++i) {
          values[first + i] = T(limit * (2 * Philox::ToUnit(bits[size_t(i)]) - 1));
        }
      }
    });
  });
}

}  // namespace dtnn
