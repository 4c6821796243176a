// Updates that are sent in part, as programs: what was not sent comes back with its client.

#include <string>
#include <vector>

#include "apps/aggregator/testing/federation_programs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using Flags = std::vector<std::string>;

class CompressionProgramsTest : public testing::FederationPrograms {
 protected:
  Flags OfClient(const std::string& folder) const {
    if (folder.empty()) return {};
    return {"--checkpoint-dir=" + folder_ + "/" + folder, "--resume=if-there"};
  }
};

// A client, and then the aggregator, are killed; the bits are those of rounds that nothing has
// stopped. Without its file the client owes nothing.
TEST_F(CompressionProgramsTest, WhatWasNotSentComesBack) {
  const auto train = [&](const Kills& kills, const Flags& of_first) {
    std::string said;
    const std::vector<float> ends =
        TrainTwo(kills, {"--update-compression=top-k:0.02"}, of_first, OfClient(""), &said);
    if (kills.client && !of_first.empty()) {
      EXPECT_THAT(said, HasSubstr("unsent-updates.npz has of updates that were not sent"));
    }
    return ends;
  };
  const std::vector<float> whole = train({}, OfClient(""));
  ASSERT_GT(whole.size(), 10000u);
  EXPECT_EQ(Parameters("client-2.npz"), whole);
  EXPECT_EQ(train({.client = true}, OfClient("first")), whole);
  EXPECT_EQ(train({.aggregator = true}, OfClient("second")), whole);
  EXPECT_NE(train({.client = true}, OfClient("")), whole);
  EXPECT_EQ(train({}, OfClient("first")), whole) << "a new federation owes nothing";
}

}  // namespace
}  // namespace dtnn
