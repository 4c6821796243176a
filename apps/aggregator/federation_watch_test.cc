#include "apps/aggregator/federation_watch.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dtnn {
namespace {

using federation::Asked;
using federation::RoundRecord;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using State = Asked::State;

class FederationWatchTest : public ::testing::Test {
 protected:
  json Status() const { return json::parse(watch_.Status()); }

  FederationWatch::Clock::time_point now_{};
  FederationWatch watch_{std::chrono::seconds(60), [this] { return now_; }};
};

TEST_F(FederationWatchTest, CountsWhatBecomesOfClients) {
  watch_.Begin("net", 4, 9, false);
  for (const char* name : {"a", "b", "c"}) watch_.OnClient(name, 10);
  std::vector<Asked> asked = {{.name = "a"}, {.name = "b"}};
  watch_.OnAttempt(5, asked);
  EXPECT_EQ(Status()["state"], "round");
  EXPECT_EQ(Status()["clients"][1]["asked"], true);
  EXPECT_EQ(Status()["clients"][2]["asked"], false);
  asked[0].state = State::kAccepted;
  asked[1].state = State::kLeftOut;
  asked[1].why = "it is gone";
  watch_.OnAttemptEnd(asked, false);  // nothing of it counts
  watch_.OnAttempt(5, asked);
  watch_.OnStepEnd(federation::FederationObserver::Step::kUpdates, 0.5);
  watch_.OnAttemptEnd(asked, true);
  watch_.OnLate("b");
  watch_.OnRefusal();
  watch_.OnRevoked("c");
  watch_.OnGone("c");
  watch_.OnTurn(1000, 2000);
  const std::string text = watch_.Metrics();
  for (const char* line :
       {"\ndtnn_federation_rounds 9\n", "\ndtnn_federation_rounds_done_total 4\n",
        "\ndtnn_federation_attempts_total{result=\"good\"} 1\n",
        "\ndtnn_federation_attempts_total{result=\"failed\"} 1\n", "\ndtnn_federation_clients 2\n",
        "\ndtnn_federation_asked_total 4\n",
        "\ndtnn_federation_updates_total{result=\"accepted\"} 1\n",
        "\ndtnn_federation_updates_total{result=\"left_out\"} 2\n",
        "\ndtnn_federation_updates_total{result=\"late\"} 1\n",
        "\ndtnn_federation_refusals_total 1\n", "\ndtnn_federation_revocations_total 1\n",
        "\ndtnn_federation_bytes_total{direction=\"received\"} 2000\n",
        "\ndtnn_federation_phase_seconds_bucket{phase=\"updates\",le=\"0.1\"} 0\n",
        "\ndtnn_federation_phase_seconds_bucket{phase=\"updates\",le=\"1\"} 1\n",
        "\nprocess_resident_memory_bytes "}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  const json b = Status()["clients"][1];
  EXPECT_EQ(b["name"], "b");
  EXPECT_EQ(b["left_out"], 2);
  EXPECT_EQ(b["why"], "it is gone");
}

// In rounds that do not wait one trains while a round ends, and others that have ended do not.
TEST_F(FederationWatchTest, AClientIsAskedUntilItsOwnTurnEnds) {
  watch_.Begin("net", 0, 9, false);
  for (const char* name : {"a", "b", "c"}) watch_.OnClient(name, 10);
  const auto asked = [this] {
    std::string names;
    const json clients = Status()["clients"];
    for (const json& client : clients) {
      if (client["asked"]) names += client["name"];
    }
    return names;
  };
  EXPECT_EQ(Status()["state"], "waits for clients");
  for (const char* name : {"a", "b", "c"}) watch_.OnAsk(name);
  EXPECT_EQ(Status()["state"], "round");
  EXPECT_EQ(asked(), "abc");
  watch_.OnAskEnd("a");
  EXPECT_EQ(asked(), "bc");
  watch_.OnAskEnd("b");
  const std::vector<Asked> ended = {{.name = "a", .state = State::kAccepted},
                                    {.name = "b", .state = State::kLeftOut, .why = "it is gone"}};
  watch_.OnAttemptEnd(ended, true);
  watch_.OnSave();
  EXPECT_EQ(Status()["state"], "saves and tests");
  watch_.OnRoundDone({.round = 1, .clients = ended});
  EXPECT_EQ(Status()["state"], "round") << "c trains";
  EXPECT_EQ(asked(), "c");
  EXPECT_THAT(watch_.Metrics(), HasSubstr("\ndtnn_federation_asked_total 3\n"));
  EXPECT_EQ(Status()["clients"][0]["accepted"], 1);
  EXPECT_EQ(Status()["clients"][1]["left_out"], 1);
  watch_.OnAskEnd("c");
  EXPECT_EQ(Status()["state"], "waits for clients");
  EXPECT_EQ(asked(), "");
}

TEST_F(FederationWatchTest, ARoundBringsItsNumbers) {
  watch_.Begin("net", 0, 3, false);
  watch_.OnSave();
  EXPECT_EQ(Status()["state"], "saves and tests");
  now_ += std::chrono::seconds(2);
  watch_.OnRoundDone({.round = 1,
                      .attempts = 2,
                      .seconds = 1.5,
                      .bytes_sent = 7,
                      .clients = {{.state = State::kAccepted}, {}},
                      .metrics = {{"loss", 0.25}, {"val_acc", 0.5}},
                      .epsilons = RoundRecord::Epsilons{.model = 1.5, .aggregator = 9},
                      .clipping = RoundRecord::Clipping{.clip = 0.75, .below = 0.25}});
  const std::string text = watch_.Metrics();
  EXPECT_THAT(text, HasSubstr("\ndtnn_federation_metric{metric=\"loss\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("\ndtnn_federation_last_round_seconds 1.5\n"));
  EXPECT_THAT(text, HasSubstr("\ndtnn_federation_epsilon{of=\"model\"} 1.5\n"));
  EXPECT_THAT(text, HasSubstr("\ndtnn_federation_clip 0.75\n"));
  EXPECT_THAT(text, HasSubstr("\ndtnn_federation_below_clip 0.25\n"));
  EXPECT_THAT(text, HasSubstr("\ndtnn_federation_phase_seconds_sum{phase=\"save\"} 2\n"));
  const json round = Status()["last_rounds"][0];
  EXPECT_EQ(round["accepted"], 1);
  EXPECT_EQ(round["asked"], 2);
  EXPECT_EQ(round["metrics"]["val_acc"], 0.5);
  EXPECT_EQ(round["clip"], 0.75);
  EXPECT_EQ(round["below_clip"], 0.25);
}

// The rounds before --resume, and those after it.
TEST_F(FederationWatchTest, RoundsBeforeItBeganAreRemembered) {
  watch_.Begin("net", 2, 3, false);
  watch_.Remember(
      "epoch,loss,clients,samples,attempts,seconds,bytes_sent,bytes_received\n"
      "1,0.5,3,600,1,1.5,7,9\n2,0.25,2,400,1,0.5,7,9\n");
  EXPECT_THAT(watch_.Metrics(), HasSubstr("\ndtnn_federation_metric{metric=\"loss\"} 0.25\n"));
  watch_.OnSave();
  watch_.OnRoundDone({.round = 3, .clients = {{}}, .metrics = {{"loss", 0.125}}});
  const json rounds = Status()["last_rounds"];
  ASSERT_EQ(rounds.size(), 3u) << rounds;
  for (int round = 1; round <= 3; ++round) {
    EXPECT_EQ(rounds[size_t(round - 1)]["round"], round);
    EXPECT_EQ(rounds[size_t(round - 1)]["metrics"]["loss"], 1 / std::pow(2.0, round));
  }
  EXPECT_EQ(rounds[1]["accepted"], 2);
  EXPECT_EQ(rounds[1]["asked"], 2);
}

// The smaller epsilon of drawn clients holds against those who do not know who was drawn.
TEST_F(FederationWatchTest, PrivacyHidesWhoWasDrawn) {
  watch_.Begin("net", 0, 9, /*hides_drawn=*/true);
  watch_.OnClient("a", 10);
  watch_.OnClient("b", 10);
  std::vector<Asked> asked = {{.name = "a"}};
  watch_.OnAttempt(1, asked);
  const json before = Status()["clients"];
  asked[0].state = State::kLeftOut;
  asked[0].why = "it is gone";
  watch_.OnAttemptEnd(asked, true);
  watch_.OnLate("a");
  EXPECT_EQ(Status()["clients"], before);
  EXPECT_EQ(before, json::parse(R"([{"name": "a", "there": true, "samples": 10},
                                    {"name": "b", "there": true, "samples": 10}])"));
}

// Texts that clients send stay texts, in both forms, and are bounded in length and number.
TEST_F(FederationWatchTest, NamesOfClientsStayNames) {
  watch_.Begin("net", 0, 1, false);
  watch_.OnClient("\"}, {\"evil\": \"\n\x01\xff<script>", 1);
  watch_.OnClient(std::string(100'000, 'n'), 1);
  RoundRecord record;
  record.round = 1;
  record.metrics = {{"m\"} 1\nfake 7\n", 1}, {"m\"} 1\nfake 7\n", 2}};
  for (int i = 0; i < 500; ++i) record.metrics.emplace_back("m" + std::to_string(i), i);
  watch_.OnRoundDone(record);
  const json status = Status();
  ASSERT_EQ(status["clients"].size(), 2);
  EXPECT_THAT(std::string(status["clients"][0]["name"]), HasSubstr("<script>"));
  EXPECT_LE(std::string(status["clients"][1]["name"]).size(), 210);
  const std::string text = watch_.Metrics();
  EXPECT_THAT(text, Not(HasSubstr("\nfake")));
  EXPECT_THAT(text, Not(HasSubstr("m70")));
  EXPECT_LT(text.size(), 20'000);
  size_t series = 0;
  for (size_t at = 0; (at = text.find("fake 7", at)) != text.npos; ++at) ++series;
  EXPECT_EQ(series, 1) << "one value per name";
}

TEST_F(FederationWatchTest, RemembersAsManyThatLeftAsItHasRoomFor) {
  for (int i = 0; i < 2000; ++i) {
    watch_.OnClient("c" + std::to_string(i), 1);
    watch_.OnGone("c" + std::to_string(i));
  }
  EXPECT_EQ(Status()["clients"].size(), 500u);
  EXPECT_EQ(Status()["clients_there"], 0);
  RoundRecord record;
  while (++record.round <= 1500) watch_.OnRoundDone(record);
  EXPECT_EQ(Status()["last_rounds"].size(), 1000u);
  EXPECT_EQ(Status()["last_rounds"].front()["round"], 501);
  EXPECT_EQ(Status()["last_rounds"].back()["round"], 1500);
}

TEST_F(FederationWatchTest, IsNotHealthyWhereClientsHearNothing) {
  watch_.OnTurn(0, 0);
  now_ += std::chrono::seconds(59);
  EXPECT_TRUE(watch_.Health().ok());
  now_ += std::chrono::seconds(1);
  EXPECT_EQ(watch_.Health().message(),
            "the aggregator has not listened to its clients for 60 seconds, with a --comm-timeout "
            "of 60");
  EXPECT_THAT(watch_.Metrics(), HasSubstr("\ndtnn_federation_idle_seconds 60\n"));
  watch_.OnTurn(0, 0);
  EXPECT_TRUE(watch_.Health().ok());
  watch_.OnSave();
  now_ += std::chrono::seconds(61);
  EXPECT_TRUE(watch_.Health().ok()) << "a long test does not end it";
  RoundRecord record;
  record.round = 1;
  watch_.OnRoundDone(record);
  EXPECT_TRUE(watch_.Health().ok());
  now_ += std::chrono::seconds(61);
  watch_.OnEnd();
  EXPECT_TRUE(watch_.Health().ok()) << "it has nobody to listen to any more";
}

}  // namespace
}  // namespace dtnn
