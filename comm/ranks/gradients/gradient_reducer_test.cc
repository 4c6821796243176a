#include "comm/ranks/gradients/gradient_reducer.h"

#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "comm/local.h"
#include "comm/testing/probe_communicator.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"
#include "tools/testing/count_allocations.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IntegerTensor;
using testing::ProbeCommunicator;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;

constexpr int64_t kElements = 1000;  // no multiple of what an alignment holds

absl::Status Ignore(size_t) { return absl::OkStatus(); }

std::string Bytes(const Tensor& tensor) {
  return std::string(reinterpret_cast<const char*>(tensor.raw_data()),
                     size_t(tensor.num_elements()) * SizeOf(tensor.dtype()));
}

// A group of one rank under a probe, for tests of the calls that a reducer makes.
struct OneRank {
  std::unique_ptr<Communicator> local = std::move((*LocalGroup::Create(1))[0]);
  ProbeCommunicator probe{*local};
  Tensor gradients = IntegerTensor(DType::kFloat32, {kElements}, 1);
};

TEST(GradientReducerTest, BucketsCoverTheArenaFromItsEnd) {
  OneRank one;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    const int64_t align = 64 / int64_t(SizeOf(dtype));
    for (const int64_t elements : {0, 1, 15, 16, 17, 31, 33, 64, 1000, 4096, 100003}) {
      for (const int64_t bytes : {1, 64, 65, 127, 128, 4096, 1 << 20}) {
        const GradientReducer reducer(one.probe, dtype, elements, {.bucket_bytes = bytes});
        const int64_t most = std::max<int64_t>(64, bytes / 64 * 64) / int64_t(SizeOf(dtype));
        int64_t end = elements;
        for (const auto& bucket : reducer.buckets()) {
          ASSERT_EQ(bucket.end, end);
          ASSERT_LT(bucket.begin, bucket.end);
          ASSERT_LE(bucket.end - bucket.begin, most);
          ASSERT_EQ(bucket.begin % align, 0);
          // Only the last is small; the first by what the end lacks to an aligned place.
          if (bucket.begin > 0) {
            ASSERT_GT(bucket.end - bucket.begin, most - align);
          }
          end = bucket.begin;
        }
        ASSERT_EQ(end, 0);
        if (elements > 0 && elements <= most) {
          ASSERT_EQ(reducer.buckets().size(), 1u);
        }
      }
    }
  }
}

class ReducerModesTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Modes, ReducerModesTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Blocking" : "Overlapped"; });

TEST_P(ReducerModesTest, SameSumWhateverTheBucketsOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
      std::vector<Tensor> whole;
      for (int rank = 0; rank < ranks; ++rank) {
        whole.push_back(RandomTensor(dtype, {kElements}, uint64_t(rank + 1)));
      }
      ASSERT_TRUE(RunRanks(ranks, [&](Communicator& c) {
                    return c.AllReduce(whole[size_t(c.rank())]);
                  }).ok());
      for (const int64_t bytes : {64, 500, 4000, 1 << 20}) {
        const absl::Status status = RunRanks(ranks, [&](Communicator& c) -> absl::Status {
          GradientReducer reducer(c, dtype, kElements,
                                  {.bucket_bytes = bytes, .blocking = GetParam()});
          for (int step = 1; step <= 3; ++step) {
            const Tensor gradients = RandomTensor(dtype, {kElements}, uint64_t(c.rank() + 1));
            DTNN_RETURN_IF_ERROR(reducer.Begin(gradients));
            for (const int64_t from : {kElements, int64_t{999}, int64_t{600}, int64_t{16}}) {
              reducer.Ready(from);
            }
            size_t next = 0;
            DTNN_RETURN_IF_ERROR(reducer.Finish([&](size_t bucket) {
              EXPECT_EQ(bucket, next++);
              // What is handed over is the sum already.
              const auto [begin, end] = reducer.buckets()[bucket];
              const size_t size = SizeOf(dtype);
              EXPECT_EQ(std::memcmp(gradients.raw_data() + size_t(begin) * size,
                                    whole[0].raw_data() + size_t(begin) * size,
                                    size_t(end - begin) * size),
                        0);
              return absl::OkStatus();
            }));
            EXPECT_EQ(next, reducer.buckets().size());
            EXPECT_EQ(Bytes(gradients), Bytes(whole[0])) << ranks << " ranks, " << bytes;
            EXPECT_EQ(reducer.steps(), step);
          }
          return absl::OkStatus();
        });
        ASSERT_TRUE(status.ok()) << status;
      }
    }
  }
}

TEST_P(ReducerModesTest, HalvesOnTheWireGiveTheSameBitsWhateverTheBuckets) {
  for (const HalfType wire : {HalfType::kFloat16, HalfType::kBfloat16}) {
    for (const int ranks : {1, 2, 3, 4}) {
      const auto input = [](int rank) {
        return RandomTensor(DType::kFloat32, {kElements}, uint64_t(rank + 1));
      };
      std::vector<Tensor> whole;
      for (int rank = 0; rank < ranks; ++rank) whole.push_back(input(rank));
      ASSERT_TRUE(RunRanks(ranks, [&](Communicator& c) -> absl::Status {
                    DTNN_ASSIGN_OR_RETURN(const auto sum,
                                          HalfAllReduce::Create(c, wire, kElements));
                    DTNN_RETURN_IF_ERROR(sum->Begin(whole[size_t(c.rank())]));
                    return sum->Finish();
                  }).ok());
      for (const int64_t bytes : {64, 500, 4000, 1 << 20}) {
        const absl::Status status = RunRanks(ranks, [&](Communicator& c) -> absl::Status {
          GradientReducer reducer(c, DType::kFloat32, kElements,
                                  {.bucket_bytes = bytes, .blocking = GetParam(), .wire = wire});
          for (int step = 0; step < 3; ++step) {
            const Tensor gradients = input(c.rank());
            DTNN_RETURN_IF_ERROR(reducer.Begin(gradients));
            // A rank without samples has all at once.
            if (c.rank() != 1) {
              for (const int64_t from : {int64_t{999}, int64_t{600}, int64_t{16}}) {
                reducer.Ready(from);
              }
            }
            size_t next = 0;
            DTNN_RETURN_IF_ERROR(reducer.Finish([&](size_t bucket) {
              EXPECT_EQ(bucket, next++);
              return absl::OkStatus();
            }));
            EXPECT_EQ(Bytes(gradients), Bytes(whole[size_t(c.rank())])) << ranks << " " << bytes;
          }
          return absl::OkStatus();
        });
        ASSERT_TRUE(status.ok()) << status;
      }
    }
  }
}

TEST_P(ReducerModesTest, AnotherWayToSumReplacesTheAllReduces) {
  const absl::Status status = RunRanks(2, [](Communicator& c) -> absl::Status {
    testing::ProbeCommunicator probe(c);
    std::vector<int64_t> sizes;
    absl::Status answer;
    GradientReducer reducer(
        probe, DType::kFloat32, 1000,
        {.bucket_bytes = 400 * 4, .blocking = GetParam(), .sum = [&](const Tensor& tensor) {
           sizes.push_back(tensor.num_elements());
           return answer.ok() ? c.AllReduce(tensor) : answer;
         }});
    const Tensor gradients = RandomTensor(DType::kFloat32, {1000}, 3);
    const std::vector<double> before = Values(gradients);
    DTNN_RETURN_IF_ERROR(reducer.Begin(gradients));
    reducer.Ready(500);
    EXPECT_TRUE(sizes.empty()) << "it would not overlap with the pass";
    size_t reduced = 0;
    DTNN_RETURN_IF_ERROR(reducer.Finish([&](size_t bucket) {
      EXPECT_EQ(sizes.size(), bucket + 1);
      EXPECT_EQ(bucket, reduced++);
      return absl::OkStatus();
    }));
    EXPECT_EQ(reduced, reducer.buckets().size());
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), int64_t{0}), 1000);
    EXPECT_TRUE(probe.sizes().empty());
    const std::vector<double> after = Values(gradients);
    for (size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i], 2 * before[i]);
    answer = absl::DataLossError("no sum");
    DTNN_RETURN_IF_ERROR(reducer.Begin(gradients));
    EXPECT_EQ(reducer.Finish([](size_t) { return absl::OkStatus(); }), answer);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(GradientReducerTest, ABucketStartsAsSoonAsItIsFinal) {
  OneRank one;
  GradientReducer reducer(one.probe, DType::kFloat32, kElements,
                          {.bucket_bytes = 400 * 4, .blocking = false});
  ASSERT_EQ(reducer.buckets().size(), 3u);  // begin at 608, 208 and 0
  ASSERT_TRUE(reducer.Begin(one.gradients).ok());
  reducer.Ready(609);
  EXPECT_THAT(one.probe.sizes(), ElementsAre());
  reducer.Ready(608);
  EXPECT_THAT(one.probe.sizes(), ElementsAre(392));
  reducer.Ready(608);
  reducer.Ready(209);
  EXPECT_THAT(one.probe.sizes(), ElementsAre(392));
  reducer.Ready(1);
  EXPECT_THAT(one.probe.sizes(), ElementsAre(392, 400));
  EXPECT_EQ(one.probe.outstanding(), 2);
  int handed_over = 0;
  ASSERT_TRUE(reducer
                  .Finish([&](size_t) {
                    EXPECT_EQ(one.probe.outstanding(), 2 - handed_over++);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_THAT(one.probe.sizes(), ElementsAre(392, 400, 208));
}

TEST(GradientReducerTest, BlockingOneAllReduceFollowsAnother) {
  OneRank one;
  GradientReducer reducer(one.probe, DType::kFloat32, kElements, {.bucket_bytes = 400 * 4});
  ASSERT_TRUE(reducer.Begin(one.gradients).ok());
  reducer.Ready(0);
  EXPECT_THAT(one.probe.sizes(), ElementsAre());
  size_t done = 0;
  ASSERT_TRUE(reducer
                  .Finish([&](size_t) {
                    EXPECT_EQ(one.probe.sizes().size(), ++done);
                    EXPECT_EQ(one.probe.outstanding(), 0);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(done, 3u);
}

TEST_P(ReducerModesTest, TheFirstErrorEndsTheStep) {
  for (const int failing : {0, 1, 2}) {
    OneRank one;
    GradientReducer reducer(one.probe, DType::kFloat32, kElements,
                            {.bucket_bytes = 400 * 4, .blocking = GetParam()});
    one.probe.FailAfter(failing);
    ASSERT_TRUE(reducer.Begin(one.gradients).ok());
    reducer.Ready(208);
    int handed_over = 0;
    const absl::Status status = reducer.Finish([&](size_t) {
      ++handed_over;
      return absl::OkStatus();
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("fails on request"));
    // Overlapped, what was on its way fails with the group.
    EXPECT_LE(handed_over, failing);
    EXPECT_EQ(one.probe.outstanding(), 0);
    EXPECT_EQ(reducer.steps(), 0);
  }
}

TEST_P(ReducerModesTest, AnErrorOfTheCallerEndsTheStepAndNotTheNext) {
  OneRank one;
  GradientReducer reducer(one.probe, DType::kFloat32, kElements,
                          {.bucket_bytes = 400 * 4, .blocking = GetParam()});
  ASSERT_TRUE(reducer.Begin(one.gradients).ok());
  reducer.Ready(208);
  int handed_over = 0;
  const absl::Status status = reducer.Finish([&](size_t bucket) {
    ++handed_over;
    return bucket == 1 ? absl::InternalError("no") : absl::OkStatus();
  });
  EXPECT_EQ(status, absl::InternalError("no"));
  EXPECT_EQ(handed_over, 2);
  EXPECT_EQ(one.probe.outstanding(), 0);
  ASSERT_TRUE(reducer.Begin(one.gradients).ok());
  EXPECT_TRUE(reducer.Finish(Ignore).ok());
  EXPECT_EQ(reducer.steps(), 1);
}

TEST(GradientReducerTest, WaitsForWhatAStepLeavesBehind) {
  OneRank one;
  {
    GradientReducer reducer(one.probe, DType::kFloat32, kElements,
                            {.bucket_bytes = 400 * 4, .blocking = false});
    ASSERT_TRUE(reducer.Begin(one.gradients).ok());
    reducer.Ready(208);
    EXPECT_EQ(one.probe.outstanding(), 2);
    ASSERT_TRUE(reducer.Begin(one.gradients).ok());
    EXPECT_EQ(one.probe.outstanding(), 0);
    reducer.Ready(208);
    EXPECT_EQ(one.probe.outstanding(), 2);
  }
  EXPECT_EQ(one.probe.outstanding(), 0);
}

TEST_P(ReducerModesTest, ARankThatLeavesEndsTheStepOfTheOthers) {
  for (const std::optional<HalfType> wire : {std::optional<HalfType>(), {HalfType::kBfloat16}}) {
    const absl::Status status = RunRanks(3, [&](Communicator& c) -> absl::Status {
      const Tensor gradients = ZeroTensor(DType::kFloat32, {kElements});
      GradientReducer reducer(c, DType::kFloat32, kElements,
                              {.bucket_bytes = 1600, .blocking = GetParam(), .wire = wire});
      DTNN_RETURN_IF_ERROR(reducer.Begin(gradients));
      reducer.Ready(608);
      if (c.rank() == 2) return absl::OkStatus();
      const absl::Status finished = reducer.Finish(Ignore);
      EXPECT_EQ(finished.code(), absl::StatusCode::kUnavailable) << finished;
      return finished;
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  }
}

TEST(GradientReducerTest, RefusesAnotherArena) {
  OneRank one;
  GradientReducer reducer(one.probe, DType::kFloat32, kElements, {});
  for (const Tensor& other :
       {ZeroTensor(DType::kFloat64, {kElements}), ZeroTensor(DType::kFloat32, {kElements - 1}),
        ZeroTensor(DType::kFloat32, {10, 100})}) {
    EXPECT_EQ(reducer.Begin(other).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(GradientReducerTest, AnEmptyArenaIsNoCall) {
  OneRank one;
  GradientReducer reducer(one.probe, DType::kFloat32, 0, {.blocking = false});
  ASSERT_TRUE(reducer.Begin(ZeroTensor(DType::kFloat32, {0})).ok());
  EXPECT_TRUE(reducer.Finish(Ignore).ok());
  EXPECT_THAT(one.probe.sizes(), ElementsAre());
}

TEST_P(ReducerModesTest, StepsAllocateWhatTheCommunicatorDoes) {
  OneRank one;
  GradientReducer reducer(*one.local, DType::kFloat32, kElements,
                          {.bucket_bytes = 400 * 4, .blocking = GetParam()});
  const auto plain = [&] {
    for (const auto& [begin, end] : reducer.buckets()) {
      const Tensor part = one.gradients.Samples(begin, end - begin, TensorFormat::kNHWC);
      EXPECT_TRUE(one.local->AllReduce(part).ok());
    }
  };
  const auto step = [&] {
    EXPECT_TRUE(reducer.Begin(one.gradients).ok());
    reducer.Ready(208);
    EXPECT_TRUE(reducer.Finish(Ignore).ok());
  };
  const auto count = [](const auto& body) {
    body();
    const testing::AllocationCounter counter;
    body();
    return counter.count();
  };
  const int64_t needed = count(plain);
  EXPECT_GT(needed, 0);
  EXPECT_EQ(count(step), needed);
}

TEST(GradientReducerTest, OnlyTheCommunicatorIsOnTheClock) {
  OneRank one;
  GradientReducer reducer(one.probe, DType::kFloat32, kElements,
                          {.bucket_bytes = 400 * 4, .blocking = false});
  ASSERT_TRUE(reducer.Begin(one.gradients).ok());
  reducer.Ready(609);
  EXPECT_EQ(reducer.exposed_seconds(), 0);  // no bucket yet
  reducer.Ready(608);
  const double started = reducer.exposed_seconds();
  EXPECT_GT(started, 0);
  double before = 0;
  ASSERT_TRUE(reducer
                  .Finish([&](size_t) {
                    EXPECT_GT(reducer.exposed_seconds(), before);
                    before = reducer.exposed_seconds();
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(reducer.exposed_seconds(), before);
}

}  // namespace
}  // namespace dtnn
