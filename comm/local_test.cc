#include "comm/local.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using testing::IntegerTensor;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;

// 0, 1, odd, around the block, and over several chunks with a rest.
constexpr int64_t kSizes[] = {0, 1, 2, 7, 511, 512, 513, 16384, 16385, 100003};

std::string Bytes(const Tensor& tensor) {
  return std::string(reinterpret_cast<const char*>(tensor.raw_data()),
                     size_t(tensor.num_elements()) * SizeOf(tensor.dtype()));
}

absl::Status Expect(bool condition, const char* what) {
  return condition ? absl::OkStatus() : absl::InternalError(what);
}

class LocalRanksTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, LocalRanksTest, ::testing::Values(1, 2, 3, 4));

TEST_P(LocalRanksTest, AllReduceIsTheSerialSumOfEveryDType) {
  const int ranks = GetParam();
  for (DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kUint8, DType::kInt32, DType::kInt64}) {
    for (int64_t size : kSizes) {
      std::vector<Tensor> tensors;
      std::vector<double> sum(static_cast<size_t>(size), 0.0);
      for (int rank = 0; rank < ranks; ++rank) {
        tensors.push_back(IntegerTensor(DType::kFloat64, {size}, uint64_t(rank + 1)));
        for (int64_t i = 0; i < size; ++i) {
          // Bytes cannot be negative.
          double& value = tensors.back().data<double>()[i];
          if (dtype == DType::kUint8) value = std::abs(value);
          sum[size_t(i)] += value;
        }
        const Tensor values = tensors.back();
        tensors.back() = testing::TensorOf(dtype, {size}, Values(values));
      }
      ASSERT_EQ(absl::OkStatus(), RunRanks(ranks, [&](Communicator& c) {
                  return c.AllReduce(tensors[size_t(c.rank())]);
                }));
      for (const Tensor& tensor : tensors) ASSERT_EQ(Values(tensor), sum) << size;
    }
  }
}

TEST_P(LocalRanksTest, SumHasTheBitsOfTheOrderOfRanks) {
  const int ranks = GetParam();
  for (int64_t size : kSizes) {
    std::vector<Tensor> tensors;
    Tensor sum = ZeroTensor(DType::kFloat32, {size});
    for (int rank = 0; rank < ranks; ++rank) {
      tensors.push_back(RandomTensor(DType::kFloat32, {size}, uint64_t(rank + 7)));
      for (int64_t i = 0; i < size; ++i) {
        float& s = sum.data<float>()[i];
        const float x = tensors.back().data<float>()[i];
        s = rank == 0 ? x : s + x;
      }
    }
    ASSERT_EQ(absl::OkStatus(), RunRanks(ranks, [&](Communicator& c) {
                return c.AllReduce(tensors[size_t(c.rank())]);
              }));
    for (const Tensor& tensor : tensors) ASSERT_EQ(Bytes(tensor), Bytes(sum)) << size;
  }
}

TEST(LocalTest, IntegerSumsWrapAround) {
  ASSERT_EQ(absl::OkStatus(), RunRanks(2, [&](Communicator& c) {
              const Tensor bytes = testing::TensorOf(DType::kUint8, {1}, {200});
              const Tensor words = testing::TensorOf(DType::kInt32, {1}, {2147483647});
              DTNN_RETURN_IF_ERROR(c.AllReduce(bytes));
              DTNN_RETURN_IF_ERROR(c.AllReduce(words));
              DTNN_RETURN_IF_ERROR(Expect(*bytes.data<uint8_t>() == 144, "uint8"));
              return Expect(*words.data<int32_t>() == -2, "int32");
            }));
}

TEST_P(LocalRanksTest, BroadcastFromEachRoot) {
  const int ranks = GetParam();
  ASSERT_EQ(absl::OkStatus(), RunRanks(ranks, [&](Communicator& c) {
              for (int root = 0; root < ranks; ++root) {
                for (int64_t size : kSizes) {
                  const Tensor mine = RandomTensor(DType::kFloat64, {size}, uint64_t(c.rank()));
                  const Tensor expected = RandomTensor(DType::kFloat64, {size}, uint64_t(root));
                  DTNN_RETURN_IF_ERROR(c.Broadcast(mine, root));
                  DTNN_RETURN_IF_ERROR(Expect(Bytes(mine) == Bytes(expected), "broadcast"));
                }
              }
              return absl::OkStatus();
            }));
}

TEST_P(LocalRanksTest, AllGatherPutsRanksOneAfterAnother) {
  const int ranks = GetParam();
  ASSERT_EQ(absl::OkStatus(), RunRanks(ranks, [&](Communicator& c) {
              for (int64_t size : kSizes) {
                const Tensor all = ZeroTensor(DType::kFloat32, {ranks, size});
                const Tensor in_place = ZeroTensor(DType::kFloat32, {ranks, size});
                const Tensor mine = RandomTensor(DType::kFloat32, {size}, uint64_t(c.rank()));
                const Tensor part = in_place.Samples(c.rank(), 1, TensorFormat::kNHWC);
                std::memcpy(part.raw_data(), mine.raw_data(), size_t(size) * 4);
                DTNN_RETURN_IF_ERROR(c.AllGather(mine, all));
                DTNN_RETURN_IF_ERROR(c.AllGather(part, in_place));
                std::string expected;
                for (int rank = 0; rank < ranks; ++rank) {
                  expected += Bytes(RandomTensor(DType::kFloat32, {size}, uint64_t(rank)));
                }
                DTNN_RETURN_IF_ERROR(Expect(Bytes(all) == expected, "all-gather"));
                DTNN_RETURN_IF_ERROR(Expect(Bytes(in_place) == expected, "in place"));
              }
              return absl::OkStatus();
            }));
}

TEST_P(LocalRanksTest, NobodyPassesABarrierBeforeTheLastArrives) {
  const int ranks = GetParam();
  std::atomic<int> arrived{0};
  ASSERT_EQ(absl::OkStatus(), RunRanks(ranks, [&](Communicator& c) {
              for (int round = 1; round <= 200; ++round) {
                ++arrived;
                DTNN_RETURN_IF_ERROR(c.Barrier());
                DTNN_RETURN_IF_ERROR(Expect(arrived >= round * ranks, "passed too early"));
              }
              return absl::OkStatus();
            }));
}

TEST_P(LocalRanksTest, ManyCollectivesInSequence) {
  const int ranks = GetParam();
  ASSERT_EQ(absl::OkStatus(), RunRanks(ranks, [&](Communicator& c) {
              const Tensor x = ZeroTensor(DType::kInt64, {3});
              for (int64_t round = 0; round < 500; ++round) {
                x.data<int64_t>()[0] = round + c.rank();
                DTNN_RETURN_IF_ERROR(c.AllReduce(x));
                const int64_t sum = ranks * round + ranks * (ranks - 1) / 2;
                DTNN_RETURN_IF_ERROR(Expect(x.data<int64_t>()[0] == sum, "all-reduce"));
                x.data<int64_t>()[0] = c.rank();
                DTNN_RETURN_IF_ERROR(c.Broadcast(x, int(round % ranks)));
                DTNN_RETURN_IF_ERROR(Expect(x.data<int64_t>()[0] == round % ranks, "broadcast"));
              }
              return absl::OkStatus();
            }));
}

TEST_P(LocalRanksTest, AsynchronousCallsOverlapAndAreWaitedForInAnyOrder) {
  const int ranks = GetParam();
  constexpr int kCalls = 5;
  ASSERT_EQ(absl::OkStatus(), RunRanks(ranks, [&](Communicator& c) {
              std::vector<Tensor> tensors;
              std::vector<std::unique_ptr<Work>> works;
              for (int i = 0; i < kCalls; ++i) {
                tensors.push_back(IntegerTensor(DType::kFloat32, {40000 + i}, uint64_t(i)));
                works.push_back(c.AllReduceAsync(tensors.back()));
              }
              // Even ranks first to last, odd ones last to first, and the last ones by destruction.
              for (int i = 0; i + 2 < kCalls; ++i) {
                const int at = c.rank() % 2 == 0 ? i : kCalls - 1 - i;
                DTNN_RETURN_IF_ERROR(works[size_t(at)]->Wait());
                DTNN_RETURN_IF_ERROR(works[size_t(at)]->Wait());
              }
              works.clear();
              for (int i = 0; i < kCalls; ++i) {
                std::vector<double> sum =
                    Values(IntegerTensor(DType::kFloat32, {40000 + i}, uint64_t(i)));
                for (double& value : sum) value *= ranks;
                DTNN_RETURN_IF_ERROR(Expect(Values(tensors[size_t(i)]) == sum, "sum"));
              }
              return absl::OkStatus();
            }));
}

TEST(LocalTest, ARankBusyElsewhereHoldsNobodyUp) {
  std::vector<std::unique_ptr<Communicator>> ranks = *LocalGroup::Create(2);
  const Tensor a = testing::TensorOf(DType::kFloat32, {1}, {1});
  const Tensor b = testing::TensorOf(DType::kFloat32, {1}, {2});
  std::unique_ptr<Work> first = ranks[0]->AllReduceAsync(a);
  ASSERT_EQ(ranks[1]->AllReduce(b), absl::OkStatus());  // rank 0 has not waited yet
  EXPECT_EQ(*a.data<float>(), 3);
  EXPECT_EQ(*b.data<float>(), 3);
  EXPECT_EQ(first->Wait(), absl::OkStatus());
}

// Calls `call` on both ranks and expects the same answer on both.
template <typename Call>
void ExpectBothFail(absl::StatusCode code, const std::string& text, Call&& call) {
  absl::Status results[2];
  (void)RunRanks(2, [&](Communicator& c) {
    results[c.rank()] = call(c);
    (void)c.Barrier();  // broken by now: nobody waits here
    return absl::OkStatus();
  });
  for (const absl::Status& status : results) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
}

TEST(LocalTest, MismatchNamesBothSides) {
  constexpr auto kCode = absl::StatusCode::kInvalidArgument;
  ExpectBothFail(kCode, "collective number 0 differs between ranks", [](Communicator& c) {
    return c.AllReduce(ZeroTensor(DType::kFloat32, {3 + c.rank()}));
  });
  ExpectBothFail(kCode, "rank 1 called all-reduce of 4 float32", [](Communicator& c) {
    return c.AllReduce(ZeroTensor(DType::kFloat32, {3 + c.rank()}));
  });
  ExpectBothFail(kCode, "rank 0 called all-reduce of 3 float64", [](Communicator& c) {
    return c.AllReduce(ZeroTensor(c.rank() == 0 ? DType::kFloat64 : DType::kFloat32, {3}));
  });
  ExpectBothFail(kCode, "rank 1 called barrier", [](Communicator& c) {
    const Tensor x = ZeroTensor(DType::kFloat32, {3});
    return c.rank() == 0 ? c.Broadcast(x, 0) : c.Barrier();
  });
  ExpectBothFail(kCode, "broadcast of 3 float32 from rank 1", [](Communicator& c) {
    return c.Broadcast(ZeroTensor(DType::kFloat32, {3}), c.rank());
  });
}

TEST(LocalTest, ABadArgumentOnOneRankReachesTheOthers) {
  ExpectBothFail(absl::StatusCode::kInvalidArgument, "root 5 is not one of the 2 ranks",
                 [](Communicator& c) {
                   return c.Broadcast(ZeroTensor(DType::kFloat32, {3}), c.rank() == 1 ? 5 : 0);
                 });
}

TEST(LocalTest, ARankThatLeftIsReported) {
  std::vector<std::unique_ptr<Communicator>> ranks = *LocalGroup::Create(2);
  ranks[1] = nullptr;
  const absl::Status status = ranks[0]->Barrier();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 1 left the group before collective number 0"));
}

TEST(LocalTest, LeavingWhileAnotherWaitsWakesIt) {
  absl::Status waiting;
  ASSERT_EQ(absl::OkStatus(), RunRanks(2, [&](Communicator& c) {
              if (c.rank() == 0) waiting = c.Barrier();
              return absl::OkStatus();
            }));
  EXPECT_EQ(waiting.code(), absl::StatusCode::kUnavailable) << waiting;
}

TEST(LocalTest, TimeoutNamesCollectiveRankAndMissing) {
  std::vector<std::unique_ptr<Communicator>> ranks = *LocalGroup::Create(4);
  const Tensor x = ZeroTensor(DType::kFloat32, {8}), y = ZeroTensor(DType::kFloat32, {8});
  std::unique_ptr<Work> other = ranks[2]->AllReduceAsync(y);
  const absl::Status status = ranks[0]->AllReduce(x, ReduceOp::kSum, milliseconds(100));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("collective number 0, all-reduce of 8 float32: rank 0 waited 100 ms for "
                        "ranks 1, 3, which did not call it"));
  // The others do not wait for their own timeouts, and a latecomer touches nobody's memory.
  EXPECT_EQ(other->Wait(), status);
  EXPECT_EQ(ranks[1]->AllReduce(x), status);
  EXPECT_EQ(ranks[0]->Barrier(), status);
}

TEST(LocalTest, TimeoutOfTheGroupAppliesWithoutOneOfTheCall) {
  std::vector<std::unique_ptr<Communicator>> ranks =
      *LocalGroup::Create(2, {.timeout = milliseconds(50)});
  EXPECT_EQ(ranks[1]->Barrier().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(LocalTest, AnErrorOfOneRankEndsTheOthersAndIsReturned) {
  const absl::Status status = RunRanks(3, [](Communicator& c) -> absl::Status {
    if (c.rank() == 1) return absl::DataLossError("image 7 is corrupt");
    return c.Barrier();
  });
  EXPECT_EQ(status, absl::DataLossError("image 7 is corrupt"));
}

TEST(LocalTest, CompletedCollectivesSurviveALaterError) {
  std::vector<std::unique_ptr<Communicator>> ranks = *LocalGroup::Create(2);
  std::unique_ptr<Work> a = ranks[0]->AllReduceAsync(ZeroTensor(DType::kFloat32, {100}));
  std::unique_ptr<Work> b = ranks[1]->AllReduceAsync(ZeroTensor(DType::kFloat32, {100}));
  ranks[0]->Abort(absl::CancelledError("interrupted"));
  EXPECT_EQ(a->Wait(), absl::OkStatus());
  EXPECT_EQ(b->Wait(), absl::OkStatus());
  EXPECT_EQ(ranks[1]->Barrier(), absl::CancelledError("rank 0 gave up: interrupted"));
  EXPECT_EQ(ranks[1]->lost(), std::vector<int>{0});
}

TEST(LocalTest, AThousandGroupsComeAndGo) {
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(absl::OkStatus(), RunRanks(2, [](Communicator& c) { return c.Barrier(); }));
  }
}

TEST(LocalTest, AGroupHasAtLeastOneRank) {
  for (int size : {0, -1}) {
    EXPECT_EQ(LocalGroup::Create(size).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(RunRanks(size, [](Communicator&) { return absl::OkStatus(); }).code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace dtnn
