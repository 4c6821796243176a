// Frames of which the rest comes later than the question that they answer is there, and a client
// that does not read.

#include "comm/federation/aggregator/roster/roster.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "comm/federation/aggregator/inquiry.h"
#include "comm/federation/testing/federation_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// Takes any frames of its number.
class Question : public Inquiry {
 public:
  explicit Question(uint64_t number) : number_(number) {}
  uint64_t number() const override { return number_; }
  std::optional<size_t> Allowed(int, const FrameHeader& header) override {
    return header.attempt == number_ ? std::optional<size_t>(100) : std::nullopt;
  }
  void Hear(int) override {}
  void Take(int, Frame) override { ++taken_; }
  void Lose(int, const std::string& why) override { lost_ = why; }
  bool over() const override { return false; }
  bool answered(int) const override { return false; }

  int taken() const { return taken_; }
  const std::string& lost() const { return lost_; }

 private:
  const uint64_t number_;
  int taken_ = 0;
  std::string lost_;
};

class RosterTest : public FederationTest {
 protected:
  RosterTest() { Must(roster_.Open(job_)); }

  void TurnUntil(const std::function<bool()>& done) {
    while (!done()) Must(roster_.Turn(Roster::Clock::now() + milliseconds(20)));
  }

  // The only client, once it has said who it is.
  Member& AwaitClient() {
    TurnUntil([this] {
      return roster_.members().size() == 1 && !roster_.members().begin()->second.name.empty();
    });
    return roster_.members().begin()->second;
  }

  // A client sends a frame to this question, the second half of it after the question has become
  // `next`, and loses its connection.
  void AnswerInHalves(const std::shared_ptr<Question>& question,
                      const std::shared_ptr<Question>& next) {
    Bytes frame = ToBytes(
        FrameHeader{.kind = FrameKind::kUpdate, .bytes = 50, .attempt = question->number()});
    frame.resize(frame.size() + 50);
    const auto half = frame.begin() + 40;
    threads_.emplace_back([this, &frame, half] {
      RawClient raw(place_);
      raw.SendHello(GoodHello("one"));
      AwaitSaid("it is asked");
      raw.SendBytes(Bytes(frame.begin(), half));
      AwaitSaid("it is asked no longer");
      raw.SendBytes(Bytes(half, frame.end()));
      while (raw.Next()) {
      }
    });
    Member& member = AwaitClient();
    const uint64_t received = member.channel.bytes_received();
    member.attempt = question;
    Note("it is asked");
    TurnUntil([&] { return member.channel.bytes_received() == received + 40; });
    member.attempt = next;
    Note("it is asked no longer");
    TurnUntil([&] { return roster_.members().empty() || (next && next->taken() > 0); });
    roster_.members().clear();
    JoinAll();
    EXPECT_EQ(question->taken(), 0);
    EXPECT_THAT(said(), HasSubstr("client one has left: answers a question that it has not been "
                                  "asked"));
  }

  const JobSecret job_ = Job();
  const Protector protector_ = Must(Protector::Create({}, kValues));
  const RunNonce nonce_{};
  Roster roster_{options_, protector_, state_, nonce_};
};

TEST_F(RosterTest, TheRestOfAnAnswerToAQuestionThatWasTakenBackEndsItsClient) {
  AnswerInHalves(std::make_shared<Question>(7), nullptr);
}

TEST_F(RosterTest, TheRestOfAnAnswerIsNoAnswerToAnotherQuestion) {
  const auto other = std::make_shared<Question>(8);
  AnswerInHalves(std::make_shared<Question>(7), other);
  EXPECT_EQ(other->taken(), 0);
  EXPECT_THAT(other->lost(), HasSubstr("has not been asked"));
}

// Signs of life behind what it does not read would only take memory.
TEST_F(RosterTest, AClientThatDoesNotReadGetsNoSignsOfLife) {
  constexpr int kFrames = 3;
  options_.timeout = milliseconds(4);  // a sign each millisecond
  std::vector<FrameKind> kinds;        // from the first of the large frames
  threads_.emplace_back([&] {
    RawClient raw(place_);
    raw.SendHello(GoodHello("one"));
    AwaitSaid("it reads");
    while (const std::optional<Frame> frame = raw.Next()) {
      if (frame->header.kind == FrameKind::kUpdate || !kinds.empty()) {
        kinds.push_back(frame->header.kind);
      }
      if (frame->header.kind == FrameKind::kRefusal) break;
    }
  });
  Member& member = AwaitClient();
  for (int i = 0; i < kFrames; ++i) member.channel.Send(FrameKind::kUpdate, 1, 0, Bytes(1 << 24));
  for (int turn = 0; turn < 20; ++turn) {
    Must(roster_.Turn(Roster::Clock::now() + milliseconds(2)));
  }
  EXPECT_FALSE(member.channel.flushed());
  member.channel.Send(FrameKind::kRefusal, 0, 0);
  Note("it reads");
  TurnUntil([this] { return roster_.members().empty(); });
  JoinAll();
  std::vector<FrameKind> expected(kFrames, FrameKind::kUpdate);
  expected.push_back(FrameKind::kRefusal);
  EXPECT_EQ(kinds, expected);
}

}  // namespace
}  // namespace dtnn::federation
