// Convolutions on GPUs against the CPU's plainest variant: small integers, so that results are
// equal whatever the order of sums.

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/best_of/best_of.h"
#include "kernels/conv/choice/fastest_key.h"
#include "kernels/conv/conv2d.h"
#include "kernels/conv/reference.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using ::testing::HasSubstr;
using testing::IntegerTensor;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::OnesTensor;
using testing::Put;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;

// All that a spec allows.
constexpr int64_t kWholeBatch = -1;

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
  // A simulated GPU, which is slow, has one variant alone.
  std::vector<const char*> Variants() const {
    if (gpu_->device() == Device::Simulated(0)) return {"auto"};
    return {"auto", "plain"};
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
  static Bench Make(DeviceContext& context, const Conv2dSpec& spec, const char* variant,
                    const Conv2dUse& use = {}) {
    auto conv = CreateConv2d(context, spec, variant, use);
    EXPECT_EQ(conv.status(), absl::OkStatus());
    const size_t bytes = (*conv)->workspace_bytes();
    auto memory = *Buffer::Allocate(context.device(), bytes + 1);
    return {*std::move(conv), memory, {memory->data(), bytes}};
  }

  static Shape Of(const Shape& shape, int64_t images) {
    return images == kWholeBatch ? shape : shape.DropFirst().Prepend(images);
  }

  void ExpectSameForward(const Conv2dSpec& spec, const char* variant,
                         int64_t images = kWholeBatch) {
    const Bench cpu = Make(*cpu_, spec, "i2c"), gpu = Make(*gpu_, spec, variant);
    const Shape in = Of(spec.InputShape(), images), out = Of(spec.OutputShape(), images);
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

  void ExpectSameBackward(const Conv2dSpec& spec, const char* variant,
                          int64_t images = kWholeBatch) {
    const Bench cpu = Make(*cpu_, spec, "i2c"), gpu = Make(*gpu_, spec, variant);
    const Shape in = Of(spec.InputShape(), images), out = Of(spec.OutputShape(), images);
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
      // cuDNN has a filter gradient by Winograd's transform that carries no note of it (seen by the
      // names of its kernels on an H100): whole numbers come out with an error of 1e-5.
      const bool transforms = gpu_->device().type == DeviceType::kCuda &&
                              spec.dtype == DType::kFloat32 && spec.filters == 48;
      EXPECT_TRUE(Close(Get(*gpu_, device_dw), dw, transforms ? 1e-3 : 0)) << spec.ToString();
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

TEST_P(Conv2dGpuTest, SmallerBatchesSameAsCpu) {
  for (Conv2dSpec spec : {With(Specs()[2]), With(Specs()[11])}) {
    spec.batch = 3;
    spec.epilogue = {.bias = true, .scale = true, .add = true, .relu = true};
    for (const char* const variant : Variants()) {
      for (const int64_t images : {2, 0}) {
        SCOPED_TRACE(images);
        ExpectSameForward(spec, variant, images);
        ExpectSameBackward(spec, variant, images);
      }
    }
  }
}

// The same filter as (filters, kh, kw, channels).
Tensor ChannelsLast(const Tensor& stored, const Conv2dSpec& s) {
  const int64_t channels = s.channels / s.groups, kh = s.kernel.vertical, kw = s.kernel.horizontal;
  const Tensor last = *Tensor::Zeros(stored.dtype(), {s.filters, kh, kw, channels});
  const bool filters_last = s.filter_format.value_or(s.format) == TensorFormat::kNHWC;
  const int64_t taps = kh * kw;
  const size_t size = SizeOf(stored.dtype());
  for (int64_t f = 0; f < s.filters; ++f)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t) {
        const int64_t from =
            filters_last ? (c * taps + t) * s.filters + f : (f * channels + c) * taps + t;
        std::memcpy(last.raw_data() + size_t((f * taps + t) * channels + c) * size,
                    stored.raw_data() + size_t(from) * size, size);
      }
  return last;
}

// And so does a bias of 16 bits.
TEST_P(Conv2dGpuTest, AChannelsLastFilterGivesTheSameBits) {
  if (std::get<1>(GetParam()) != TensorFormat::kNHWC) {
    EXPECT_THAT(
        std::string(CreateConv2d(*gpu_, With(Specs()[2]), "auto", {.channels_last_filter = true})
                        .status()
                        .message()),
        HasSubstr("its filter is channels last, which is for NHWC images on GPUs"));
    return;
  }
  std::vector<DType> dtypes = {dtype_};
  if (dtype_ == DType::kFloat32) dtypes.push_back(DType::kBfloat16);
  std::vector<Conv2dSpec> specs = Specs();
  specs.push_back(specs.back());
  specs.back().kernel = 1, specs.back().padding = 0, specs.back().channels = 70;
  for (const DType dtype : dtypes) {
    for (Conv2dSpec spec : specs) {
      spec = With(spec);
      spec.dtype = dtype;
      spec.epilogue = {.bias = true, .relu = true};
      const Tensor x = Put(*gpu_, RandomTensor(dtype, spec.InputShape(), 1));
      const Tensor dy = Put(*gpu_, RandomTensor(dtype, spec.OutputShape(), 2));
      const Tensor filter = RandomTensor(dtype, spec.FilterShape(), 3);
      const Tensor rounded = RandomTensor(dtype, {spec.filters}, 4);
      const Tensor exact = testing::TensorOf(WideOf(dtype), {spec.filters}, Values(rounded));
      const Tensor gradient = RandomTensor(WideOf(dtype), spec.FilterShape(), 5);
      for (const char* const variant : {"auto", "plain"}) {
        std::vector<std::vector<double>> results[2];
        for (const bool last : {false, true}) {
          const Bench bench = Make(*gpu_, spec, variant, {.channels_last_filter = last});
          const Tensor w = Put(*gpu_, last ? ChannelsLast(filter, spec) : filter);
          const Tensor bias = Put(*gpu_, last ? rounded : exact);
          const Tensor y = Put(*gpu_, RandomTensor(dtype, spec.OutputShape(), 6));
          const Tensor dx = Put(*gpu_, RandomTensor(dtype, spec.InputShape(), 7));
          const Tensor dw = Put(*gpu_, gradient);
          ASSERT_EQ(bench.conv->Forward(x, {w, 0}, y, {.bias = bias}, bench.workspace),
                    absl::OkStatus());
          ASSERT_EQ(bench.conv->BackwardData(dy, {w, 0}, dx, true, bench.workspace),
                    absl::OkStatus());
          ASSERT_EQ(bench.conv->BackwardFilter(x, dy, dw, Tensor(), true, bench.workspace),
                    absl::OkStatus());
          for (const Tensor& each : {y, dx, dw}) {
            results[last].push_back(Values(Get(*gpu_, each)));
          }
        }
        EXPECT_EQ(results[0], results[1]) << variant << " " << spec.ToString();
      }
    }
  }
}

// Sums of more terms than integers can test: inputs that are rounded first (TF32) are 100 times as
// far away.
TEST_P(Conv2dGpuTest, RoundsNoMoreThanItsType) {
  const double epsilon = dtype_ == DType::kFloat32 ? std::numeric_limits<float>::epsilon()
                                                   : std::numeric_limits<double>::epsilon();
  Conv2dSpec spec = With(Specs().back());
  spec.batch = 3, spec.channels = 64, spec.filters = 24;
  const Shape in = spec.InputShape(), out = spec.OutputShape(), filter = spec.FilterShape();
  const Tensor x = RandomTensor(dtype_, in, 1), w = RandomTensor(dtype_, filter, 2);
  const Tensor dy = RandomTensor(dtype_, out, 3);
  for (const char* const variant : Variants()) {
    const Bench gpu = Make(*gpu_, spec, variant);
    const Tensor device_x = Put(*gpu_, x), device_w = Put(*gpu_, w), device_dy = Put(*gpu_, dy);
    const Tensor y = Put(*gpu_, dy), dx = Put(*gpu_, x), dw = Put(*gpu_, w);
    const auto expect_near = [&](const Tensor& actual, const std::vector<double>& expected,
                                 int64_t terms) {
      EXPECT_TRUE(Close(Values(Get(*gpu_, actual)), expected, 2 * double(terms) * epsilon))
          << variant;
    };
    ASSERT_EQ(gpu.conv->Forward(device_x, {device_w, 0}, y, {}, gpu.workspace), absl::OkStatus());
    expect_near(y, reference::Conv2dForward(spec, Values(x), Values(w)), 9 * spec.channels);
    ASSERT_EQ(gpu.conv->BackwardData(device_dy, {device_w, 0}, dx, false, gpu.workspace),
              absl::OkStatus());
    expect_near(dx, reference::Conv2dBackwardData(spec, Values(dy), Values(w)), 9 * spec.filters);
    ASSERT_EQ(gpu.conv->BackwardFilter(device_x, device_dy, dw, Tensor(), false, gpu.workspace),
              absl::OkStatus());
    expect_near(dw, reference::Conv2dBackwardFilter(spec, Values(x), Values(dy)),
                spec.batch * spec.out_height() * spec.out_width());
  }
}

// One operand has NaNs or infinities, the others are ones. Infinities may come out as NaNs, as a
// fast algorithm makes them by subtracting.
class NotFinite {
 public:
  NotFinite(DType dtype, bool infinite) : dtype_(dtype), infinite_(infinite) {}

  Tensor Ones(const Shape& shape) const { return OnesTensor(dtype_, shape); }
  Tensor Some(const Shape& shape) const {
    std::vector<double> values = Values(NaNTensor(dtype_, shape));
    for (double& value : values) {
      if (infinite_ && std::isnan(value)) value = std::numeric_limits<double>::infinity();
    }
    return testing::TensorOf(dtype_, shape, values);
  }
  // NaN for what must stay.
  std::vector<double> Marked(std::vector<double> values) const {
    for (double& value : values) {
      if (infinite_ && std::isinf(value)) value = std::nan("");
    }
    return values;
  }
  ::testing::AssertionResult Stay(const Tensor& actual, const std::vector<double>& expected) const {
    return KeepsNaN(Marked(Values(actual)), Marked(expected));
  }

 private:
  DType dtype_;
  bool infinite_;
};

TEST_P(Conv2dGpuTest, WhatIsNotFiniteComesOut) {
  for (const int which : {3, 8}) {
    Conv2dSpec spec = With(Specs()[size_t(which)]);
    spec.epilogue = {.bias = true, .scale = true, .add = true, .relu = true};
    const Shape in = spec.InputShape(), out = spec.OutputShape(), filter = spec.FilterShape();
    for (const char* const variant : Variants()) {
      const Bench gpu = Make(*gpu_, spec, variant);
      for (const bool infinite : {false, true}) {
        SCOPED_TRACE(spec.ToString() + " " + variant + (infinite ? " infinity" : " NaN"));
        const NotFinite values(dtype_, infinite);
        for (int operand = 0; operand < 5; ++operand) {
          const auto make = [&](int number, const Shape& shape) {
            return number == operand ? values.Some(shape) : values.Ones(shape);
          };
          const Tensor x = make(0, in), w = make(1, filter), bias = make(2, {spec.filters});
          const Tensor scale = make(3, {spec.filters}), addend = make(4, out);
          const Tensor y = Put(*gpu_, ZeroTensor(dtype_, out));
          ASSERT_EQ(gpu.conv->Forward(Put(*gpu_, x), {Put(*gpu_, w), 0}, y,
                                      {Put(*gpu_, bias), Put(*gpu_, scale), Put(*gpu_, addend)},
                                      gpu.workspace),
                    absl::OkStatus());
          EXPECT_TRUE(values.Stay(
              Get(*gpu_, y),
              reference::ApplyEpilogue(spec, reference::Conv2dForward(spec, Values(x), Values(w)),
                                       Values(bias), Values(scale), Values(addend))))
              << operand;
        }
        for (const bool in_dy : {false, true}) {
          const Tensor x = in_dy ? values.Ones(in) : values.Some(in);
          const Tensor w = in_dy ? values.Ones(filter) : values.Some(filter);
          const Tensor dy = in_dy ? values.Some(out) : values.Ones(out);
          const Tensor device_dy = Put(*gpu_, dy), dx = Put(*gpu_, ZeroTensor(dtype_, in));
          const Tensor dw = Put(*gpu_, ZeroTensor(dtype_, filter));
          const Tensor dbias = Put(*gpu_, ZeroTensor(dtype_, {spec.filters}));
          ASSERT_EQ(gpu.conv->BackwardData(device_dy, {Put(*gpu_, w), 0}, dx, false, gpu.workspace),
                    absl::OkStatus());
          ASSERT_EQ(
              gpu.conv->BackwardFilter(Put(*gpu_, x), device_dy, dw, dbias, false, gpu.workspace),
              absl::OkStatus());
          EXPECT_TRUE(values.Stay(Get(*gpu_, dx),
                                  reference::Conv2dBackwardData(spec, Values(dy), Values(w))))
              << in_dy;
          EXPECT_TRUE(values.Stay(Get(*gpu_, dw),
                                  reference::Conv2dBackwardFilter(spec, Values(x), Values(dy))))
              << in_dy;
          if (!in_dy) continue;
          EXPECT_TRUE(
              values.Stay(Get(*gpu_, dbias), reference::Conv2dBackwardBias(spec, Values(dy))));
        }
      }
    }
  }
}

TEST_P(Conv2dGpuTest, RefusesWhatDoesNotFit) {
  const Conv2dSpec spec = With(Specs()[2]);
  const absl::Status unknown = CreateConv2d(*gpu_, spec, "winograd").status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("winograd"));
  Conv2dVariants mixed("plain");
  mixed[conv::Direction::kBackwardData] = "auto";
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

TEST_P(Conv2dGpuTest, PaysOnlyForTheDirectionsOfItsUse) {
  const Conv2dSpec spec = With(Specs()[2]);
  const Tensor x = Put(*gpu_, Random(spec.InputShape(), 1)), dx = Put(*gpu_, x);
  const Tensor w = Put(*gpu_, Random(spec.FilterShape(), 2)), dw = Put(*gpu_, w);
  const Tensor y = Put(*gpu_, Random(spec.OutputShape(), 3));
  const size_t all = Make(*gpu_, spec, "auto").conv->workspace_bytes();
  for (const char* const variant : Variants()) {
    for (const conv::Direction made_for : conv::kDirections) {
      SCOPED_TRACE(std::string(conv::Name(made_for)) + " " + variant);
      const Bench gpu = Make(*gpu_, spec, variant, {.directions = conv::Only(made_for)});
      EXPECT_LE(gpu.conv->workspace_bytes(), all);
      for (const conv::Direction direction : conv::kDirections) {
        const bool made = direction == made_for;
        EXPECT_EQ(gpu.conv->variant(direction).empty(), !made);
        const absl::Status status = [&] {
          switch (direction) {
            case conv::Direction::kForward:
              return gpu.conv->Forward(x, {w, 0}, y, {}, gpu.workspace);
            case conv::Direction::kBackwardData:
              return gpu.conv->BackwardData(y, {w, 0}, dx, false, gpu.workspace);
            case conv::Direction::kBackwardFilter:
              break;
          }
          return gpu.conv->BackwardFilter(x, y, dw, Tensor(), false, gpu.workspace);
        }();
        EXPECT_EQ(status.code(),
                  made ? absl::StatusCode::kOk : absl::StatusCode::kFailedPrecondition);
      }
    }
  }
  // Only the sums of the filter's gradient need memory of a kernel without a library.
  EXPECT_EQ(Make(*gpu_, spec, "plain", {.directions = {true, true, false}}).conv->workspace_bytes(),
            0);
}

TEST_P(Conv2dGpuTest, TunesOnlyTheDirectionsOfItsUse) {
  if (gpu_->device() == Device::Simulated(0)) {
    GTEST_SKIP() << "a simulated GPU has no plans to choose among";
  }
  const Conv2dSpec spec = With(Specs()[2]);
  for (const conv::Direction made_for : conv::kDirections) {
    BestOf tuner;
    gpu_->SetTuner(&tuner);
    Make(*gpu_, spec, "auto", {.directions = conv::Only(made_for)});
    gpu_->SetTuner(nullptr);
    EXPECT_FALSE(tuner.uses().empty());
    for (const auto& [key, uses] : tuner.uses()) {
      EXPECT_EQ(key.direction, FastestConv2dKey(spec, made_for, false).direction);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , Conv2dGpuTest,
    ::testing::Combine(::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64)));

}  // namespace
}  // namespace dtnn
