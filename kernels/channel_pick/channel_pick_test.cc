#include "kernels/channel_pick/channel_pick.h"

#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/channel_pick/reference.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::IntegerTensor;
using testing::KeepsNaN;
using testing::NaNTensor;
using testing::Pitched;
using testing::Values;
using testing::ZeroTensor;
using Doubles = std::vector<double>;

const ChannelPickSpec kSpecs[] = {
    {.channels = 1, .count = 1},
    {.channels = 9, .begin = 3, .count = 5},
    {.channels = 40, .begin = 0, .count = 17},
    {.channels = 33, .begin = 16, .count = 17},
    {.channels = 6, .count = 6, .groups = 2},
    {.channels = 6, .count = 6, .groups = 3},
    {.channels = 6, .count = 6, .groups = 6},
    {.channels = 68, .count = 68, .groups = 2},
    {.channels = 30, .begin = 7, .count = 20, .groups = 4},
};

class ChannelPickTest
    : public ::testing::TestWithParam<std::tuple<ChannelPickSpec, TensorFormat, DType>> {
 protected:
  ChannelPickTest() {
    spec_ = std::get<0>(GetParam());
    spec_.format = std::get<1>(GetParam());
    spec_.dtype = std::get<2>(GetParam());
    pick_ = *CreateChannelPick(*context_, spec_);
  }
  Shape Images(int64_t channels, int64_t n = 3) const {
    return SampleShape({5, 7, channels}, spec_.format).Prepend(n);
  }
  Tensor Integers(int64_t channels, uint64_t seed) const {
    return IntegerTensor(spec_.dtype, Images(channels), seed);
  }
  int64_t inner() const { return spec_.format == TensorFormat::kNCHW ? 35 : 1; }

  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
  ChannelPickSpec spec_;
  std::unique_ptr<ChannelPick> pick_;
};

TEST_P(ChannelPickTest, ForwardEqualsReferenceDenseAndPitched) {
  const Tensor x = Integers(spec_.channels, 1), y = Integers(spec_.count, 2);
  const Doubles expected = reference::ChannelPickForward(spec_, inner(), Values(x));
  ASSERT_EQ(pick_->Forward(x, y), absl::OkStatus());
  EXPECT_EQ(Values(y), expected);
  const Tensor pitched = Pitched(Integers(spec_.count, 2), spec_.format);
  ASSERT_EQ(pick_->Forward(Pitched(x, spec_.format), pitched), absl::OkStatus());
  EXPECT_EQ(Values(pitched, spec_.format), expected);
}

TEST_P(ChannelPickTest, BackwardEqualsReferenceDenseAndPitched) {
  const Tensor dy = Integers(spec_.count, 2);
  const Doubles gradient = reference::ChannelPickBackward(spec_, inner(), Values(dy));
  for (const bool accumulate : {false, true}) {
    const Tensor dx = Integers(spec_.channels, 3), pitched = Pitched(dx, spec_.format);
    Doubles expected = gradient;
    const Doubles before = Values(dx);
    for (size_t i = 0; i < before.size() && accumulate; ++i) expected[i] += before[i];
    ASSERT_EQ(pick_->Backward(dy, dx, accumulate), absl::OkStatus());
    EXPECT_EQ(Values(dx), expected);
    ASSERT_EQ(pick_->Backward(Pitched(dy, spec_.format), pitched, accumulate), absl::OkStatus());
    EXPECT_EQ(Values(pitched, spec_.format), expected);
  }
}

TEST_P(ChannelPickTest, NaNComesOutWhereItBelongs) {
  const Tensor x = NaNTensor(spec_.dtype, Images(spec_.channels)), y = Integers(spec_.count, 2);
  ASSERT_EQ(pick_->Forward(x, y), absl::OkStatus());
  EXPECT_TRUE(KeepsNaN(Values(y), reference::ChannelPickForward(spec_, inner(), Values(x))));
  const Tensor dy = NaNTensor(spec_.dtype, Images(spec_.count)), dx = Integers(spec_.channels, 2);
  ASSERT_EQ(pick_->Backward(dy, dx, false), absl::OkStatus());
  EXPECT_TRUE(KeepsNaN(Values(dx), reference::ChannelPickBackward(spec_, inner(), Values(dy))));
}

INSTANTIATE_TEST_SUITE_P(, ChannelPickTest,
                         ::testing::Combine(::testing::ValuesIn(kSpecs),
                                            ::testing::Values(TensorFormat::kNHWC,
                                                              TensorFormat::kNCHW),
                                            ::testing::Values(DType::kFloat32, DType::kFloat64)));

TEST(ChannelShuffleTest, InterleavesGroupsOnAnyNumberOfThreads) {
  const std::unique_ptr<DeviceContext> context = *DeviceContext::Create(Device::Cpu());
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const ChannelPickSpec spec = {.channels = 24, .count = 24, .groups = 2, .format = format};
    const auto pick = *CreateChannelPick(*context, spec);
    const Tensor x =
        IntegerTensor(DType::kFloat32, SampleShape({64, 64, 24}, format).Prepend(2), 1);
    for (const int threads : {1, 2, 4}) {
      SetNumThreads(threads);
      const Tensor y = ZeroTensor(DType::kFloat32, x.shape());
      ASSERT_EQ(pick->Forward(x, y), absl::OkStatus());
      for (int64_t j = 0; j < 24; ++j) {
        EXPECT_EQ(Values(y.Channels(j, 1, format), format),
                  Values(x.Channels(j % 2 * 12 + j / 2, 1, format), format));
      }
    }
    SetNumThreads(2);
  }
}

TEST(ChannelPickSpecTest, SaysWhatDoesNotFit) {
  const std::unique_ptr<DeviceContext> context = *DeviceContext::Create(Device::Cpu());
  const auto refusal = [&](const ChannelPickSpec& spec) {
    return std::string(CreateChannelPick(*context, spec).status().message());
  };
  EXPECT_EQ(refusal({.channels = 4, .begin = 1, .count = 3}), "");
  EXPECT_EQ(refusal({.channels = 0, .count = 1}),
            "channel pick: channels is 0, expected 1 to 16777216");
  EXPECT_EQ(refusal({.channels = 4, .begin = 2, .count = 3}),
            "channel pick: 3 channels from channel 2 on are not in an image of 4");
  EXPECT_EQ(refusal({.channels = 4, .begin = INT64_MAX, .count = INT64_MAX}),
            "channel pick: 9223372036854775807 channels from channel 9223372036854775807 on are "
            "not in an image of 4");
  EXPECT_EQ(refusal({.channels = 4, .count = 4, .groups = 3}),
            "channel pick: groups is 3, expected a divisor of 4 channels");
}

TEST(ChannelPickSpecTest, OperandsMustFit) {
  const std::unique_ptr<DeviceContext> context = *DeviceContext::Create(Device::Cpu());
  const auto pick = *CreateChannelPick(*context, {.channels = 4, .begin = 1, .count = 2});
  const auto images = [](int64_t channels) {
    return ZeroTensor(DType::kFloat32, {1, 2, 2, channels});
  };
  EXPECT_EQ(pick->Forward({}, images(2)).message(), "channel pick: x is missing");
  EXPECT_EQ(pick->Forward(ZeroTensor(DType::kFloat32, {4, 2}), images(2)).message(),
            "channel pick: x is not a batch of images");
  EXPECT_NE(pick->Forward(images(3), images(2)), absl::OkStatus());
  EXPECT_NE(pick->Forward(images(4), images(4)), absl::OkStatus());
  EXPECT_NE(pick->Backward(images(4), images(4), false), absl::OkStatus());
  EXPECT_EQ(pick->Backward(images(2), images(4), false), absl::OkStatus());
}

}  // namespace
}  // namespace dtnn
