// The operands of calls of PixelProduct, for its tests.

#ifndef DTNN_KERNELS_PIXEL_PRODUCT_TESTING_CALL_H_
#define DTNN_KERNELS_PIXEL_PRODUCT_TESTING_CALL_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/pixel_product/pixel_product.h"
#include "kernels/pixel_product/reference.h"
#include "tools/testing/tensors.h"

namespace dtnn::testing {

using Doubles = std::vector<double>;

inline constexpr int64_t kBatch = 2;

inline PixelProductSpec Spec(const ImageExtents& x, const ImageExtents& y, int64_t heads,
                             double factor = 1) {
  return {.x = x, .y = y, .heads = heads, .factor = factor};
}

inline const PixelProductSpec kSpecs[] = {
    Spec({1, 1, 1}, {1, 1, 1}, 1),           Spec({2, 3, 4}, {1, 5, 4}, 1, 0.5),
    Spec({3, 5, 6}, {3, 5, 6}, 3),           Spec({4, 4, 33}, {5, 3, 33}, 1),
    Spec({1, 31, 34}, {2, 17, 34}, 2, 0.25), Spec({9, 7, 16}, {1, 1, 16}, 16, -2),
};

// The operands of a call, and the primitive.
struct Call {
  Call(DeviceContext& device, PixelProductSpec spec_of, bool integers)
      : context(device), spec(spec_of), product(*CreatePixelProduct(device, spec)) {
    const auto make = [&](const ImageExtents& image, uint64_t seed) {
      const Shape shape = SampleShape(image, spec.format).Prepend(kBatch);
      return integers ? IntegerTensor(spec.dtype, shape, seed)
                      : RandomTensor(spec.dtype, shape, seed);
    };
    x = make(spec.x, 1), y = make(spec.y, 2), s = make(spec.s(), 3);
    x_to = make(spec.x, 4), y_to = make(spec.y, 5), s_to = make(spec.s(), 6);
  }
  template <class F>
  void ForAll(const F& change) {
    for (Tensor* tensor : {&x, &y, &s, &x_to, &y_to, &s_to}) *tensor = change(*tensor);
  }
  void Run(bool accumulate) {
    const auto memory =
        *Buffer::Allocate(context.device(), std::max<size_t>(1, product->workspace_bytes()));
    const Workspace workspace = {memory->data(), memory->size()};
    ASSERT_EQ(product->Scores(x, y, s_to, accumulate, workspace), absl::OkStatus());
    ASSERT_EQ(product->Weigh(s, y, x_to, accumulate, workspace), absl::OkStatus());
    ASSERT_EQ(product->Gather(s, x, y_to, accumulate, workspace), absl::OkStatus());
    ASSERT_EQ(context.Synchronize(), absl::OkStatus());
  }
  std::vector<Doubles> Results() const {
    return {Values(s_to, spec.format), Values(x_to, spec.format), Values(y_to, spec.format)};
  }
  std::vector<Doubles> Expected(bool accumulate) const {
    std::vector<Doubles> results = Results();
    if (!accumulate) {
      for (Doubles& result : results) result.assign(result.size(), 0);
    }
    const reference::PixelProductLoops loops = {spec, size_t(kBatch)};
    const auto values = [&](const Tensor& tensor) { return Values(tensor, spec.format); };
    loops.Scores(values(x), values(y), results[0]);
    loops.Weigh(values(s), values(y), results[1]);
    loops.Gather(values(s), values(x), results[2]);
    return results;
  }

  DeviceContext& context;
  PixelProductSpec spec;
  std::unique_ptr<PixelProduct> product;
  Tensor x, y, s, x_to, y_to, s_to;
};

}  // namespace dtnn::testing

#endif  // DTNN_KERNELS_PIXEL_PRODUCT_TESTING_CALL_H_
