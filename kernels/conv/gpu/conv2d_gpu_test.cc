// Convolutions on GPUs against the CPU's plainest variant: small integers, so that results are
// equal whatever the order of sums.

#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/conv/conv2d.h"
#include "kernels/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using ::testing::HasSubstr;
using testing::IntegerTensor;
using testing::Put;

std::vector<Conv2dSpec> Specs() {
  const auto spec = [](int64_t n, int64_t h, int64_t w, int64_t c, int64_t f, Pair kernel,
                       Pair stride, Pair padding, Pair dilation = 1, int64_t groups = 1) {
    Conv2dSpec s;
    s.batch = n, s.height = h, s.width = w, s.channels = c, s.filters = f;
    s.kernel = kernel, s.stride = stride, s.padding = padding, s.dilation = dilation;
    s.groups = groups;
    return s;
  };
  const auto other_filter_format = [](Conv2dSpec s, TensorFormat format) {
    s.filter_format = format;
    return s;
  };
  return {
      spec(1, 1, 1, 1, 1, 1, 1, 0),
      spec(2, 5, 7, 1, 4, 3, 1, 1),
      spec(3, 9, 8, 4, 8, 3, 1, 1),
      spec(2, 7, 5, 5, 3, 1, 2, 0),  // stride > kernel
      spec(2, 3, 3, 9, 4, 5, 1, 3),  // padding larger than the map
      spec(1, 2, 2, 8, 8, 3, 1, 5),  // whole patches of padding
      spec(2, 7, 13, 2, 3, Pair(3, 2), Pair(1, 2), Pair(2, 1), Pair(2, 3)),
      spec(1, 13, 13, 5, 9, 3, 2, 3, 3),
      spec(2, 7, 6, 6, 9, 3, 1, 1, 1, 3),   // groups
      spec(2, 6, 11, 5, 5, 3, 1, 1, 1, 5),  // depthwise
      spec(1, 9, 7, 3, 6, 3, 2, 1, 1, 3),   // with two filters per channel
      other_filter_format(spec(2, 6, 7, 5, 18, 3, 1, 1), TensorFormat::kNCHW),
      other_filter_format(spec(2, 6, 7, 5, 4, 3, 1, 1), TensorFormat::kNHWC),
      spec(9, 5, 6, 40, 48, 3, 1, 1),  // few threads per element of the filter
  };
}

class Conv2dGpuTest : public ::testing::TestWithParam<std::tuple<Device, TensorFormat, DType>> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, std::get<0>(GetParam()));
    gpu_ = std::move(gpu);
  }
  Conv2dSpec With(Conv2dSpec spec) const {
    spec.format = std::get<1>(GetParam());
    spec.dtype = dtype_;
    return spec;
  }
  Tensor Random(const Shape& shape, uint64_t seed) const {
    return IntegerTensor(dtype_, shape, seed, 2);
  }
  // A tensor with more channels than the shape; its middle is what a primitive sees.
  Tensor Wide(const Shape& shape, TensorFormat format, uint64_t seed) const {
    std::vector<int64_t> extents(shape.extents().begin(), shape.extents().end());
    extents[format == TensorFormat::kNCHW ? 1 : 3] += 3;
    return Random(*Shape::Make(extents), seed);
  }
  static Tensor Middle(const Tensor& wide, const Shape& shape, TensorFormat format) {
    return wide.Channels(2, shape[format == TensorFormat::kNCHW ? 1 : 3], format);
  }
  // A primitive and its workspace.
  struct Bench {
    std::unique_ptr<Conv2d> conv;
    std::shared_ptr<Buffer> memory;
    Workspace workspace;
  };
  static Bench Make(DeviceContext& context, const Conv2dSpec& spec, const char* variant) {
    auto conv = CreateConv2d(context, spec, variant);
    EXPECT_EQ(conv.status(), absl::OkStatus());
    const size_t bytes = (*conv)->workspace_bytes();
    auto memory = *Buffer::Allocate(context.device(), bytes + 1);
    return {*std::move(conv), memory, {memory->data(), bytes}};
  }

  void ExpectSameForward(const Conv2dSpec& spec, const char* variant) {
    const Bench cpu = Make(*cpu_, spec, "i2c"), gpu = Make(*gpu_, spec, variant);
    const Shape in = spec.InputShape(), out = spec.OutputShape();
    const Tensor x = Wide(in, spec.format, 1), w = Random(spec.FilterShape(), 2);
    const Tensor y = Wide(out, spec.format, 3), addend = Wide(out, spec.format, 4);
    const Tensor bias = Random({spec.filters}, 5), scale = Random({spec.filters}, 6);
    const Tensor device_y = Put(*gpu_, y);
    const auto middle = [&](const Tensor& wide, const Shape& shape) {
      return Middle(wide, shape, spec.format);
    };
    ASSERT_EQ(cpu.conv->Forward(middle(x, in), {w, 0}, middle(y, out),
                                {bias, scale, middle(addend, out)}, cpu.workspace),
              absl::OkStatus());
    ASSERT_EQ(
        gpu.conv->Forward(middle(Put(*gpu_, x), in), {Put(*gpu_, w), 0}, middle(device_y, out),
                          {Put(*gpu_, bias), Put(*gpu_, scale), middle(Put(*gpu_, addend), out)},
                          gpu.workspace),
        absl::OkStatus());
    EXPECT_TRUE(Close(Get(*gpu_, device_y), y, 0)) << spec.ToString();
  }

  void ExpectSameBackward(const Conv2dSpec& spec, const char* variant) {
    const Bench cpu = Make(*cpu_, spec, "i2c"), gpu = Make(*gpu_, spec, variant);
    const Shape in = spec.InputShape(), out = spec.OutputShape();
    const Tensor x = Wide(in, spec.format, 1), w = Random(spec.FilterShape(), 2);
    const Tensor dx = Wide(in, spec.format, 7), dy = Wide(out, spec.format, 3);
    const Tensor dw = Random(spec.FilterShape(), 8), dbias = Random({spec.filters}, 9);
    const Tensor device_x = Put(*gpu_, x), device_w = Put(*gpu_, w), device_dx = Put(*gpu_, dx);
    const Tensor device_dy = Put(*gpu_, dy), device_dw = Put(*gpu_, dw);
    const Tensor device_dbias = Put(*gpu_, dbias);
    const auto middle = [&](const Tensor& wide, const Shape& shape) {
      return Middle(wide, shape, spec.format);
    };
    for (const bool accumulate : {true, false}) {
      ASSERT_EQ(cpu.conv->BackwardData(middle(dy, out), {w, 0}, middle(dx, in), accumulate,
                                       cpu.workspace),
                absl::OkStatus());
      ASSERT_EQ(cpu.conv->BackwardFilter(middle(x, in), middle(dy, out), dw, dbias, accumulate,
                                         cpu.workspace),
                absl::OkStatus());
      ASSERT_EQ(gpu.conv->BackwardData(middle(device_dy, out), {device_w, 0}, middle(device_dx, in),
                                       accumulate, gpu.workspace),
                absl::OkStatus());
      ASSERT_EQ(gpu.conv->BackwardFilter(middle(device_x, in), middle(device_dy, out), device_dw,
                                         device_dbias, accumulate, gpu.workspace),
                absl::OkStatus());
      EXPECT_TRUE(Close(Get(*gpu_, device_dx), dx, 0)) << spec.ToString();
      EXPECT_TRUE(Close(Get(*gpu_, device_dw), dw, 0)) << spec.ToString();
      EXPECT_TRUE(Close(Get(*gpu_, device_dbias), dbias, 0)) << spec.ToString();
    }
  }

  const DType dtype_ = std::get<2>(GetParam());
  std::unique_ptr<DeviceContext> gpu_, cpu_ = *DeviceContext::Create(Device::Cpu());
};

TEST_P(Conv2dGpuTest, SameAsCpu) {
  for (const Conv2dSpec& each : Specs()) {
    const Conv2dSpec spec = With(each);
    for (const char* const variant : {"auto", "plain"}) {
      ExpectSameForward(spec, variant);
      ExpectSameBackward(spec, variant);
    }
  }
}

TEST_P(Conv2dGpuTest, EpiloguesSameAsCpu) {
  for (int parts = 1; parts < 16; ++parts) {
    for (const int64_t groups : {1, 3}) {
      Conv2dSpec spec = With(Specs()[8]);
      spec.groups = groups;
      spec.epilogue = {.bias = (parts & 1) != 0,
                       .scale = (parts & 2) != 0,
                       .add = (parts & 4) != 0,
                       .relu = (parts & 8) != 0};
      ExpectSameForward(spec, "auto");
    }
  }
}

TEST_P(Conv2dGpuTest, SmallerBatchesRun) {
  const Conv2dSpec spec = With(Specs()[2]);
  const Bench cpu = Make(*cpu_, spec, "i2c"), gpu = Make(*gpu_, spec, "auto");
  for (const int64_t images : {2, 1, 0}) {
    const Tensor x = Random(spec.InputShape().DropFirst().Prepend(images), 1);
    const Tensor dy = Random(spec.OutputShape().DropFirst().Prepend(images), 2);
    const Tensor dw = Random(spec.FilterShape(), 3), device_dw = Put(*gpu_, dw);
    ASSERT_EQ(cpu.conv->BackwardFilter(x, dy, dw, Tensor(), true, cpu.workspace), absl::OkStatus());
    ASSERT_EQ(gpu.conv->BackwardFilter(Put(*gpu_, x), Put(*gpu_, dy), device_dw, Tensor(), true,
                                       gpu.workspace),
              absl::OkStatus());
    EXPECT_TRUE(Close(Get(*gpu_, device_dw), dw, 0)) << images;
  }
}

TEST_P(Conv2dGpuTest, RefusesWhatDoesNotFit) {
  const Conv2dSpec spec = With(Specs()[2]);
  const absl::Status unknown = CreateConv2d(*gpu_, spec, "winograd").status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("winograd"));
  Conv2dVariants mixed("plain");
  mixed.backward_data = "auto";
  const absl::Status several = CreateConv2d(*gpu_, spec, mixed).status();
  EXPECT_EQ(several.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(several.message()), HasSubstr("one variant computes all directions"));

  const Bench gpu = Make(*gpu_, spec, "auto");
  const Tensor host = Random(spec.InputShape(), 1), x = Put(*gpu_, host);
  const Tensor w = Put(*gpu_, Random(spec.FilterShape(), 2));
  const Tensor y = Put(*gpu_, Random(spec.OutputShape(), 3));
  const auto forward = [&](const Tensor& from, const Tensor& to) {
    return gpu.conv->Forward(from, {w, 0}, to, {}, gpu.workspace).code();
  };
  EXPECT_EQ(forward(x, y), absl::StatusCode::kOk);
  EXPECT_EQ(forward(host, y), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(forward(x, x), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(gpu.conv->BackwardFilter(x, y, w, Tensor(), false, {}).code(),
            absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(
    , Conv2dGpuTest,
    ::testing::Combine(::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64)));

}  // namespace
}  // namespace dtnn
