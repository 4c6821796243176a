#include "models/run/parts/same_options.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "comm/local.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

// What each of the ranks says.
std::vector<std::string> Compare(const std::vector<RunOptions>& options) {
  std::vector<std::string> answers(options.size());
  EXPECT_EQ(absl::OkStatus(), RunRanks(int(options.size()), [&](Communicator& communicator) {
              const size_t rank = size_t(communicator.rank());
              answers[rank] = std::string(CompareOptions(communicator, options[rank]).message());
              return absl::OkStatus();
            }));
  return answers;
}

TEST(SameOptionsTest, TheRankThatDiffersNamesTheMember) {
  RunOptions other;
  other.optimizer.learning_rate = 0.5;
  const std::vector<std::string> answers = Compare({RunOptions(), RunOptions(), other});
  EXPECT_EQ(answers[0], "");
  EXPECT_EQ(answers[1], "");
  EXPECT_THAT(answers[2], HasSubstr("RunOptions::optimizer.learning_rate=0.5: "));
}

TEST(SameOptionsTest, FilesMayDifferWhereEachRankHasItsOwn) {
  RunOptions one, two;
  one.data.path = "/a";
  two.data.path = "/b";
  EXPECT_THAT(Compare({one, two})[1], HasSubstr("RunOptions::data.path=/b"));
  one.ranks.shared_storage = two.ranks.shared_storage = false;
  EXPECT_EQ(Compare({one, two})[1], "");
  two.training.seed += 1;
  EXPECT_THAT(Compare({one, two})[1], HasSubstr("RunOptions::training.seed="));
}

}  // namespace
}  // namespace dtnn
