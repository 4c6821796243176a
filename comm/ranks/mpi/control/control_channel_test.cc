#include "comm/ranks/mpi/control/control_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

using Kind = ControlMessage::Kind;

ControlChannel::Clock::time_point InAMinute() {
  return ControlChannel::Clock::now() + std::chrono::minutes(1);
}

// What a rank has been sent.
class Inbox {
 public:
  void Add(int from, const ControlMessage& message) {
    std::lock_guard lock(mutex_);
    got_.emplace_back(from, message);
    changed_.notify_all();
  }
  std::pair<int, ControlMessage> Next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return read_ < got_.size(); });
    return got_[read_++];
  }
  size_t size() {
    std::lock_guard lock(mutex_);
    return got_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<int, ControlMessage>> got_;
  size_t read_ = 0;
};

struct Rank {
  Rank() : socket(*ControlSocket::Open(/*loopback_only=*/true)), address(socket.address()) {}
  void Listen(int rank, const std::vector<ControlAddress>& all,
              const ControlChannel::Token& token) {
    channel = std::make_unique<ControlChannel>(
        std::move(socket), rank, all, token,
        [this](int from, const ControlMessage& message) { inbox.Add(from, message); });
    channel->Start();
  }

  ControlSocket socket;
  ControlAddress address;
  Inbox inbox;
  std::unique_ptr<ControlChannel> channel;
};

ControlMessage Message(Kind kind, int64_t calls) {
  ControlMessage message;
  message.kind = kind;
  message.calls = calls;
  return message;
}

TEST(ControlChannelTest, AHelloTellsWhoIsNotReached) {
  Rank a, b, deaf;
  const std::vector<ControlAddress> all = {a.address, b.address, deaf.address};
  const ControlChannel::Token token = ControlChannel::NewToken();
  a.Listen(0, all, token);
  b.Listen(1, all, token);
  const auto soon = [] { return ControlChannel::Clock::now() + std::chrono::milliseconds(300); };
  EXPECT_EQ(a.channel->Greet(soon()), std::vector<int>{2});
  EXPECT_EQ(a.channel->Greet(soon()), std::vector<int>{2}) << "what went before must not count";
  deaf.Listen(2, all, token);
  EXPECT_TRUE(a.channel->Greet(InAMinute()).empty());
  EXPECT_TRUE(deaf.channel->Greet(InAMinute()).empty());
  EXPECT_EQ(b.inbox.size() + deaf.inbox.size(), 0) << "a hello is for channels only";
}

TEST(ControlChannelTest, MessagesArriveAndAreAnswered) {
  Rank a, b;
  const std::vector<ControlAddress> all = {a.address, b.address};
  const ControlChannel::Token token = ControlChannel::NewToken();
  a.Listen(0, all, token);
  b.Listen(1, all, token);
  a.channel->Send(1, Message(Kind::kQuery, 7));
  const auto [from, message] = b.inbox.Next();
  EXPECT_EQ(from, 0);
  EXPECT_EQ(message.kind, Kind::kQuery);
  EXPECT_EQ(message.calls, 7);
  b.channel->Send(0, Message(Kind::kAnswer, 8));
  EXPECT_EQ(a.inbox.Next().second.calls, 8);
}

TEST(ControlChannelTest, WhatMustBeHeardIsRepeatedUntilItIs) {
  Rank a, b;
  const std::vector<ControlAddress> all = {a.address, b.address};
  const ControlChannel::Token token = ControlChannel::NewToken();
  a.Listen(0, all, token);
  a.channel->Send(1, Message(Kind::kAbort, 1));
  // Nobody is there to hear it.
  const auto begin = ControlChannel::Clock::now();
  a.channel->Flush(begin + std::chrono::milliseconds(100));
  EXPECT_GE(ControlChannel::Clock::now(), begin + std::chrono::milliseconds(100));
  // The first datagrams are lost.
  char lost[1];
  while (recv(b.socket.descriptor(), lost, sizeof(lost), MSG_DONTWAIT) >= 0) continue;
  b.Listen(1, all, token);
  EXPECT_EQ(b.inbox.Next().second.kind, Kind::kAbort);
  a.channel->Flush(InAMinute());
  EXPECT_LT(ControlChannel::Clock::now(), begin + std::chrono::seconds(30));
}

// Its thread waits without end until there is something to repeat. Several times, since the thread
// may see by chance what it was not woken for.
TEST(ControlChannelTest, AChannelThatWaitsIsWokenToRepeat) {
  for (int i = 0; i < 5; ++i) {
    Rank a, b, c;
    const std::vector<ControlAddress> all = {a.address, b.address, c.address};
    const ControlChannel::Token token = ControlChannel::NewToken();
    a.Listen(0, all, token);
    c.Listen(2, all, token);
    for (int turn = 0; turn < 3; ++turn) {  // after which both have their threads
      a.channel->Send(2, Message(Kind::kQuery, turn));
      EXPECT_EQ(c.inbox.Next().second.calls, turn);
      c.channel->Send(0, Message(Kind::kAnswer, turn));
      EXPECT_EQ(a.inbox.Next().second.calls, turn);
    }
    a.channel->Send(1, Message(Kind::kAbort, 1));
    for (int datagram = 0; datagram < 3; ++datagram) {  // which nobody answers
      pollfd socket = {b.socket.descriptor(), POLLIN, 0};
      ASSERT_EQ(poll(&socket, 1, 10'000), 1) << datagram << " in round " << i;
      char lost[1];
      EXPECT_GE(recv(b.socket.descriptor(), lost, sizeof(lost), MSG_DONTWAIT), 0);
    }
  }
}

TEST(ControlChannelTest, WhatComesBeforeTheStartIsHandledAfterIt) {
  Rank a, b;
  const std::vector<ControlAddress> all = {a.address, b.address};
  const ControlChannel::Token token = ControlChannel::NewToken();
  ControlChannel waiting(
      std::move(b.socket), 1, all, token,
      [&b](int from, const ControlMessage& message) { b.inbox.Add(from, message); });
  a.Listen(0, all, token);
  a.channel->Send(1, Message(Kind::kQuery, 7));
  EXPECT_EQ(b.inbox.size(), 0u);
  waiting.Start();
  EXPECT_EQ(b.inbox.Next().second.calls, 7);
}

// Every message brings the next: the socket is never empty.
TEST(ControlChannelTest, AFloodKeepsTheChannelNeitherFromRepeatingNorFromItsEnd) {
  Rank a, b;
  const std::vector<ControlAddress> all = {a.address, b.address};
  const ControlChannel::Token token = ControlChannel::NewToken();
  std::atomic<int> handled{0};
  ControlChannel* flooded = nullptr;
  ControlChannel channel(std::move(a.socket), 0, all, token,
                         [&](int /*from*/, const ControlMessage& message) {
                           ++handled;
                           flooded->Send(0, message);
                         });
  flooded = &channel;
  channel.Send(0, Message(Kind::kQuery, 1));
  channel.Start();
  while (handled < 1000) std::this_thread::yield();
  // The first datagram is lost.
  channel.Send(1, Message(Kind::kAbort, 1));
  char lost[1];
  recv(b.socket.descriptor(), lost, sizeof(lost), 0);
  b.Listen(1, all, token);
  EXPECT_EQ(b.inbox.Next().second.kind, Kind::kAbort);
}

TEST(ControlChannelTest, MessagesOfUnknownSendersAreIgnored) {
  Rank a, b, unknown;
  const std::vector<ControlAddress> all = {a.address, b.address};
  const ControlChannel::Token token = ControlChannel::NewToken();
  EXPECT_NE(token, ControlChannel::NewToken());
  a.Listen(0, all, token);
  b.Listen(1, all, token);
  unknown.Listen(0, all, ControlChannel::NewToken());
  unknown.channel->Send(1, Message(Kind::kAbort, 1));
  // For rank 1, but sent to rank 0: another host's bridge may have the same address.
  Rank lost;
  lost.Listen(1, {b.address, a.address}, token);
  lost.channel->Send(0, Message(Kind::kQuery, 2));
  a.channel->Send(1, Message(Kind::kQuery, 3));
  EXPECT_EQ(b.inbox.Next().second.calls, 3);
  EXPECT_EQ(b.inbox.size(), 1u);
}

}  // namespace
}  // namespace dtnn
