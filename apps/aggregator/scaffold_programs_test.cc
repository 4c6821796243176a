// Control variates of clients and of the aggregator, as programs: they come back with either.

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
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
using testing::Process;
using Flags = std::vector<std::string>;

class ScaffoldProgramsTest : public testing::FederationPrograms {
 protected:
  static void ExpectGood(Process& process) {
    const Outcome outcome = process.Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  }
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
  const auto train = [&](bool kills_client, bool kills_aggregator, const Flags& of_first) {
    std::filesystem::remove_all(folder_ + "/state");
    const Flags options = {"--rounds=12", "--min-clients=2", "--strategy=scaffold",
                           "--checkpoint-dir=" + folder_ + "/state", "--resume=if-there"};
    auto aggregator = Aggregator(options);
    auto one = Client(1, of_first);
    const auto two = Client(2, OfClient(""));
    if (kills_client) {
      EXPECT_TRUE(one->ReadUntil("**** Round 3 of 12...")) << one->text();
      usleep(useconds_t(random() % 50'000));
      one->Signal(SIGKILL);
      one->Wait();
      one = Client(1, of_first);
    }
    if (kills_aggregator) {
      EXPECT_TRUE(aggregator->ReadUntil("**** Round 7: "));
      aggregator->Signal(SIGKILL);
      aggregator->Wait();
      aggregator = Aggregator(options);
    }
    for (Process* process : {one.get(), two.get(), aggregator.get()}) ExpectGood(*process);
    return Parameters("client-1.npz");
  };
  const std::vector<float> whole = train(false, false, OfClient(""));
  ASSERT_GT(whole.size(), 10000u);
  EXPECT_EQ(Parameters("client-2.npz"), whole);
  EXPECT_EQ(train(true, false, OfClient("first")), whole);
  EXPECT_EQ(train(false, true, OfClient("second")), whole);
  EXPECT_NE(train(true, false, OfClient("")), whole);
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
