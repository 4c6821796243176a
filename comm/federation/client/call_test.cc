#include "comm/federation/client/call.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/federation/agreed.h"
#include "comm/transport/meeting/stream_door.h"
#include "comm/transport/tcp/plain_stream.h"
#include "comm/transport/tcp/socket.h"
#include "comm/transport/tcp/tcp_listener.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const JobSecret& Job() {
  static const JobSecret secret = Must(JobSecret::Of(std::string(40, 'a')));
  return secret;
}

// An aggregator's door that recognises some callers. All others connect, and hear nothing.
class CallTest : public ::testing::Test {
 protected:
  CallTest() {
    Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
    options_.place.address = Must(listener.Local());
    options_.timeout = milliseconds(500);
    door_ = std::make_unique<StreamDoor>(Job(), std::string(kAggregatorPurpose),
                                         TcpListener(std::move(listener), nullptr));
  }

  // What becomes of calls whose talks end so, one after another; after the last one the door hears
  // nobody. On a busy machine the time may be over before the last talk; then, and where the last
  // one is not `early` but should be, all begins anew, a few times.
  absl::Status Call(const std::vector<absl::Status>& talks, bool early = false) {
    for (int tries = 0; tries < 100; ++tries) {
      const auto begin = std::chrono::steady_clock::now();
      bool late = false;
      talks_ = 0;
      std::atomic<bool> over = false;
      std::thread door([&] { Hear(talks.size(), over); });
      const absl::Status status = CallUntilDone(options_, Job(), [&](const Link&) {
        late = std::chrono::steady_clock::now() - begin > options_.timeout / 2;
        return talks.at(talks_++);
      });
      over = true;
      door.join();
      if (talks_ == talks.size() && !(early && late)) return status;
    }
    return absl::InternalError("no call came to its last talk in time");
  }
  void Hear(size_t callers, const std::atomic<bool>& over) {
    while (callers > 0 && !over) {
      std::vector<pollfd> polled;
      door_->AddTo(polled);
      poll(polled.data(), polled.size(), 10);
      callers -= Must(door_->Advance(polled, Door::Clock::now())).size();
    }
  }

  CallOptions options_;
  std::unique_ptr<StreamDoor> door_;
  size_t talks_ = 0;
};

TEST_F(CallTest, ATalkThatSucceedsIsTheLast) {
  options_.timeout = std::chrono::seconds(60);
  EXPECT_EQ(Call({absl::UnavailableError("broke"), absl::OutOfRangeError("closed"),
                  absl::AbortedError("full"), absl::OkStatus()}),
            absl::OkStatus());
}

TEST_F(CallTest, AnErrorThatIsNotOfTheConnectionIsTheLast) {
  options_.timeout = std::chrono::seconds(60);
  const absl::Status status = Call({absl::AbortedError("full"), absl::DataLossError("nonsense")});
  EXPECT_EQ(status, absl::DataLossError("the aggregator at " + options_.place.address.ToString() +
                                        ": nonsense"));
}

// The time is over while a later call is on its way.
TEST_F(CallTest, TheLastAnswerOutlivesTheCallThatTheDeadlineEnds) {
  const absl::Status status =
      Call({absl::AbortedError("full"), absl::AbortedError("no such key")}, /*early=*/true);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  const std::string message(status.message());
  EXPECT_THAT(message,
              AllOf(HasSubstr("the last answer: no such key; since then: this client has waited "),
                    Not(HasSubstr("full"))));
}

TEST_F(CallTest, TheLastAnswerOutlivesConnectionsThatBreak) {
  const absl::Status status =
      Call({absl::AbortedError("no such key"), absl::UnavailableError("broke")});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the last answer: no such key; since then"));
}

TEST_F(CallTest, WithoutAnAnswerTheCallItselfIsTheTrouble) {
  const absl::Status status = Call({absl::UnavailableError("broke")});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("the last answer")));
}

TEST_F(CallTest, TheTroubleOfTheLastTalkIsSaidWhereTheTimeEndsInThePauseAfterIt) {
  options_.timeout = milliseconds(40);  // less than a pause
  for (const absl::Status& talk : {absl::AbortedError("full"), absl::UnavailableError("broke")}) {
    const absl::Status status = Call({talk});
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                EndsWith(" to answer; " + std::string(talk.message())));
  }
}

// A client may have less time than an answer may take.
TEST_F(CallTest, AnAnswerThatDoesNotComeIsOfTheConnection) {
  std::array<int, 2> pair;
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
  const Socket other(pair[1]);
  Channel channel(PlainStream(Socket(pair[0])), "there");
  options_.timeout = milliseconds(20);
  EXPECT_EQ(AwaitAnswer(options_, channel, [] { return false; }),
            absl::UnavailableError("it does not answer"));
}

}  // namespace
}  // namespace dtnn::federation
