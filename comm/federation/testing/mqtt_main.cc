// The suite with an aggregator that is one more client of a broker.

#include <cstdio>

#include "comm/federation/testing/federation_fixture.h"
#include "comm/transport/mqtt/mqtt_datagrams.h"
#include "comm/transport/mqtt/testing/test_broker.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

// The broker of all tests.
testing::TestBroker& Broker() {
  static testing::TestBroker broker;
  return broker;
}

// What is under way is lost; clients and aggregator find the broker again, and each other.
TEST_F(FederationTest, RoundsGoOnWhenTheBrokerWasGone) {
  options_.rounds = 6;
  options_.timeout = std::chrono::seconds(30);
  options_.round_done = [&](const RoundRecord& record, const FederationState&) {
    records_.push_back(record);
    if (record.round == 2 || record.round == 4) {
      Broker().Kill();
      Broker().Start();
    }
    return absl::OkStatus();
  };
  for (int client = 0; client < 3; ++client) Start(client);
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  JoinAll();
  EXPECT_EQ(records_.size(), 6u);
  EXPECT_THAT(said(), ::testing::HasSubstr("is gone"));
  for (const auto& [client, parameters] : final_) {
    EXPECT_LT(Distance(parameters, Wanted({0, 1, 2}, 6)), 2e-5) << client;
  }
}

}  // namespace
}  // namespace dtnn::federation

int main(int argc, char** argv) {
  using namespace dtnn;
  ::testing::InitGoogleMock(&argc, argv);
  if (!dtnn::testing::HasBroker()) {
    std::puts("skipped: no mosquitto here (./setup.sh --dev installs it)");
    return 0;
  }
  federation::PlaceUnderTest() = [] {
    federation::MeetingPlace place;
    place.address = {.host = "127.0.0.1", .port = federation::Broker().port()};
    place.datagrams = [address = place.address](const JobSecret& secret) {
      return MakeMqttDatagrams({.broker = address}, secret);
    };
    return place;
  };
  return RUN_ALL_TESTS();
}
