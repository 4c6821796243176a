#include "comm/transport/shared/shared_stream.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tools/testing/forbid_call.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr size_t kRing = 4096;
// Only a wake-up that is lost takes so long.
constexpr int kLost = 60'000;

absl::StatusOr<size_t> Say(Stream& stream, std::string_view text) {
  const std::span<const std::byte> range = std::as_bytes(std::span(text));
  return stream.Write({&range, 1});
}

std::string Hear(Stream& stream, size_t most = 1 << 20) {
  std::string text(most, '\0');
  const absl::StatusOr<size_t> n = stream.Read(std::as_writable_bytes(std::span(text)));
  return n.ok() ? text.substr(0, *n) : std::string(n.status().message());
}

absl::StatusCode ErrorOf(Stream& stream) {
  std::byte byte;
  return stream.Read({&byte, 1}).status().code();
}

// As an engine does that has nothing else to do.
void Sleep(Stream& stream) {
  if (stream.unpolled()->Watch()) return;
  pollfd descriptor = {stream.descriptor(), POLLIN, 0};
  ASSERT_EQ(poll(&descriptor, 1, kLost), 1) << "a wake-up was lost";
}

// To its end.
std::string HearAll(Stream& stream) {
  std::string heard(100, '\0');
  size_t count = 0;
  while (true) {
    const absl::StatusOr<size_t> n =
        stream.Read(std::as_writable_bytes(std::span(heard)).subspan(count));
    if (!n.ok()) {
      EXPECT_EQ(n.status().code(), absl::StatusCode::kOutOfRange);
      return heard.substr(0, count);
    }
    count += *n;
    if (*n == 0) Sleep(stream);
    if (::testing::Test::HasFatalFailure()) return heard;
  }
}

bool Rings(const Stream& stream) {
  pollfd descriptor = {stream.descriptor(), POLLIN, 0};
  return poll(&descriptor, 1, 0) == 1;
}

class SharedStreamTest : public ::testing::Test {
 protected:
  SharedStreamTest() {
    Descriptor file;
    SharedMemory memory = Must(SharedMemory::Create(file, kRing));
    SharedMemory other = Must(SharedMemory::Open(file, kRing));
    damage_.emplace(Must(SharedMemory::Open(file, kRing)));
    std::array<int, 2> bell;
    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, bell.data());
    one_ = SharedStream({std::move(memory), true, Descriptor(bell[0])}, std::vector<uint8_t>{1});
    two_ = SharedStream({std::move(other), false, Descriptor(bell[1])}, std::vector<uint8_t>{1});
  }

  // Runs `other` with the second end in a process of its own, which is killed after it.
  template <typename Other>
  void KillAfter(const Other& other) {
    const pid_t pid = fork();
    if (pid == 0) {
      one_ = nullptr;
      other(*two_);
      kill(getpid(), SIGKILL);
      _exit(1);
    }
    two_ = nullptr;
    child_ = pid;
  }
  ~SharedStreamTest() override {
    int status = 0;
    if (child_ < 0) return;
    waitpid(child_, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
  }

  std::unique_ptr<Stream> one_, two_;
  std::optional<SharedMemory> damage_;  // the same memory
  pid_t child_ = -1;
};

TEST_F(SharedStreamTest, BytesGoBothWays) {
  EXPECT_EQ(Hear(*one_), "");
  EXPECT_EQ(Must(Say(*one_, "to two")), 6);
  EXPECT_EQ(Must(Say(*two_, "to one")), 6);
  EXPECT_EQ(Hear(*one_), "to one");
  EXPECT_EQ(Hear(*two_, 3), "to ");
  EXPECT_EQ(Hear(*two_, 1), "t");
  EXPECT_EQ(Hear(*two_), "wo");
  EXPECT_EQ(Hear(*two_), "");
  EXPECT_EQ(Must(one_->binding()), std::vector<uint8_t>{1});
}

TEST_F(SharedStreamTest, RangesGoOneAfterAnother) {
  const std::string head = "head", none, body(kRing, 'b');
  const std::array<std::span<const std::byte>, 3> ranges = {std::as_bytes(std::span(head)),
                                                            std::as_bytes(std::span(none)),
                                                            std::as_bytes(std::span(body))};
  EXPECT_EQ(Must(one_->Write(ranges)), kRing) << "as many as there is room for";
  EXPECT_EQ(Hear(*two_), head + body.substr(0, kRing - 4));
}

TEST_F(SharedStreamTest, IsReadyWhenThereIsRoomAgain) {
  EXPECT_EQ(Must(Say(*one_, std::string(kRing, 'x'))), kRing);
  EXPECT_FALSE(one_->unpolled()->ready()) << "nothing fell short yet";
  EXPECT_EQ(Must(Say(*one_, "y")), 0);
  EXPECT_FALSE(one_->unpolled()->Watch());
  EXPECT_FALSE(Rings(*one_));
  EXPECT_EQ(Hear(*two_, 1), "x");
  EXPECT_TRUE(one_->unpolled()->ready());
  EXPECT_TRUE(Rings(*one_));
  EXPECT_EQ(Must(Say(*one_, "y")), 1);
  EXPECT_FALSE(one_->unpolled()->ready());
}

TEST_F(SharedStreamTest, RingsOnlyWhereTheOtherSideSleeps) {
  EXPECT_EQ(Must(Say(*one_, "a")), 1);
  EXPECT_FALSE(Rings(*two_));
  EXPECT_TRUE(two_->unpolled()->Watch()) << "there is something already";
  EXPECT_EQ(Hear(*two_), "a");
  EXPECT_FALSE(two_->unpolled()->Watch());
  two_->unpolled()->Unwatch();
  EXPECT_EQ(Must(Say(*one_, "b")), 1);
  EXPECT_FALSE(Rings(*two_));
  EXPECT_EQ(Hear(*two_), "b");
  EXPECT_FALSE(two_->unpolled()->Watch());
  EXPECT_EQ(Must(Say(*one_, "c")), 1);
  EXPECT_TRUE(Rings(*two_));
  EXPECT_EQ(Hear(*two_), "c");
  EXPECT_EQ(Hear(*two_), "");
  EXPECT_FALSE(Rings(*two_)) << "a read of nothing silences it";
}

TEST_F(SharedStreamTest, TheEndIsHeardAfterTheLastByte) {
  EXPECT_FALSE(two_->unpolled()->Watch());
  EXPECT_EQ(Must(Say(*one_, "last")), 4);
  one_->CloseWriting();
  EXPECT_TRUE(Rings(*two_));
  EXPECT_EQ(Must(Say(*two_, "still open")), 10);
  EXPECT_EQ(Hear(*one_), "still open");
  EXPECT_EQ(Hear(*two_), "last");
  EXPECT_EQ(ErrorOf(*two_), absl::StatusCode::kOutOfRange);
}

TEST_F(SharedStreamTest, AnEndThatClosesWakesTheOther) {
  std::thread other([this] {
    Sleep(*two_);
    two_ = nullptr;
  });
  EXPECT_EQ(Must(Say(*one_, "go")), 2);
  Sleep(*one_);
  EXPECT_EQ(ErrorOf(*one_), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ErrorOf(*one_), absl::StatusCode::kOutOfRange) << "for good";
  other.join();
}

// What it has written before is still read.
TEST_F(SharedStreamTest, AKilledProcessIsNoticedByAReader) {
  KillAfter([](Stream& stream) { Must(Say(stream, "last words")); });
  EXPECT_EQ(HearAll(*one_), "last words");
  EXPECT_EQ(Must(Say(*one_, "x")), 1) << "no SIGPIPE";
}

TEST_F(SharedStreamTest, AKilledProcessIsNoticedByAWriterThatHasNoRoom) {
  EXPECT_EQ(Must(Say(*one_, std::string(kRing, 'x'))), kRing);
  EXPECT_EQ(Must(Say(*one_, "y")), 0);
  KillAfter([](Stream& stream) { stream.unpolled()->Watch(); });
  Sleep(*one_);
  EXPECT_EQ(ErrorOf(*one_), absl::StatusCode::kOutOfRange);
}

TEST_F(SharedStreamTest, CountsThatAreNotPossibleEndIt) {
  damage_->state(1).written = 3 * kRing;
  EXPECT_TRUE(one_->unpolled()->ready());
  EXPECT_EQ(ErrorOf(*one_), absl::StatusCode::kInvalidArgument);
  // Found by a writer, whose errors its caller leaves to Read.
  EXPECT_FALSE(two_->unpolled()->ready());
  EXPECT_EQ(Must(Say(*two_, std::string(10, 'x'))), 10);
  damage_->state(1).read = 3 * kRing;
  EXPECT_EQ(Say(*two_, std::string(kRing, 'x')).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(two_->unpolled()->ready());
  EXPECT_TRUE(two_->unpolled()->Watch());
  EXPECT_THAT(Hear(*two_), HasSubstr("is not possible"));
}

TEST_F(SharedStreamTest, AnErrorIsForGood) {
  EXPECT_EQ(Must(Say(*one_, std::string(kRing, 'x'))), kRing);
  damage_->state(0).read = 3 * kRing;
  EXPECT_FALSE(Say(*one_, "y").ok());
  damage_->state(0).read = 0;
  EXPECT_EQ(Must(Say(*two_, "z")), 1);
  EXPECT_EQ(Hear(*one_), "z") << "what was written before is read";
  EXPECT_FALSE(Say(*one_, "y").ok());
  EXPECT_EQ(ErrorOf(*one_), absl::StatusCode::kInvalidArgument);
}

TEST_F(SharedStreamTest, WhereTheOtherSideCannotBeWokenTheStreamBreaks) {
  EXPECT_FALSE(two_->unpolled()->Watch());
  std::thread other([this] {
    ASSERT_TRUE(testing::ForbidCall(SYS_sendto));
    EXPECT_EQ(Must(Say(*one_, "x")), 1);
    EXPECT_TRUE(one_->unpolled()->ready());
    EXPECT_EQ(Hear(*one_), "cannot wake the other side: Operation not permitted");
  });
  other.join();
}

TEST_F(SharedStreamTest, DamagedFlagsAndBellsOnlyCostTime) {
  for (int i = 0; i < 10000; ++i) one_->CloseWriting();  // rings each time
  damage_->state(0).ended = 0;
  damage_->state(0).reader_sleeps = 0xffffffff;
  damage_->state(0).writer_sleeps = 0xffffffff;
  EXPECT_EQ(Must(Say(*one_, "as before")), 9);
  EXPECT_EQ(Hear(*two_), "as before");
  EXPECT_FALSE(two_->unpolled()->Watch());
  while (Rings(*two_)) {
    EXPECT_EQ(Hear(*two_), "");
    EXPECT_FALSE(two_->unpolled()->Watch());
  }
}

// Both ways at once, with sleeps on both sides wherever there is nothing to move.
TEST_F(SharedStreamTest, NoWakeUpIsLost) {
  constexpr size_t kBytes = 2 << 20;
  const auto exchange = [](Stream& stream, unsigned seed) {
    std::minstd_rand random(seed);
    std::vector<std::byte> bytes(3 * kRing);
    size_t put = 0, got = 0;
    while (put < kBytes || got < kBytes) {
      size_t moved = 0;
      if (put < kBytes) {
        std::span<std::byte> from =
            std::span(bytes).first(std::min(kBytes - put, 1 + random() % bytes.size()));
        for (size_t i = 0; i < from.size(); ++i) from[i] = std::byte((put + i) % 251);
        const std::span<const std::byte> range = from;
        moved += Must(stream.Write({&range, 1}));
        put += moved;
      }
      if (got < kBytes) {
        const size_t n = Must(stream.Read(std::span(bytes).first(1 + random() % bytes.size())));
        for (size_t i = 0; i < n; ++i) ASSERT_EQ(bytes[i], std::byte((got + i) % 251));
        got += n;
        moved += n;
      }
      if (moved == 0) Sleep(stream);
      if (::testing::Test::HasFatalFailure()) return;
    }
  };
  std::thread other([&] { exchange(*two_, 2); });
  exchange(*one_, 1);
  other.join();
}

}  // namespace
}  // namespace dtnn
