#include "apps/standardization.h"

#include <atomic>
#include <string>
#include <vector>

#include "comm/local.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;

TEST(StandardizationTest, OneRankNeedsNobody) {
  const auto statistics = StatisticsOfJob(nullptr, false, 1, [] {
    return ChannelStatistics{{1}, {2}, 3};
  });
  EXPECT_THAT(statistics->mean, ElementsAre(1));
}

TEST(StandardizationTest, OfCommonDataOneRankReads) {
  std::atomic<int> computed = 0;
  const absl::Status status = RunRanks(3, [&](Communicator& ranks) {
    const auto statistics =
        StatisticsOfJob(&ranks, false, 2, [&]() -> absl::StatusOr<ChannelStatistics> {
          ++computed;
          return ChannelStatistics{{0.1, 0.2}, {0.3, 1.0 / 3}, 100};
        });
    EXPECT_THAT(statistics->mean, ElementsAre(0.1, 0.2));
    EXPECT_THAT(statistics->deviation, ElementsAre(0.3, 1.0 / 3)) << "bit for bit";
    return statistics.status();
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(computed, 1);
}

TEST(StandardizationTest, OfOwnDataAllAreMerged) {
  const absl::Status status = RunRanks(2, [&](Communicator& ranks) {
    const auto statistics =
        StatisticsOfJob(&ranks, true, 1, [&]() -> absl::StatusOr<ChannelStatistics> {
          return ChannelStatistics{{ranks.rank() == 0 ? 1.0 : 3.0}, {0}, 10};
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
      const int failing = own_data ? 1 : 0;
      statuses[size_t(ranks.rank())] =
          StatisticsOfJob(&ranks, own_data, 1, [&]() -> absl::StatusOr<ChannelStatistics> {
            if (ranks.rank() == failing) return absl::DataLossError("cut");
            return ChannelStatistics{{1}, {1}, 10};
          }).status();
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(statuses[size_t(rank)].ok(), rank != (own_data ? 1 : 0)) << rank;
    }
  }
}

TEST(StandardizationTest, IsDescribed) {
  EXPECT_EQ(Describe(ChannelStatistics{{0.286041, 0.5}, {0.353024, 1}, 1}),
            "mean 0.286041/0.5, deviation 0.353024/1");
}

}  // namespace
}  // namespace dtnn
