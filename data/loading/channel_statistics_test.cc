#include "data/loading/channel_statistics.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <vector>

#include "data/datasets/cifar10.h"
#include "data/loading/split.h"
#include "data/testing/counting_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn {
namespace {

using testing::CountingDataset;
using ::testing::ElementsAre;

TEST(ChannelStatisticsTest, OfNumbersThatAreKnown) {
  // Sample i is i everywhere: of 0 .. n-1 the variance is (n^2 - 1) / 12.
  for (int64_t n : {1, 2, 255, 256, 257, 3000}) {
    const CountingDataset dataset(n, {2, 3, 4});
    const ChannelStatistics statistics =
        ComputeChannelStatistics(dataset, Split::kTrain, AllIndices(n)).value();
    ASSERT_EQ(statistics.mean.size(), 4u);
    for (int c = 0; c < 4; ++c) {
      EXPECT_NEAR(statistics.mean[c], double(n - 1) / 2, 1e-12 * double(n));
      EXPECT_NEAR(statistics.deviation[c], std::sqrt(double(n * n - 1) / 12), 1e-12 * double(n));
    }
  }
}

TEST(ChannelStatisticsTest, AreOfTheIndicesOnly) {
  const CountingDataset dataset(100);
  const std::vector<int64_t> indices = {3, 5};
  const ChannelStatistics statistics =
      ComputeChannelStatistics(dataset, Split::kTest, indices).value();
  EXPECT_THAT(statistics.mean, ElementsAre(4));
  EXPECT_THAT(statistics.deviation, ElementsAre(1));
}

TEST(ChannelStatisticsTest, DoNotDependOnTheThreads) {
  const int before = NumThreads();
  std::vector<ChannelStatistics> all;
  for (int threads : {1, 2, 4}) {
    SetNumThreads(threads);
    all.push_back(
        ComputeChannelStatistics(CountingDataset(5000), Split::kTrain, AllIndices(5000)).value());
  }
  SetNumThreads(before);
  for (const ChannelStatistics& statistics : all) {
    EXPECT_EQ(statistics.mean, all[0].mean);
    EXPECT_EQ(statistics.deviation, all[0].deviation);
  }
}

TEST(ChannelStatisticsTest, PassErrorsOn) {
  const CountingDataset failing(1000, {1, 1, 1}, 700);
  EXPECT_EQ(ComputeChannelStatistics(failing, Split::kTrain, AllIndices(1000)).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(ComputeChannelStatistics(failing, Split::kTrain, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

class Throwing : public CountingDataset {
 public:
  using CountingDataset::CountingDataset;
  absl::Status Read(Split /*split*/, std::span<const int64_t> /*indices*/, TensorFormat /*format*/,
                    const Tensor& /*x*/, const Tensor& /*targets*/) const override {
    throw std::runtime_error("no such page");
  }
};

// One must not leave a worker.
TEST(ChannelStatisticsTest, AnExceptionIsAnError) {
  EXPECT_EQ(ComputeChannelStatistics(Throwing(1000), Split::kTrain, AllIndices(1000)).status(),
            absl::UnknownError("reading samples has thrown an exception: no such page"));
}

// 1 / deviation would be infinite, and the first loss NaN.
TEST(ChannelStatisticsTest, ADeviationBeyondFloat32IsRefused) {
  EXPECT_EQ(Standardization({{0, 0}, {1, 1e-40}}).status().message(),
            "channel 1 of the samples has the standard deviation 1e-40, too small for float32; "
            "scale the data up");
  EXPECT_TRUE(Standardization({{0}, {1e-37}}).ok());
  EXPECT_THAT(Standardization({{0}, {0}})->scale, ElementsAre(1));
}

TEST(ChannelStatisticsTest, StandardizationGivesMean0AndDeviation1) {
  const Normalization by = *Standardization({{4, 7}, {2, 0}});
  EXPECT_THAT(by.offset, ElementsAre(-4, -7));
  EXPECT_THAT(by.scale, ElementsAre(0.5, 1)) << "a constant channel keeps its scale";
  // What rounding leaves of a constant is not a deviation.
  EXPECT_THAT(Standardization({{0.3}, {1e-17}})->scale, ElementsAre(1));
}

// As ranks do.
TEST(ChannelStatisticsTest, SharesGiveTheSameBits) {
  for (const int64_t samples : {1, 1000, 3000}) {
    const CountingDataset dataset(samples, {2, 3, 2});
    const std::vector<int64_t> indices = AllIndices(samples);
    const ChannelStatistics whole =
        ComputeChannelStatistics(dataset, Split::kTrain, indices).value();
    EXPECT_EQ(whole.count, 6 * samples);
    for (const int64_t shares : {1, 2, 3, 5}) {
      std::vector<Moments> all;
      for (int64_t i = 0; i < shares; ++i) {
        const auto split = ComputeMoments(dataset, Split::kTrain, indices, {i, shares}).value();
        all.insert(all.end(), split.begin(), split.end());
      }
      const ChannelStatistics merged = StatisticsOf(all, 2);
      EXPECT_EQ(merged.count, whole.count);
      EXPECT_EQ(merged.mean, whole.mean) << shares << " shares of " << samples;
      EXPECT_EQ(merged.deviation, whole.deviation) << shares << " shares of " << samples;
    }
  }
}

// The real data, where the environment says where they are; the published figures.
TEST(ChannelStatisticsTest, RealCifar10) {
  const char* path = std::getenv("DTNN_CIFAR10");
  if (path == nullptr) {
    GTEST_SKIP() << "set DTNN_CIFAR10 to cifar-10-binary.tar.gz (--test_env=DTNN_CIFAR10=...)";
  }
  const auto dataset = LoadCifar10({path, ""}).value();
  const ChannelStatistics statistics =
      ComputeChannelStatistics(*dataset, Split::kTrain, AllIndices(50000)).value();
  const double mean[] = {0.49139968, 0.48215841, 0.44653091};
  const double deviation[] = {0.24703223, 0.24348513, 0.26158784};
  for (int c = 0; c < 3; ++c) {
    EXPECT_NEAR(statistics.mean[c], mean[c], 1e-6);
    EXPECT_NEAR(statistics.deviation[c], deviation[c], 1e-6);
  }
}

}  // namespace
}  // namespace dtnn
