#include "apps/launcher/same_flags.h"

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
std::vector<std::string> Compare(const std::vector<Options>& options) {
  std::vector<std::string> answers(options.size());
  EXPECT_EQ(absl::OkStatus(), RunRanks(int(options.size()), [&](Communicator& communicator) {
              const size_t rank = size_t(communicator.rank());
              answers[rank] = std::string(CompareFlags(communicator, options[rank]).message());
              return absl::OkStatus();
            }));
  return answers;
}

TEST(SameFlagsTest, TheRankThatDiffersNamesTheOption) {
  Options other;
  other.optimizer.learning_rate = 0.5;
  const std::vector<std::string> answers = Compare({Options(), Options(), other});
  EXPECT_EQ(answers[0], "");
  EXPECT_EQ(answers[1], "");
  EXPECT_THAT(answers[2], HasSubstr("--learning-rate=0.5: "));
}

TEST(SameFlagsTest, FilesMayDifferWhereEachRankHasItsOwn) {
  Options one, two;
  one.data.path = "/a";
  two.data.path = "/b";
  EXPECT_THAT(Compare({one, two})[1], HasSubstr("--dataset-path=/b"));
  one.ranks.shared_storage = two.ranks.shared_storage = false;
  EXPECT_EQ(Compare({one, two})[1], "");
  two.training.seed += 1;
  EXPECT_THAT(Compare({one, two})[1], HasSubstr("--random-seed="));
}

}  // namespace
}  // namespace dtnn
