#include "data/normalize.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "data/cifar10.h"
#include "data/split.h"
#include "data/testing/counting_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/parallel_for.h"

namespace dtnn {
namespace {

using testing::CountingDataset;
using ::testing::ElementsAre;

template <typename T>
void ExpectFormula(const Normalization& by, const ImageExtents& extents, int64_t samples) {
  const int64_t pixels = extents.height * extents.width, channels = extents.channels;
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    std::vector<T> values(samples * pixels * channels);
    for (size_t i = 0; i < values.size(); ++i) values[i] = T(i % 251) / 250;
    std::vector<T> result = values;
    Normalize(by, extents, format, std::span<T>(result));
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t channel = format == TensorFormat::kNHWC ? i % channels : i / pixels % channels;
      const T offset = T(by.offset[by.offset.size() == 1 ? 0 : channel]);
      const T scale = T(by.scale[by.scale.size() == 1 ? 0 : channel]);
      ASSERT_EQ(result[i], (values[i] + offset) * scale) << i;
    }
  }
}

TEST(NormalizeTest, IsTheFormula) {
  for (const ImageExtents& extents : {ImageExtents{1, 1, 1}, ImageExtents{5, 7, 3},
                                      ImageExtents{4, 4, 2}, ImageExtents{3, 3, 5}}) {
    std::vector<double> offset, scale;
    for (int64_t c = 0; c < extents.channels; ++c) {
      offset.push_back(-0.5 + 0.1 * double(c));
      scale.push_back(2 + double(c));
    }
    for (int64_t samples : {1, 3}) {
      for (const Normalization& by : {Normalization{{-0.45}, {3.75}}, Normalization{offset, scale},
                                      Normalization{offset, {2}}, Normalization{{1}, scale}}) {
        ExpectFormula<float>(by, extents, samples);
        ExpectFormula<double>(by, extents, samples);
      }
    }
  }
}

TEST(NormalizeTest, NothingChangesNothing) {
  std::vector<float> values = {1, 2, 3};
  Normalize({}, {1, 1, 3}, TensorFormat::kNHWC, std::span<float>(values));
  EXPECT_THAT(values, ElementsAre(1, 2, 3));
}

TEST(NormalizeTest, ThenIsOneAfterTheOther) {
  const Normalization first = {{-1, 2, 0}, {2, 0.5, 4}}, second = {{-0.45}, {3.75}};
  const Normalization both = Then(first, second);
  std::vector<double> one = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}, two = one;
  const ImageExtents extents = {1, 2, 3};
  Normalize(first, extents, TensorFormat::kNHWC, std::span<double>(one));
  Normalize(second, extents, TensorFormat::kNHWC, std::span<double>(one));
  Normalize(both, extents, TensorFormat::kNHWC, std::span<double>(two));
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], two[i], 1e-14);
  EXPECT_EQ(Then({}, second).scale, second.scale);
  EXPECT_EQ(Then(first, {}).offset, first.offset);
}

TEST(NormalizeTest, LengthsAndNumbersAreChecked) {
  EXPECT_TRUE(CheckNormalization({}, 3).ok());
  EXPECT_TRUE(CheckNormalization({{1}, {1}}, 3).ok());
  EXPECT_TRUE(CheckNormalization({{1, 2, 3}, {1}}, 3).ok());
  const double infinite = std::numeric_limits<double>::infinity();
  for (const Normalization& wrong : {Normalization{{1}, {}}, Normalization{{}, {1}},
                                     Normalization{{1, 2}, {1, 2}}, Normalization{{infinite}, {1}},
                                     Normalization{{0}, {std::nan("")}}, Normalization{{0}, {0}}}) {
    EXPECT_EQ(CheckNormalization(wrong, 3).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(NormalizeTest, StatisticsOfNumbersThatAreKnown) {
  // Sample i is i everywhere: of 0 .. n-1 the variance is (n^2 - 1) / 12.
  for (int64_t n : {1, 2, 255, 256, 257, 3000}) {
    const CountingDataset dataset(n, {2, 3, 4});
    const ChannelStatistics statistics =
        ComputeChannelStatistics(dataset, Part::kTrain, AllIndices(n)).value();
    ASSERT_EQ(statistics.mean.size(), 4u);
    for (int c = 0; c < 4; ++c) {
      EXPECT_NEAR(statistics.mean[c], double(n - 1) / 2, 1e-12 * double(n));
      EXPECT_NEAR(statistics.deviation[c], std::sqrt(double(n * n - 1) / 12), 1e-12 * double(n));
    }
  }
}

TEST(NormalizeTest, StatisticsAreOfTheIndicesOnly) {
  const CountingDataset dataset(100);
  const std::vector<int64_t> indices = {3, 5};
  const ChannelStatistics statistics =
      ComputeChannelStatistics(dataset, Part::kTest, indices).value();
  EXPECT_THAT(statistics.mean, ElementsAre(4));
  EXPECT_THAT(statistics.deviation, ElementsAre(1));
}

TEST(NormalizeTest, StatisticsDoNotDependOnTheThreads) {
  const int before = NumThreads();
  std::vector<ChannelStatistics> all;
  for (int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    all.push_back(
        ComputeChannelStatistics(CountingDataset(5000), Part::kTrain, AllIndices(5000)).value());
  }
  SetNumThreads(before);
  for (const ChannelStatistics& statistics : all) {
    EXPECT_EQ(statistics.mean, all[0].mean);
    EXPECT_EQ(statistics.deviation, all[0].deviation);
  }
}

TEST(NormalizeTest, StatisticsPassErrorsOn) {
  const CountingDataset failing(1000, {1, 1, 1}, 700);
  EXPECT_EQ(ComputeChannelStatistics(failing, Part::kTrain, AllIndices(1000)).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(ComputeChannelStatistics(failing, Part::kTrain, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(NormalizeTest, StandardizationGivesMean0AndDeviation1) {
  const Normalization by = Standardization({{4, 7}, {2, 0}});
  EXPECT_THAT(by.offset, ElementsAre(-4, -7));
  EXPECT_THAT(by.scale, ElementsAre(0.5, 1)) << "a constant channel keeps its scale";
  // What rounding leaves of a constant is no deviation.
  EXPECT_THAT(Standardization({{0.3}, {1e-17}}).scale, ElementsAre(1));
}

// The real data, where the environment says where they are; the published figures.
TEST(NormalizeTest, RealCifar10) {
  const char* path = std::getenv("DTNN_CIFAR10");
  if (path == nullptr) {
    GTEST_SKIP() << "set DTNN_CIFAR10 to cifar-10-binary.tar.gz (--test_env=DTNN_CIFAR10=...)";
  }
  const auto dataset = LoadCifar10({path, ""}).value();
  const ChannelStatistics statistics =
      ComputeChannelStatistics(*dataset, Part::kTrain, AllIndices(50000)).value();
  const double mean[] = {0.49139968, 0.48215841, 0.44653091};
  const double deviation[] = {0.24703223, 0.24348513, 0.26158784};
  for (int c = 0; c < 3; ++c) {
    EXPECT_NEAR(statistics.mean[c], mean[c], 1e-6);
    EXPECT_NEAR(statistics.deviation[c], deviation[c], 1e-6);
  }
}

}  // namespace
}  // namespace dtnn
