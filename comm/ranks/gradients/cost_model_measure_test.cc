#include "comm/ranks/gradients/cost_model_measure.h"

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "comm/communicator.h"
#include "comm/local.h"
#include "comm/testing/passing_communicator.h"
#include "comm/wire/half.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

// The first of two ranks, which notes how long its messages are under way, there and back.
class SlowLink : public Communicator {
 public:
  SlowLink() : Communicator(/*rank=*/0, /*size=*/2, {}) {}
  void Abort(const absl::Status&) override {}
  std::vector<int> lost() const override { return {}; }
  std::optional<int32_t> AwaitDeparture(int, Timeout) override { return std::nullopt; }
  void set_departure_code(int32_t) override {}

  // By the size of the message.
  std::map<int64_t, std::vector<double>> seconds;

 protected:
  std::unique_ptr<Work> Start(const Collective& call) override {
    using Clock = std::chrono::steady_clock;
    if (call.kind == CollectiveKind::kSend) sent_ = Clock::now();
    if (call.kind == CollectiveKind::kReceive) {
      std::chrono::duration<double> passed(0);
      while (passed < std::chrono::milliseconds(1)) passed = Clock::now() - sent_;
      seconds[call.output.num_elements()].push_back(passed.count());
    }
    return std::make_unique<Done>();
  }

 private:
  struct Done : Work {
    absl::Status Wait() override { return absl::OkStatus(); }
  };
  std::chrono::steady_clock::time_point sent_;
};

TEST(MeasureTest, AMessageTakesHalfOfThereAndBack) {
  SlowLink slow;
  const absl::StatusOr<LinkCost> link = MeasureLink(slow, 0, 1);
  ASSERT_TRUE(link.ok()) << link.status();
  ASSERT_GT(slow.seconds.size(), 1u);
  const double shortest = Median(slow.seconds.begin()->second);
  EXPECT_GE(link->latency, shortest / 2);
  EXPECT_LT(link->latency, shortest * 3 / 4);
}

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

// Counts the calls of a rank that sum, or begin a sum of 16-bit numbers.
class Counting : public testing::PassingCommunicator {
 public:
  using PassingCommunicator::PassingCommunicator;
  int sums = 0, exchanges = 0;

 protected:
  std::unique_ptr<Work> Start(const Collective& call) override {
    sums += call.kind == CollectiveKind::kAllReduce && call.op == ReduceOp::kSum;
    exchanges += call.kind == CollectiveKind::kAllToAll;
    return PassingCommunicator::Start(call);
  }
};

TEST(MeasureTest, SumsAreMeasuredAsTheyWillBeMade) {
  for (const std::optional<HalfType> wire :
       {std::optional<HalfType>(), {HalfType::kFloat16}, {HalfType::kBfloat16}}) {
    std::mutex mutex;
    std::set<double> answers;
    const absl::Status status = RunRanks(2, [&](Communicator& communicator) -> absl::Status {
      Counting counting(communicator);
      DTNN_ASSIGN_OR_RETURN(const double seconds, MeasureAllReduce(counting, 1000, wire));
      EXPECT_EQ(counting.sums, wire ? 0 : 11);
      EXPECT_EQ(counting.exchanges, wire ? 11 : 0);
      std::lock_guard lock(mutex);
      answers.insert(seconds);
      return absl::OkStatus();
    });
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(answers.size(), 1u) << "one answer on all ranks";
    EXPECT_GT(*answers.begin(), 0);
  }
}

}  // namespace
}  // namespace dtnn
