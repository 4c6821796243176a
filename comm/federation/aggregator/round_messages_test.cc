#include "comm/federation/aggregator/round_messages.h"

#include <chrono>

#include "comm/federation/aggregator/roster/roster.h"
#include "comm/federation/testing/federation_fixture.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;

class RoundMessagesTest : public FederationTest {
 protected:
  RoundMessagesTest() { Must(roster_.Open(job_)); }

  void AwaitClient() {
    while (roster_.members().empty() || roster_.members().begin()->second.name.empty()) {
      Must(roster_.Turn(Roster::Clock::now() + milliseconds(20)));
    }
  }

  const JobSecret job_ = Job();
  const Protector protector_ = Must(Protector::Create({}, kValues));
  const RunNonce nonce_{};
  Roster roster_{options_, protector_, state_, nonce_};
};

// The system takes signs of life in its place.
TEST_F(RoundMessagesTest, NobodyWaitsForOneThatReadsNothing) {
  options_.timeout = milliseconds(4000);  // a sign of life each second
  options_.deadline = std::chrono::hours(1);
  state_.parameters.resize(1000);  // few enough for the system's buffers
  const auto end = Roster::Clock::now() + std::chrono::seconds(40);
  options_.interrupted = [end] { return Roster::Clock::now() > end; };
  threads_.emplace_back([this] {
    RawClient frozen(place_);
    frozen.SendHello(GoodHello("frozen"));
    AwaitSaid("all is over");
  });
  AwaitClient();
  EXPECT_EQ(SendTheEnd(options_, 1, state_, roster_), absl::OkStatus());
  EXPECT_EQ(roster_.members().size(), 1u) << "it has not left";
  Note("all is over");
}

}  // namespace
}  // namespace dtnn::federation
