#include "comm/federation/frame.h"

#include <poll.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/federation/channel.h"
#include "comm/transport/tcp/plain_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

// A channel, and the bare socket at its other end.
class FrameTest : public ::testing::Test {
 protected:
  FrameTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    channel_ = std::make_unique<Channel>(PlainStream(Socket(ends[0])), "the test");
    peer_ = Socket(ends[1]);
  }

  void SendBytes(const Bytes& bytes) {
    ASSERT_EQ(send(peer_.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              ssize_t(bytes.size()));
  }
  static Bytes FrameOf(FrameKind kind, uint32_t index, const Bytes& body) {
    Bytes bytes = ToBytes(
        FrameHeader{.kind = kind, .bytes = uint32_t(body.size()), .attempt = 5, .index = index});
    bytes.insert(bytes.end(), body.begin(), body.end());
    return bytes;
  }
  absl::StatusOr<std::optional<Frame>> Receive(std::optional<size_t> most = 100) {
    return channel_->Receive([most](const FrameHeader&) { return most; });
  }

  std::unique_ptr<Channel> channel_;
  Socket peer_;
};

TEST_F(FrameTest, FramesAreWholeHoweverTheirBytesCome) {
  Bytes bytes = FrameOf(FrameKind::kUpdate, 7, {1, 2, 3});
  const size_t first = bytes.size();
  const Bytes empty = FrameOf(FrameKind::kReport, 8, {});
  bytes.insert(bytes.end(), empty.begin(), empty.end());
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(Must(Receive())) << i;
    SendBytes({bytes[i]});
    if (i + 1 != first && i + 1 != bytes.size()) continue;
    const std::optional<Frame> frame = Must(Receive());
    ASSERT_TRUE(frame) << i;
    EXPECT_EQ(frame->header.attempt, 5u);
    EXPECT_EQ(frame->header.index, i + 1 == first ? 7u : 8u);
    EXPECT_EQ(frame->body, i + 1 == first ? Bytes({1, 2, 3}) : Bytes());
  }
  EXPECT_EQ(channel_->bytes_received(), bytes.size());
}

// The second frame is only its header.
TEST_F(FrameTest, ALengthIsRefusedBeforeItsBytesCome) {
  SendBytes(FrameOf(FrameKind::kUpdate, 0, Bytes(100)));
  EXPECT_TRUE(Must(Receive()));
  SendBytes(ToBytes(FrameHeader{.kind = FrameKind::kUpdate, .bytes = 101, .attempt = 5}));
  const absl::Status status = Receive().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("101 bytes, at most 100 are allowed"));
}

TEST_F(FrameTest, WhatNobodyAskedForIsRefused) {
  SendBytes(FrameOf(FrameKind::kAnswer, 0, {}));
  const absl::Status status = Receive(std::nullopt).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"answer\" that nobody asked for"));
}

TEST_F(FrameTest, BytesThatAreNoFrameAreRefused) {
  SendBytes(Bytes(kFrameHeaderBytes, 0xa5));
  EXPECT_EQ(Receive().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(FrameTest, HeadersArriveAsTheyAreAndOthersAreRefused) {
  int kinds = 0;
  for (int kind = 0; kind < 256; ++kind) {
    Bytes bytes = ToBytes(FrameHeader{.kind = FrameKind(kind),
                                      .bytes = 0x01020304,
                                      .attempt = 0x05060708090a0b0c,
                                      .index = 0x0d0e0f10});
    const std::span<const uint8_t, kFrameHeaderBytes> header(bytes.data(), kFrameHeaderBytes);
    const absl::StatusOr<FrameHeader> read = ParseFrameHeader(header);
    if (Name(FrameKind(kind)).empty()) {
      EXPECT_EQ(read.status().message(),
                "these bytes are not a frame (kind " + std::to_string(kind) + ")");
      continue;
    }
    ++kinds;
    ASSERT_TRUE(read.ok()) << kind << ": " << read.status();
    EXPECT_EQ(int(read->kind), kind);
    EXPECT_EQ(read->bytes, 0x01020304u);
    EXPECT_EQ(read->attempt, 0x05060708090a0b0cu);
    EXPECT_EQ(read->index, 0x0d0e0f10u);
    bytes[3] = 1;  // of what is reserved
    EXPECT_EQ(ParseFrameHeader(header).status().code(), absl::StatusCode::kDataLoss);
  }
  EXPECT_EQ(kinds, 20);
}

TEST_F(FrameTest, OtherVersionsAreRefusedOlderOnesToo) {
  constexpr size_t kVersionAt = 1;
  for (const int version : {0, kFrameVersion - 1, kFrameVersion + 1, 255}) {
    Bytes bytes = FrameOf(FrameKind::kUpdate, 0, {});
    ASSERT_EQ(bytes[kVersionAt], kFrameVersion);
    bytes[kVersionAt] = uint8_t(version);
    const std::span<const uint8_t, kFrameHeaderBytes> header(bytes.data(), kFrameHeaderBytes);
    EXPECT_EQ(ParseFrameHeader(header).status().code(), absl::StatusCode::kFailedPrecondition)
        << version;
  }
}

TEST_F(FrameTest, AnEndInTheMiddleOfAFrameIsAnEnd) {
  Bytes half = FrameOf(FrameKind::kUpdate, 0, {1, 2, 3});
  half.pop_back();
  SendBytes(half);
  EXPECT_FALSE(Must(Receive()));
  peer_ = Socket();
  EXPECT_EQ(Receive().status().code(), absl::StatusCode::kOutOfRange);
}

// More than a socket holds: the rest goes when the other side has read.
TEST_F(FrameTest, WhatDoesNotFitIsSentLaterAndInOrder) {
  Bytes wanted;
  for (uint32_t index = 0; index < 3; ++index) {
    const Bytes body(size_t{1} << 20, uint8_t(index + 1));
    channel_->Send(FrameKind::kParameters, 5, index, body);
    const Bytes frame = FrameOf(FrameKind::kParameters, index, body);
    wanted.insert(wanted.end(), frame.begin(), frame.end());
  }
  Must(channel_->Write());
  EXPECT_FALSE(channel_->flushed());
  EXPECT_NE(channel_->events() & POLLOUT, 0);
  Bytes got, some(65536);
  while (got.size() < wanted.size()) {
    const ssize_t n = recv(peer_.descriptor(), some.data(), some.size(), 0);
    ASSERT_GT(n, 0);
    got.insert(got.end(), some.begin(), some.begin() + n);
    Must(channel_->Write());
  }
  EXPECT_TRUE(channel_->flushed());
  EXPECT_EQ(channel_->events() & POLLOUT, 0);
  EXPECT_EQ(channel_->bytes_sent(), wanted.size());
  EXPECT_TRUE(got == wanted);
}

}  // namespace
}  // namespace dtnn::federation
