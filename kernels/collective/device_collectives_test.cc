// Ranks that are threads, each with a simulated GPU of its own.

#include "kernels/collective/device_collectives.h"

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/testing/gpu_testing.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Get;
using ::testing::HasSubstr;
using testing::IntegerTensor;
using testing::Put;
using testing::RandomTensor;
using testing::Values;

struct Rank {
  int rank;
  DeviceContext& context;
  DeviceCollectives& collectives;
  std::unique_ptr<DeviceCollectives>& owned;  // the same
};

void RunAll(int ranks, const std::function<void(Rank)>& body,
            std::chrono::milliseconds timeout = std::chrono::minutes(1)) {
  const auto first = *DeviceContext::Create(Device::Simulated(0));
  const CollectiveId id = *DeviceCollectives::NewId(*first);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto context = *DeviceContext::Create(Device::Simulated(rank));
      auto collectives = *DeviceCollectives::Create(
          *context, id, {.rank = rank, .ranks = ranks, .timeout = timeout});
      body({rank, *context, *collectives, collectives});
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(DeviceCollectivesTest, SumsInTheOrderOfRanks) {
  for (const int ranks : {1, 2, 4}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      std::vector<double> expected(1000);
      for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<double> values = Values(RandomTensor(dtype, {1000}, uint64_t(rank) + 1));
        for (size_t i = 0; i < 1000; ++i) {
          expected[i] += values[i];
          if (dtype == DType::kFloat32) expected[i] = float(expected[i]);
        }
      }
      RunAll(ranks, [&](Rank r) {
        const Tensor mine = Put(r.context, RandomTensor(dtype, {1000}, uint64_t(r.rank) + 1));
        const Tensor sum = Put(r.context, RandomTensor(dtype, {1000}, 9));
        const Tensor after = Put(r.context, RandomTensor(dtype, {1000}, 9));
        for (int step = 0; step < 3; ++step) {
          const auto part = [&](const Tensor& whole, int64_t begin, int64_t end) {
            return whole.Samples(begin, end - begin, TensorFormat::kNHWC);
          };
          // The second half is written while the first is summed.
          ASSERT_EQ(r.context.Copy(part(mine, 0, 500), part(sum, 0, 500)), absl::OkStatus());
          ASSERT_EQ(r.collectives.AllReduce(0, part(sum, 0, 500)), absl::OkStatus());
          ASSERT_EQ(r.context.Copy(part(mine, 500, 1000), part(sum, 500, 1000)), absl::OkStatus());
          ASSERT_EQ(r.collectives.AllReduce(5, part(sum, 500, 1000)), absl::OkStatus());
          ASSERT_EQ(r.collectives.Await(5), absl::OkStatus());
          ASSERT_EQ(r.collectives.Await(0), absl::OkStatus());
          ASSERT_EQ(r.context.Copy(sum, after), absl::OkStatus());
        }
        EXPECT_EQ(Values(Get(r.context, after)), expected);
      });
    }
  }
}

TEST(DeviceCollectivesTest, RanksThatDifferAreNamed) {
  RunAll(2, [&](Rank r) {
    const Tensor tensor = Put(r.context, RandomTensor(DType::kFloat32, {10 + r.rank}, 1));
    ASSERT_EQ(r.collectives.AllReduce(0, tensor), absl::OkStatus());
    const absl::Status status = r.collectives.Await(0);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("rank 0 adds 10 elements of 4 bytes, and rank 1 11 of 4"));
    EXPECT_FALSE(r.collectives.AllReduce(0, tensor).ok()) << "the group is broken";
  });
}

TEST(DeviceCollectivesTest, ARankThatDoesNotComeCostsATimeout) {
  RunAll(
      2,
      [&](Rank r) {
        if (r.rank == 1) return;
        const Tensor tensor = Put(r.context, RandomTensor(DType::kFloat32, {10}, 1));
        ASSERT_EQ(r.collectives.AllReduce(0, tensor), absl::OkStatus());
        const absl::Status status = r.collectives.Await(0);
        EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
        EXPECT_THAT(std::string(status.message()),
                    HasSubstr("all-reduce of 10 float32 on simulated:0 of rank 0: not all ranks "
                              "have come within 0.05 s"));
      },
      std::chrono::milliseconds(50));
}

TEST(DeviceCollectivesTest, ARankThatGivesUpIsNotWaitedFor) {
  RunAll(2, [&](Rank r) {
    if (r.rank == 1) return r.collectives.Abort();
    const Tensor tensor = Put(r.context, RandomTensor(DType::kFloat32, {10}, 1));
    absl::Status status = r.collectives.AllReduce(0, tensor);
    if (status.ok()) status = r.collectives.Await(0);
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 gave up"));
  });
}

TEST(DeviceCollectivesTest, AWaitEndsWhenTheCheckSaysSo) {
  const auto context = *DeviceContext::Create(Device::Simulated(0));
  int asked = 0;
  const auto lost = [&asked] {
    return ++asked < 3 ? absl::OkStatus() : absl::UnavailableError("rank 1 left");
  };
  const auto group =
      *DeviceCollectives::Create(*context, *DeviceCollectives::NewId(*context),
                                 {.ranks = 2, .timeout = std::chrono::hours(1), .check = lost});
  const Tensor tensor = Put(*context, RandomTensor(DType::kFloat32, {10}, 1));
  ASSERT_EQ(group->AllReduce(0, tensor), absl::OkStatus());
  const absl::Status status = group->Await(0);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("all-reduce of 10 float32 on simulated:0 of rank 0: rank 1 left"));
}

TEST(DeviceCollectivesTest, WhoJoinsAGroupThatAnotherHasLeftIsTold) {
  const auto context = *DeviceContext::Create(Device::Simulated(0));
  const CollectiveId id = *DeviceCollectives::NewId(*context);
  const Tensor tensor = Put(*context, RandomTensor(DType::kFloat32, {10}, 1));
  {
    const auto early = *DeviceCollectives::Create(*context, id, {.ranks = 2});
    ASSERT_EQ(early->AllReduce(0, tensor), absl::OkStatus());
  }
  const auto late = *DeviceCollectives::Create(*context, id, {.rank = 1, .ranks = 2});
  const absl::Status status = late->AllReduce(0, tensor);
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0 gave up"));
}

// What is on its way when a rank leaves ends; only then is its memory free.
TEST(DeviceCollectivesTest, ARankMayLeaveWithoutWaiting) {
  RunAll(2, [&](Rank r) {
    const Tensor tensor = Put(r.context, RandomTensor(DType::kFloat32, {10}, 1));
    if (r.rank == 0) {
      EXPECT_EQ(r.collectives.AllReduce(0, tensor), absl::OkStatus());
    }
    r.owned.reset();
  });
}

TEST(DeviceCollectivesTest, RefusesWhatDoesNotFit) {
  const auto cpu = *DeviceContext::Create(Device::Cpu());
  EXPECT_EQ(DeviceCollectives::NewId(*cpu).status().code(), absl::StatusCode::kUnimplemented);
  const auto gpu = *DeviceContext::Create(Device::Simulated(0));
  for (const auto& [place, words] :
       {std::pair(CollectivePlace{.rank = 1, .ranks = 1, .timeout = std::chrono::seconds(1)},
                  "rank 1 of 1 and a timeout of 1000 ms"),
        {CollectivePlace{.rank = -1, .ranks = 2, .timeout = std::chrono::seconds(1)},
         "rank -1 of 2 and a timeout of 1000 ms"},
        {CollectivePlace{.rank = 0, .ranks = 1, .timeout = std::chrono::seconds(0)},
         "rank 0 of 1 and a timeout of 0 ms"}}) {
    const absl::Status refused = DeviceCollectives::Create(*gpu, {}, place).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(refused.message(), std::string(words) + ": no place in a group");
  }
  const absl::Status other = DeviceCollectives::Create(*gpu, {}, {}).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.message()), HasSubstr("these ranks are processes"));
  RunAll(1, [](Rank r) {
    const Tensor host = RandomTensor(DType::kFloat32, {10}, 1);
    EXPECT_EQ(r.collectives.AllReduce(0, host).code(), absl::StatusCode::kInvalidArgument);
    const Tensor integers = Put(r.context, IntegerTensor(DType::kInt32, {10}, 1));
    EXPECT_EQ(r.collectives.AllReduce(0, integers).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(r.collectives.Await(0).message(), "all-reduce: number 0 is not on its way");
    EXPECT_EQ(r.collectives.Await(1000).message(), "all-reduce: number 1000 is not on its way");
  });
}

}  // namespace
}  // namespace dtnn
