// The conformance suite's third part: calls whose input has a part for each rank.

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "comm/testing/communicator_conformance.h"
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
using testing::RandomTensor;
using testing::TensorOf;
using testing::Values;
using testing::ZeroTensor;

// Elements of a part: none, one, odd, around the blocks in which sums are computed, and a prime
// number over several chunks.
constexpr int64_t kSizes[] = {0, 1, 7, 512, 513, 20011};

Tensor PartOf(const Tensor& parts, int rank) { return parts.Samples(rank, 1, TensorFormat::kNHWC); }

TEST_P(CommunicatorConformance, ReduceScatterIsExactOnIntegersOfEveryDType) {
  EXPECT_EQ(
      absl::OkStatus(), Run([&](Communicator& c) {
        for (int64_t size : kSizes) {
          for (DType dtype : kDTypes) {
            const std::vector<std::vector<double>> all =
                Contributions(dtype, ranks() * size, ranks());
            for (ReduceOp op : kOps) {
              const Tensor input = TensorOf(dtype, {ranks(), size}, all[size_t(c.rank())]);
              const Tensor sum = ZeroTensor(dtype, {size});
              DTNN_RETURN_IF_ERROR(c.ReduceScatter(input, sum, op));
              const std::vector<double> sums = Combined(op, all);
              const auto mine = sums.begin() + c.rank() * size;
              DTNN_RETURN_IF_ERROR(Expect(Values(sum) == std::vector<double>(mine, mine + size),
                                          absl::StrCat("reduce-scatter to parts of ", size)));
              DTNN_RETURN_IF_ERROR(
                  Expect(Values(input) == all[size_t(c.rank())], "the input has changed"));
            }
          }
        }
        return absl::OkStatus();
      }));
}

TEST_P(CommunicatorConformance, ReduceScatterAddsInTheOrderOfRanks) {
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              for (int64_t size : kSizes) {
                const auto input_of = [&](int rank) {
                  return RandomTensor(DType::kFloat32, {ranks(), size}, uint64_t(rank + 7));
                };
                const Tensor sum = PartOf(input_of(0), c.rank());
                for (int rank = 1; rank < ranks(); ++rank) {
                  const Tensor x = PartOf(input_of(rank), c.rank());
                  for (int64_t i = 0; i < size; ++i) sum.data<float>()[i] += x.data<float>()[i];
                }
                for (int round = 0; round < 3; ++round) {
                  const Tensor output = ZeroTensor(DType::kFloat32, {size});
                  DTNN_RETURN_IF_ERROR(c.ReduceScatter(input_of(c.rank()), output));
                  DTNN_RETURN_IF_ERROR(Expect(Bytes(output) == Bytes(sum), "bits"));
                }
              }
              return absl::OkStatus();
            }));
}

TEST_P(CommunicatorConformance, ReduceScatterMayWriteToItsPartOfTheInput) {
  EXPECT_EQ(
      absl::OkStatus(), Run([&](Communicator& c) {
        for (int64_t size : kSizes) {
          const std::vector<std::vector<double>> all =
              Contributions(DType::kFloat64, ranks() * size, ranks());
          const Tensor input = TensorOf(DType::kFloat64, {ranks(), size}, all[size_t(c.rank())]);
          DTNN_RETURN_IF_ERROR(c.ReduceScatter(input, PartOf(input, c.rank())));
          std::vector<double> expected = all[size_t(c.rank())];
          const std::vector<double> sums = Combined(ReduceOp::kSum, all);
          for (int64_t i = c.rank() * size; i < (c.rank() + 1) * size; ++i) {
            expected[size_t(i)] = sums[size_t(i)];
          }
          DTNN_RETURN_IF_ERROR(Expect(Values(input) == expected, "in place"));
        }
        return absl::OkStatus();
      }));
}

TEST_P(CommunicatorConformance, AllGatherOfAReduceScatterIsAnAllReduce) {
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              const Tensor x = IntegerTensor(DType::kFloat32, {ranks(), 777}, uint64_t(c.rank()));
              const Tensor y = IntegerTensor(DType::kFloat32, {ranks(), 777}, uint64_t(c.rank()));
              DTNN_RETURN_IF_ERROR(c.ReduceScatter(x, PartOf(x, c.rank())));
              DTNN_RETURN_IF_ERROR(c.AllGather(PartOf(x, c.rank()), x));
              DTNN_RETURN_IF_ERROR(c.AllReduce(y));
              return Expect(Bytes(x) == Bytes(y), "they differ");
            }));
}

TEST_P(CommunicatorConformance, AllToAllTransposesPartsOfEveryDType) {
  EXPECT_EQ(
      absl::OkStatus(), Run([&](Communicator& c) {
        for (int64_t size : kSizes) {
          for (DType dtype : kDTypes) {
            const auto input_of = [&](int rank) {
              return IntegerTensor(dtype, {ranks(), size}, uint64_t(rank + 1), 100);
            };
            const Tensor input = input_of(c.rank()), output = ZeroTensor(dtype, {ranks(), size});
            DTNN_RETURN_IF_ERROR(c.AllToAll(input, output));
            for (int rank = 0; rank < ranks(); ++rank) {
              DTNN_RETURN_IF_ERROR(
                  Expect(Bytes(PartOf(output, rank)) == Bytes(PartOf(input_of(rank), c.rank())),
                         absl::StrCat("part of ", size, " from rank ", rank)));
            }
            DTNN_RETURN_IF_ERROR(
                Expect(Bytes(input) == Bytes(input_of(c.rank())), "the input has changed"));
          }
        }
        return absl::OkStatus();
      }));
}

TEST_P(CommunicatorConformance, CallsOfPartsOverlapWithOthersAndAreWaitedForInAnyOrder) {
  constexpr int kCalls = 12;
  EXPECT_EQ(absl::OkStatus(), Run([&](Communicator& c) {
              std::vector<Tensor> inputs, outputs;
              std::vector<std::unique_ptr<Work>> works;
              const auto size_of = [](int call) { return int64_t{9000 + call}; };
              const auto input_of = [&](int call, int rank) {
                return IntegerTensor(DType::kInt32, {ranks(), size_of(call)},
                                     uint64_t(100 * call + rank));
              };
              for (int i = 0; i < kCalls; ++i) {
                const Tensor& input = inputs.emplace_back(input_of(i, c.rank()));
                const int64_t parts = i % 3 == 0 ? 1 : ranks();
                const Tensor& output =
                    outputs.emplace_back(ZeroTensor(DType::kInt32, {parts, size_of(i)}));
                works.push_back(i % 3 == 0   ? c.ReduceScatterAsync(input, output)
                                : i % 3 == 1 ? c.AllToAllAsync(input, output)
                                             : c.AllReduceAsync(input));
              }
              // Even ranks first to last, odd ones last to first.
              for (int i = 0; i < kCalls; ++i) {
                const int at = c.rank() % 2 == 0 ? i : kCalls - 1 - i;
                DTNN_RETURN_IF_ERROR(works[size_t(at)]->Wait());
              }
              for (int i = 0; i < kCalls; ++i) {
                std::vector<std::vector<double>> all;
                std::string transposed;
                for (int rank = 0; rank < ranks(); ++rank) {
                  const Tensor theirs = input_of(i, rank);
                  all.push_back(Values(i % 3 == 0 ? PartOf(theirs, c.rank()) : theirs));
                  transposed += Bytes(PartOf(theirs, c.rank()));
                }
                const Tensor& result = i % 3 == 2 ? inputs[size_t(i)] : outputs[size_t(i)];
                const bool good = i % 3 == 1 ? Bytes(result) == transposed
                                             : Values(result) == Combined(ReduceOp::kSum, all);
                DTNN_RETURN_IF_ERROR(Expect(good, absl::StrCat("call ", i)));
              }
              return absl::OkStatus();
            }));
}

}  // namespace
}  // namespace dtnn
