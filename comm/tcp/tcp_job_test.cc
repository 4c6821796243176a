#include "comm/tcp/tcp_job.h"

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using Environment = std::map<std::string, std::string>;

const std::string kSecret(40, 's');

absl::StatusOr<TcpJob> Find(const Environment& environment, int rank = 1) {
  return FindTcpJob({.launched = true, .rank = rank, .ranks = 3}, [&](const char* name) {
    const auto at = environment.find(name);
    return at == environment.end() ? nullptr : at->second.c_str();
  });
}

std::string ErrorOf(const Environment& environment) {
  return std::string(Find(environment).status().message());
}

TEST(TcpJobTest, RanksMeetOnThisHostUnlessTold) {
  const absl::StatusOr<TcpJob> job = Find({{"DTNN_JOB_SECRET", kSecret}});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->rendezvous.rank, 1);
  EXPECT_EQ(job->rendezvous.size, 3);
  EXPECT_EQ(job->rendezvous.address, (Endpoint{.host = "127.0.0.1", .port = 61642}));
  EXPECT_EQ(job->rendezvous.listener, -1);
}

TEST(TcpJobTest, TheRankMayBeSetWithoutALauncher) {
  Environment environment = {
      {"DTNN_JOB_SECRET", kSecret}, {"PYMPI_RANK", "4"}, {"PYMPI_SIZE", "7"}};
  const absl::StatusOr<TcpJob> job = Find(environment);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->rendezvous.rank, 4);
  EXPECT_EQ(job->rendezvous.size, 7);
  environment["PYMPI_RANK"] = "7";
  EXPECT_THAT(ErrorOf(environment), HasSubstr("PYMPI_RANK=7: expected less than PYMPI_SIZE=7"));
  environment["PYMPI_RANK"] = "one";
  EXPECT_THAT(ErrorOf(environment), HasSubstr("PYMPI_RANK="));
  environment.erase("PYMPI_RANK");
  EXPECT_THAT(ErrorOf(environment), HasSubstr("PYMPI_SIZE is set, but not PYMPI_RANK"));
  environment["PYMPI_RANK"] = "0";
  environment["DTNN_JOB_LISTENER"] = "5";
  EXPECT_EQ(Find(environment)->rendezvous.listener, 5) << "this is rank 0";
}

TEST(TcpJobTest, OnlyRankZeroTakesTheListener) {
  const Environment environment = {{"DTNN_JOB_SECRET", kSecret}, {"DTNN_JOB_LISTENER", "5"}};
  EXPECT_EQ(Find(environment, 0)->rendezvous.listener, 5);
  EXPECT_EQ(Find(environment, 1)->rendezvous.listener, -1);
}

TEST(TcpJobTest, WithoutASecretTheErrorSaysHowToGetOne) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("DTNN_JOB_SECRET is not set"));
  EXPECT_THAT(ErrorOf({}), HasSubstr("openssl rand -hex 32"));
  const std::string error = ErrorOf({{"DTNN_JOB_SECRET", "swordfish"}});
  EXPECT_THAT(error, HasSubstr("DTNN_JOB_SECRET: the job's secret has 9 characters"));
  EXPECT_EQ(error.find("swordfish"), error.npos);
}

TEST(TcpJobTest, WrongPortsAreNamed) {
  for (const char* port : {"x", "-1", "65536", "99999999999", ""}) {
    EXPECT_THAT(ErrorOf({{"DTNN_JOB_SECRET", kSecret}, {"PYMPI_PORT", port}}),
                HasSubstr("PYMPI_PORT="));
  }
}

TEST(TcpJobTest, OtherHostsAreReachedUnprotectedOnlyWhereThatWasAskedFor) {
  Environment environment = {{"DTNN_JOB_SECRET", kSecret}, {"PYMPI_ADDR", "10.0.0.7"}};
  EXPECT_THAT(ErrorOf(environment), HasSubstr("unprotected"));
  EXPECT_THAT(ErrorOf(environment), HasSubstr("DTNN_JOB_PLAIN=yes"));
  environment["PYMPI_ADDR"] = "127.example.org";
  EXPECT_THAT(ErrorOf(environment), HasSubstr("unprotected")) << "a name is not an address";
  environment["PYMPI_ADDR"] = "";
  EXPECT_THAT(ErrorOf(environment), HasSubstr("PYMPI_ADDR is empty"));
  environment["PYMPI_ADDR"] = "10.0.0.7";
  environment["DTNN_JOB_PLAIN"] = "yes";
  EXPECT_EQ(Find(environment)->rendezvous.address.host, "10.0.0.7");
}

}  // namespace
}  // namespace dtnn
