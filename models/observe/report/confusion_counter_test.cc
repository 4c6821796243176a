#include "models/observe/report/confusion_counter.h"

#include <array>
#include <numeric>
#include <vector>

#include "comm/local.h"
#include "data/loading/loader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/testing/training_session.h"

namespace dtnn {
namespace {

using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::Patterns;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;

// What two ranks count: together, and each alone.
struct Counted {
  Confusion all, own;
};

// `samples`: of the validation.
std::array<Counted, 2> CountWithTwoRanks(size_t samples) {
  std::array<Counted, 2> counted;
  std::vector<int64_t> indices(samples);
  std::iota(indices.begin(), indices.end(), 0);
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    SessionOptions setup;
    setup.validation_split = 0;
    setup.training.communicator = &communicator;
    setup.loading.rank = communicator.rank();
    setup.loading.ranks = 2;
    TrainingSession session(PatternMlp(), setup);
    if (!indices.empty()) {
      session.validation =
          *Loader::Create(Patterns(60), Split::kTest, indices,
                          {.batch = 5, .rank = communicator.rank(), .ranks = communicator.size()});
    }
    ConfusionCounter all(&communicator), own(nullptr);
    const absl::Status trained = session.Train(2, {&all, &own});
    counted[size_t(communicator.rank())] = {all.confusion(), own.confusion()};
    return trained;
  });
  EXPECT_TRUE(status.ok()) << status;
  return counted;
}

TEST(ConfusionCounterTest, AllRanksHaveTheCountsOfAll) {
  const auto [zero, one] = CountWithTwoRanks(12);
  EXPECT_EQ(zero.own.samples() + one.own.samples(), 12) << "in the last epoch only";
  EXPECT_EQ(zero.own.samples(), 6);
  ASSERT_EQ(zero.all.counts.size(), 16u);
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(zero.all.counts[i], zero.own.counts[i] + one.own.counts[i]) << i;
  }
  EXPECT_EQ(one.all.counts, zero.all.counts);
}

TEST(ConfusionCounterTest, WithoutValidationNothingIsCounted) {
  EXPECT_EQ(CountWithTwoRanks(0)[0].all.samples(), 0);
}

}  // namespace
}  // namespace dtnn
