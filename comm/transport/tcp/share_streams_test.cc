#include "comm/transport/tcp/share_streams.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/transport/shared/handover.h"
#include "comm/transport/tcp/plain_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tools/testing/forbid_call.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StreamWait Waiting() {
  CommunicatorOptions options;
  options.timeout = std::chrono::seconds(60);
  return {options, "the test", [] { return std::string(); }};
}

// Connected ranks of one host.
std::vector<Mesh> Ranks(int size) {
  std::vector<Mesh> ranks(static_cast<size_t>(size));
  for (int rank = 0; rank < size; ++rank) {
    Mesh& mesh = ranks[size_t(rank)];
    mesh.place = {.rank = rank, .size = size};
    mesh.links.resize(size_t(size));
    for (int lower = 0; lower < rank; ++lower) {
      std::array<int, 2> ends;
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data());
      mesh.links[size_t(lower)] = {PlainStream(Socket(ends[0])), "below"};
      ranks[size_t(lower)].links[size_t(rank)] = {PlainStream(Socket(ends[1])), "above"};
    }
  }
  return ranks;
}

absl::StatusOr<SharingTrouble> Share(Mesh& mesh, const std::vector<int>& others) {
  StreamWait wait = Waiting();
  return ShareStreams(others, mesh, wait);
}

// Both ends of a link carry bytes; whether they are shared.
bool IsShared(std::vector<Mesh>& ranks, size_t one, size_t two) {
  Stream& from = *ranks[one].links[two].stream;
  Stream& to = *ranks[two].links[one].stream;
  EXPECT_EQ(from.unpolled() == nullptr, to.unpolled() == nullptr);
  const std::string text = "hello";
  std::string got = ".....";
  const std::span<const std::byte> range = std::as_bytes(std::span(text));
  EXPECT_EQ(Must(from.Write({&range, 1})), 5);
  EXPECT_EQ(Must(to.Read(std::as_writable_bytes(std::span(got)))), 5);
  EXPECT_EQ(got, text);
  return from.unpolled() != nullptr;
}

TEST(ShareStreamsTest, AllPairsShare) {
  for (const int size : {1, 2, 3, 5}) {
    std::vector<Mesh> ranks = Ranks(size);
    std::vector<std::thread> threads;
    for (Mesh& mesh : ranks) {
      threads.emplace_back([&mesh, size] {
        std::vector<int> others;
        for (int rank = 0; rank < size; ++rank) {
          if (rank != mesh.place.rank) others.push_back(rank);
        }
        EXPECT_THAT(Must(Share(mesh, others)).ranks, IsEmpty());
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t one = 0; one < ranks.size(); ++one) {
      for (size_t two = 0; two < ranks.size(); ++two) {
        if (one == two) continue;
        EXPECT_TRUE(IsShared(ranks, one, two));
      }
    }
  }
}

TEST(ShareStreamsTest, OtherStreamsStayAsTheyAre) {
  std::vector<Mesh> ranks = Ranks(3);
  std::thread other([&] { EXPECT_THAT(Must(Share(ranks[2], {0})).ranks, IsEmpty()); });
  EXPECT_THAT(Must(Share(ranks[0], {2})).ranks, IsEmpty());
  other.join();
  EXPECT_TRUE(IsShared(ranks, 0, 2));
  EXPECT_FALSE(IsShared(ranks, 0, 1));
  EXPECT_FALSE(IsShared(ranks, 1, 2));
}

// One of the two cannot make the memory, or not take it.
TEST(ShareStreamsTest, WhereTheSystemRefusesBothKeepTheirStream) {
  for (const bool make : {false, true}) {
    std::vector<Mesh> ranks = Ranks(2);
    absl::StatusOr<SharingTrouble> lower, higher;
    std::thread one([&] {
      ASSERT_TRUE(!make || testing::ForbidCall(SYS_memfd_create));
      lower = Share(ranks[0], {1});
    });
    std::thread two([&] {
      ASSERT_TRUE(make || testing::ForbidCall(SYS_socket));
      higher = Share(ranks[1], {0});
    });
    one.join();
    two.join();
    EXPECT_THAT(Must(lower).ranks, ElementsAre(1));
    EXPECT_EQ(lower->why, make ? "cannot make shared memory: Operation not permitted"
                               : "it cannot take shared memory");
    EXPECT_THAT(Must(higher).ranks, ElementsAre(0));
    EXPECT_EQ(higher->why, make ? "it cannot make shared memory for both"
                                : "cannot open a Unix socket: Operation not permitted");
    EXPECT_FALSE(IsShared(ranks, 0, 1));
    EXPECT_FALSE(IsShared(ranks, 1, 0));
  }
}

// The other rank, of which a test says all bytes.
class PlayedTest : public ::testing::Test {
 protected:
  void Say(size_t as, const void* bytes, size_t count) {
    EXPECT_EQ(Must(StreamOf(as).Write(
                  std::array{std::span(static_cast<const std::byte*>(bytes), count)})),
              count);
  }
  template <typename T>
  void Say(size_t as, const T& message) {
    Say(as, &message, sizeof(message));
  }
  template <typename T>
  T Hear(size_t as) {
    T message;
    StreamWait wait = Waiting();
    EXPECT_EQ(wait.Read(StreamOf(as), std::as_writable_bytes(std::span(&message, 1)), "a message"),
              absl::OkStatus());
    return message;
  }
  Stream& StreamOf(size_t as) { return *ranks_[as].links[1 - as].stream; }

  std::vector<Mesh> ranks_ = Ranks(2);
};

constexpr uint8_t kNo = 0, kYes = 1;

// As on another host that has the same network space.
TEST_F(PlayedTest, AnInvitationThatLeadsNowhereIsDeclined) {
  Say(1, Invitation{.name = {1, 2}, .token = {3, 4}});
  EXPECT_EQ(Must(Share(ranks_[0], {1})).why, "cannot send shared memory: Connection refused");
  EXPECT_EQ(Hear<uint8_t>(1), kNo);
  EXPECT_FALSE(IsShared(ranks_, 0, 1));
}

TEST_F(PlayedTest, MemoryThatIsPromisedAndNotSentIsNotUsed) {
  Say(0, kYes);
  EXPECT_EQ(Must(Share(ranks_[1], {0})).why,
            "cannot receive shared memory: Resource temporarily unavailable");
  EXPECT_FALSE(Hear<Invitation>(0).empty());
  EXPECT_EQ(Hear<uint8_t>(0), kNo);
  EXPECT_FALSE(IsShared(ranks_, 0, 1));
}

TEST_F(PlayedTest, MemoryThatTheOtherRankDoesNotTakeIsNotUsed) {
  Inbox inbox = Must(Inbox::Create());
  Say(1, inbox.invitation());
  Say(1, kNo);
  EXPECT_EQ(Must(Share(ranks_[0], {1})).why, "it cannot take shared memory");
  EXPECT_EQ(Hear<uint8_t>(1), kYes);
  EXPECT_FALSE(IsShared(ranks_, 0, 1));
}

TEST_F(PlayedTest, AnswersThatNoRankGivesMeanNo) {
  Say(0, uint8_t{200});
  EXPECT_THAT(Must(Share(ranks_[1], {0})).ranks, ElementsAre(0));
  EXPECT_FALSE(Hear<Invitation>(0).empty());
  EXPECT_FALSE(IsShared(ranks_, 0, 1));
}

TEST_F(PlayedTest, ARankThatEndsMeanwhileIsNamed) {
  for (const size_t left : {0, 1}) {
    ranks_ = Ranks(2);
    ranks_[1 - left].links[left].stream = nullptr;
    const absl::Status status = Share(ranks_[left], {int(1 - left)}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()), HasSubstr("rank " + std::to_string(1 - left)));
  }
}

}  // namespace
}  // namespace dtnn
