// What the tests of BatchNorm share: the cases, and a primitive with its memory and reference.

#ifndef DTNN_KERNELS_BATCH_NORM_TESTING_BENCH_H_
#define DTNN_KERNELS_BATCH_NORM_TESTING_BENCH_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/batch_norm/reference.h"
#include "tools/testing/tensors.h"

namespace dtnn::testing {

using Doubles = std::vector<double>;

struct Case {
  TensorFormat format;
  Shape shape;
  int64_t outer, channels, inner;
};

inline Case Image(TensorFormat format, int64_t n, int64_t h, int64_t w, int64_t c) {
  return format == TensorFormat::kNHWC ? Case{format, {n, h, w, c}, n * h * w, c, 1}
                                       : Case{format, {n, c, h, w}, n, c, h * w};
}
inline Case Vectors(int64_t n, int64_t features) {
  return {TensorFormat::kNHWC, {n, features}, n, features, 1};
}

inline std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const int64_t features : {1, 3, 8, 17, 513}) {
    for (const int64_t n : {1, 2, 33}) cases.push_back(Vectors(n, features));
  }
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    for (const int64_t channels : {1, 3, 16, 20, 33, 130}) {
      cases.push_back(Image(format, 1, 1, 1, channels));
      cases.push_back(Image(format, 5, 1, 1, channels));
      cases.push_back(Image(format, 3, 5, 7, channels));
    }
    cases.push_back(Image(format, 2, 7, 9, 600));
    cases.push_back(Image(format, 2, 4, 4, 2));
    cases.push_back(Image(format, 1, 67, 65, 2));
    cases.push_back(Image(format, 6, 20, 28, 24));  // enough for two parts
  }
  return cases;
}

inline double Epsilon(DType dtype) {
  return dtype == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                  : std::numeric_limits<double>::epsilon();
}

// A primitive with the memory that a layer would give it, and random parameters.
struct BatchNormBench {
  BatchNormBench(DeviceContext& context, DType dtype, const Case& c, bool relu = false,
                 bool add = false)
      : c(c),
        spec{.batch = c.shape[0],
             .positions = c.shape.NumElements() / (c.shape[0] * c.channels),
             .channels = c.channels,
             .format = c.format,
             .dtype = dtype,
             .add = add,
             .relu = relu},
        primitive(*CreateBatchNorm(context, spec)),
        statistics{ZeroTensor(DType::kFloat64, {c.channels}),
                   ZeroTensor(DType::kFloat64, {c.channels})},
        parameters{{RandomTensor(dtype, {c.channels}, 11), 1},
                   {RandomTensor(dtype, {c.channels}, 12), 1}},
        running{{ZeroTensor(dtype, {c.channels}), 1}, {ZeroTensor(dtype, {c.channels}), 1}},
        gradients{ZeroTensor(dtype, {c.channels}), ZeroTensor(dtype, {c.channels})},
        workspace(primitive->workspace_bytes()),
        reference{c.outer,
                  c.channels,
                  c.inner,
                  1e-5,
                  relu,
                  Values(parameters.gamma.tensor),
                  Values(parameters.beta.tensor)} {}

  void Forward(const Tensor& x, const Tensor& y, const Tensor& addend = {}) {
    ASSERT_TRUE(primitive->Statistics(x, statistics, workspace).ok());
    ASSERT_TRUE(primitive->Apply(x, statistics, parameters, addend, y, workspace).ok());
  }
  void Backward(const Tensor& x, const Tensor& dy, const Tensor& dx, bool accumulate,
                const Tensor& y = {}) {
    ASSERT_TRUE(primitive->Gradients(x, y, dy, statistics, parameters, gradients, workspace).ok());
    ASSERT_TRUE(primitive
                    ->BackwardData(x, dy, statistics, parameters, gradients, c.outer * c.inner, dx,
                                   accumulate, workspace)
                    .ok());
  }
  absl::Status Infer(const Tensor& x, const Tensor& y, const Tensor& addend = {}) {
    return primitive->Infer(x, parameters, running, addend, y, workspace);
  }

  Case c;
  BatchNormSpec spec;
  std::unique_ptr<BatchNorm> primitive;
  BatchStatistics statistics;
  BatchNormParameters parameters;
  RunningStatistics running;
  BatchNormGradients gradients;
  FencedWorkspace workspace;
  dtnn::reference::BatchNorm reference;
};

class BatchNormTest : public ::testing::TestWithParam<DType> {
 protected:
  // Spread around 0.5 with a deviation near 1, so that a relu cuts off a part.
  Tensor Input(const Case& c, uint64_t seed = 1) const {
    Doubles values = Values(RandomTensor(DType::kFloat64, c.shape, seed));
    for (double& value : values) value = 2 * value + 0.5;
    return TensorOf(GetParam(), c.shape, values);
  }
  BatchNormBench Make(const Case& c, bool relu = false, bool add = false) const {
    return {*context_, GetParam(), c, relu, add};
  }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

}  // namespace dtnn::testing

#endif  // DTNN_KERNELS_BATCH_NORM_TESTING_BENCH_H_
