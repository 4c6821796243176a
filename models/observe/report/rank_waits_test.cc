#include "models/observe/report/rank_waits.h"

#include <vector>

#include "comm/local.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/observe/report/testing/page_checker.h"
#include "models/testing/training_session.h"

namespace dtnn {
namespace {

using ::dtnn::testing::CheckedPage;
using ::dtnn::testing::CheckFragment;
using ::dtnn::testing::NumbersOf;
using ::dtnn::testing::PatternMlp;
using ::dtnn::testing::SessionOptions;
using ::dtnn::testing::TrainingSession;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RankWaitsTest, AllRanksKnowWhatEachHasWaited) {
  std::vector<RankWait> expected(2), found;
  const absl::Status status = RunRanks(2, [&](Communicator& communicator) {
    const size_t rank = size_t(communicator.rank());
    SessionOptions setup;
    setup.training.communicator = &communicator;
    setup.loading.rank = communicator.rank();
    setup.loading.ranks = 2;
    TrainingSession session(PatternMlp(), setup);
    RankWaits waits(*session.trainer, communicator);
    const absl::Status trained = session.Train(2, {&waits});
    expected[rank] = {session.trainer->totals().waited_seconds,
                      session.trainer->totals().training_seconds};
    if (rank == 0) found = waits.ranks();
    return trained;
  });
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(found.size(), 2u);
  for (size_t rank = 0; rank < 2; ++rank) {
    EXPECT_GT(found[rank].seconds, 0) << rank;
    EXPECT_EQ(found[rank].waited, expected[rank].waited) << rank;
    EXPECT_EQ(found[rank].seconds, expected[rank].seconds) << rank;
  }
}

TEST(RankWaitsTest, EachRankHasABarAndARow) {
  const std::vector<RankWait> ranks = {{1, 10}, {2.5, 10}};
  const CheckedPage page = CheckFragment(FormatRankWaits(ranks));
  EXPECT_THAT(page.problems, IsEmpty());
  const auto rows = NumbersOf(*page.root.All("table")[0]);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1][1], 10);
  EXPECT_EQ(rows[1][2], 2.5);
  EXPECT_THAT(page.root.text, HasSubstr("25.0 %"));
}

TEST(RankWaitsTest, OfManyRanksThoseThatWaitLongestAreDrawn) {
  std::vector<RankWait> ranks(64, {1, 10});
  ranks[63].waited = 9;
  const CheckedPage page = CheckFragment(FormatRankWaits(ranks));
  EXPECT_THAT(page.problems, IsEmpty());
  EXPECT_THAT(page.root.text, HasSubstr("The 40 of 64 ranks that wait longest."));
  EXPECT_THAT(page.root.text, HasSubstr("rank 63"));
  EXPECT_EQ(NumbersOf(*page.root.All("table")[0]).size(), 64u);
}

}  // namespace
}  // namespace dtnn
