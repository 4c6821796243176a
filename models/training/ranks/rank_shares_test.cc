#include "models/training/ranks/rank_shares.h"

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "comm/local.h"
#include "data/loading/split.h"
#include "data/testing/counting_dataset.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

std::unique_ptr<Loader> Make(int64_t n, const LoaderOptions& options) {
  return Loader::Create(std::make_shared<testing::CountingDataset>(n), Split::kTrain, AllIndices(n),
                        options)
      .value();
}

TEST(RankSharesTest, OneRankHasWhatItsLoaderHas) {
  const auto loader = Make(23, {.batch = 5});
  const RankShares shares = RankShares::Of(*loader, nullptr).value();
  EXPECT_FALSE(shares.own_data());
  EXPECT_EQ(shares.steps(), 5);
  EXPECT_EQ(shares.total(), 23);
  EXPECT_EQ(shares.SamplesBefore(3), 15);
  EXPECT_EQ(shares.SamplesBefore(5), 23);
}

// A resumed epoch begins after the samples that were done before.
TEST(RankSharesTest, SkippedSamplesCountAsDone) {
  const auto loader = Make(23, {.batch = 5});
  ASSERT_TRUE(loader->Skip(8).ok());
  const RankShares shares = RankShares::Of(*loader, nullptr).value();
  EXPECT_EQ(shares.steps(), 3);
  const int64_t before[] = {8, 13, 18, 23};
  for (int64_t step = 0; step <= 3; ++step) EXPECT_EQ(shares.SamplesBefore(step), before[step]);
  EXPECT_EQ(shares.total(), 23);

  const absl::Status status = RunRanks(2, [](Communicator& communicator) {
    const int rank = communicator.rank();
    const auto own = Make(10 + 10 * rank, {.batch = 4});
    DTNN_RETURN_IF_ERROR(own->Skip(2 + rank));
    DTNN_ASSIGN_OR_RETURN(const RankShares both, RankShares::Of(*own, &communicator));
    EXPECT_EQ(both.SamplesBefore(0), 5);
    EXPECT_EQ(both.SamplesBefore(1), 13);
    EXPECT_EQ(both.SamplesBefore(2), 10 + 11);
    EXPECT_EQ(both.total(), 30);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(RankSharesTest, CommonStepsWeighAllRanksAlike) {
  const absl::Status status = RunRanks(3, [](Communicator& communicator) {
    const auto loader = Make(23, {.batch = 2, .rank = communicator.rank(), .ranks = 3});
    DTNN_ASSIGN_OR_RETURN(const RankShares shares, RankShares::Of(*loader, &communicator));
    EXPECT_FALSE(shares.own_data());
    EXPECT_EQ(shares.samples(), std::vector<int64_t>(3, 23));
    EXPECT_EQ(shares.steps(), loader->steps());
    EXPECT_EQ(shares.SamplesBefore(2), 12);
    EXPECT_EQ(shares.total(), 23);
    EXPECT_EQ(shares.HasData(3), std::vector<bool>(3, true));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(RankSharesTest, RanksWithDataOfTheirOwnKnowEachOthers) {
  const int64_t sizes[] = {10, 23, 0};
  const absl::Status status = RunRanks(3, [&](Communicator& communicator) {
    const auto loader = Make(sizes[communicator.rank()], {.batch = 5});
    DTNN_ASSIGN_OR_RETURN(const RankShares shares, RankShares::Of(*loader, &communicator));
    EXPECT_TRUE(shares.own_data());
    EXPECT_EQ(shares.samples(), (std::vector<int64_t>{10, 23, 0}));
    EXPECT_EQ(shares.steps(), 5) << "until nobody has data";
    EXPECT_EQ(shares.total(), 33);
    const int64_t before[] = {0, 10, 20, 25, 30, 33};
    for (int64_t step = 0; step <= 5; ++step) EXPECT_EQ(shares.SamplesBefore(step), before[step]);
    EXPECT_EQ(shares.HasData(1), (std::vector<bool>{true, true, false}));
    EXPECT_EQ(shares.HasData(2), (std::vector<bool>{false, true, false}));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(RankSharesTest, ALoaderOfAnotherRankIsRefused) {
  const absl::Status status = RunRanks(2, [](Communicator& communicator) {
    const auto loader = Make(23, {.batch = 5, .rank = 1 - communicator.rank(), .ranks = 2});
    return RankShares::Of(*loader, &communicator).status();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  for (const auto& [rank, ranks, words] : {std::tuple(0, 2, "0 of 2"), {2, 3, "2 of 3"}}) {
    EXPECT_EQ(RankShares::Of(*Make(23, {.batch = 5, .rank = rank, .ranks = ranks}), nullptr)
                  .status()
                  .message(),
              "rank 0 of 1 has a loader for rank " + std::string(words) +
                  "; expected a loader for itself, or for a single rank");
  }
}

}  // namespace
}  // namespace dtnn
