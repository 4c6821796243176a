#include "comm/federation/aggregator/asked.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

std::string Named(std::string_view text) {
  const std::vector<Asked> asked = {{.name = "north"}, {.name = "south-2"}, {.name = "7"}};
  return WithNames(text, asked);
}

TEST(AskedTest, ClientsHaveTheNamesThatTheLogGivesThem) {
  EXPECT_EQ(Named("client 1 speaks for client 0"), "client south-2 speaks for client north");
  EXPECT_EQ(Named("wrong shares of client 0: among 3 shares"),
            "wrong shares of client north: among 3 shares");
  EXPECT_EQ(Named("chunk 1 of round 2, client 2"), "chunk 1 of round 2, client 7") << "once";
}

TEST(AskedTest, WhatIsNoPositionStays) {
  for (const std::string text :
       {"", "client ", "client", "client 3", "client -1", "client 1st", "client 1-b",
        "client south", "only 1 of 2 clients 1", "client 99999999999999999999"}) {
    EXPECT_EQ(Named(text), text);
  }
}

TEST(AskedTest, AStatusKeepsItsCode) {
  const std::vector<Asked> asked = {{.name = "north"}};
  EXPECT_EQ(WithNames(absl::OkStatus(), asked), absl::OkStatus());
  EXPECT_EQ(WithNames(absl::DataLossError("client 0 lies"), asked),
            absl::DataLossError("client north lies"));
}

TEST(AskedTest, SoDoReasons) {
  const std::vector<Asked> asked = {{.name = "north"}, {.name = "south", .why = "client 0 lies"}};
  const std::vector<Asked> named = WithNames(asked);
  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(named[0].why, "");
  EXPECT_EQ(named[1].why, "client north lies");
}

}  // namespace
}  // namespace dtnn::federation
