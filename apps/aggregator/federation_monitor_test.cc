// What the aggregator tells of itself while its clients train.

#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "apps/aggregator/testing/federation_programs.h"
#include "comm/http/testing/http_client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using testing::FederationPrograms;
using ::testing::HasSubstr;
using testing::HttpClient;
using testing::HttpGet;
using testing::Outcome;
using testing::Process;

uint16_t PortOf(Process& program) {
  EXPECT_TRUE(program.ReadUntil("Tells of itself at http://127.0.0.1:"));
  while (program.text().find('\n', program.text().find("Tells of itself")) == std::string::npos &&
         program.ReadUntil("\n")) {
  }
  const std::string& text = program.text();
  return uint16_t(std::atoi(text.c_str() + text.find(':', text.find("http://") + 7) + 1));
}

// The federation also ends well with a caller that never reads its answer.
TEST_F(FederationPrograms, TellOfClientsAndRounds) {
  const auto aggregator = Aggregator({"--rounds=2", "--min-clients=2", "--metrics-port=0"});
  const uint16_t port = PortOf(*aggregator);
  const auto get = [port](std::string_view path) { return HttpClient(port).Ask(HttpGet(path)); };
  EXPECT_EQ(get("/healthz").code, 200);
  EXPECT_THAT(get("/metrics").body, HasSubstr("\ndtnn_federation_clients 0\n"));
  HttpClient silent(port);
  ASSERT_TRUE(silent.Send("GET /metrics HTTP/1.1\r\nHost: local"));

  const auto first = Client(1);
  ASSERT_TRUE(aggregator->ReadUntil("client client-1 is there"));
  const nlohmann::json there = nlohmann::json::parse(get("/status.json").body);
  EXPECT_EQ(there["clients_there"], 1);
  EXPECT_EQ(there["clients"][0]["name"], "client-1");
  EXPECT_EQ(there["rounds"], 2);

  const auto second = Client(2);
  ASSERT_TRUE(aggregator->ReadUntil("**** Round 1: 2 of 2 clients"));
  std::string text;
  do {
    text = get("/metrics").body;
  } while (text.find("\ndtnn_federation_rounds_done_total 0\n") != text.npos);
  EXPECT_THAT(text, HasSubstr("\ndtnn_federation_clients_total{event=\"answered\"} "));
  EXPECT_THAT(text, HasSubstr("\ndtnn_federation_metric{metric=\"categorical_cross_entropy\"} "));
  for (const auto& client : {&first, &second}) EXPECT_EQ((*client)->Wait().exit_code, 0);
  const Outcome outcome = aggregator->Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
}

TEST_F(FederationPrograms, WriteObjectsOfTheirRounds) {
  const auto aggregator = Aggregator({"--rounds=2", "--min-clients=1", "--log-format=json"});
  const auto client = Client(1, {"--log-format=json"});
  const Outcome of_client = client->Wait(), of_aggregator = aggregator->Wait();
  EXPECT_EQ(of_client.exit_code, 0) << of_client.text;
  EXPECT_EQ(of_aggregator.exit_code, 0) << of_aggregator.text;
  std::vector<int> rounds, epochs;
  for (const std::string& text : {of_aggregator.text, of_client.text}) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
      ASSERT_TRUE(object.is_object()) << line;
      if (!object.contains("round")) continue;
      const bool trains = object["program"] == "benchmark";
      (trains ? epochs : rounds).push_back(object["round"]);
      if (trains) {
        EXPECT_EQ(object["client"], "client-1");
      } else {
        EXPECT_EQ(object["accepted"], 1);
      }
      EXPECT_TRUE(object["loss"].is_number()) << line;
    }
  }
  EXPECT_THAT(rounds, ElementsAre(1, 2));
  EXPECT_THAT(epochs, ElementsAre(1, 2));
}

TEST_F(FederationPrograms, ThatCannotTellOfThemselvesDoNotBegin) {
  const Outcome outcome = Aggregator({"--metrics-listen=0.0.0.0", "--metrics-port=0"})->Wait();
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.text, HasSubstr("--metrics-listen=0.0.0.0: other hosts can connect there"));
  const Outcome without = Aggregator({"--metrics-listen=0.0.0.0"})->Wait();
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.text, HasSubstr("--metrics-port: missing"));
}

}  // namespace
}  // namespace dtnn
