#include "comm/transport/shared/ring.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::Each;

// Between bytes that neither side may touch.
constexpr size_t kRing = 64, kFence = 64;
constexpr std::byte kUntouched{0xa5};

class RingTest : public ::testing::Test {
 protected:
  RingTest() { memory_.fill(kUntouched); }
  ~RingTest() override {
    EXPECT_THAT(std::span(memory_).first(kFence), Each(kUntouched));
    EXPECT_THAT(std::span(memory_).last(kFence), Each(kUntouched));
  }

  absl::StatusOr<size_t> Write(size_t count) {
    std::vector<std::byte> bytes(count);
    for (size_t i = 0; i < count; ++i) bytes[i] = std::byte(put_ + i);
    const absl::StatusOr<size_t> n = writer_.Write(bytes);
    put_ += n.value_or(0);
    return n;
  }
  // Checks the bytes.
  absl::StatusOr<size_t> Read(size_t count) {
    std::vector<std::byte> bytes(count);
    const absl::StatusOr<size_t> n = reader_.Read(bytes);
    for (size_t i = 0; i < n.value_or(0); ++i, ++got_) EXPECT_EQ(bytes[i], std::byte(got_));
    return n;
  }

  RingState state_ = {};
  std::array<std::byte, kFence + kRing + kFence> memory_;
  RingWriter writer_{state_, std::span(memory_).subspan(kFence, kRing)};
  RingReader reader_{state_, std::span(memory_).subspan(kFence, kRing)};
  size_t put_ = 0, got_ = 0;
};

TEST_F(RingTest, PortionsOfAllSizesComeAroundTheEnd) {
  for (size_t written = 0; written <= kRing + 1; ++written) {
    for (size_t read = 1; read <= kRing + 1; ++read) {
      ASSERT_EQ(Must(Write(written)), std::min(written, kRing));
      while (Must(Read(read)) > 0) continue;
      ASSERT_EQ(got_, put_);
    }
  }
}

TEST_F(RingTest, TakesWhatThereIsRoomFor) {
  EXPECT_EQ(Must(Write(kRing - 3)), kRing - 3);
  EXPECT_TRUE(writer_.has_room());
  EXPECT_EQ(Must(Write(10)), 3);
  EXPECT_EQ(Must(Write(10)), 0);
  EXPECT_FALSE(writer_.has_room());
  EXPECT_EQ(Must(Read(5)), 5);
  EXPECT_TRUE(writer_.has_room());
  EXPECT_EQ(Must(Write(10)), 5);
  EXPECT_EQ(Must(Read(2 * kRing)), kRing);
  EXPECT_EQ(Must(Read(1)), 0);
}

TEST_F(RingTest, EndsAfterItsLastByte) {
  EXPECT_EQ(Must(Write(2)), 2);
  writer_.End();
  EXPECT_EQ(Must(Read(1)), 1);
  EXPECT_TRUE(reader_.has_bytes());
  EXPECT_EQ(Must(Read(1)), 1);
  EXPECT_TRUE(reader_.has_bytes()) << "the end";
  EXPECT_EQ(Read(1).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(RingTest, ASideThatSleepsIsAskedForOnce) {
  EXPECT_FALSE(writer_.TakeSleeper());
  reader_.set_sleeps(true);
  EXPECT_FALSE(reader_.TakeSleeper()) << "that is the other side";
  EXPECT_TRUE(writer_.TakeSleeper());
  EXPECT_FALSE(writer_.TakeSleeper());
  writer_.set_sleeps(true);
  writer_.set_sleeps(false);
  EXPECT_FALSE(reader_.TakeSleeper());
}

TEST_F(RingTest, CountsThatAreNotPossibleAreErrors) {
  constexpr uint64_t kLargest = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(Must(Write(10)), 10);
  EXPECT_EQ(Must(Read(6)), 6);
  for (const uint64_t written : {uint64_t{5}, 6 + kRing + 1, uint64_t{1} << 63, kLargest}) {
    state_.written = written;
    EXPECT_EQ(Read(1).status().code(), absl::StatusCode::kInvalidArgument) << written;
  }
  EXPECT_EQ(Must(Write(kRing - 10)), kRing - 10);
  EXPECT_EQ(state_.written, kRing) << "what this side has written does not come from the memory";
  for (const uint64_t read : {kRing + 1, uint64_t{1} << 63, kLargest}) {
    state_.read = read;
    EXPECT_TRUE(writer_.has_room()) << "so that it is looked at";
    EXPECT_EQ(Write(1).status().code(), absl::StatusCode::kInvalidArgument) << read;
  }
}

// Bytes are lost then, memory is not.
TEST_F(RingTest, CountsThatGoBackwardsStayInTheRing) {
  EXPECT_EQ(Must(Write(kRing)), kRing);
  EXPECT_EQ(Must(Read(kRing)), kRing);
  EXPECT_EQ(Must(Write(8)), 8);
  state_.read = 8;
  EXPECT_EQ(Must(Write(kRing)), 0);
  state_.read = 10;
  EXPECT_EQ(Must(Write(kRing)), 2);
  state_.read = 9;
  EXPECT_EQ(Write(kRing).status().code(), absl::StatusCode::kInvalidArgument);
}

// With ThreadSanitizer: bytes are there before their count is.
TEST(RingThreadsTest, AllBytesPass) {
  constexpr size_t kBytes = 1 << 18;
  RingState state = {};
  std::vector<std::byte> ring(4096);
  std::thread other([&] {
    RingWriter writer(state, ring);
    std::minstd_rand sizes(1);
    std::vector<std::byte> bytes(3000);
    for (size_t put = 0; put < kBytes;) {
      const auto from = std::span(bytes).first(std::min(kBytes - put, sizes() % bytes.size()));
      for (size_t i = 0; i < from.size(); ++i) from[i] = std::byte((put + i) % 251);
      const size_t n = Must(writer.Write(from));
      put += n;
      if (n == 0) std::this_thread::yield();
    }
    writer.End();
  });
  RingReader reader(state, ring);
  std::minstd_rand sizes(2);
  std::vector<std::byte> bytes(3000);
  size_t got = 0;
  while (true) {
    const absl::StatusOr<size_t> n = reader.Read(std::span(bytes).first(sizes() % bytes.size()));
    if (!n.ok()) {
      EXPECT_EQ(n.status().code(), absl::StatusCode::kOutOfRange);
      break;
    }
    for (size_t i = 0; i < *n; ++i, ++got) EXPECT_EQ(bytes[i], std::byte(got % 251));
    if (*n == 0) std::this_thread::yield();
  }
  other.join();
  EXPECT_EQ(got, kBytes);
}

}  // namespace
}  // namespace dtnn
