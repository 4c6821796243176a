// What the aggregator reports by HTTP and in its log while its clients train.

#include <csignal>
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
  const std::string words = "Metrics at http://127.0.0.1:";
  EXPECT_TRUE(program.ReadUntil(words));
  const size_t at = program.text().find(words) + words.size();
  while (program.text().find('\n', at) == std::string::npos && program.ReadUntil("\n")) {
  }
  return uint16_t(std::atoi(program.text().c_str() + at));
}

// Also while a caller has sent half a request.
TEST_F(FederationPrograms, ReportClientsAndRounds) {
  const auto aggregator = Aggregator({"--rounds=100000", "--min-clients=2", "--metrics-port=0"});
  const uint16_t port = PortOf(*aggregator);
  const auto get = [port](std::string_view path) { return HttpClient(port).Ask(HttpGet(path)); };
  EXPECT_EQ(get("/healthz").code, 200);
  EXPECT_THAT(get("/").body, HasSubstr("DTNN: a federation"));
  EXPECT_THAT(get("/metrics").body, HasSubstr("\ndtnn_federation_clients 0\n"));
  HttpClient half(port);
  ASSERT_TRUE(half.Send("GET /metrics HTTP/1.1\r\nHost: local"));

  const auto first = Client(1);
  ASSERT_TRUE(aggregator->ReadUntil("client client-1 is there"));
  const nlohmann::json there = nlohmann::json::parse(get("/status.json").body);
  EXPECT_EQ(there["clients_there"], 1);
  EXPECT_EQ(there["clients"][0]["name"], "client-1");
  EXPECT_EQ(there["rounds"], 100000);

  const auto second = Client(2);
  ASSERT_TRUE(aggregator->ReadUntil("**** Round 1: 2 of 2 clients"));
  std::string text;
  do {
    text = get("/metrics").body;
  } while (text.find("\ndtnn_federation_rounds_done_total 0\n") != text.npos);
  EXPECT_THAT(text, HasSubstr("\ndtnn_federation_clients 2\n"));
  EXPECT_THAT(text, HasSubstr("\ndtnn_federation_metric{metric=\"categorical_cross_entropy\"} "));
  aggregator->Signal(SIGTERM);
  const Outcome outcome = aggregator->Wait();
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << outcome.text;
}

// Names of clients are not secret, which of them a private round drew is: also where all are to be
// asked, since more may come than a round can ask.
TEST_F(FederationPrograms, HideWhoAPrivateRoundDrew) {
  const auto aggregator = Aggregator(
      {"--rounds=5", "--min-clients=1", "--dp-clip=1", "--dp-noise=1", "--metrics-port=0"});
  const uint16_t port = PortOf(*aggregator);
  const auto client = Client(1, {"--dp-clip=1", "--dp-noise=1"});
  ASSERT_TRUE(aggregator->ReadUntil("client client-1 is there")) << aggregator->text();
  const auto status = nlohmann::json::parse(HttpClient(port).Ask(HttpGet("/status.json")).body);
  EXPECT_EQ(status["clients"][0]["name"], "client-1");
  EXPECT_FALSE(status["clients"][0].contains("asked"));
  EXPECT_FALSE(status["clients"][0].contains("accepted"));
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

TEST_F(FederationPrograms, DoNotReportToOtherHostsUnasked) {
  const Outcome outcome = Aggregator({"--metrics-listen=0.0.0.0", "--metrics-port=0"})->Wait();
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.text, HasSubstr("--metrics-listen=0.0.0.0: other hosts can connect there"));
}

}  // namespace
}  // namespace dtnn
