#include "kernels/concat/concat.h"

#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/concat/reference.h"
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

constexpr TensorFormat kFormats[] = {TensorFormat::kNHWC, TensorFormat::kNCHW};

class ConcatTest : public ::testing::TestWithParam<DType> {
 protected:
  std::unique_ptr<Concat> Create(TensorFormat format) const {
    return *CreateConcat(*context_, {.format = format, .dtype = GetParam()});
  }
  static Shape Images(TensorFormat format, int64_t channels) {
    return format == TensorFormat::kNHWC ? Shape{3, 5, 7, channels} : Shape{3, channels, 5, 7};
  }
  std::vector<Tensor> Parts(TensorFormat format, const std::vector<int64_t>& channels) const {
    std::vector<Tensor> parts;
    for (const int64_t c : channels) {
      parts.push_back(IntegerTensor(GetParam(), Images(format, c), parts.size() + 1));
    }
    return parts;
  }
  static Doubles Expected(TensorFormat format, const std::vector<int64_t>& channels,
                          const std::vector<Tensor>& parts) {
    std::vector<Doubles> values;
    for (const Tensor& part : parts) values.push_back(Values(part, format));
    const bool pixels = format == TensorFormat::kNHWC;
    return reference::Concat(pixels ? 3 * 5 * 7 : 3, pixels ? 1 : 5 * 7, channels, values);
  }
  std::unique_ptr<DeviceContext> context_ = *DeviceContext::Create(Device::Cpu());
};

const std::vector<std::vector<int64_t>> kChannels = {{1}, {1, 1}, {3, 5, 1}, {8, 16, 17, 40}};

TEST_P(ConcatTest, ForwardEqualsReferenceDenseAndPitched) {
  for (const TensorFormat format : kFormats) {
    for (const std::vector<int64_t>& channels : kChannels) {
      std::vector<Tensor> parts = Parts(format, channels);
      const Doubles expected = Expected(format, channels, parts);
      int64_t all = 0;
      for (const int64_t c : channels) all += c;
      const Tensor y = ZeroTensor(GetParam(), Images(format, all));
      ASSERT_TRUE(Create(format)->Forward(parts, y).ok());
      EXPECT_EQ(Values(y), expected);
      for (Tensor& part : parts) part = Pitched(part, format);
      const Tensor pitched = Pitched(ZeroTensor(GetParam(), y.shape()), format);
      ASSERT_TRUE(Create(format)->Forward(parts, pitched).ok());
      EXPECT_EQ(Values(pitched, format), expected);
    }
  }
}

TEST_P(ConcatTest, NaNInAnyPartComesOut) {
  for (const TensorFormat format : kFormats) {
    const std::vector<int64_t> channels = {3, 16, 17};
    for (size_t at = 0; at < channels.size(); ++at) {
      std::vector<Tensor> parts = Parts(format, channels);
      parts[at] = NaNTensor(GetParam(), parts[at].shape());
      const Tensor y = ZeroTensor(GetParam(), Images(format, 36));
      ASSERT_TRUE(Create(format)->Forward(parts, y).ok());
      EXPECT_TRUE(KeepsNaN(Values(y), Expected(format, channels, parts)));
    }
  }
}

TEST_P(ConcatTest, BackwardSplitsAndAccumulates) {
  for (const TensorFormat format : kFormats) {
    const std::vector<int64_t> channels = {3, 16, 17};
    const Tensor dy = IntegerTensor(GetParam(), Images(format, 36), 9);
    std::vector<Tensor> dx = Parts(format, channels);
    dx[2] = Pitched(dx[2], format);
    std::vector<Doubles> expected;
    int64_t offset = 0;
    for (size_t i = 0; i < 3; ++i) {
      expected.push_back(Values(dy.Channels(offset, channels[i], format), format));
      offset += channels[i];
      if (i == 0) continue;
      const Doubles old = Values(dx[i], format);
      for (size_t k = 0; k < old.size(); ++k) expected[i][k] += old[k];
    }
    const bool accumulate[] = {false, true, true};
    ASSERT_TRUE(Create(format)->Backward(dy, dx, accumulate).ok());
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(Values(dx[i], format), expected[i]) << i;
  }
}

TEST_P(ConcatTest, EmptyGradientIsSkipped) {
  for (const TensorFormat format : kFormats) {
    const Tensor dy = IntegerTensor(GetParam(), Images(format, 9), 9);
    const std::vector<Tensor> dx = {ZeroTensor(GetParam(), Images(format, 2)), Tensor(),
                                    ZeroTensor(GetParam(), Images(format, 3))};
    const bool accumulate[] = {false, false, false};
    ASSERT_TRUE(Create(format)->Backward(dy, dx, accumulate).ok());
    EXPECT_EQ(Values(dx[0]), Values(dy.Channels(0, 2, format), format));
    EXPECT_EQ(Values(dx[2]), Values(dy.Channels(6, 3, format), format));
  }
}

TEST_P(ConcatTest, PartsThatAreViewsOfTheWholeStayInPlace) {
  for (const TensorFormat format : kFormats) {
    const Tensor y = IntegerTensor(GetParam(), Images(format, 9), 9);
    const Doubles before = Values(y);
    const std::vector<Tensor> parts = {y.Channels(0, 4, format), y.Channels(4, 5, format)};
    ASSERT_TRUE(Create(format)->Forward(parts, y).ok());
    EXPECT_EQ(Values(y), before);
    const bool accumulate[] = {false, false};
    ASSERT_TRUE(Create(format)->Backward(y, parts, accumulate).ok());
    EXPECT_EQ(Values(y), before);
  }
}

TEST_P(ConcatTest, MatricesOnAnyNumberOfThreads) {
  const Tensor a = IntegerTensor(GetParam(), {3000, 10}, 1),
               b = IntegerTensor(GetParam(), {3000, 7}, 2);
  const int64_t channels[] = {10, 7};
  const std::vector<Doubles> values = {Values(a), Values(b)};
  for (const int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    const Tensor y = ZeroTensor(GetParam(), {3000, 17});
    ASSERT_TRUE(Create(TensorFormat::kNHWC)->Forward(std::vector{a, b}, y).ok());
    EXPECT_EQ(Values(y), reference::Concat(3000, 1, channels, values));
  }
}

TEST_P(ConcatTest, RefusesWhatDoesNotFit) {
  const auto concat = Create(TensorFormat::kNHWC);
  const Tensor a = ZeroTensor(GetParam(), {4, 3}), b = ZeroTensor(GetParam(), {5, 3});
  const Tensor y = ZeroTensor(GetParam(), {4, 6});
  EXPECT_EQ(concat->Forward(std::vector{a, b}, y).message(),
            "concat: a part of shape (5, 3) does not fit in (4, 6); only the channels may differ");
  EXPECT_EQ(concat->Forward(std::vector{a}, y).message(),
            "concat: the parts have 3 channels and 0 of them are empty, but the whole has 6; "
            "expected the same number, or one empty part that has the rest");
  EXPECT_EQ(concat->Forward(std::vector{a, Tensor()}, y).message(),
            "concat: an operand is missing");
  const bool accumulate[] = {false, false, false};
  EXPECT_FALSE(concat->Backward(y, std::vector{a, Tensor(), Tensor()}, accumulate).ok());
  EXPECT_FALSE(concat->Backward(y, std::vector{a, a}, accumulate).ok());
}

INSTANTIATE_TEST_SUITE_P(, ConcatTest, ::testing::Values(DType::kFloat32, DType::kFloat64),
                         [](const auto& info) { return std::string(Name(info.param)); });

}  // namespace
}  // namespace dtnn
