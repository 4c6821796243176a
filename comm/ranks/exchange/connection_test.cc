// What a connection does with bytes that no rank sends.

#include "comm/ranks/exchange/connection.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using Kind = FrameHeader::Kind;

constexpr PieceKey kKey = {.group = 1, .number = 7};

// The other end, of which a test decides by hand.
struct Other {
  std::string says;
  bool closed = false;
  size_t heard = 0;  // bytes
};

class Spoken : public Stream {
 public:
  explicit Spoken(Other& other) : other_(other) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    if (other_.says.empty() && other_.closed) return absl::OutOfRangeError("closed");
    const size_t n = std::min(into.size(), other_.says.size());
    std::memcpy(into.data(), other_.says.data(), n);
    other_.says.erase(0, n);
    return n;
  }
  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    size_t n = 0;
    for (const std::span<const std::byte> range : from) n += range.size();
    other_.heard += n;
    return n;
  }
  void CloseWriting() override {}
  int descriptor() const override { return -1; }
  absl::StatusOr<std::vector<uint8_t>> binding() const override { return std::vector<uint8_t>(); }

 private:
  Other& other_;
};

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    connection_ = std::make_unique<Connection>(
        0, 1, 2, Link{std::make_unique<Spoken>(other_), "here"},
        [this](int, const ControlMessage& message) { heard_.push_back(message); });
  }

  void Say(const std::string& bytes) { other_.says += bytes; }
  void Say(const FrameHeader& header, const std::string& payload = "") {
    Say(std::string(BytesOf(header)) + payload);
  }
  std::string Error() {
    const absl::StatusOr<bool> read = connection_->Read();
    return read.ok() ? "OK" : std::string(read.status().message());
  }
  // A call that receives `bytes` into memory_.
  std::shared_ptr<Running> Expect(size_t bytes, Piece::Kind kind = Piece::Kind::kReceive) {
    memory_.assign(bytes, {});
    auto running = std::make_shared<Running>(
        kKey, Schedule{{.kind = kind, .peer = 1, .begin = 0, .end = bytes}},
        CallMemory{.first = memory_.data()}, ReduceOp::kSum, DType::kFloat32);
    connection_->Expect(running, 0);
    return running;
  }

  Other other_;
  std::unique_ptr<Connection> connection_;
  std::vector<ControlMessage> heard_;
  std::vector<std::byte> memory_;
};

TEST_F(ConnectionTest, LengthsBeyondAKindsLimitEndItBeforeAnythingIsAllocated) {
  Say({.kind = Kind::kControl, .payload = 0xffffffff});
  EXPECT_THAT(Error(), HasSubstr("a frame of 4294967295 bytes, at most "));
}

TEST_F(ConnectionTest, AKindsLongestFrameIsTakenAndNoLongerOne) {
  const auto error = [](Kind kind, size_t payload) {
    const FrameHeader header = {.kind = kind, .payload = uint32_t(payload)};
    return std::string(ReadFrameHeader(BytesOf(header), 9).status().message());
  };
  EXPECT_EQ(error(Kind::kData, 262144), "");
  EXPECT_EQ(error(Kind::kData, 262145), "a frame of 262145 bytes, at most 262144 are allowed");
  EXPECT_EQ(error(Kind::kControl, MaxControlBytes(9)), "");
  EXPECT_THAT(error(Kind::kControl, MaxControlBytes(9) + 1), HasSubstr(" are allowed"));
  EXPECT_EQ(error(Kind::kGrant, 1), "a frame of 1 bytes, at most 0 are allowed");
}

TEST_F(ConnectionTest, UnknownKindsAndEmptyFramesEndIt) {
  for (const uint8_t kind : {0, 4}) {
    EXPECT_EQ(ReadFrameHeader(BytesOf(FrameHeader{.kind = Kind(kind), .payload = 1}), 2)
                  .status()
                  .message(),
              "a frame of unknown kind " + std::to_string(kind));
  }
  for (const FrameHeader& header :
       {FrameHeader{.kind = Kind::kData}, FrameHeader{.kind = Kind::kControl},
        FrameHeader{.kind = Kind::kGrant, .payload = 1},
        FrameHeader{.kind = Kind::kGrant, .bytes = -1}}) {
    EXPECT_FALSE(ReadFrameHeader(BytesOf(header), 2).ok());
  }
  EXPECT_EQ(ReadFrameHeader("short", 2).status().message(), "a frame's header is incomplete");
}

TEST_F(ConnectionTest, BytesThatNobodyAskedForEndIt) {
  Say({.kind = Kind::kData, .payload = 4, .piece = kKey}, "abcd");
  EXPECT_THAT(Error(), HasSubstr("nobody has asked for"));
}

TEST_F(ConnectionTest, MoreBytesThanAskedForEndIt) {
  const std::shared_ptr<Running> running = Expect(8);
  Say({.kind = Kind::kData, .payload = 8, .piece = kKey}, "12345678");
  Say({.kind = Kind::kData, .payload = 4, .piece = kKey}, "abcd");
  EXPECT_THAT(Error(), HasSubstr("nobody has asked for"));
  EXPECT_TRUE(running->complete());
}

TEST_F(ConnectionTest, ALongerPieceThanAskedForEndsIt) {
  const std::shared_ptr<Running> running = Expect(8);
  Say({.kind = Kind::kData, .payload = 12, .piece = kKey}, "123456789abc");
  EXPECT_THAT(Error(), HasSubstr("other bytes than it was asked for"));
}

TEST_F(ConnectionTest, HalfAnElementOfASumEndsIt) {
  const std::shared_ptr<Running> running = Expect(8, Piece::Kind::kReduce);
  Say({.kind = Kind::kData, .payload = 6, .piece = kKey}, "123456");
  EXPECT_THAT(Error(), HasSubstr("other bytes than it was asked for"));
}

TEST_F(ConnectionTest, APeerThatStopsInTheMiddleBlocksNothing) {
  const std::shared_ptr<Running> running = Expect(8);
  Say({.kind = Kind::kData, .payload = 8, .piece = kKey}, "123");
  EXPECT_EQ(Error(), "OK");
  Say(std::string(BytesOf(FrameHeader{.kind = Kind::kData})).substr(0, 5));
  EXPECT_EQ(Error(), "OK");
  EXPECT_TRUE(running->complete());
  other_.closed = true;
  EXPECT_EQ(connection_->Read().status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(ConnectionTest, GrantsWithoutEndEndIt) {
  const auto most = int64_t(MostGrants(2));
  for (int64_t number = 0; number < most; ++number) {
    Say({.kind = Kind::kGrant, .piece = {.group = 1, .number = number}, .bytes = 1});
    ASSERT_EQ(Error(), "OK") << number;
  }
  Say({.kind = Kind::kGrant, .piece = {.group = 1, .number = most}, .bytes = 1});
  EXPECT_THAT(Error(), HasSubstr("grants more than it can use"));
}

// A neighbour grants the most pieces of all ranks, in all its open calls.
TEST_F(ConnectionTest, GrantsOfARankThatIsAheadAreTaken) {
  constexpr int kRanks = 1023;
  connection_ =
      std::make_unique<Connection>(0, 1, kRanks, Link{std::make_unique<Spoken>(other_), "here"},
                                   [](int, const ControlMessage&) {});
  size_t grants = 0;
  for (const Piece& piece :
       MakeSchedule(CollectiveKind::kAllReduce, 1, kRanks, 0, size_t{4} << 20, 4)) {
    if (piece.kind == Piece::Kind::kSend || piece.peer != 0) continue;
    for (size_t call = 0; call < kMostOpenCalls; ++call, ++grants) {
      Say({.kind = Kind::kGrant,
           .piece = {.group = 1, .tag = piece.tag, .number = int64_t(call)},
           .bytes = int64_t(piece.bytes())});
    }
  }
  EXPECT_EQ(grants, 512 * kMostOpenCalls);
  absl::StatusOr<bool> more = true;
  while (more.ok() && *more) more = connection_->Read();
  EXPECT_EQ(more.status(), absl::OkStatus());
}

TEST_F(ConnectionTest, AMessageThatIsNoneEndsIt) {
  Say({.kind = Kind::kControl, .payload = 5}, "hello");
  EXPECT_THAT(Error(), HasSubstr("a message that is none"));
  EXPECT_TRUE(heard_.empty());
}

TEST_F(ConnectionTest, AGrantOfAnotherSizeFailsTheCall) {
  memory_.assign(8, {});
  const auto running = std::make_shared<Running>(
      kKey, Schedule{{.kind = Piece::Kind::kSend, .peer = 1, .begin = 0, .end = 8}},
      CallMemory{.first = memory_.data()}, ReduceOp::kSum, DType::kFloat32);
  connection_->Offer(running, 0);
  Say({.kind = Kind::kGrant, .piece = kKey, .bytes = int64_t{1} << 60});
  EXPECT_EQ(Error(), "OK");
  EXPECT_THAT(std::string(running->error().message()),
              HasSubstr("rank 0 sends 8 bytes, rank 1 expects 1152921504606846976"));
  connection_->Write();
  EXPECT_EQ(other_.heard, 0u);
}

TEST_F(ConnectionTest, WhatComesForAGroupThatBrokeIsThrownAway) {
  const std::shared_ptr<Running> running = Expect(8);
  Say({.kind = Kind::kData, .payload = 8, .piece = kKey}, "123");
  EXPECT_EQ(Error(), "OK");
  connection_->Forget(kKey.group);
  Say("45678");
  Say({.kind = Kind::kData, .payload = 4, .piece = kKey}, "abcd");
  EXPECT_EQ(Error(), "OK");
  EXPECT_FALSE(running->complete());
  EXPECT_EQ(char(memory_[2]), '3');
  EXPECT_EQ(char(memory_[3]), '\0');
}

TEST_F(ConnectionTest, BytesArriveWhereTheyWereAskedFor) {
  const std::shared_ptr<Running> running = Expect(8);
  EXPECT_FALSE(running->complete());
  Say({.kind = Kind::kData, .payload = 3, .piece = kKey}, "123");
  Say({.kind = Kind::kData, .payload = 5, .piece = kKey}, "45678");
  EXPECT_EQ(Error(), "OK");
  EXPECT_TRUE(running->complete());
  EXPECT_EQ(std::memcmp(memory_.data(), "12345678", 8), 0);
}

// An element may come in two reads, and the next frame's head with it.
TEST_F(ConnectionTest, SumsAreOfWholeElementsHoweverTheirBytesCome) {
  for (size_t cut = 1; cut < 16; ++cut) {
    const std::shared_ptr<Running> running = Expect(16, Piece::Kind::kReduce);
    const std::vector<float> mine = {1, 2, 3, 4}, theirs = {10, 20, 30, 40};
    std::memcpy(memory_.data(), mine.data(), 16);
    const std::string bytes(reinterpret_cast<const char*>(theirs.data()), 16);
    Say({.kind = Kind::kData, .payload = 12, .piece = kKey},
        bytes.substr(0, std::min(cut, size_t{12})));
    EXPECT_EQ(Error(), "OK");
    EXPECT_FALSE(running->complete());
    if (cut < 12) Say(bytes.substr(cut, 12 - cut));
    Say({.kind = Kind::kData, .payload = 4, .piece = kKey}, bytes.substr(12));
    EXPECT_EQ(Error(), "OK");
    EXPECT_TRUE(running->complete());
    std::vector<float> sum(4);
    std::memcpy(sum.data(), memory_.data(), 16);
    EXPECT_EQ(sum, (std::vector<float>{11, 22, 33, 44})) << cut;
  }
}

TEST_F(ConnectionTest, MessagesArePassedOn) {
  ControlMessage message;
  message.kind = ControlMessage::Kind::kAbort;
  message.group = 3;
  message.status = absl::DataLossError("why");
  const std::string bytes = Encode(message);
  Say({.kind = Kind::kControl, .payload = uint32_t(bytes.size())}, bytes.substr(0, 10));
  EXPECT_EQ(Error(), "OK");
  EXPECT_TRUE(heard_.empty());
  Say(bytes.substr(10));
  EXPECT_EQ(Error(), "OK");
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].group, 3);
  EXPECT_EQ(heard_[0].status, absl::DataLossError("why"));
}

}  // namespace
}  // namespace dtnn
