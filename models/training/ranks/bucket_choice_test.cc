#include "models/training/ranks/bucket_choice.h"

#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "comm/all_reduce_algorithm.h"
#include "comm/local.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr int64_t kElements = 4 << 20;  // 16 MiB

// What each rank chooses, after steps in which gradients become final evenly.
std::vector<int64_t> Choices(double backward_seconds, bool one_has_no_samples = false,
                             int64_t elements = kElements, int ranks = 3) {
  std::vector<int64_t> choices(size_t(ranks), 0);
  EXPECT_EQ(absl::OkStatus(), RunRanks(ranks, [&](Communicator& communicator) {
              const int rank = communicator.rank();
              BucketChoice choice(DType::kFloat32, elements, /*blocking=*/false, /*wire=*/{});
              for (int step = 0; !choice.complete(); ++step) {
                const double seconds =
                    step < BucketChoice::kWarmUp ? 1e9 : backward_seconds * (1 + rank + step % 2);
                std::vector<StepProfile::Event> ready;
                constexpr int kEvents = 16;
                for (int e = 1; e <= kEvents && !(one_has_no_samples && rank == 1); ++e) {
                  ready.push_back({elements - elements * e / kEvents, seconds * e / kEvents});
                }
                choice.Add(ready, seconds, 0);
              }
              const absl::StatusOr<int64_t> chosen = choice.Choose(communicator);
              if (chosen.ok()) choices[size_t(rank)] = *chosen;
              return chosen.status();
            }));
  return choices;
}

TEST(BucketChoiceTest, AllRanksChooseAlikeByTheirStepsAndTheNetwork) {
  // Steps beside which no exchange counts: one all-reduce will do.
  EXPECT_EQ(Choices(/*backward_seconds=*/1e4), std::vector<int64_t>(3, 16 << 20));
  for (const double seconds : {1e-2, 1e-6}) {
    const std::vector<int64_t> choices = Choices(seconds);
    EXPECT_EQ(choices, std::vector<int64_t>(3, choices[0]));
    EXPECT_GE(choices[0], 64 << 10);
    EXPECT_LE(choices[0], 16 << 20);
  }
}

TEST(BucketChoiceTest, ARankWithoutSamplesChoosesWithTheOthers) {
  const std::vector<int64_t> choices = Choices(100, /*one_has_no_samples=*/true);
  EXPECT_EQ(choices, std::vector<int64_t>(3, choices[0]));
}

TEST(BucketChoiceTest, SmallGradientsAreNotWorthTheMeasurement) {
  EXPECT_EQ(Choices(1, false, /*elements=*/1000),
            std::vector<int64_t>(3, BucketChoice::kFirstBytes));
}

// The arena ends at its begin with a piece of 16 elements, which 17 ranks would sum differently.
TEST(BucketChoiceTest, WhereTheLastBucketMayBeShorterThanTheRanksTheSizeStays) {
  constexpr int64_t kPieces = 2 * (64 << 10) / int64_t(sizeof(float));
  for (const auto& [ranks, chosen] :
       {std::pair(17, BucketChoice::kFirstBytes), {16, int64_t{256} << 10}}) {
    EXPECT_EQ(Choices(/*backward_seconds=*/1e4, false, kPieces + 16, ranks),
              std::vector<int64_t>(size_t(ranks), chosen));
  }
}

TEST(BucketChoiceTest, WhereTheUserHasSetOpenMpisAlgorithmTheSizeStays) {
  for (const auto& [value, chosen] :
       {std::pair("2", BucketChoice::kFirstBytes), {kMpiAlgorithm, int64_t{16} << 20}}) {
    setenv(kMpiAlgorithmVariable, value, /*overwrite=*/1);
    EXPECT_EQ(Choices(/*backward_seconds=*/1e4), std::vector<int64_t>(3, chosen)) << value;
  }
  unsetenv(kMpiAlgorithmVariable);
}

}  // namespace
}  // namespace dtnn
