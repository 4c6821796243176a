#include "comm/federation/aggregator/buffer/ask.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/federation/aggregator/attempt_numbers.h"
#include "comm/federation/channel.h"
#include "comm/secrets/sums/plain_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using std::chrono::seconds;

constexpr uint64_t kNumber = 7;
constexpr size_t kValues = 5, kChunkValues = 2;
constexpr seconds kDeadline(400);

class AskTest : public ::testing::Test {
 protected:
  std::unique_ptr<Ask> New() {
    return std::make_unique<Ask>(parts_, kNumber, /*version=*/3, Asked{.name = "one"},
                                 std::nullopt);
  }
  // Its update is 1, 2, 3, ...
  void SendChunk(Ask& ask, uint32_t chunk) {
    std::vector<float> values(kValues);
    std::iota(values.begin(), values.end(), 1.0f);
    const size_t begin = chunk * kChunkValues, count = std::min(kChunkValues, kValues - begin);
    codec::UpdateClient client(Must(codec::PlainClient(codec::WireType::kFloat32, kChunkValues)), 0,
                               Must(codec::ClientTagKey(job_, 0)), Must(codec::ServerTagKey(job_)));
    const Bytes body =
        Must(client.Encode({kNumber, chunk}, std::span(values).subspan(begin, count)));
    ASSERT_LE(body.size(), Allowed(ask, FrameKind::kUpdate, chunk).value_or(0));
    Take(ask, FrameKind::kUpdate, body, chunk);
  }
  void SendAll(Ask& ask) {
    for (uint32_t chunk = 0; chunk < 3; ++chunk) SendChunk(ask, chunk);
    Take(ask, FrameKind::kReport, ToBytes(Report{.samples = 9}));
  }
  static void Take(Ask& ask, FrameKind kind, Bytes body, uint32_t index = 0) {
    ask.Take(0, {{.kind = kind, .bytes = uint32_t(body.size()), .attempt = kNumber, .index = index},
                 std::move(body)});
  }
  static std::optional<size_t> Allowed(Ask& ask, FrameKind kind, uint32_t index = 0,
                                       uint64_t number = kNumber) {
    return ask.Allowed(0, {.kind = kind, .attempt = number, .index = index});
  }

  const Secret job_ = {};
  codec::UpdateServer codec_{Must(codec::PlainServer(codec::WireType::kFloat32, kChunkValues)),
                             job_};
  ReceivePlaces places_{1};
  AskParts parts_ = {.codec = codec_,
                     .shape = {.values = kValues, .chunk_values = kChunkValues},
                     .deadline = kDeadline,
                     .places = places_};
};

TEST_F(AskTest, AWholeUpdateIsReadOnceAndUsed) {
  const std::unique_ptr<Ask> ask = New(), other = New();
  SendAll(*ask);
  EXPECT_EQ(ask->complete(), 1u);
  EXPECT_TRUE(ask->answered(0));
  EXPECT_FALSE(ask->settled());
  EXPECT_EQ(Allowed(*other, FrameKind::kUpdate), Channel::kLater) << "there is one place";
  EXPECT_EQ(Must(ask->Read()), (std::vector<float>{1, 2, 3, 4, 5}));
  EXPECT_EQ(ask->complete(), 0u);
  ask->Accept(2);
  EXPECT_EQ(ask->client().state, Asked::State::kAccepted);
  EXPECT_EQ(ask->client().staleness, 2);
  EXPECT_EQ(ask->client().report.samples, 9);
  EXPECT_EQ(ask->version(), 3);
  SendAll(*other);
  EXPECT_EQ(other->complete(), 2u) << "in the order in which they were complete";
}

TEST_F(AskTest, FramesAreAllowedInTheirOrder) {
  const std::unique_ptr<Ask> ask = New();
  EXPECT_EQ(Allowed(*ask, FrameKind::kUpdate, 1), std::nullopt);
  EXPECT_EQ(Allowed(*ask, FrameKind::kUpdate, 0), codec::MostMessageBytes(codec_.description()));
  EXPECT_EQ(Allowed(*ask, FrameKind::kReport), kMostReport);
  EXPECT_EQ(Allowed(*ask, FrameKind::kDecline), kMostReport);
  EXPECT_EQ(Allowed(*ask, FrameKind::kReply), std::nullopt);
  EXPECT_EQ(Allowed(*ask, FrameKind::kReport, 0, kNumber + 1), std::nullopt) << "of another one";
  for (uint32_t chunk = 0; chunk < 3; ++chunk) {
    SendChunk(*ask, chunk);
    EXPECT_EQ(Allowed(*ask, FrameKind::kUpdate, chunk), std::nullopt) << "again";
  }
  EXPECT_EQ(Allowed(*ask, FrameKind::kUpdate, 3), std::nullopt) << "there are three";
  Take(*ask, FrameKind::kReport, ToBytes(Report{}));
  EXPECT_EQ(Allowed(*ask, FrameKind::kReport), std::nullopt) << "a second one";
}

TEST_F(AskTest, ADeclineAndAReportThatCannotBeReadLeaveOut) {
  const std::unique_ptr<Ask> fault = New(), excused = New(), garbled = New();
  Take(*fault, FrameKind::kDecline, TextToBytes("no data"), kOwnFault);
  EXPECT_EQ(fault->client().why, "it has no update: no data");
  EXPECT_TRUE(fault->client().at_fault);
  Take(*excused, FrameKind::kDecline, TextToBytes("cannot start"), kSetUpFailed);
  EXPECT_FALSE(excused->client().at_fault);
  Take(*garbled, FrameKind::kReport, {1, 2, 3});
  EXPECT_TRUE(garbled->client().at_fault);
  for (const auto* ask : {&fault, &excused, &garbled}) {
    EXPECT_EQ((*ask)->client().state, Asked::State::kLeftOut);
    EXPECT_EQ((*ask)->complete(), 0u);
    EXPECT_TRUE((*ask)->answered(0));
  }
}

TEST_F(AskTest, AReportBeforeAllChunksIsFoundWhereItIsRead) {
  const std::unique_ptr<Ask> ask = New();
  SendChunk(*ask, 0);
  Take(*ask, FrameKind::kReport, ToBytes(Report{}));
  EXPECT_EQ(ask->Read().status().message(), "sent 1 chunks of an update, expected 3");
}

TEST_F(AskTest, ALostConnectionCountsUnlessTheUpdateIsWhole) {
  const std::unique_ptr<Ask> lost = New(), whole = New();
  SendChunk(*lost, 0);
  lost->Lose(0, "gone");
  EXPECT_EQ(lost->client().why, "gone");
  EXPECT_TRUE(lost->answered(0));
  SendAll(*whole);  // the place is free again
  whole->Lose(0, "gone");
  EXPECT_EQ(whole->complete(), 1u);
  EXPECT_FALSE(whole->settled());
}

TEST_F(AskTest, TheDeadlineLeavesOutAndTimeOfNobodyDoesNotCount) {
  const std::unique_ptr<Ask> late = New(), excused = New(), whole = New();
  const Ask::Clock::time_point end = late->deadline();
  excused->Excuse(seconds(50));
  late->Advance(end - seconds(1));
  EXPECT_FALSE(late->settled());
  late->Advance(end);
  EXPECT_EQ(late->client().why, "it had no update at the deadline");
  EXPECT_FALSE(late->client().at_fault);
  excused->Advance(end + seconds(40));
  EXPECT_FALSE(excused->settled());
  excused->Advance(end + seconds(60));
  EXPECT_TRUE(excused->settled());
  SendAll(*whole);
  whole->Advance(end + seconds(1000));
  EXPECT_FALSE(whole->settled()) << "its update is there";
}

TEST_F(AskTest, ASlowOneLosesItsPlaceToThoseThatWait) {
  const std::unique_ptr<Ask> slow = New(), waits = New();
  const Ask::Clock::time_point begin = Ask::Clock::now();
  SendChunk(*slow, 0);
  slow->Advance(begin + seconds(120));
  EXPECT_FALSE(slow->settled()) << "nobody waits";
  EXPECT_EQ(Allowed(*waits, FrameKind::kUpdate), Channel::kLater);
  slow->Advance(begin + seconds(200));
  EXPECT_EQ(slow->client().why,
            "its update has stopped after 1 of 3 chunks, and other clients wait");
  EXPECT_NE(Allowed(*waits, FrameKind::kUpdate), Channel::kLater);
}

TEST_F(AskTest, AClosedOneIsCountedAndThrownAway) {
  const std::unique_ptr<Ask> ask = New(), next = New();
  SendChunk(*ask, 0);
  EXPECT_FALSE(ask->over());
  ask->Close();
  EXPECT_TRUE(ask->over());
  EXPECT_EQ(ask->client().why, "its round is over");
  SendAll(*next);  // has the place now
  EXPECT_EQ(Allowed(*ask, FrameKind::kUpdate, 1), codec::MostMessageBytes(codec_.description()))
      << "it may end what it has begun, without a place";
  Take(*ask, FrameKind::kUpdate, Bytes(10), 1);
  Take(*ask, FrameKind::kUpdate, Bytes(10), 2);
  EXPECT_FALSE(ask->answered(0));
  Take(*ask, FrameKind::kReport, ToBytes(Report{}));
  EXPECT_TRUE(ask->answered(0));
  EXPECT_EQ(ask->complete(), 0u);
  EXPECT_EQ(next->complete(), 1u);
  EXPECT_EQ(parts_.completed, 1u);
}

}  // namespace
}  // namespace dtnn::federation
