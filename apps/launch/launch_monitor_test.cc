// What launch reports by HTTP of a job, and in its log as JSON.

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
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
using testing::ElasticJob;
using ::testing::HasSubstr;
using testing::HttpClient;
using testing::HttpGet;
using testing::kLaunch;
using testing::NewFolder;
using ::testing::Not;
using testing::Outcome;
using testing::Process;
using testing::SmallRun;
using testing::With;

using Arguments = std::vector<std::string>;

// Ranks that run a shell script.
Arguments Scripts(int ranks, const std::string& script, const Arguments& options) {
  Arguments arguments = {"-n", std::to_string(ranks)};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), {"--", "/bin/sh", "-c", script});
  return arguments;
}

uint16_t PortOf(Process& launch) {
  const std::string words = "launch: metrics of the job at http://127.0.0.1:";
  EXPECT_TRUE(launch.ReadUntil(words)) << launch.text();
  const size_t at = launch.text().find(words) + words.size();
  while (launch.text().find('\n', at) == std::string::npos && launch.ReadUntil("\n")) {
  }
  return uint16_t(std::atoi(launch.text().c_str() + at));
}

testing::HttpResponse Get(uint16_t port, std::string_view path) {
  return HttpClient(port).Ask(HttpGet(path));
}

// Asks until the metrics have that line.
std::string MetricsWith(uint16_t port, const std::string& line) {
  std::string text;
  do {
    text = Get(port, "/metrics").body;
  } while (text.find("\n" + line + "\n") == text.npos);
  return text;
}

TEST(LaunchMonitorTest, RanksThatHaveDoneTheirWorkAreNoTrouble) {
  Process launch(kLaunch, Scripts(3, "[ $PYMPI_RANK = 1 ] || exec sleep 1000",
                                  {"--metrics-port=0", "--grace=0"}));
  const uint16_t port = PortOf(launch);
  const std::string metrics = MetricsWith(port, "dtnn_job_ranks_present 2");
  for (const char* const line :
       {"dtnn_job_ranks_expected{bound=\"least\"} 3", "dtnn_job_ranks_expected{bound=\"most\"} 3",
        "dtnn_job_ranks_lost_total 0", "dtnn_job_processes 2", "dtnn_job_starts_total 3",
        "dtnn_job_exits_total{code=\"0\"} 1"}) {
    EXPECT_THAT(metrics, HasSubstr("\n" + std::string(line) + "\n"));
  }
  EXPECT_THAT(metrics, Not(HasSubstr("generations")));
  EXPECT_EQ(Get(port, "/healthz").code, 200);
  const json status = json::parse(Get(port, "/status.json").body);
  EXPECT_EQ(status["processes"][1]["exit_code"], 0);
  EXPECT_EQ(status["processes"][2]["running"], true);
  launch.Signal(SIGTERM);
  EXPECT_EQ(launch.Wait().exit_code, 128 + SIGTERM) << launch.text();
}

// While the others end.
TEST(LaunchMonitorTest, AFailedRankEndsTheHealthOfItsJob) {
  for (const auto& [script, code, lost, why] :
       {std::tuple("exit 3", "3", "0", "rank 1 ended with exit code 3"),
        std::tuple("kill -9 $$", "137", "1", "rank 1 was ended by signal 9")}) {
    Process launch(kLaunch,
                   Scripts(2, "[ $PYMPI_RANK = 0 ] && exec sleep 1000; " + std::string(script),
                           {"--metrics-port=0", "--grace=1000"}));
    const uint16_t port = PortOf(launch);
    const std::string line = "dtnn_job_exits_total{code=\"" + std::string(code) + "\"} 1";
    const std::string metrics = MetricsWith(port, line);
    MetricsWith(port, "dtnn_job_ranks_lost_total " + std::string(lost));
    MetricsWith(port, "dtnn_job_ranks_present 1");
    const auto health = Get(port, "/healthz");
    EXPECT_EQ(health.code, 503);
    EXPECT_THAT(health.body, HasSubstr(why));
    EXPECT_EQ(json::parse(Get(port, "/status.json").body)["trouble"], why);
    launch.Signal(SIGTERM);
    EXPECT_NE(launch.Wait().exit_code, 0);
  }
}

TEST(LaunchMonitorTest, CountsTheGenerationsOfRanksThatComeAndGo) {
  ElasticJob job(
      NewFolder("watched"), 3, {"--elastic=1:4", "--metrics-port=0"},
      With(SmallRun(101), {"--num-epochs=100000", "--progress=none", "--comm-timeout=20"}));
  const uint16_t port = PortOf(job.launch());
  std::string metrics = MetricsWith(port, "dtnn_job_generations_total 1");
  EXPECT_THAT(metrics, HasSubstr("\ndtnn_job_ranks_expected{bound=\"least\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("\ndtnn_job_ranks_expected{bound=\"most\"} 4\n"));
  EXPECT_THAT(metrics, HasSubstr("\ndtnn_job_ranks_present 3\n"));
  EXPECT_THAT(metrics, HasSubstr("\ndtnn_job_ranks_lost_total 0\n"));
  ASSERT_EQ(kill(job.Rank(1), SIGKILL), 0);
  metrics = MetricsWith(port, "dtnn_job_generations_total 2");
  EXPECT_THAT(metrics, HasSubstr("\ndtnn_job_ranks_present 2\n"));
  EXPECT_THAT(metrics, HasSubstr("\ndtnn_job_ranks_lost_total 1\n"));
  MetricsWith(port, "dtnn_job_exits_total{code=\"137\"} 1");
  EXPECT_EQ(Get(port, "/healthz").code, 200);
  // Ranks count that launch has not started, too.
  job.Add("1:4");
  metrics = MetricsWith(port, "dtnn_job_generations_total 3");
  EXPECT_THAT(metrics, HasSubstr("\ndtnn_job_ranks_present 3\n"));
  EXPECT_THAT(metrics, HasSubstr("\ndtnn_job_processes 2\n"));
  job.launch().Signal(SIGTERM);
  EXPECT_NE(job.Wait().exit_code, 1);
}

TEST(LaunchMonitorTest, ItsLogSaysWhichRankEndedAndHow) {
  const Outcome outcome =
      Process(kLaunch, Scripts(2, "exit $((3 + PYMPI_RANK))", {"--log-format=json"})).Wait();
  bool found = false;
  std::istringstream lines(outcome.text);
  for (std::string line; std::getline(lines, line);) {
    const json object = json::parse(line, nullptr, false);
    ASSERT_TRUE(object.is_object()) << line;
    if (!object.contains("exit_code")) continue;
    found = true;
    EXPECT_EQ(object["program"], "launch");
    EXPECT_EQ(object["exit_code"], 3 + int(object["of_rank"]));
  }
  EXPECT_TRUE(found) << outcome.text;
}

// No rank has begun then.
TEST(LaunchMonitorTest, APortThatIsTakenEndsTheJob) {
  const Socket taken = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const std::string port = std::to_string(Must(taken.Local()).port);
  const Outcome outcome =
      Process(kLaunch, Scripts(2, "echo begun", {"--metrics-port=" + port})).Wait();
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.text, HasSubstr("--metrics-port: "));
  EXPECT_THAT(outcome.text, Not(HasSubstr("begun")));
}

TEST(LaunchMonitorTest, OtherHostsDoNotReachItUnasked) {
  const Outcome outcome =
      Process(kLaunch, Scripts(1, "true", {"--metrics-listen=0.0.0.0", "--metrics-port=0"})).Wait();
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.text, HasSubstr("--metrics-listen=0.0.0.0: other hosts can connect there"));
}

}  // namespace
}  // namespace dtnn
