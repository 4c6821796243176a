#include "comm/cost_model_measure.h"

#include <mutex>
#include <set>
#include <vector>

#include "comm/local.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

TEST(MeasureTest, AllRanksGetOneAnswer) {
  std::mutex mutex;
  std::set<std::vector<double>> answers;
  const absl::Status status = RunRanks(3, [&](Communicator& communicator) {
    DTNN_ASSIGN_OR_RETURN(const LinkCost link, MeasureLink(communicator, 0, 2));
    DTNN_ASSIGN_OR_RETURN(const double seconds, MeasureAllReduce(communicator, 1000));
    std::lock_guard lock(mutex);
    answers.insert({link.latency, link.seconds_per_byte, seconds});
    return absl::OkStatus();
  });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(answers.size(), 1u);
  const std::vector<double>& answer = *answers.begin();
  EXPECT_GT(answer[0] + answer[1], 0);
  // More than the memory of any machine moves, less than a slow disk.
  EXPECT_GT(answer[1], 1e-13);
  EXPECT_LT(answer[1], 1e-6);
  EXPECT_GT(answer[2], 0);
}

TEST(MeasureTest, ALostRankIsAnError) {
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    if (communicator.rank() == 1) return absl::InternalError("left");
    return MeasureLink(communicator, 0, 1).status();
  });
  EXPECT_FALSE(status.ok());
}

TEST(MeasureTest, AdditionIsFasterThanANetworkAndSlowerThanNothing) {
  const double seconds_per_byte = MeasureAddition();
  EXPECT_GT(seconds_per_byte, 1e-13);
  EXPECT_LT(seconds_per_byte, 1e-7);
}

TEST(TakeLargestTest, PlaceByPlace) {
  const absl::Status status = RunRanks(3, [](Communicator& communicator) {
    const double rank = communicator.rank();
    std::vector<double> values = {rank, -rank, 7};
    DTNN_RETURN_IF_ERROR(TakeLargest(communicator, values));
    EXPECT_EQ(values, (std::vector<double>{2, 0, 7}));
    return TakeLargest(communicator, {});
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(MedianTest, OutliersDoNotCount) {
  EXPECT_EQ(Median({3}), 3);
  EXPECT_EQ(Median({1e9, 2, 1}), 2);
}

}  // namespace
}  // namespace dtnn
