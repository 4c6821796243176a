#include "comm/ranks/job/job_environment.h"

#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Environment = std::map<std::string, std::string>;

const std::string kSecret(40, 's');

absl::StatusOr<JobEnvironment> Find(const Environment& environment, int rank = 1,
                                    Transport transport = Transport::kTcp) {
  const LaunchPlace place = {.launched = true, .rank = rank, .ranks = 3, .transport = transport};
  return FindJob(place, [&](const char* name) {
    const auto at = environment.find(name);
    return at == environment.end() ? nullptr : at->second.c_str();
  });
}

std::string ErrorOf(const Environment& environment) {
  return std::string(Find(environment).status().message());
}

TEST(JobEnvironmentTest, RanksMeetOnThisHostUnlessTold) {
  const absl::StatusOr<JobEnvironment> job = Find({{"DTNN_JOB_SECRET", kSecret}});
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->rendezvous.rank, 1);
  EXPECT_EQ(job->rendezvous.size, 3);
  EXPECT_EQ(job->rendezvous.address, (Endpoint{.host = "127.0.0.1", .port = 61642}));
  EXPECT_EQ(job->rendezvous.listener, -1);
}

TEST(JobEnvironmentTest, RanksOfOneHostShareMemoryUnlessToldNotTo) {
  const auto shares = [](const Environment& more) {
    Environment environment = {{"DTNN_JOB_SECRET", kSecret}};
    environment.insert(more.begin(), more.end());
    const absl::StatusOr<JobEnvironment> job = Find(environment);
    EXPECT_EQ(job.status(), absl::OkStatus());
    return job.ok() && job->rendezvous.share_memory;
  };
  EXPECT_TRUE(shares({}));
  EXPECT_TRUE(shares({{"DTNN_SHARED_MEMORY", "yes"}}));
  EXPECT_FALSE(shares({{"DTNN_SHARED_MEMORY", "no"}}));
  EXPECT_THAT(ErrorOf({{"DTNN_JOB_SECRET", kSecret}, {"DTNN_SHARED_MEMORY", "2"}}),
              HasSubstr("environment: DTNN_SHARED_MEMORY=\"2\": must be yes or no"));
}

TEST(JobEnvironmentTest, TheAddressOfThePlaceOutranksTheEnvironment) {
  const auto find = [](const char* address) {
    return FindJob({.transport = Transport::kTcp, .address = address, .elastic = "1:2"},
                   [](const char* name) -> const char* {
                     const std::string_view known = name;
                     if (known == "DTNN_JOB_SECRET") return kSecret.c_str();
                     if (known == "PYMPI_ADDR") return "10.0.0.7";
                     return known == "PYMPI_PORT" ? "nonsense" : nullptr;
                   });
  };
  const absl::StatusOr<JobEnvironment> job = find("localhost:7");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->rendezvous.address, (Endpoint{.host = "localhost", .port = 7}));
  EXPECT_EQ(job->elastic, "1:2");
  EXPECT_THAT(std::string(find("localhost").status().message()),
              HasSubstr("the address where ranks meet: \"localhost\""));
}

TEST(JobEnvironmentTest, WhoStartsRanksWithASecretIsSaidToThoseOfOtherLaunchers) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("start them with launch"));
  const Environment own = {{"PYMPI_RANK", "1"}, {"PYMPI_SIZE", "2"}};
  EXPECT_THAT(ErrorOf(own), ::testing::Not(HasSubstr("mpirun")));
  EXPECT_THAT(ErrorOf(own), HasSubstr("neither DTNN_JOB_SECRET nor DTNN_JOB_SECRET_FILE is set"));
}

TEST(JobEnvironmentTest, TheRankMayBeSetWithoutALauncher) {
  Environment environment = {
      {"DTNN_JOB_SECRET", kSecret}, {"PYMPI_RANK", "4"}, {"PYMPI_SIZE", "7"}};
  const absl::StatusOr<JobEnvironment> job = Find(environment);
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

TEST(JobEnvironmentTest, OnlyRankZeroTakesTheListener) {
  const Environment environment = {{"DTNN_JOB_SECRET", kSecret}, {"DTNN_JOB_LISTENER", "5"}};
  EXPECT_EQ(Find(environment, 0)->rendezvous.listener, 5);
  EXPECT_EQ(Find(environment, 1)->rendezvous.listener, -1);
}

TEST(JobEnvironmentTest, WithoutASecretTheErrorSaysHowToGetOne) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("neither DTNN_JOB_SECRET nor DTNN_JOB_SECRET_FILE is set"));
  EXPECT_THAT(ErrorOf({}), HasSubstr("openssl rand -hex 32"));
  const std::string error = ErrorOf({{"DTNN_JOB_SECRET", "swordfish"}});
  EXPECT_THAT(error, HasSubstr("DTNN_JOB_SECRET: the secret has 9 characters"));
  EXPECT_EQ(error.find("swordfish"), error.npos);
}

std::string SecretFile(const std::string& name, const std::string& text,
                       std::filesystem::perms permissions) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  std::filesystem::permissions(path, permissions);
  return path;
}

TEST(JobEnvironmentTest, ASecretMayBeInAFileOfItsOwner) {
  using std::filesystem::perms;
  constexpr perms kPrivate = perms::owner_read | perms::owner_write;
  const std::string path = SecretFile("secret", kSecret + "\n", kPrivate);
  const absl::StatusOr<JobEnvironment> job = Find({{"DTNN_JOB_SECRET_FILE", path}});
  ASSERT_TRUE(job.ok()) << job.status();
  const std::vector<uint8_t> text = {1, 2, 3};
  const Proof proof = *job->secret.Prove({text});
  EXPECT_TRUE(*Find({{"DTNN_JOB_SECRET", kSecret}})->secret.Proves(proof, {text}));

  const std::string open = SecretFile("open", kSecret, kPrivate | perms::group_read);
  EXPECT_THAT(ErrorOf({{"DTNN_JOB_SECRET_FILE", open}}),
              HasSubstr(open + ": other users may read"));
  const std::string brief = SecretFile("brief", "swordfish\n", kPrivate);
  EXPECT_THAT(ErrorOf({{"DTNN_JOB_SECRET_FILE", brief}}), HasSubstr(brief + ": the secret has 9"));
  EXPECT_THAT(ErrorOf({{"DTNN_JOB_SECRET_FILE", path + "x"}}), HasSubstr(path + "x"));
  const std::string full = SecretFile("full", std::string(4096, 's'), kPrivate);
  EXPECT_EQ(ErrorOf({{"DTNN_JOB_SECRET_FILE", full}}), "");
  const std::string excess = SecretFile("excess", std::string(4097, 's'), kPrivate);
  EXPECT_THAT(ErrorOf({{"DTNN_JOB_SECRET_FILE", excess}}),
              HasSubstr(excess + ": contains more than the 4096 bytes"));
  EXPECT_THAT(ErrorOf({{"DTNN_JOB_SECRET_FILE", path}, {"DTNN_JOB_SECRET", kSecret}}),
              HasSubstr("are both set"));
}

TEST(JobEnvironmentTest, TheSecretDoesNotStayInTheEnvironment) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &limit), 0);
  setenv("DTNN_JOB_SECRET", kSecret.c_str(), 1);
  const char* const value = std::getenv("DTNN_JOB_SECRET");
  const absl::StatusOr<JobEnvironment> job = FindJob({.launched = true, .rank = 0, .ranks = 2});
  EXPECT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(std::getenv("DTNN_JOB_SECRET"), nullptr);
  EXPECT_EQ(std::string(value), "") << "what /proc/self/environ shows";
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &limit), 0);
  EXPECT_LE(limit.rlim_cur, rlim_t{1});
}

TEST(JobEnvironmentTest, WhoIsOneOfManyDoesNotWorkAlone) {
  const auto check = [](const Environment& environment, bool together) {
    const absl::Status status = CheckNotOfOtherJob(together, [&](const char* name) {
      const auto at = environment.find(name);
      return at == environment.end() ? nullptr : at->second.c_str();
    });
    return std::string(status.message());
  };
  EXPECT_EQ(check({}, true), "");
  EXPECT_EQ(check({{"PYMPI_SIZE", "1"}}, true), "");
  for (const bool together : {false, true}) {
    EXPECT_THAT(check({{"PYMPI_SIZE", "4"}}, together),
                HasSubstr("PYMPI_SIZE=4: this process is one of several ranks, but MPI finds no"));
  }
  EXPECT_THAT(check({{"DTNN_JOB_SECRET", kSecret}}, true), HasSubstr("DTNN_JOB_SECRET is set"));
  EXPECT_THAT(check({{"DTNN_JOB_SECRET_FILE", "f"}}, true), HasSubstr("_FILE is set"));
  EXPECT_EQ(check({{"DTNN_JOB_SECRET_FILE", "f"}}, false), "") << "a user may export it";
}

TEST(JobEnvironmentTest, WrongPortsAreNamed) {
  for (const char* port : {"x", "-1", "65536", "99999999999", ""}) {
    EXPECT_THAT(ErrorOf({{"DTNN_JOB_SECRET", kSecret}, {"PYMPI_PORT", port}}),
                HasSubstr("PYMPI_PORT="));
  }
}

TEST(JobEnvironmentTest, BetweenHostsBytesAreProtected) {
  Environment environment = {{"DTNN_JOB_SECRET", kSecret}, {"PYMPI_ADDR", "10.0.0.7"}};
  EXPECT_THAT(ErrorOf(environment),
              HasSubstr("PYMPI_SSL_CERT is not set: ranks that meet at 10.0.0.7 show"));
  environment["PYMPI_SSL_CERT"] = "c.pem";
  EXPECT_THAT(ErrorOf(environment), HasSubstr("PYMPI_SSL_KEY is not set"));
  environment["PYMPI_SSL_KEY"] = "k.pem";
  absl::StatusOr<JobEnvironment> job = Find(environment);
  ASSERT_TRUE(job.ok() && job->tls) << job.status();
  EXPECT_EQ(job->tls->certificate, "c.pem");
  EXPECT_EQ(job->tls->key, "k.pem");
  EXPECT_EQ(job->tls->authority, "c.pem") << "a certificate that is its own authority";
  EXPECT_EQ(job->warning, "");
  environment["PYMPI_SSL_CA"] = "a.pem";
  EXPECT_EQ(Find(environment)->tls->authority, "a.pem");
  environment["PYMPI_ADDR"] = "127.example.org";
  EXPECT_TRUE(Find(environment)->tls) << "a name is not an address";
  environment["PYMPI_ADDR"] = "";
  EXPECT_THAT(ErrorOf(environment), HasSubstr("PYMPI_ADDR is empty"));
}

TEST(JobEnvironmentTest, WhatIsSealedNeedsNoTls) {
  for (const Transport transport : {Transport::kGrpc, Transport::kMqtt}) {
    Environment environment = {{"DTNN_JOB_SECRET", kSecret}, {"PYMPI_ADDR", "10.0.0.7"}};
    const absl::StatusOr<JobEnvironment> job = Find(environment, 1, transport);
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_FALSE(job->tls);
    EXPECT_EQ(job->warning, "");
    environment["PYMPI_SSL"] = "yes";
    EXPECT_FALSE(Find(environment, 1, transport).ok()) << "without files";
    environment["PYMPI_SSL_CERT"] = "c.pem";
    environment["PYMPI_SSL_KEY"] = "k.pem";
    EXPECT_EQ(Find(environment, 1, transport)->tls->authority, "c.pem");
  }
}

TEST(JobEnvironmentTest, APasswordThatCrossesTheNetworkInClearIsWarnedOf) {
  Environment environment = {{"DTNN_JOB_SECRET", kSecret},
                             {"PYMPI_ADDR", "10.0.0.7"},
                             {"DTNN_BROKER_USER", "ann"},
                             {"DTNN_BROKER_PASSWORD", "top-secret"}};
  const std::string warning = Find(environment, 1, Transport::kMqtt)->warning;
  EXPECT_THAT(warning, HasSubstr("DTNN_BROKER_PASSWORD is set, and the broker at 10.0.0.7"));
  EXPECT_THAT(warning, Not(HasSubstr("top-secret")));
  EXPECT_EQ(Find(environment, 1, Transport::kGrpc)->warning, "") << "it has no broker";
  environment["PYMPI_ADDR"] = "127.0.0.1";
  EXPECT_EQ(Find(environment, 1, Transport::kMqtt)->warning, "");
  environment["PYMPI_ADDR"] = "10.0.0.7";
  environment["PYMPI_SSL"] = "yes";
  environment["PYMPI_SSL_CA"] = "a.pem";
  EXPECT_EQ(Find(environment, 1, Transport::kMqtt)->warning, "");
}

TEST(JobEnvironmentTest, ABrokerHasPortsOfItsOwn) {
  Environment environment = {
      {"DTNN_JOB_SECRET", kSecret}, {"DTNN_BROKER_USER", "ann"}, {"DTNN_BROKER_PASSWORD", "p"}};
  const JobEnvironment job = *Find(environment, 1, Transport::kMqtt);
  EXPECT_EQ(job.rendezvous.address, (Endpoint{.host = "127.0.0.1", .port = 1883}));
  EXPECT_EQ(job.broker_user, "ann");
  EXPECT_EQ(job.broker_password, "p");
  environment["PYMPI_SSL"] = "yes";
  environment["PYMPI_SSL_CA"] = "a.pem";
  const absl::StatusOr<JobEnvironment> tls = Find(environment, 1, Transport::kMqtt);
  ASSERT_TRUE(tls.ok()) << "a broker may ask for no certificate: " << tls.status();
  EXPECT_EQ(tls->rendezvous.address.port, 8883);
  EXPECT_EQ(tls->tls->certificate, "");
  EXPECT_EQ(tls->tls->authority, "a.pem");
  EXPECT_FALSE(Find(environment, 1, Transport::kGrpc).ok());
}

TEST(JobEnvironmentTest, OtherHostsAreReachedUnprotectedOnlyWhereThatWasAskedFor) {
  Environment environment = {
      {"DTNN_JOB_SECRET", kSecret}, {"PYMPI_ADDR", "10.0.0.7"}, {"PYMPI_SSL", "False"}};
  EXPECT_THAT(ErrorOf(environment), HasSubstr("unprotected"));
  EXPECT_THAT(ErrorOf(environment), HasSubstr("DTNN_JOB_PLAIN=yes"));
  environment["DTNN_JOB_PLAIN"] = "yes";
  const absl::StatusOr<JobEnvironment> job = Find(environment);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_FALSE(job->tls);
  EXPECT_THAT(job->warning, HasSubstr("can read and change"));
  environment["PYMPI_SSL"] = "1";
  EXPECT_THAT(ErrorOf(environment), HasSubstr("contradict each other"));
  environment["PYMPI_SSL"] = "perhaps";
  EXPECT_THAT(ErrorOf(environment), HasSubstr("PYMPI_SSL=\"perhaps\": must be yes or no"));
}

TEST(JobEnvironmentTest, OnOneHostTlsIsAChoice) {
  Environment environment = {{"DTNN_JOB_SECRET", kSecret}};
  EXPECT_FALSE(Find(environment)->tls);
  environment["PYMPI_SSL"] = "True";
  EXPECT_THAT(ErrorOf(environment),
              HasSubstr("PYMPI_SSL_CERT is not set: ranks with PYMPI_SSL=yes"));
  environment["PYMPI_SSL_CERT"] = "c.pem";
  environment["PYMPI_SSL_KEY"] = "k.pem";
  EXPECT_TRUE(Find(environment)->tls);
}

}  // namespace
}  // namespace dtnn
