#include "comm/ranks/group/control_message.h"

#include <numeric>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

ControlMessage AbortWith(std::vector<int> lost, const std::string& text = "gone") {
  ControlMessage message;
  message.kind = ControlMessage::Kind::kAbort;
  message.group = 3;
  message.calls = int64_t{1} << 40;
  message.sent = 5;
  message.received = 6;
  message.silent_for = std::chrono::milliseconds(250);
  message.departure_code = -7;
  message.number = 9;
  message.status = absl::UnavailableError(text);
  message.late = lost;
  message.lost = std::move(lost);
  return message;
}

TEST(ControlMessageTest, WhatWasSaidArrives) {
  const std::optional<ControlMessage> read = Decode(Encode(AbortWith({1, 3})), 4);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->kind, ControlMessage::Kind::kAbort);
  EXPECT_EQ(read->group, 3);
  EXPECT_EQ(read->calls, int64_t{1} << 40);
  EXPECT_EQ(read->sent, 5);
  EXPECT_EQ(read->received, 6);
  EXPECT_EQ(read->status, absl::UnavailableError("gone"));
  EXPECT_EQ(read->silent_for, std::chrono::milliseconds(250));
  EXPECT_EQ(read->departure_code, -7);
  EXPECT_EQ(read->number, 9u);
  EXPECT_EQ(read->lost, std::vector<int>({1, 3}));
  EXPECT_EQ(read->late, std::vector<int>({1, 3}));
}

// A comparison with a clock's time converts it to nanoseconds.
TEST(ControlMessageTest, TimesThatNoClockCountsAreCutOff) {
  using std::chrono::milliseconds;
  for (const milliseconds time : {milliseconds::max(), milliseconds::min(), milliseconds(-1)}) {
    ControlMessage message = AbortWith({});
    message.silent_for = time;
    const std::optional<ControlMessage> read = Decode(Encode(message), 4);
    ASSERT_TRUE(read.has_value());
    const std::chrono::steady_clock::duration converted = read->silent_for;
    EXPECT_EQ(std::chrono::duration_cast<milliseconds>(converted), read->silent_for);
    EXPECT_GE(converted.count(), 0);
    EXPECT_EQ(converted.count() > 0, time.count() > 0);
  }
}

TEST(ControlMessageTest, AllWhoAreLostAreNamedHoweverMany) {
  for (const int ranks : {1, 2, 7, 8, 9, 63, 64, 65, 129, 256, 4097}) {
    std::vector<int> lost(size_t(ranks), 0);
    std::iota(lost.begin(), lost.end(), 0);
    for (const auto& some : {lost, std::vector<int>{ranks - 1}, std::vector<int>{}}) {
      const std::string bytes = Encode(AbortWith(some, std::string(10000, 'x')));
      EXPECT_LE(bytes.size(), MaxControlBytes(ranks));
      const std::optional<ControlMessage> read = Decode(bytes, ranks);
      ASSERT_TRUE(read.has_value()) << ranks << " ranks";
      EXPECT_EQ(read->lost, some);
      EXPECT_EQ(read->late, some);
    }
  }
}

TEST(ControlMessageTest, WhatCannotBeAMessageIsNone) {
  const std::string bytes = Encode(AbortWith({0, 8}));
  EXPECT_TRUE(Decode(bytes, 9).has_value());
  EXPECT_FALSE(Decode(bytes, 8).has_value()) << "there is no rank 8";
  EXPECT_FALSE(Decode("", 9).has_value());
  EXPECT_FALSE(Decode(bytes + "x", 9).has_value());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Decode(bytes.substr(0, size), 9).has_value()) << size;
  }
}

TEST(ControlMessageTest, UnknownKindsAreNone) {
  ControlMessage message = AbortWith({});
  for (int kind = -2; kind < 12; ++kind) {
    message.kind = ControlMessage::Kind(kind);
    EXPECT_EQ(Decode(Encode(message), 4).has_value(), kind >= 0 && kind <= 7) << kind;
  }
}

TEST(ControlMessageTest, TextsAreCutOff) {
  const std::optional<ControlMessage> read =
      Decode(Encode(AbortWith({2}, std::string(1001, 'x'))), 4);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->status, absl::UnavailableError(std::string(1000, 'x')));
  EXPECT_EQ(read->lost, std::vector<int>{2});
}

}  // namespace
}  // namespace dtnn
