// What ranks of a job write as lines of JSON, and what rank 0 tells of the job by HTTP.

#include <csignal>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "apps/testing/elastic_job.h"
#include "apps/testing/launch_job.h"
#include "apps/testing/process.h"
#include "comm/http/testing/http_client.h"
#include "comm/transport/tcp/socket.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tensor/must.h"

namespace dtnn {
namespace {

using nlohmann::json;
using testing::Arguments;
using testing::ElasticJob;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HttpClient;
using testing::HttpGet;
using testing::kLaunch;
using testing::NewFolder;
using testing::Outcome;
using testing::Process;
using testing::Ranks;
using testing::SmallRun;
using testing::With;

std::vector<json> Objects(const std::string& text) {
  std::vector<json> objects;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    objects.push_back(json::parse(line, nullptr, false));
    EXPECT_TRUE(objects.back().is_object()) << line;
  }
  return objects;
}

// Every line of every process is an object, and the epochs are numbers.
TEST(LaunchLogTest, AJobWritesOneObjectPerLine) {
  const Arguments run =
      With(SmallRun(101), {"--num-epochs=2", "--log-format=json",
                           "--reduce-lr-on-plateau-patience=7", "--schedulers=", "--evaluate"});
  const Outcome outcome = Process(kLaunch, Ranks(2, run, {"--log-format=json"})).Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  std::vector<int> epochs;
  bool warned = false, tested = false;
  for (const json& object : Objects(outcome.text)) {
    for (const char* name : {"time", "severity", "program", "message"}) {
      EXPECT_TRUE(object.contains(name)) << object;
    }
    if (object.contains("epoch")) {
      epochs.push_back(object["epoch"]);
      EXPECT_EQ(object["rank"], 0);
      EXPECT_GT(object["step"], 0);
      EXPECT_TRUE(object["loss"].is_number()) << object;
      EXPECT_GE(object["metrics"].size(), 2) << object;
    }
    warned |= object["severity"] == "WARNING" &&
              std::string(object["message"]).starts_with("--reduce-lr-on-plateau-patience has no");
    tested |= object["message"] == "Testing" && object["metrics"].size() >= 1;
  }
  EXPECT_THAT(epochs, ElementsAre(1, 2));
  EXPECT_TRUE(warned) << outcome.text;
  EXPECT_TRUE(tested) << outcome.text;
}

TEST(LaunchLogTest, ErrorsAreObjectsToo) {
  const Outcome outcome =
      Process(kLaunch, Ranks(2,
                             With(SmallRun(101), {"--log-format=json", "--dataset-path=/none",
                                                  "--dataset=archive"}),
                             {"--log-format=json"}))
          .Wait();
  EXPECT_NE(outcome.exit_code, 0);
  std::set<std::string> severities;
  for (const json& object : Objects(outcome.text)) severities.insert(object["severity"]);
  EXPECT_TRUE(severities.contains("ERROR")) << outcome.text;
}

TEST(LaunchLogTest, RankZeroTellsOfTheJob) {
  Process job(kLaunch, Ranks(2, With(SmallRun(101), {"--num-epochs=100000", "--progress=none",
                                                     "--metrics-port=0"})));
  ASSERT_TRUE(job.ReadUntil("Metrics at http://127.0.0.1:"));
  ASSERT_TRUE(job.ReadUntil("\n[0] "));
  const std::string& text = job.text();
  const size_t at = text.find("http://127.0.0.1:");
  const auto port = uint16_t(std::atoi(text.c_str() + at + 17));
  std::string metrics;
  do {
    metrics = HttpClient(port).Ask(HttpGet("/metrics")).body;
  } while (metrics.find("\ndtnn_run_epochs_done 0\n") != metrics.npos);
  EXPECT_THAT(metrics, HasSubstr("\ndtnn_run_ranks 2\n"));
  EXPECT_THAT(metrics, HasSubstr("\ndtnn_run_epochs 100000\n"));
  EXPECT_THAT(metrics, HasSubstr("\ndtnn_run_metric{metric=\"categorical_cross_entropy\"} "));
  const json status = json::parse(HttpClient(port).Ask(HttpGet("/status.json")).body);
  EXPECT_GE(status["epochs_done"], 1);
  job.Signal(SIGTERM);
  EXPECT_EQ(job.Wait().exit_code, 128 + SIGTERM) << job.text();
}

// Free now, and with luck still when a rank listens there.
std::string FreePort() {
  const Socket free = Must(Listen({.host = "127.0.0.1", .port = 0}));
  return std::to_string(Must(free.Local()).port);
}

// Empty while nobody listens.
std::string MetricsAt(const std::string& port) {
  HttpClient client(uint16_t(std::stoi(port)));
  return client.connected() ? client.Ask(HttpGet("/metrics")).body : "";
}

// One of the three is rank 0, and listens; another one does once that is killed.
TEST(LaunchLogTest, ARankTellsOfTheJobWhicheverIsLost) {
  for (const int victim : {0, 1, 2}) {
    SCOPED_TRACE(victim);
    const std::string port = FreePort();
    ElasticJob job(NewFolder("told" + std::to_string(victim)), 3, {"--elastic=1:4"},
                   With(SmallRun(101), {"--num-epochs=100000", "--progress=none",
                                        "--comm-timeout=6", "--metrics-port=" + port}));
    ASSERT_TRUE(job.launch().ReadUntil("Metrics at http://127.0.0.1:" + port));
    std::string text;
    do {  // until all three have formed the job
      text = MetricsAt(port);
    } while (text.find("\ndtnn_run_epochs_done 0\n") != text.npos);
    EXPECT_THAT(text, HasSubstr("\ndtnn_run_ranks 3\n"));
    ASSERT_EQ(kill(job.Rank(victim), SIGKILL), 0);
    ASSERT_TRUE(job.launch().ReadUntil("launch: generation 2: 2 ranks"));
    do {
      text = MetricsAt(port);
    } while (text.find("\ndtnn_run_ranks 2\n") == text.npos);
    EXPECT_THAT(text, HasSubstr("\ndtnn_run_generations_total 2\n"));
    job.launch().Signal(SIGTERM);
    EXPECT_NE(job.Wait().exit_code, 0);
  }
}

// On the same host, where the port is in use.
TEST(LaunchLogTest, ARankThatJoinsFindsThePortTaken) {
  const std::string port = FreePort();
  ElasticJob job(NewFolder("joined"), 2, {"--elastic=1:4"},
                 With(SmallRun(101), {"--num-epochs=100000", "--progress=none", "--comm-timeout=6",
                                      "--metrics-port=" + port}));
  ASSERT_TRUE(job.launch().ReadUntil("Metrics at http://127.0.0.1:" + port));
  job.Add("1:4");
  while (MetricsAt(port).find("\ndtnn_run_ranks 3\n") == std::string::npos) {
  }
  job.launch().Signal(SIGTERM);
  EXPECT_NE(job.Wait().exit_code, 1);
}

// The other rank does not wait for it.
TEST(LaunchLogTest, APortThatIsTakenEndsTheJob) {
  const Socket taken = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const std::string port = std::to_string(Must(taken.Local()).port);
  const Outcome outcome =
      Process(kLaunch, Ranks(2, With(SmallRun(101), {"--metrics-port=" + port}))).Wait();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.text, HasSubstr("--metrics-port: "));
  EXPECT_THAT(outcome.text, HasSubstr("127.0.0.1:" + port));
}

}  // namespace
}  // namespace dtnn
