#include "models/run/samples/standardization.h"

#include <atomic>
#include <string>
#include <vector>

#include "comm/local.h"
#include "data/loading/split.h"
#include "data/testing/counting_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::CountingDataset;
using ::testing::ElementsAre;

using Result = absl::StatusOr<std::vector<Moments>>;

TEST(StandardizationTest, OneRankNeedsNobody) {
  const auto statistics = StatisticsOfJob(nullptr, false, 1, [](const Share& share) -> Result {
    EXPECT_EQ(share.shares, 1);
    return std::vector<Moments>{{3, 1, 12}};
  });
  EXPECT_THAT(statistics->mean, ElementsAre(1));
  EXPECT_THAT(statistics->deviation, ElementsAre(2));
}

// None waits for another that reads all, and more ranks do not change a bit.
TEST(StandardizationTest, OfCommonDataEachRankReadsItsShare) {
  constexpr int64_t kSamples = 1000;  // four chunks
  const std::vector<int64_t> indices = AllIndices(kSamples);
  const CountingDataset dataset(kSamples, {2, 3, 2});
  const ChannelStatistics alone = *ComputeChannelStatistics(dataset, Split::kTrain, indices);
  for (const int count : {2, 3, 5}) {
    std::atomic<int64_t> reads = 0, most = 0;
    const absl::Status status = RunRanks(count, [&](Communicator& ranks) {
      const CountingDataset own(kSamples, {2, 3, 2});
      const auto statistics = StatisticsOfJob(&ranks, false, 2, [&](const Share& share) {
        return ComputeMoments(own, Split::kTrain, indices, share);
      });
      reads += own.reads();
      if (own.reads() == kSamples) ++most;
      EXPECT_EQ(statistics->mean, alone.mean) << count;
      EXPECT_EQ(statistics->deviation, alone.deviation) << count;
      EXPECT_EQ(statistics->count, alone.count) << count;
      return statistics.status();
    });
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(reads, kSamples);
    EXPECT_EQ(most, 0) << "one has read them all";
  }
}

TEST(StandardizationTest, OfOwnDataAllAreMerged) {
  const absl::Status status = RunRanks(2, [&](Communicator& ranks) {
    const auto statistics = StatisticsOfJob(&ranks, true, 1, [&](const Share& share) -> Result {
      EXPECT_EQ(share.shares, 1) << "of its own it reads all";
      if (ranks.rank() == 0) return std::vector<Moments>{{10, 1, 0}};
      return std::vector<Moments>{{4, 3, 0}, {6, 3, 0}};
    });
    EXPECT_THAT(statistics->mean, ElementsAre(2));
    EXPECT_THAT(statistics->deviation, ElementsAre(1));
    return statistics.status();
  });
  EXPECT_TRUE(status.ok()) << status;
}

// It must not leave them waiting.
TEST(StandardizationTest, ARankThatFailsStillTalksToTheOthers) {
  for (const bool own_data : {false, true}) {
    std::vector<absl::Status> statuses(3);
    const absl::Status status = RunRanks(3, [&](Communicator& ranks) {
      statuses[size_t(ranks.rank())] =
          StatisticsOfJob(&ranks, own_data, 1, [&](const Share&) -> Result {
            if (ranks.rank() == 1) return absl::DataLossError("cut");
            return std::vector<Moments>{{10, 1, 1}};
          }).status();
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(statuses[size_t(rank)].ok(), rank != 1) << rank;
  }
}

TEST(StandardizationTest, IsDescribed) {
  EXPECT_EQ(Describe(ChannelStatistics{{0.286041, 0.5}, {0.353024, 1}, 1}),
            "mean 0.286041/0.5, deviation 0.353024/1");
}

}  // namespace
}  // namespace dtnn
