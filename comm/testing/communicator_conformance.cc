#include "comm/testing/communicator_conformance.h"

#include <cstring>
#include <vector>

#include "comm/testing/conformance_checks.h"
#include "tensor/status_macros.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Bytes;
using testing::Combined;
using testing::Contributions;
using testing::Expect;
using testing::IntegerTensor;
using testing::kDTypes;
using testing::kOps;
using testing::Now;
using testing::RandomTensor;
using testing::Values;
using testing::ZeroTensor;

// 0, 1, odd, around the blocks in which sums are computed, and over several chunks with a rest.
constexpr int64_t kSizes[] = {0, 1, 2, 7, 511, 512, 513, 16385, 100003};
TEST_P(CommunicatorConformance, RanksAndHostAreNumbered) {
  EXPECT_EQ(
      absl::OkStatus(), Run([&](Communicator& c) {
        const Tensor all = ZeroTensor(DType::kInt32, {ranks()});
        const Tensor mine = testing::TensorOf(DType::kInt32, {1}, {double(c.rank())});
        DTNN_RETURN_IF_ERROR(c.AllGather(mine, all));
        for (int rank = 0; rank < ranks(); ++rank) {
          DTNN_RETURN_IF_ERROR(Expect(all.data<int32_t>()[rank] == rank, "rank"));
        }
        const int node_size = ranks() / GetParam().hosts;
        DTNN_RETURN_IF_ERROR(Expect(c.place().node_size == node_size, "node_size"));
        DTNN_RETURN_IF_ERROR(Expect(c.place().node_rank == c.rank() % node_size, "node_rank"));
        DTNN_RETURN_IF_ERROR(Expect(c.place().node == c.rank() / node_size, "node"));
        DTNN_RETURN_IF_ERROR(Expect(c.lost().empty(), "lost"));
        return Expect(c.size() == ranks(), "size");
      }));
}

TEST_P(CommunicatorConformance, AllReduceIsExactOnIntegersOfEveryDType) {
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              for (int64_t size : kSizes) {
                for (DType dtype : kDTypes) {
                  const std::vector<std::vector<double>> all = Contributions(dtype, size, ranks());
                  for (ReduceOp op : kOps) {
                    const Tensor x = testing::TensorOf(dtype, {size}, all[size_t(c.rank())]);
                    DTNN_RETURN_IF_ERROR(c.AllReduce(x, op));
                    DTNN_RETURN_IF_ERROR(Expect(Values(x) == Combined(op, all),
                                                absl::StrCat("all-reduce of size ", size)));
                  }
                }
              }
              return absl::OkStatus();
            }));
}

TEST_P(CommunicatorConformance, SumsHaveTheSameBitsOnAllRanksAndEveryTime) {
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              for (int64_t size : {1, 3, 513, 100003}) {
                std::string first;
                for (int round = 0; round < 3; ++round) {
                  const Tensor x = RandomTensor(DType::kFloat32, {size}, uint64_t(c.rank()));
                  DTNN_RETURN_IF_ERROR(c.AllReduce(x));
                  const Tensor all = ZeroTensor(DType::kFloat32, {ranks(), size});
                  DTNN_RETURN_IF_ERROR(c.AllGather(x, all));
                  std::string expected;
                  for (int rank = 0; rank < ranks(); ++rank) expected += Bytes(x);
                  DTNN_RETURN_IF_ERROR(Expect(Bytes(all) == expected, "ranks differ"));
                  if (round == 0) first = Bytes(x);
                  DTNN_RETURN_IF_ERROR(Expect(Bytes(x) == first, "rounds differ"));
                }
              }
              return absl::OkStatus();
            }));
}

TEST_P(CommunicatorConformance, SumsHaveTheBitsOfTheOrderOfRanks) {
  if (!GetParam().sums_in_rank_order) GTEST_SKIP() << "this implementation does not promise it";
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              for (int64_t size : kSizes) {
                const Tensor sum = RandomTensor(DType::kFloat32, {size}, 7);
                for (int rank = 1; rank < ranks(); ++rank) {
                  const Tensor x = RandomTensor(DType::kFloat32, {size}, uint64_t(rank + 7));
                  for (int64_t i = 0; i < size; ++i) sum.data<float>()[i] += x.data<float>()[i];
                }
                const Tensor x = RandomTensor(DType::kFloat32, {size}, uint64_t(c.rank() + 7));
                DTNN_RETURN_IF_ERROR(c.AllReduce(x));
                DTNN_RETURN_IF_ERROR(Expect(Bytes(x) == Bytes(sum), "sum"));
              }
              return absl::OkStatus();
            }));
}

TEST_P(CommunicatorConformance, IntegerSumsWrapAround) {
  if (ranks() != 2) GTEST_SKIP() << "tried with two ranks";
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              const Tensor bytes = testing::TensorOf(DType::kUint8, {1}, {200});
              const Tensor words = testing::TensorOf(DType::kInt32, {1}, {2147483647});
              DTNN_RETURN_IF_ERROR(c.AllReduce(bytes));
              DTNN_RETURN_IF_ERROR(c.AllReduce(words));
              DTNN_RETURN_IF_ERROR(Expect(*bytes.data<uint8_t>() == 144, "uint8"));
              return Expect(*words.data<int32_t>() == -2, "int32");
            }));
}

TEST_P(CommunicatorConformance, BroadcastFromEachRoot) {
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              for (int root = 0; root < ranks(); ++root) {
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

TEST_P(CommunicatorConformance, AllGatherPutsRanksOneAfterAnother) {
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              for (int64_t size : kSizes) {
                const Tensor all = ZeroTensor(DType::kFloat32, {ranks(), size});
                const Tensor in_place = ZeroTensor(DType::kFloat32, {ranks(), size});
                const Tensor mine = RandomTensor(DType::kFloat32, {size}, uint64_t(c.rank()));
                const Tensor part = in_place.Samples(c.rank(), 1, TensorFormat::kNHWC);
                std::memcpy(part.raw_data(), mine.raw_data(), size_t(size) * 4);
                DTNN_RETURN_IF_ERROR(c.AllGather(mine, all));
                DTNN_RETURN_IF_ERROR(c.AllGather(part, in_place));
                std::string expected;
                for (int rank = 0; rank < ranks(); ++rank) {
                  expected += Bytes(RandomTensor(DType::kFloat32, {size}, uint64_t(rank)));
                }
                DTNN_RETURN_IF_ERROR(Expect(Bytes(all) == expected, "all-gather"));
                DTNN_RETURN_IF_ERROR(Expect(Bytes(in_place) == expected, "in place"));
              }
              return absl::OkStatus();
            }));
}

TEST_P(CommunicatorConformance, NobodyPassesABarrierBeforeTheLastArrives) {
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              for (int round = 0; round < 100; ++round) {
                const Tensor arrived = testing::TensorOf(DType::kFloat64, {1}, {Now()});
                DTNN_RETURN_IF_ERROR(c.Barrier());
                const Tensor passed = testing::TensorOf(DType::kFloat64, {1}, {Now()});
                DTNN_RETURN_IF_ERROR(c.AllReduce(arrived, ReduceOp::kMax));
                DTNN_RETURN_IF_ERROR(c.AllReduce(passed, ReduceOp::kMin));
                DTNN_RETURN_IF_ERROR(
                    Expect(*arrived.data<double>() <= *passed.data<double>(), "too early"));
              }
              return absl::OkStatus();
            }));
}

TEST_P(CommunicatorConformance, ManyCollectivesInSequence) {
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              const Tensor x = ZeroTensor(DType::kInt64, {3});
              for (int64_t round = 0; round < 300; ++round) {
                x.data<int64_t>()[0] = round + c.rank();
                DTNN_RETURN_IF_ERROR(c.AllReduce(x));
                const int64_t sum = ranks() * round + ranks() * (ranks() - 1) / 2;
                DTNN_RETURN_IF_ERROR(Expect(x.data<int64_t>()[0] == sum, "all-reduce"));
                x.data<int64_t>()[0] = c.rank();
                DTNN_RETURN_IF_ERROR(c.Broadcast(x, int(round % ranks())));
                DTNN_RETURN_IF_ERROR(Expect(x.data<int64_t>()[0] == round % ranks(), "broadcast"));
              }
              return absl::OkStatus();
            }));
}

TEST_P(CommunicatorConformance, AsynchronousCallsOverlapAndAreWaitedForInAnyOrder) {
  constexpr int kCalls = 12;
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
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
                for (double& value : sum) value *= ranks();
                DTNN_RETURN_IF_ERROR(Expect(Values(tensors[size_t(i)]) == sum, "sum"));
              }
              return absl::OkStatus();
            }));
}

TEST_P(CommunicatorConformance, MessagesOfAPairArriveInOrder) {
  if (ranks() == 1) GTEST_SKIP() << "needs a second rank";
  constexpr int kMessages = 20;
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              // Around the ring, some calls of both kinds on their way at once, of growing sizes.
              const int next = (c.rank() + 1) % ranks();
              const int previous = (c.rank() + ranks() - 1) % ranks();
              std::vector<Tensor> received;
              std::vector<std::unique_ptr<Work>> works;
              for (int i = 0; i < kMessages; ++i) {
                const int64_t size = int64_t{1} << i;
                const uint64_t seed = uint64_t(c.rank() * 100 + i);
                received.push_back(ZeroTensor(DType::kUint8, {size}));
                works.push_back(c.ReceiveAsync(received.back(), previous));
                works.push_back(c.SendAsync(IntegerTensor(DType::kUint8, {size}, seed), next));
              }
              for (std::unique_ptr<Work>& work : works) DTNN_RETURN_IF_ERROR(work->Wait());
              for (int i = 0; i < kMessages; ++i) {
                const Tensor& x = received[size_t(i)];
                const Tensor expected =
                    IntegerTensor(DType::kUint8, {x.num_elements()}, uint64_t(previous * 100 + i));
                DTNN_RETURN_IF_ERROR(Expect(Bytes(x) == Bytes(expected), "message"));
              }
              return absl::OkStatus();
            }));
}

TEST_P(CommunicatorConformance, MessagesDoNotWaitForCollectivesNorTheOtherWayRound) {
  if (ranks() == 1) GTEST_SKIP() << "needs a second rank";
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              const Tensor sum = testing::TensorOf(DType::kFloat32, {1}, {1});
              const Tensor message = testing::TensorOf(DType::kInt32, {1}, {double(c.rank())});
              if (c.rank() == 0) {
                const std::unique_ptr<Work> sent = c.SendAsync(message, 1);
                DTNN_RETURN_IF_ERROR(c.AllReduce(sum));
                DTNN_RETURN_IF_ERROR(sent->Wait());
              } else {
                const std::unique_ptr<Work> reduced = c.AllReduceAsync(sum);
                DTNN_RETURN_IF_ERROR(reduced->Wait());
                if (c.rank() == 1) DTNN_RETURN_IF_ERROR(c.Receive(message, 0));
                if (c.rank() == 1) DTNN_RETURN_IF_ERROR(Expect(*message.data<int32_t>() == 0, ""));
              }
              return Expect(*sum.data<float>() == float(ranks()), "sum");
            }));
}

TEST_P(CommunicatorConformance, GroupsComeAndGo) {
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
                const Tensor x = testing::TensorOf(DType::kInt32, {1}, {double(i)});
                DTNN_RETURN_IF_ERROR(c.AllReduce(x));
                return Expect(*x.data<int32_t>() == i * ranks(), "sum");
              }));
  }
}

}  // namespace
}  // namespace dtnn
