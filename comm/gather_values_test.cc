#include "comm/gather_values.h"

#include <array>

#include "comm/local.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;

TEST(GatherValuesTest, TheNumbersOfRanksComeInTheirOrder) {
  EXPECT_EQ(absl::OkStatus(), RunRanks(3, [](Communicator& communicator) -> absl::Status {
              const int rank = communicator.rank();
              // More digits than a float has.
              const std::array<int64_t, 2> pair = {(int64_t{1} << 60) + rank, -rank};
              DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> pairs,
                                    GatherValues<int64_t>(communicator, pair));
              const int64_t big = int64_t{1} << 60;
              EXPECT_THAT(pairs, ElementsAre(big, 0, big + 1, -1, big + 2, -2));
              DTNN_ASSIGN_OR_RETURN(const std::vector<double> doubles,
                                    GatherValues(communicator, 0.1 * rank));
              EXPECT_THAT(doubles, ElementsAre(0, 0.1, 0.2));
              DTNN_ASSIGN_OR_RETURN(const std::vector<int32_t> ints,
                                    GatherValues(communicator, int32_t{7} - rank));
              EXPECT_THAT(ints, ElementsAre(7, 6, 5));
              return absl::OkStatus();
            }));
}

TEST(GatherValuesTest, ARankWithMoreNumbersIsFoundOut) {
  const absl::Status status = RunRanks(2, [](Communicator& communicator) {
    const std::array<double, 2> mine = {1, 2};
    return GatherValues(communicator, std::span(mine).first(1 + size_t(communicator.rank())))
        .status();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST(GatherValuesTest, AnErrorOfTheGroupIsReturned) {
  const absl::Status status = RunRanks(2, [](Communicator& communicator) {
    if (communicator.rank() == 1) communicator.Abort(absl::DataLossError("x"));
    const absl::Status answer = GatherValues(communicator, 1.0).status();
    EXPECT_EQ(answer.code(), absl::StatusCode::kDataLoss) << answer;
    return answer;
  });
  EXPECT_FALSE(status.ok());
}

}  // namespace
}  // namespace dtnn
