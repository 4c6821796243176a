#include "layers/initializer.h"

#include <algorithm>
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
    ParallelFor(0, count, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        values[i] = T(limit * (2 * random.Uniform(uint64_t(i)) - 1));
      }
    });
  });
}

}  // namespace dtnn
