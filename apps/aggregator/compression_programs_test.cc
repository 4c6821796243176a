// Updates that are sent in part, as programs: what was not sent comes back with its client.

#include <signal.h>

#include <filesystem>
#include <memory>
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

class CompressionProgramsTest : public testing::FederationPrograms {
 protected:
  static void ExpectGood(Process& process) {
    const Outcome outcome = process.Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  }
  Flags OfClient(const std::string& folder) const {
    if (folder.empty()) return {};
    return {"--checkpoint-dir=" + folder_ + "/" + folder, "--resume=if-there"};
  }
};

// A client, and then the aggregator, are killed; the bits are those of rounds that nothing has
// stopped. Without its file the client owes nothing.
TEST_F(CompressionProgramsTest, WhatWasNotSentComesBack) {
  const auto train = [&](bool kills_client, bool kills_aggregator, const Flags& of_first) {
    std::filesystem::remove_all(folder_ + "/state");
    const Flags options = {"--rounds=12", "--min-clients=2", "--update-compression=top-k:0.02",
                           "--checkpoint-dir=" + folder_ + "/state", "--resume=if-there"};
    auto aggregator = Aggregator(options);
    auto one = Client(1, of_first);
    const auto two = Client(2, OfClient(""));
    if (kills_client) {
      EXPECT_TRUE(one->ReadUntil("**** Round 3 of 12...")) << one->text();
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
    if (kills_client && !of_first.empty()) {
      EXPECT_THAT(one->text(), HasSubstr("unsent-updates.npz has of updates that were not sent"));
    }
    return Parameters("client-1.npz");
  };
  const std::vector<float> whole = train(false, false, OfClient(""));
  ASSERT_GT(whole.size(), 10000u);
  EXPECT_EQ(Parameters("client-2.npz"), whole);
  EXPECT_EQ(train(true, false, OfClient("first")), whole);
  EXPECT_EQ(train(false, true, OfClient("second")), whole);
  EXPECT_NE(train(true, false, OfClient("")), whole);
  EXPECT_EQ(train(false, false, OfClient("first")), whole) << "a new federation owes nothing";
}

}  // namespace
}  // namespace dtnn
