#include "comm/federation/channel.h"

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "gtest/gtest.h"

namespace dtnn::federation {
namespace {

// Takes as many bytes as it has room for.
class Outlet : public Stream {
 public:
  Outlet(size_t& room, bool after_reading) : room_(room), after_reading_(after_reading) {}

  absl::StatusOr<size_t> Read(std::span<std::byte>) override { return size_t{0}; }
  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    size_t total = 0;
    for (const std::span<const std::byte> range : from) total += range.size();
    const size_t n = std::min(total, room_);
    room_ -= n;
    return n;
  }
  void CloseWriting() override {}
  int descriptor() const override { return -1; }
  absl::StatusOr<std::vector<uint8_t>> binding() const override { return std::vector<uint8_t>(); }
  bool writes_after_reading() const override { return after_reading_; }

 private:
  size_t& room_;
  const bool after_reading_;
};

class ChannelOutTest : public ::testing::TestWithParam<bool> {
 protected:
  size_t room_ = 100;
  Channel channel_{std::make_unique<Outlet>(room_, GetParam()), "there"};
};
INSTANTIATE_TEST_SUITE_P(WritesAfterReading, ChannelOutTest, ::testing::Bool());

// Or what was sent would wait until something comes.
TEST_P(ChannelOutTest, WhatIsSentIsWrittenBeforeItWaits) {
  EXPECT_EQ(channel_.events(), POLLIN);
  channel_.Send(FrameKind::kAlive, 1, 0);
  EXPECT_EQ(channel_.events(), POLLIN | POLLOUT);
  EXPECT_EQ(channel_.Write(), absl::OkStatus());
  EXPECT_TRUE(channel_.flushed());
  EXPECT_EQ(channel_.events(), POLLIN);
}

TEST_P(ChannelOutTest, WhatHasNotBegunIsForgotten) {
  const auto body = std::make_shared<const Bytes>(200);
  channel_.Send(FrameKind::kRound, 7, 0);
  channel_.Send(FrameKind::kParameters, 7, 0, body);
  channel_.Send(FrameKind::kParameters, 7, 1, body);
  channel_.Send(FrameKind::kRound, 8, 0, body);
  channel_.Send(FrameKind::kParameters, 8, 0, body);
  EXPECT_EQ(channel_.Write(), absl::OkStatus());  // some of the second one
  EXPECT_EQ(body.use_count(), 5);
  EXPECT_FALSE(channel_.Forget(7)) << "the other end knows of it";
  EXPECT_EQ(body.use_count(), 4) << "the frame that has begun is sent";
  EXPECT_TRUE(channel_.Forget(8));
  EXPECT_EQ(body.use_count(), 2);
  room_ = 1000;
  EXPECT_EQ(channel_.Write(), absl::OkStatus());
  EXPECT_EQ(room_, 1000 - (2 * kFrameHeaderBytes + 200 - 100));
  EXPECT_TRUE(channel_.flushed());
}

TEST_P(ChannelOutTest, WhatFallsShortWaitsForWhatGivesItRoom) {
  channel_.Send(FrameKind::kUpdate, 1, 0, Bytes(200));
  EXPECT_EQ(channel_.Write(), absl::OkStatus());
  EXPECT_EQ(room_, 0u);
  EXPECT_EQ(channel_.events(), GetParam() ? POLLIN : POLLIN | POLLOUT);
  room_ = 1000;
  EXPECT_EQ(channel_.Write(), absl::OkStatus());
  EXPECT_TRUE(channel_.flushed());
  channel_.Send(FrameKind::kAlive, 1, 0);
  EXPECT_EQ(channel_.events(), POLLIN | POLLOUT);
}

// Gives what it has, and no more.
class Inlet : public Outlet {
 public:
  Inlet(size_t& room, Bytes& bytes) : Outlet(room, false), bytes_(bytes) {}
  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    const size_t n = std::min(into.size(), bytes_.size());
    std::ranges::copy(std::as_bytes(std::span(bytes_).first(n)), into.begin());
    bytes_.erase(bytes_.begin(), bytes_.begin() + std::ptrdiff_t(n));
    return n;
  }

 private:
  Bytes& bytes_;
};

TEST(ChannelTest, AFrameThatHasToWaitIsLeftToTheOtherEnd) {
  size_t room = 0;
  Bytes bytes = ToBytes(FrameHeader{.kind = FrameKind::kUpdate, .bytes = 3, .attempt = 5});
  bytes.insert(bytes.end(), {7, 8, 9});
  Channel channel(std::make_unique<Inlet>(room, bytes), "there");
  int asked = 0;
  std::optional<size_t> may = Channel::kLater;
  const auto allowed = [&](const FrameHeader& header) {
    ++asked;
    EXPECT_EQ(header.attempt, 5u);
    return may;
  };
  for (const int times : {1, 2}) {
    EXPECT_EQ(channel.Receive(allowed)->has_value(), false);
    EXPECT_EQ(asked, times);
    EXPECT_TRUE(channel.waits());
    EXPECT_EQ(channel.events(), 0);
    EXPECT_EQ(bytes.size(), 3u) << "nothing more is read";
  }
  may = 3;
  const absl::StatusOr<std::optional<Frame>> frame = channel.Receive(allowed);
  ASSERT_TRUE(frame.ok() && *frame);
  EXPECT_EQ((**frame).body, (Bytes{7, 8, 9}));
  EXPECT_FALSE(channel.waits());
  EXPECT_EQ(channel.events(), POLLIN);
  EXPECT_EQ(channel.Receive(allowed)->has_value(), false);
  EXPECT_EQ(asked, 3) << "no header has come";
}

// What has to wait may be refused at last.
TEST(ChannelTest, AFrameThatHasWaitedIsChecked) {
  size_t room = 0;
  Bytes bytes = ToBytes(FrameHeader{.kind = FrameKind::kUpdate, .bytes = 3});
  Channel channel(std::make_unique<Inlet>(room, bytes), "there");
  std::optional<size_t> may = Channel::kLater;
  const auto allowed = [&](const FrameHeader&) { return may; };
  EXPECT_EQ(channel.Receive(allowed)->has_value(), false);
  may = 2;
  EXPECT_EQ(channel.Receive(allowed).status().message(),
            "a frame \"update\" of 3 bytes, at most 2 are allowed");
}

}  // namespace
}  // namespace dtnn::federation
