#include "comm/federation/channel.h"

#include <poll.h>

#include <algorithm>
#include <memory>
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

class ChannelTest : public ::testing::TestWithParam<bool> {
 protected:
  size_t room_ = 100;
  Channel channel_{std::make_unique<Outlet>(room_, GetParam()), "there"};
};
INSTANTIATE_TEST_SUITE_P(WritesAfterReading, ChannelTest, ::testing::Bool());

// Or what was sent would wait until something comes.
TEST_P(ChannelTest, WhatIsSentIsWrittenBeforeItWaits) {
  EXPECT_EQ(channel_.events(), POLLIN);
  channel_.Send(FrameKind::kAlive, 1, 0);
  EXPECT_EQ(channel_.events(), POLLIN | POLLOUT);
  EXPECT_EQ(channel_.Write(), absl::OkStatus());
  EXPECT_TRUE(channel_.flushed());
  EXPECT_EQ(channel_.events(), POLLIN);
}

TEST_P(ChannelTest, WhatFallsShortWaitsForWhatGivesItRoom) {
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

}  // namespace
}  // namespace dtnn::federation
