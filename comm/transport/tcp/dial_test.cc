// A door that does not answer at once, in the thread of its caller: whenever the wait asks whether
// it was interrupted, the door does its part. The clock is the test's.

#include "comm/transport/tcp/dial.h"

#include <sys/ioctl.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "comm/transport/meeting/greeting.h"
#include "comm/transport/tcp/plain_stream.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using Clock = Wait::Clock;

constexpr char kPurpose[] = "a test";

const JobSecret& Secret() {
  static const JobSecret& secret = *new JobSecret(*JobSecret::Of(std::string(40, 'a')));
  return secret;
}

// What comes last from the caller when the door is silent for 15 seconds.
enum class Last : uint8_t { kHello, kProof };

class SlowDoor {
 public:
  explicit SlowDoor(Last last) : last_(last), listener_(Must(Listen({"127.0.0.1", 0}))) {}

  Endpoint address() const { return Must(listener_.Local()); }
  // Behind the system's until the silence is over, so that nobody sleeps through it.
  Clock::time_point Now() const {
    return Clock::now() - (silent_ ? std::chrono::seconds(0) : std::chrono::seconds(15));
  }
  int calls() const { return calls_; }

  void Advance() {
    std::optional<Socket> arrived = Must(Accept(listener_));
    if (arrived) {
      ++calls_;
      greeting_.emplace(Greeting{.stream = PlainStream(*std::move(arrived)),
                                 .handshake = Handshake::Answering(Secret(), kPurpose, nullptr)});
      heard_ = 0;
    }
    if (!greeting_ || greeting_->broken || greeting_->handshake.done()) return;
    int bytes = 0;
    ioctl(greeting_->stream->descriptor(), FIONREAD, &bytes);
    if (bytes == 0) return;
    const bool is_last = heard_ == (last_ == Last::kHello ? 0 : 1);
    if (is_last && !std::exchange(silent_, true)) return;
    ++heard_;
    (void)greeting_->Advance();
  }

 private:
  const Last last_;
  const Socket listener_;
  std::optional<Greeting> greeting_;
  int calls_ = 0, heard_ = 0;  // messages of this call
  bool silent_ = false;
};

// The calls that a caller makes.
int CallsOf(Last last) {
  SlowDoor door(last);
  CommunicatorOptions options;
  options.timeout = std::chrono::seconds(60);
  options.interrupted = [&] {
    door.Advance();
    return false;
  };
  Wait wait(options, [&] { return door.Now(); });
  const absl::StatusOr<Link> link =
      Dial({.address = door.address(), .purpose = kPurpose, .who = "rank 1", .door = "rank 0"},
           Secret(), wait);
  EXPECT_TRUE(link.ok()) << link.status();
  return door.calls();
}

TEST(DialTest, ADoorThatIsSilentIsCalledAgain) { EXPECT_EQ(CallsOf(Last::kHello), 2); }

// It would be refused, for the door has recognised it.
TEST(DialTest, ButNotOnceTheCallerHasProvedItself) { EXPECT_EQ(CallsOf(Last::kProof), 1); }

}  // namespace
}  // namespace dtnn
