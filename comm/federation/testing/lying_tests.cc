// Aggregators that do not tell the truth, and what clients make of it.

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "comm/federation/testing/federation_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::HasSubstr;

// The aggregator's end of the connection of one client, without the rules of an aggregator.
class RawAggregator {
 public:
  explicit RawAggregator(const MeetingPlace& place) {
    door_ = Must(OpenDoor(place, Job(), {.timeout = std::chrono::seconds(60)}));
    while (channel_ == nullptr) {
      std::vector<pollfd> polled;
      door_->AddTo(polled);
      poll(polled.data(), polled.size(), 100);
      for (Caller& caller : Must(door_->Advance(polled, Door::Clock::now()))) {
        channel_ = std::make_unique<Channel>(std::move(caller.stream), caller.address);
      }
    }
    Must(HelloFromBytes(Await(FrameKind::kHello).body));
    Send(FrameKind::kWelcome, 0, 0, ToBytes(Welcome{.alive_ms = 60000}));
  }

  void Send(FrameKind kind, uint64_t attempt, uint32_t index, Bytes body) {
    channel_->Send(kind, attempt, index, std::move(body));
    while (!channel_->flushed()) Must(channel_->Write());
  }

  // The next frame of that kind, or else a decline.
  Frame Await(FrameKind kind) {
    while (true) {
      const auto any = [](const FrameHeader&) { return std::optional<size_t>(1 << 24); };
      std::optional<Frame> frame = Must(channel_->Receive(any));
      if (frame && (frame->header.kind == kind || frame->header.kind == FrameKind::kDecline)) {
        return *std::move(frame);
      }
      if (frame) continue;
      std::vector<pollfd> polled = {{channel_->descriptor(), POLLIN, 0}};
      door_->AddTo(polled);
      poll(polled.data(), polled.size(), 100);
      Must(door_->Turn(std::span(polled).subspan(1)));
    }
  }

  // All numbers of the parameters are 1.
  void BeginRound(uint64_t attempt, const RoundStart& start) {
    Send(FrameKind::kRound, attempt, 0, ToBytes(start));
    const auto codec = Must(codec::PlainClient(codec::WireType::kFloat32, kParameterChunk));
    for (size_t at = 0; at < kValues; at += kParameterChunk) {
      const auto chunk = uint32_t(at / kParameterChunk);
      const std::vector<float> ones(std::min(kParameterChunk, kValues - at), 1);
      Send(FrameKind::kParameters, attempt, chunk, Must(codec->Encode({.chunk = chunk}, ones)));
    }
  }

 private:
  std::unique_ptr<Door> door_;
  std::unique_ptr<Channel> channel_;
};

class LyingTest : public FederationTest {
 protected:
  // Client 0, which has 100 samples, and trains whenever it is asked, until it is over.
  void StartClient(double least_clients = kLeastClients, bool plain_metrics = false) {
    ClientOptions options = OptionsOf(0);
    options.least_clients = least_clients;
    options.plain_metrics = plain_metrics;
    threads_.emplace_back([this, options] {
      const auto self = Must(FederationClient::Create(options, Job()));
      while (true) {
        const RoundTask task = Must(self->Next());
        if (task.over) break;
        EXPECT_EQ(self->Submit(task.parameters, {.samples = 100, .metrics = {{"loss", 3}}}),
                  absl::OkStatus());
        epsilon_ = options.protection.privacy.on() ? self->Epsilon() : 0;
      }
    });
  }

  RoundStart StartOf(const std::vector<int64_t>& samples, RankWeighting weighting) const {
    return {.round = 1, .rounds = 9, .samples = samples, .weighting = weighting, .quorum = 2};
  }

  // What the client answers to such a round: why it takes no part, or nothing where it does.
  std::string Refusal(RawAggregator& aggregator, const RoundStart& start) {
    aggregator.BeginRound(++attempt_, start);
    const Frame frame = aggregator.Await(FrameKind::kReply);
    return frame.header.kind == FrameKind::kDecline ? TextFromBytes(frame.body) : "";
  }

  void End(RawAggregator& aggregator) {
    aggregator.BeginRound(0, {.over = true, .round = 9, .rounds = 9});
    JoinAll();
  }

  uint64_t attempt_ = 0;
  double epsilon_ = 0;
};

class LyingAboutSumsTest : public LyingTest, public ::testing::WithParamInterface<Protection> {};

INSTANTIATE_TEST_SUITE_P(All, LyingAboutSumsTest,
                         ::testing::Values(Protection::kMasked, Protection::kThreshold));

// Its update would be all there is in the sum.
TEST_P(LyingAboutSumsTest, AClientThatWouldCountForAllTakesNoPart) {
  options_.protection.protection = GetParam();
  StartClient();
  RawAggregator aggregator(options_.place);
  EXPECT_THAT(Refusal(aggregator, StartOf({100, 1, 1, 1}, RankWeighting::kSamples)),
              HasSubstr("hide one update no better than 1.06 equal ones would"));
  EXPECT_THAT(Refusal(aggregator, StartOf({100, 10000, 10000}, RankWeighting::kInverseSamples)),
              HasSubstr("hide one update no better than 1.04 equal ones would"));
  RoundStart by_steps = StartOf({100, 100, 100, 100}, RankWeighting::kSamples);
  by_steps.steps = {StepsOf(0), 100, 100, 100};
  EXPECT_THAT(Refusal(aggregator, by_steps),
              HasSubstr("hide one update no better than 1.06 equal ones would"));
  EXPECT_EQ(Refusal(aggregator, StartOf({100, 1, 1, 1}, RankWeighting::kEqual)), "");
  End(aggregator);
}

// Its neighbours get the truth, perhaps; this one does not.
TEST_F(LyingTest, AClientKnowsItsOwnSamplesAndSteps) {
  options_.protection.protection = Protection::kMasked;
  StartClient();
  RawAggregator aggregator(options_.place);
  EXPECT_EQ(Refusal(aggregator, StartOf({1000000, 1000000, 1000000}, RankWeighting::kSamples)),
            "the aggregator says that this client has 1000000 samples; it has 100");
  RoundStart by_steps = StartOf({100, 100, 100}, RankWeighting::kSamples);
  by_steps.steps = {50, 50, 50};
  EXPECT_EQ(Refusal(aggregator, by_steps),
            "the aggregator says that this client makes 50 steps in a round; it makes 1");
  End(aggregator);
}

TEST_F(LyingTest, ItIsTheClientThatSaysWhatIsEnough) {
  options_.protection.protection = Protection::kMasked;
  StartClient(/*least_clients=*/2.5);
  RawAggregator aggregator(options_.place);
  EXPECT_THAT(Refusal(aggregator, StartOf({100, 100}, RankWeighting::kSamples)),
              HasSubstr("no better than 2 equal ones would, and this client wants 2.5"));
  EXPECT_EQ(Refusal(aggregator, StartOf({100, 100, 50}, RankWeighting::kSamples)), "");
  End(aggregator);
}

// Nothing is hidden from the aggregator anyway.
TEST_F(LyingTest, WithoutEncryptionWeightsHideNothing) {
  StartClient();
  RawAggregator aggregator(options_.place);
  aggregator.BeginRound(1, StartOf({100, 1, 1}, RankWeighting::kSamples));
  EXPECT_EQ(aggregator.Await(FrameKind::kReport).header.kind, FrameKind::kReport);
  End(aggregator);
}

// An aggregator that may not read models reads nothing that comes of them.
TEST_F(LyingTest, MetricsOfAnEncryptedModelAreSentOnlyWhereTheClientSaysSo) {
  options_.protection.protection = Protection::kSharedKey;
  for (const bool plain_metrics : {false, true}) {
    StartClient(kLeastClients, plain_metrics);
    {
      RawAggregator aggregator(options_.place);
      aggregator.BeginRound(1, StartOf({100, 100}, RankWeighting::kSamples));
      const Report report = Must(ReportFromBytes(aggregator.Await(FrameKind::kReport).body));
      EXPECT_EQ(report.metrics.size(), plain_metrics ? 1u : 0u);
      aggregator.BeginRound(0, {.over = true, .round = 9, .rounds = 9});
      JoinAll();
    }
    if (place_.datagrams) break;
    options_.place.listener = Must(Listen(place_.address)).Release();
  }
}

// Three updates, of attempts that have one number.
TEST_F(LyingTest, AClientCountsWhatItHasSent) {
  options_.protection.privacy = {.clip = 5, .noise = 2};
  StartClient();
  RawAggregator aggregator(options_.place);
  for (int i = 0; i < 3; ++i) {
    aggregator.BeginRound(1, StartOf({100, 100}, RankWeighting::kSamples));
    EXPECT_EQ(aggregator.Await(FrameKind::kReport).header.kind, FrameKind::kReport);
  }
  End(aggregator);
  RenyiAccountant three;
  three.Add(1, 2, 3);
  EXPECT_DOUBLE_EQ(epsilon_, three.Epsilon(1e-5));
}

}  // namespace
}  // namespace dtnn::federation
