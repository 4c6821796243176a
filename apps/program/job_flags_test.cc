#include "apps/program/job_flags.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "comm/launch_place.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_environment.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

class JobFlagsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kJobVariables) unsetenv(name);
  }
  static std::string Variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "unset" : value;
  }
  static absl::Status Adopt(const std::vector<std::string>& arguments) {
    return AdoptJobFlags(arguments);
  }
};

TEST_F(JobFlagsTest, WithoutThemTheEnvironmentStands) {
  setenv(kTransportVariable, "tcp", 1);
  setenv(kPortVariable, "7", 1);
  EXPECT_TRUE(Adopt({"--model=simplecnn", "--transport=auto", "--rendezvous="}).ok());
  EXPECT_EQ(Variable(kTransportVariable), "tcp");
  EXPECT_EQ(Variable(kPortVariable), "7");
  EXPECT_EQ(Variable(kAddressVariable), "unset");
}

TEST_F(JobFlagsTest, TheyOutrankTheEnvironment) {
  setenv(kTransportVariable, "tcp", 1);
  setenv(kAddressVariable, "elsewhere", 1);
  EXPECT_TRUE(Adopt({"--transport=MPI", "--rendezvous=[::1]:5000"}).ok());
  EXPECT_EQ(Variable(kTransportVariable), "mpi");
  EXPECT_EQ(Variable(kAddressVariable), "::1");
  EXPECT_EQ(Variable(kPortVariable), "5000");
}

TEST_F(JobFlagsTest, AreUnderstoodAsTheParserDoes) {
  EXPECT_TRUE(Adopt({"--nonsense", "--transport=mpi", "--transport", "tcp", "--rendezvous",
                     "node1:1", "--", "--transport=mpi"})
                  .ok());
  EXPECT_EQ(Variable(kTransportVariable), "tcp");
  EXPECT_EQ(Variable(kAddressVariable), "node1");
}

TEST_F(JobFlagsTest, ElasticRanksAreNotThoseThatWereStartedTogetherWithoutIt) {
  setenv(kTransportVariable, "tcp", 1);
  EXPECT_TRUE(Adopt({"--elastic=1:4"}).ok());
  EXPECT_EQ(Variable(kElasticVariable), "1:4");
  setenv(kRankVariable, "0", 1);
  EXPECT_TRUE(Adopt({"--elastic=1:4"}).ok()) << "as of a launch that has it too";
  unsetenv(kElasticVariable);
  const absl::Status status = Adopt({"--elastic=1:4"});
  EXPECT_EQ(ExitCodeOf(status), kExitUsage);
  EXPECT_NE(status.message().find("give it to launch: launch --elastic=1:4"), status.message().npos)
      << status;
}

TEST_F(JobFlagsTest, WhatIsNoAddressIsAUsageError) {
  const absl::Status status = Adopt({"--transport=tcp", "--rendezvous=node1"});
  EXPECT_EQ(ExitCodeOf(status), kExitUsage);
  EXPECT_NE(status.message().find("--rendezvous: \"node1\": expected HOST:PORT"),
            status.message().npos)
      << status;
  EXPECT_EQ(Variable(kTransportVariable), "tcp") << "the others are met all the same";
  EXPECT_TRUE(Adopt({"--transport=pigeon"}).ok()) << "the parser refuses it";
  EXPECT_TRUE(Adopt({"--transport"}).ok());
}

TEST_F(JobFlagsTest, ThatRanksComeAndGoIsSaidByEither) {
  unsetenv("DTNN_JOB_ELASTIC");
  std::vector<std::string> arguments = {"--model=simplecnn", "--", "x"};
  AddJobFlags(arguments);
  EXPECT_EQ(arguments.size(), 3u);
  setenv("DTNN_JOB_ELASTIC", "2:4", 1);
  AddJobFlags(arguments);
  EXPECT_EQ(arguments, (std::vector<std::string>{"--model=simplecnn", "--elastic=2:4", "--", "x"}));
  arguments = {"--elastic", "1:3"};
  AddJobFlags(arguments);
  EXPECT_EQ(arguments.size(), 2u);
  EXPECT_TRUE(Adopt({"--elastic", "1:3", "--transport=grpc"}).ok());  // where it means nothing
  EXPECT_STREQ(std::getenv("DTNN_JOB_ELASTIC"), "2:4");
  EXPECT_TRUE(Adopt({"--elastic", "1:3", "--transport=tcp"}).ok());
  EXPECT_STREQ(std::getenv("DTNN_JOB_ELASTIC"), "1:3");
  EXPECT_TRUE(Adopt({"--elastic=3:1", "--transport=tcp"}).ok());  // the parser says so
  EXPECT_STREQ(std::getenv("DTNN_JOB_ELASTIC"), "1:3");
  unsetenv("DTNN_JOB_ELASTIC");
}

}  // namespace
}  // namespace dtnn
