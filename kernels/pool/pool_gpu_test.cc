#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/pool/adaptive_pool.h"
#include "kernels/pool/pool.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::IntegerTensor;
using testing::Put;
using testing::RandomTensor;
using testing::TensorOf;
using testing::ZeroTensor;

// Windows that overlap, leave gaps, reach over the edges or step over elements.
std::vector<PoolSpec> Specs() {
  const auto spec = [](int64_t n, int64_t h, int64_t w, int64_t c, Pair window, Pair stride,
                       Pair padding, Pair dilation = 1) {
    PoolSpec s;
    s.batch = n, s.height = h, s.width = w, s.channels = c;
    s.window = window, s.stride = stride, s.padding = padding, s.dilation = dilation;
    return s;
  };
  return {spec(1, 1, 1, 1, 1, 1, 0),
          spec(2, 8, 6, 5, 2, 2, 0),
          spec(3, 7, 9, 3, 3, 2, 1),
          spec(2, 5, 5, 4, 3, 1, 1),
          spec(2, 9, 7, 2, 2, 3, 0),
          spec(1, 6, 11, 33, Pair(5, 3), Pair(1, 2), Pair(2, 1)),
          spec(2, 13, 12, 3, 3, 1, 3, 2),
          spec(1, 9, 10, 2, Pair(2, 3), Pair(2, 1), Pair(2, 0), Pair(3, 2)),
          spec(2, 8, 8, 17, 8, 8, 0),     // global
          spec(1, 20, 17, 2, 17, 1, 0)};  // argmax of 32 bits
}

std::vector<AdaptivePoolSpec> AdaptiveSpecs() {
  const auto spec = [](int64_t n, int64_t h, int64_t w, int64_t c, int64_t out_h, int64_t out_w) {
    AdaptivePoolSpec s;
    s.batch = n, s.height = h, s.width = w, s.channels = c;
    s.out_height = out_h, s.out_width = out_w;
    return s;
  };
  return {spec(2, 8, 8, 5, 1, 1), spec(3, 7, 9, 3, 3, 4), spec(1, 5, 6, 2, 7, 6),
          spec(1, 1, 1, 1, 3, 2)};
}

// The same channels of a wider tensor.
struct Wide {
  Tensor all, view;
  static Wide Of(const Tensor& all, int64_t channels, TensorFormat format) {
    return {all, all.Channels(1, channels, format)};
  }
};
Shape WithMoreChannels(const Shape& shape, TensorFormat format) {
  std::vector<int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents[format == TensorFormat::kNCHW ? 1 : 3] += 2;
  return *Shape::Make(extents);
}

class PoolGpuTest : public ::testing::TestWithParam<std::tuple<Device, TensorFormat, DType>> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, std::get<0>(GetParam()));
    gpu_ = std::move(gpu);
  }
  template <class Spec>
  Spec With(Spec spec) const {
    spec.format = format_;
    spec.dtype = dtype_;
    return spec;
  }
  double Tolerance() const { return dtype_ == DType::kFloat32 ? 1e-5 : 1e-13; }

  const TensorFormat format_ = std::get<1>(GetParam());
  const DType dtype_ = std::get<2>(GetParam());
  std::unique_ptr<DeviceContext> gpu_, cpu_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(PoolGpuTest, SameAsCpu) {
  for (PoolSpec spec : Specs()) {
    for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
      spec = With(spec);
      spec.kind = kind;
      spec.count_padding = kind == PoolKind::kAverage && spec.padding.vertical == 1;
      const auto expected = *CreatePool(*cpu_, spec);
      const auto pool = CreatePool(*gpu_, spec);
      ASSERT_EQ(pool.status(), absl::OkStatus());
      const Shape in = WithMoreChannels(spec.InputShape(), format_), out = spec.OutputShape();
      // Few values, so that maxima tie.
      const Tensor x = IntegerTensor(dtype_, in, 1, 2), dx = RandomTensor(dtype_, in, 2);
      const Tensor y = ZeroTensor(dtype_, out), dy = RandomTensor(dtype_, out, 3);
      const Tensor argmax = ZeroTensor(spec.ArgmaxDType(), out);
      const Wide device_x = Wide::Of(Put(*gpu_, x), spec.channels, format_);
      const Wide device_dx = Wide::Of(Put(*gpu_, dx), spec.channels, format_);
      const Wide host_x = Wide::Of(x, spec.channels, format_);
      const Wide host_dx = Wide::Of(dx, spec.channels, format_);
      const Tensor device_y = Put(*gpu_, y), device_dy = Put(*gpu_, dy);
      const Tensor device_argmax = Put(*gpu_, argmax);
      ASSERT_EQ(expected->Forward(host_x.view, y, argmax), absl::OkStatus());
      ASSERT_EQ((*pool)->Forward(device_x.view, device_y, device_argmax), absl::OkStatus());
      EXPECT_TRUE(Close(Get(*gpu_, device_y), y, Tolerance())) << spec.ToString();
      EXPECT_EQ(testing::Values(Get(*gpu_, device_argmax)), testing::Values(argmax))
          << spec.ToString();
      for (const bool accumulate : {true, false}) {
        ASSERT_EQ(expected->Backward(dy, argmax, host_dx.view, accumulate), absl::OkStatus());
        ASSERT_EQ((*pool)->Backward(device_dy, device_argmax, device_dx.view, accumulate),
                  absl::OkStatus());
        EXPECT_TRUE(Close(Get(*gpu_, device_dx.all), dx, Tolerance())) << spec.ToString();
      }
      // An evaluation keeps no argmax.
      ASSERT_EQ((*pool)->Forward(device_x.view, device_y, Tensor()), absl::OkStatus());
      EXPECT_TRUE(Close(Get(*gpu_, device_y), y, Tolerance())) << spec.ToString();
    }
  }
}

// One chain of float32 additions over a window would round by 6e-4. Channels one by one, and in
// vectors.
TEST_P(PoolGpuTest, MeansOfLargeWindowsAreSummedInParts) {
  for (const Pair image : {Pair(256), Pair(65536, 3), Pair(262144, 1), Pair(1, 262144)}) {
    for (const int64_t channels : {1, 4}) {
      AdaptivePoolSpec spec;
      spec.batch = spec.out_height = spec.out_width = 1, spec.channels = channels;
      spec.height = image.vertical, spec.width = image.horizontal;
      spec = With(spec);
      const std::vector<double> tenths(size_t(spec.InputShape().NumElements()), 0.1);
      const Tensor x = Put(*gpu_, TensorOf(dtype_, spec.InputShape(), tenths));
      const Tensor y = Put(*gpu_, ZeroTensor(dtype_, spec.OutputShape()));
      ASSERT_EQ((*CreateAdaptivePool(*gpu_, spec))->Forward(x, y), absl::OkStatus());
      EXPECT_TRUE(
          Close(testing::Values(Get(*gpu_, y)), std::vector<double>(size_t(channels), 0.1), 1e-6))
          << image.vertical << "x" << image.horizontal << "x" << channels;
    }
  }
}

TEST_P(PoolGpuTest, AdaptiveSameAsCpu) {
  for (AdaptivePoolSpec spec : AdaptiveSpecs()) {
    spec = With(spec);
    const auto expected = *CreateAdaptivePool(*cpu_, spec);
    const auto pool = CreateAdaptivePool(*gpu_, spec);
    ASSERT_EQ(pool.status(), absl::OkStatus());
    const Tensor x = RandomTensor(dtype_, spec.InputShape(), 1);
    const Tensor dx = RandomTensor(dtype_, spec.InputShape(), 2);
    const Tensor y = ZeroTensor(dtype_, spec.OutputShape());
    const Tensor dy = RandomTensor(dtype_, spec.OutputShape(), 3);
    const Tensor device_x = Put(*gpu_, x), device_dx = Put(*gpu_, dx);
    const Tensor device_y = Put(*gpu_, y), device_dy = Put(*gpu_, dy);
    ASSERT_EQ(expected->Forward(x, y), absl::OkStatus());
    ASSERT_EQ((*pool)->Forward(device_x, device_y), absl::OkStatus());
    EXPECT_TRUE(Close(Get(*gpu_, device_y), y, Tolerance())) << spec.ToString();
    for (const bool accumulate : {true, false}) {
      ASSERT_EQ(expected->Backward(dy, dx, accumulate), absl::OkStatus());
      ASSERT_EQ((*pool)->Backward(device_dy, device_dx, accumulate), absl::OkStatus());
      EXPECT_TRUE(Close(Get(*gpu_, device_dx), dx, Tolerance())) << spec.ToString();
    }
  }
}

TEST_P(PoolGpuTest, ANaNWinsAndSmallerBatchesRun) {
  PoolSpec spec = With(PoolSpec{.batch = 3, .height = 4, .width = 4, .channels = 2, .stride = 2});
  const auto pool = *CreatePool(*gpu_, spec);
  const auto expected = *CreatePool(*cpu_, spec);
  spec.batch = 1;
  const Tensor x = IntegerTensor(dtype_, spec.InputShape(), 1);
  DispatchFloating(dtype_,
                   [&]<typename T>(T) { x.data<T>()[3] = std::numeric_limits<T>::quiet_NaN(); });
  const Tensor y = ZeroTensor(dtype_, spec.OutputShape());
  const Tensor device_x = Put(*gpu_, x), device_y = Put(*gpu_, y);
  ASSERT_EQ(expected->Forward(x, y, Tensor()), absl::OkStatus());
  ASSERT_EQ(pool->Forward(device_x, device_y, Tensor()), absl::OkStatus());
  EXPECT_TRUE(testing::HasNaN(testing::Values(y)));
  EXPECT_TRUE(testing::KeepsNaN(testing::Values(Get(*gpu_, device_y)), testing::Values(y)));
}

TEST_P(PoolGpuTest, NaNComesOutForwardAndBackwardByTheSameArgmax) {
  for (PoolSpec spec : Specs()) {
    for (const PoolKind kind : {PoolKind::kMax, PoolKind::kAverage}) {
      spec = With(spec);
      spec.kind = kind;
      const auto expected = *CreatePool(*cpu_, spec);
      const auto pool = *CreatePool(*gpu_, spec);
      // More than one in a window, so that the winner among them is seen too.
      const Shape in = spec.InputShape(), out = spec.OutputShape();
      std::vector<double> values = testing::Values(IntegerTensor(dtype_, in, 1, 2));
      for (size_t i = 0; i < values.size(); i += 1 + i % 4) {
        values[i] = std::numeric_limits<double>::quiet_NaN();
      }
      const Tensor x = testing::TensorOf(dtype_, in, values), dx = ZeroTensor(dtype_, in);
      const Tensor y = ZeroTensor(dtype_, out), dy = testing::NaNTensor(dtype_, out);
      const Tensor argmax = ZeroTensor(spec.ArgmaxDType(), out);
      const Tensor device_y = Put(*gpu_, y), device_dx = Put(*gpu_, dx);
      const Tensor device_argmax = Put(*gpu_, argmax);
      ASSERT_EQ(expected->Forward(x, y, argmax), absl::OkStatus());
      ASSERT_EQ(pool->Forward(Put(*gpu_, x), device_y, device_argmax), absl::OkStatus());
      EXPECT_TRUE(testing::KeepsNaN(testing::Values(Get(*gpu_, device_y)), testing::Values(y)))
          << spec.ToString();
      EXPECT_EQ(testing::Values(Get(*gpu_, device_argmax)), testing::Values(argmax))
          << spec.ToString();
      ASSERT_EQ(expected->Backward(dy, argmax, dx, false), absl::OkStatus());
      ASSERT_EQ(pool->Backward(Put(*gpu_, dy), device_argmax, device_dx, false), absl::OkStatus());
      EXPECT_TRUE(testing::KeepsNaN(testing::Values(Get(*gpu_, device_dx)), testing::Values(dx)))
          << spec.ToString();
    }
  }
}

TEST_P(PoolGpuTest, RefusesWhatDoesNotFit) {
  const PoolSpec spec = With(PoolSpec{.batch = 2, .height = 4, .width = 4, .channels = 2});
  const auto pool = *CreatePool(*gpu_, spec);
  const Tensor host = IntegerTensor(dtype_, spec.InputShape(), 1), x = Put(*gpu_, host);
  const Tensor y = Put(*gpu_, ZeroTensor(dtype_, spec.OutputShape()));
  EXPECT_EQ(pool->Forward(host, y, Tensor()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(pool->Forward(x, x, Tensor()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(pool->Forward(x, y, y).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(pool->Backward(y, Tensor(), x, false).code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(
    , PoolGpuTest,
    ::testing::Combine(::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64)));

}  // namespace
}  // namespace dtnn
