#include "apps/launch/job_description.h"

#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "comm/ranks/job/exit_code.h"
#include "comm/transport/tcp/socket.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> HostsOf(const JobDescription& job) {
  std::vector<std::string> hosts;
  for (const RankChildOptions& rank : job.ranks) hosts.push_back(rank.host);
  return hosts;
}

std::map<std::string, std::string> VariablesOf(const RankChildOptions& rank) {
  return {rank.variables.begin(), rank.variables.end()};
}

TEST(JobDescriptionTest, OneHostNeedsNothingElse) {
  const auto job = DescribeJob({.ranks = 3});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(HostsOf(*job), ElementsAre("", "", ""));
  EXPECT_GE(job->listener.descriptor(), 0);
  const int port = job->listener.Local()->port;
  for (int rank = 0; rank < 3; ++rank) {
    const RankChildOptions& child = job->ranks[size_t(rank)];
    auto variables = VariablesOf(child);
    EXPECT_EQ(variables["PYMPI_PROTO"], "tcp");
    EXPECT_EQ(variables["PYMPI_RANK"], std::to_string(rank));
    EXPECT_EQ(variables["PYMPI_SIZE"], "3");
    EXPECT_EQ(variables["PYMPI_ADDR"], "127.0.0.1");
    EXPECT_EQ(variables["PYMPI_PORT"], std::to_string(port));
    EXPECT_EQ(variables["DTNN_JOB_SECRET"], VariablesOf(job->ranks[0])["DTNN_JOB_SECRET"]);
    EXPECT_EQ(variables.contains("DTNN_JOB_PLAIN"), false);
    EXPECT_EQ(variables.contains("DTNN_JOB_LISTENER"), rank == 0);
    EXPECT_EQ(child.listener, rank == 0 ? job->listener.descriptor() : -1);
    EXPECT_EQ(child.prefix, "[" + std::to_string(rank) + "] ");
  }
  const auto other = DescribeJob({.ranks = 1});
  EXPECT_NE(VariablesOf(other->ranks[0])["DTNN_JOB_SECRET"],
            VariablesOf(job->ranks[0])["DTNN_JOB_SECRET"]);
}

TEST(JobDescriptionTest, RanksAreDividedAmongHostsInBlocks) {
  setenv("JOB_TEST", "a b", 1);
  const auto job =
      DescribeJob({.ranks = 5, .hosts = "me@one,two", .variables = "JOB_TEST", .plain = true});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(HostsOf(*job), ElementsAre("me@one", "me@one", "me@one", "two", "two"));
  EXPECT_LT(job->listener.descriptor(), 0) << "rank 0 is on another host";
  auto variables = VariablesOf(job->ranks[4]);
  EXPECT_EQ(variables["PYMPI_ADDR"], "one");
  EXPECT_EQ(variables["PYMPI_PORT"], "61642");
  EXPECT_EQ(variables["DTNN_JOB_PLAIN"], "yes");
  EXPECT_EQ(variables["JOB_TEST"], "a b");
  EXPECT_FALSE(variables.contains("DTNN_JOB_LISTENER"));
}

TEST(JobDescriptionTest, RanksOfAllHostsShareMemoryOrNone) {
  setenv("DTNN_SHARED_MEMORY", "no", 1);
  const auto job =
      DescribeJob({.ranks = 2, .hosts = "localhost,two", .rendezvous = "here:1", .plain = true});
  unsetenv("DTNN_SHARED_MEMORY");
  ASSERT_EQ(job.status(), absl::OkStatus());
  for (const RankChildOptions& rank : job->ranks) {
    EXPECT_EQ(VariablesOf(rank)["DTNN_SHARED_MEMORY"], "no");
  }
}

TEST(JobDescriptionTest, EachHostHasACertificateOfItsOwn) {
  const auto job = DescribeJob({.ranks = 2, .hosts = "me@one,two", .certificates = "/certs"});
  ASSERT_TRUE(job.ok()) << job.status();
  auto variables = VariablesOf(job->ranks[0]);
  EXPECT_EQ(variables["PYMPI_SSL"], "yes");
  EXPECT_EQ(variables["PYMPI_SSL_CERT"], "/certs/one.pem");
  EXPECT_EQ(variables["PYMPI_SSL_KEY"], "/certs/one.key");
  EXPECT_EQ(variables["PYMPI_SSL_CA"], "/certs/authority.pem");
  EXPECT_FALSE(variables.contains("DTNN_JOB_PLAIN"));
  EXPECT_EQ(VariablesOf(job->ranks[1])["PYMPI_SSL_CERT"], "/certs/two.pem");
  const auto here = DescribeJob({.ranks = 1, .certificates = "certs"});
  EXPECT_EQ(VariablesOf(here->ranks[0])["PYMPI_SSL_CERT"], "certs/localhost.pem");
}

TEST(JobDescriptionTest, RankZeroHereNeedsAnAddressForTheOthers) {
  LaunchOptions options = {.ranks = 2, .hosts = "localhost,two", .plain = true};
  EXPECT_THAT(std::string(DescribeJob(options).status().message()),
              HasSubstr("--rendezvous: missing"));
  options.rendezvous = "here.example:61999";
  const auto job = DescribeJob(options);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_THAT(HostsOf(*job), ElementsAre("", "two"));
  EXPECT_EQ(VariablesOf(job->ranks[1])["PYMPI_ADDR"], "here.example");
  EXPECT_EQ(job->listener.Local()->port, 61999);
}

TEST(JobDescriptionTest, AServerOfRankZeroIsReachedAsItsListener) {
  const auto job = DescribeJob({.ranks = 2, .transport = Transport::kGrpc});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(VariablesOf(job->ranks[0])["PYMPI_PROTO"], "grpc");
  EXPECT_EQ(VariablesOf(job->ranks[1])["PYMPI_PORT"], std::to_string(job->listener.Local()->port));
  EXPECT_TRUE(VariablesOf(job->ranks[0]).contains("DTNN_JOB_LISTENER"));
  EXPECT_TRUE(DescribeJob({.ranks = 2, .hosts = "a,b", .transport = Transport::kGrpc}).ok())
      << "messages are sealed";
}

TEST(JobDescriptionTest, ABrokerIsWhereItIsSaidToBe) {
  LaunchOptions options = {.ranks = 2, .transport = Transport::kMqtt};
  const auto address = [&] {
    const auto job = DescribeJob(options);
    EXPECT_TRUE(job.ok()) << job.status();
    EXPECT_LT(job->listener.descriptor(), 0);
    auto variables = VariablesOf(job->ranks[1]);
    return variables["PYMPI_ADDR"] + ":" + variables["PYMPI_PORT"];
  };
  EXPECT_EQ(address(), "127.0.0.1:1883");
  for (const auto& [tls, place] : {std::pair("no", "127.0.0.1:1883"), {"yes", "127.0.0.1:8883"}}) {
    setenv("PYMPI_SSL", tls, 1);
    EXPECT_EQ(address(), place);
  }
  unsetenv("PYMPI_SSL");
  options.certificates = "folder";
  EXPECT_EQ(address(), "127.0.0.1:8883");
  options.certificates = "";
  setenv("PYMPI_ADDR", "broker.example", 1);
  setenv("PYMPI_PORT", "1884", 1);
  EXPECT_EQ(address(), "broker.example:1884");
  options.rendezvous = "other.example:1885";
  EXPECT_EQ(address(), "other.example:1885");
  unsetenv("PYMPI_ADDR");
  unsetenv("PYMPI_PORT");
  options.rendezvous = "";
  options.hosts = "a,b";
  EXPECT_THAT(std::string(DescribeJob(options).status().message()),
              HasSubstr("--rendezvous: missing; say where the ranks find the MQTT broker"));
}

TEST(JobDescriptionTest, OnThisHostTheUsersOwnCertificatesServe) {
  setenv("PYMPI_SSL", "yes", 1);
  setenv("PYMPI_SSL_KEY", "key.pem", 1);
  setenv("PYMPI_SSL_CERT", "cert.pem", 1);
  const auto job = DescribeJob({.ranks = 2});
  const auto with_folder = DescribeJob({.ranks = 2, .certificates = "folder"});
  for (const char* name : {"PYMPI_SSL", "PYMPI_SSL_KEY", "PYMPI_SSL_CERT"}) unsetenv(name);
  ASSERT_TRUE(job.ok() && with_folder.ok());
  EXPECT_EQ(VariablesOf(job->ranks[1])["PYMPI_SSL"], "yes");
  EXPECT_EQ(VariablesOf(job->ranks[1])["PYMPI_SSL_CERT"], "cert.pem");
  EXPECT_FALSE(VariablesOf(job->ranks[1]).contains("PYMPI_SSL_CA"));
  EXPECT_EQ(VariablesOf(with_folder->ranks[1])["PYMPI_SSL_CERT"], "folder/localhost.pem");
}

// Whose files may be others, or none: the ranks there decide by their own environment.
TEST(JobDescriptionTest, TheUsersOwnCertificatesAreNotThoseOfOtherHosts) {
  setenv("PYMPI_SSL", "yes", 1);
  setenv("PYMPI_SSL_KEY", "key.pem", 1);
  setenv("PYMPI_SSL_CERT", "cert.pem", 1);
  setenv("PYMPI_SSL_CA", "authority.pem", 1);
  const auto job =
      DescribeJob({.ranks = 2, .hosts = "two,localhost", .transport = Transport::kGrpc});
  for (const char* name : {"PYMPI_SSL", "PYMPI_SSL_KEY", "PYMPI_SSL_CERT", "PYMPI_SSL_CA"}) {
    unsetenv(name);
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_FALSE(VariablesOf(job->ranks[0]).contains(name)) << name;
    EXPECT_TRUE(VariablesOf(job->ranks[1]).contains(name)) << name;
  }
}

TEST(JobDescriptionTest, WhatMakesNoSenseIsNamed) {
  const auto error = [](const LaunchOptions& options) {
    const absl::Status status = DescribeJob(options).status();
    EXPECT_EQ(ExitCodeOf(status), kExitUsage) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(error({.ranks = 1, .hosts = "a,b", .plain = true}),
              HasSubstr("--hosts: names 2 hosts for 1 ranks"));
  EXPECT_THAT(error({.ranks = 2, .hosts = "a,-oProxyCommand=x", .plain = true}),
              HasSubstr("must be names"));
  EXPECT_THAT(error({.ranks = 2, .hosts = "a,b"}), HasSubstr("--certificates: missing"));
  EXPECT_THAT(error({.ranks = 2, .hosts = "a,b", .certificates = "c", .plain = true}),
              HasSubstr("cannot be used together"));
  EXPECT_THAT(error({.ranks = 2, .rendezvous = "a"}), HasSubstr("--rendezvous: \"a\""));
  EXPECT_THAT(error({.variables = "JOB_TEST_NONE"}), HasSubstr("\"JOB_TEST_NONE\" is not set"));
  setenv("JOB_TEST_LINES", "a\nb", 1);
  EXPECT_THAT(error({.variables = "JOB_TEST_LINES"}), HasSubstr("has several lines"));
}

TEST(JobDescriptionTest, WhereRanksComeAndGoTheLauncherListens) {
  const auto job = DescribeJob({.ranks = 2, .elastic = "1:4"});
  ASSERT_TRUE(job.ok()) << job.status();
  const int port = job->listener.Local()->port;
  for (const RankChildOptions& child : job->ranks) {
    auto variables = VariablesOf(child);
    EXPECT_EQ(child.listener, -1);
    EXPECT_FALSE(variables.contains("DTNN_JOB_LISTENER"));
    EXPECT_EQ(variables["DTNN_JOB_ELASTIC"], "1:4");
    EXPECT_EQ(variables["PYMPI_PORT"], std::to_string(port));
  }
  std::map<std::string, std::string> own = {job->coordinator.begin(), job->coordinator.end()};
  EXPECT_EQ(own["DTNN_JOB_SECRET"], VariablesOf(job->ranks[0])["DTNN_JOB_SECRET"]);
  EXPECT_EQ(own["PYMPI_PORT"], std::to_string(port));
  for (const int ranks : {0, 1, 4}) {
    EXPECT_TRUE(DescribeJob({.ranks = ranks, .elastic = "1:4"}).ok()) << ranks;
  }

  // A port that was free a moment ago.
  const int free = Listen({.host = "127.0.0.1", .port = 0})->Local()->port;
  const auto hosts = DescribeJob({.ranks = 2,
                                  .hosts = "one,two",
                                  .rendezvous = "localhost:" + std::to_string(free),
                                  .certificates = "/etc/dtnn",
                                  .elastic = "1:4"});
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  own = {hosts->coordinator.begin(), hosts->coordinator.end()};
  EXPECT_EQ(own["PYMPI_SSL_CERT"], "/etc/dtnn/localhost.pem");
  EXPECT_EQ(VariablesOf(hosts->ranks[1])["PYMPI_SSL_CERT"], "/etc/dtnn/two.pem");
}

TEST(JobDescriptionTest, RanksFromElsewhereKnowASecretOfTheUsers) {
  const std::string secret(40, 's');
  setenv("DTNN_JOB_SECRET", secret.c_str(), 1);
  const auto elastic = DescribeJob({.ranks = 1, .elastic = "1:4"});
  const auto other = DescribeJob({.ranks = 1});
  unsetenv("DTNN_JOB_SECRET");
  EXPECT_EQ(VariablesOf(elastic->ranks[0])["DTNN_JOB_SECRET"], secret);
  EXPECT_NE(VariablesOf(other->ranks[0])["DTNN_JOB_SECRET"], secret);
}

TEST(JobDescriptionTest, ASecretFileThatIsMissingIsNotAUsageError) {
  setenv("DTNN_JOB_SECRET_FILE", "/no/such/secret", 1);
  const absl::Status status = DescribeJob({.ranks = 1, .elastic = "1:4"}).status();
  unsetenv("DTNN_JOB_SECRET_FILE");
  EXPECT_EQ(ExitCodeOf(status), kExitFailed) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("DTNN_JOB_SECRET_FILE: /no/such/secret: cannot be opened"));
}

TEST(JobDescriptionTest, WhatRanksThatComeAndGoCannotHaveIsAUsageError) {
  for (const auto& [options, text] : std::vector<std::pair<LaunchOptions, std::string>>{
           {{.ranks = 2, .elastic = "3"}, "--elastic=3: must be MIN:MAX"},
           {{.ranks = 1, .elastic = "2:4"}, "--ranks=1: must be from 2 to 4"},
           {{.ranks = 5, .elastic = "2:4"}, "--ranks=5: must be from 2 to 4"},
           {{.ranks = 2, .transport = Transport::kGrpc, .elastic = "2:4"},
            "--transport=tcp, not grpc"},
           {{.ranks = 2, .hosts = "one,two", .plain = true, .elastic = "2:4"},
            "--rendezvous: missing; with --elastic the launcher listens itself"}}) {
    const auto job = DescribeJob(options);
    EXPECT_EQ(ExitCodeOf(job.status()), kExitUsage) << job.status();
    EXPECT_THAT(std::string(job.status().message()), HasSubstr(text));
  }
}

}  // namespace
}  // namespace dtnn
