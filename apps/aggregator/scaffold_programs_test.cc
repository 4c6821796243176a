// Control variates of clients and of the aggregator, as programs: they come back with either.

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "apps/aggregator/testing/federation_programs.h"
#include "apps/testing/process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::Outcome;
using Flags = std::vector<std::string>;

class ScaffoldProgramsTest : public testing::FederationPrograms {
 protected:
  Flags OfClient(const std::string& folder) const {
    Flags flags = {"--optimizer-momentum=0"};
    if (folder.empty()) return flags;
    flags.push_back("--checkpoint-dir=" + folder_ + "/" + folder);
    flags.push_back("--resume=if-there");
    return flags;
  }
};

// A client, and then the aggregator, are killed; the bits are those of rounds that nothing has
// stopped. Without its file the client begins with another control variate.
TEST_F(ScaffoldProgramsTest, ControlVariatesComeBack) {
  std::mt19937_64 random(20261128);
  const auto train = [&](Kills kills, const Flags& of_first) {
    kills.pause = std::chrono::microseconds(random() % 50'000);
    return TrainTwo(kills, {"--strategy=scaffold"}, of_first, OfClient(""));
  };
  const std::vector<float> whole = train({}, OfClient(""));
  ASSERT_GT(whole.size(), 10000u);
  EXPECT_EQ(Parameters("client-2.npz"), whole);
  EXPECT_EQ(train({.client = true}, OfClient("first")), whole);
  EXPECT_EQ(train({.aggregator = true}, OfClient("second")), whole);
  EXPECT_NE(train({.client = true}, OfClient("")), whole);
}

TEST_F(ScaffoldProgramsTest, OtherOptimizersThanPlainSgdEndTheClient) {
  const auto aggregator = Aggregator({"--rounds=1", "--min-clients=1", "--strategy=scaffold"});
  const Outcome outcome = Client(1, {"--optimizer=adam"})->Wait();
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.text, HasSubstr("the aggregator has control variates (scaffold), whose "
                                      "formula is that of plain SGD; train with --optimizer=sgd "
                                      "and --optimizer-momentum=0"));
  ExpectGood(*Client(1, OfClient("")));
  ExpectGood(*aggregator);
}

}  // namespace
}  // namespace dtnn
