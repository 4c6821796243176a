#include "kernels/pad/pad.h"

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/pad/reference.h"
#include "kernels/pad/testing/specs.h"
#include "kernels/testing/channels_last.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::ChannelsLast;
using testing::ImagesOf;
using testing::IntegerImages;
using testing::Pitched;
using testing::RandomTensor;
using testing::SpecOf;
using testing::SpecsOf;
using testing::TensorOf;
using testing::Values;
using Doubles = std::vector<double>;

constexpr int64_t kBatch = 2;

class PadTest : public ::testing::TestWithParam<std::tuple<PadMode, TensorFormat, DType>> {
 protected:
  Tensor Make(const ImageExtents& image, const Doubles& values) const {
    return ImagesOf(dtype_, image, kBatch, format_, values);
  }
  Doubles Back(const ImageExtents& image, const Tensor& tensor) const {
    return ChannelsLast(tensor, image, format_);
  }

  const PadMode mode_ = std::get<0>(GetParam());
  const TensorFormat format_ = std::get<1>(GetParam());
  const DType dtype_ = std::get<2>(GetParam());
  const std::unique_ptr<DeviceContext> cpu_ = *DeviceContext::Create(Device::Cpu());
};

// Small integers: sums are exact in any type.
TEST_P(PadTest, EqualsItsReferenceDenseAndPitched) {
  for (PadSpec spec : SpecsOf(mode_)) {
    SCOPED_TRACE(ToString(spec.image));
    spec.format = format_, spec.dtype = dtype_;
    const ImageExtents padded = spec.output();
    const Doubles x = IntegerImages(spec.image, kBatch, 1), dy = IntegerImages(padded, kBatch, 2),
                  before = IntegerImages(spec.image, kBatch, 3);
    Doubles y(dy.size()), dx = before;
    reference::ForEachPadded(spec, kBatch, [&](int64_t from, size_t to) {
      y[to] = from < 0 ? spec.value : x[size_t(from)];
      if (from >= 0) dx[size_t(from)] += dy[to];
    });
    const Tensor device_x = Make(spec.image, x), device_dy = Make(padded, dy);
    for (const auto& [read_pitched, written_pitched] :
         {std::pair(false, false), std::pair(true, true), std::pair(true, false),
          std::pair(false, true)}) {
      const auto as = [&](const Tensor& dense, bool pitched) {
        return pitched ? Pitched(dense, format_) : dense;
      };
      const auto pad = *CreatePad(*cpu_, spec);
      const Tensor to_y = as(Make(padded, dy), written_pitched),
                   to_dx = as(Make(spec.image, before), written_pitched);
      ASSERT_EQ(pad->Forward(as(device_x, read_pitched), to_y), absl::OkStatus());
      EXPECT_EQ(Back(padded, to_y), y);
      ASSERT_EQ(pad->Backward(as(device_dy, read_pitched), to_dx, /*accumulate=*/true),
                absl::OkStatus());
      EXPECT_EQ(Back(spec.image, to_dx), dx);
      ASSERT_EQ(pad->Backward(as(device_dy, read_pitched), to_dx, /*accumulate=*/false),
                absl::OkStatus());
      Doubles gradient = dx;
      for (size_t i = 0; i < gradient.size(); ++i) gradient[i] -= before[i];
      EXPECT_EQ(Back(spec.image, to_dx), gradient);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    , PadTest,
    ::testing::Combine(::testing::Values(PadMode::kConstant, PadMode::kReflect, PadMode::kEdge),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW),
                       ::testing::Values(DType::kFloat32, DType::kFloat64, DType::kBfloat16)));

// torch.nn.functional.pad of 1 2 3 4 (PyTorch 2.15).
TEST(PadAnswersTest, AreThoseOfPyTorch) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const auto answer = [&](PadMode mode) {
    PadSpec spec = SpecOf({1, 4, 1}, 0, 0, 3, 2);
    spec.mode = mode;
    const Tensor y = testing::ZeroTensor(DType::kFloat32, {1, 1, 9, 1});
    EXPECT_EQ(
        (*CreatePad(*cpu, spec))->Forward(TensorOf(DType::kFloat32, {1, 1, 4, 1}, {1, 2, 3, 4}), y),
        absl::OkStatus());
    return Values(y);
  };
  EXPECT_EQ(answer(PadMode::kConstant), (Doubles{3, 3, 3, 1, 2, 3, 4, 3, 3}));
  EXPECT_EQ(answer(PadMode::kReflect), (Doubles{4, 3, 2, 1, 2, 3, 4, 3, 2}));
  EXPECT_EQ(answer(PadMode::kEdge), (Doubles{1, 1, 1, 1, 2, 3, 4, 4, 4}));
}

TEST(PadThreadsTest, SameOnAnyNumber) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  PadSpec spec = SpecOf({70, 60, 7}, 3, 2, 1, 4);
  spec.mode = PadMode::kEdge;
  const Tensor dy = RandomTensor(DType::kFloat32, {2, 75, 65, 7}, 1);
  Doubles first;
  for (const int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    const Tensor dx = testing::ZeroTensor(DType::kFloat32, {2, 70, 60, 7});
    ASSERT_EQ((*CreatePad(*cpu, spec))->Backward(dy, dx, false), absl::OkStatus());
    if (first.empty()) first = Values(dx);
    EXPECT_EQ(Values(dx), first);
  }
  SetNumThreads(2);
}

TEST(PadSpecTest, SaysWhatDoesNotFit) {
  const std::unique_ptr<DeviceContext> cpu = *DeviceContext::Create(Device::Cpu());
  const auto error = [&](const PadSpec& spec) {
    return std::string(CreatePad(*cpu, spec).status().message());
  };
  EXPECT_EQ(error(SpecOf({0, 1, 1}, 0, 0, 0, 0)), "pad: an image of 0x1x1, expected elements");
  EXPECT_EQ(error(SpecOf({2, 2, 1}, 0, -1, 0, 0)), "pad: -1 rows or columns, expected 0 to 2^24");
  EXPECT_EQ(error(SpecOf({2, 2, 1}, 0, 0, INT64_MAX, 0)),
            "pad: 9223372036854775807 rows or columns, expected 0 to 2^24");
  PadSpec spec = SpecOf({2, 3, 1}, 0, 2, 0, 1);
  spec.mode = PadMode::kReflect;
  EXPECT_EQ(error(spec),
            "pad: 0, 2, 0 and 1 mirrored rows and columns at the top, bottom, left and right, "
            "expected fewer than an image of 2x3x1 has");
  const auto pad = *CreatePad(*cpu, SpecOf({2, 3, 1}, 0, 2, 0, 1));
  const Tensor x = testing::ZeroTensor(DType::kFloat32, {1, 2, 3, 1});
  EXPECT_EQ(std::string(pad->Forward(x, x).message()),
            "pad: the padded image has shape (1, 2, 3, 1) of float32 on cpu; expected (1, 4, 4, 1) "
            "of float32 on cpu");
}

TEST(PadModeTest, HasAName) {
  for (const PadMode mode : {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge}) {
    EXPECT_EQ(ParsePadMode(Name(mode)), mode);
  }
  EXPECT_EQ(ParsePadMode("wrap"), std::nullopt);
}

}  // namespace
}  // namespace dtnn
