#include "apps/launch/job_watch.h"

#include <chrono>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(JobWatchTest, CountsRanksAndHowTheyEnded) {
  JobWatch::Clock::time_point now = {};
  JobWatch watch([&] { return now; });
  watch.Begin(2, 4);
  for (const int number : {0, 1, 2}) watch.OnStart(number, number == 2 ? "node\"2" : "");
  watch.OnExit(1, 137);
  watch.OnStart(1, "");
  watch.OnExit(2, 137);
  watch.OnExit(0, 75);
  watch.OnTurn({.present = 3, .lost = 2, .generations = 5});
  now += std::chrono::milliseconds(2500);

  const std::string metrics = watch.Metrics();
  for (const char* const line :
       {"dtnn_job_ranks_expected{bound=\"least\"} 2", "dtnn_job_ranks_expected{bound=\"most\"} 4",
        "dtnn_job_ranks_present 3", "dtnn_job_ranks_lost_total 2", "dtnn_job_generations_total 5",
        "dtnn_job_processes 1", "dtnn_job_starts_total 4", "dtnn_job_exits_total{code=\"75\"} 1",
        "dtnn_job_exits_total{code=\"137\"} 2", "dtnn_job_seconds 2.5"}) {
    EXPECT_THAT(metrics, HasSubstr("\n" + std::string(line) + "\n"));
  }
  EXPECT_THAT(metrics, HasSubstr("process_resident_memory_bytes"));

  const auto status = nlohmann::json::parse(watch.Status());
  EXPECT_EQ(status["ranks_expected"], (std::vector<int>{2, 4}));
  EXPECT_EQ(status["ranks_present"], 3);
  EXPECT_EQ(status["ranks_lost"], 2);
  EXPECT_EQ(status["generations"], 5);
  EXPECT_EQ(status["seconds"], 2.5);
  EXPECT_TRUE(status["trouble"].is_null());
  ASSERT_EQ(status["processes"].size(), 3);
  EXPECT_EQ(status["processes"][1]["running"], true);
  EXPECT_EQ(status["processes"][1]["starts"], 2);
  EXPECT_EQ(status["processes"][2]["host"], "node\"2");
  EXPECT_EQ(status["processes"][2]["exit_code"], 137);
}

TEST(JobWatchTest, AJobWithAFixedNumberOfRanksHasNoGenerations) {
  JobWatch watch;
  watch.Begin(2, 2);
  watch.OnTurn({.present = 2});
  EXPECT_THAT(watch.Metrics(), Not(HasSubstr("generations")));
  EXPECT_TRUE(nlohmann::json::parse(watch.Status())["generations"].is_null());
}

TEST(JobWatchTest, TheFirstTroubleEndsItsHealth) {
  JobWatch watch;
  EXPECT_TRUE(watch.Health().ok());
  watch.OnTrouble("rank 1 ended with exit code 3");
  watch.OnTrouble("rank 0 was ended by signal 15");
  EXPECT_EQ(watch.Health().message(), "rank 1 ended with exit code 3");
  EXPECT_EQ(nlohmann::json::parse(watch.Status())["trouble"], "rank 1 ended with exit code 3");
}

}  // namespace
}  // namespace dtnn
