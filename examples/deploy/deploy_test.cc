// The files for containers and batch systems: they say what their readers expect, all options in
// them exist and are valid, and the ranks that they start find their places.

#include <map>
#include <string>

#include "apps/testing/texts.h"
#include "comm/launch_place.h"
#include "comm/ranks/job/job_environment.h"
#include "examples/deploy/called_programs.h"
#include "examples/deploy/checks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "yaml-cpp/yaml.h"

namespace dtnn {
namespace {

using testing::CalledPrograms;
using testing::Contents;
using testing::ExpectPlaces;
using testing::ExpectValid;
using ::testing::HasSubstr;
using testing::kDeployFolder;
using testing::OptionOf;
using testing::ProgramCall;
using testing::Words;

TEST(DeployTest, TheImageRunsTheProgramsOfThePackage) {
  const std::string file = Contents(kDeployFolder + "Dockerfile");
  EXPECT_THAT(file, HasSubstr("\nFROM debian:12\n"));
  EXPECT_THAT(file, HasSubstr("\nENTRYPOINT [\"dtnn\"]\n"));
  EXPECT_THAT(file, HasSubstr("\nUSER dtnn\n")) << "no program needs root";
}

TEST(DeployTest, ComposeRunsAnAggregatorAndItsClients) {
  const YAML::Node file = YAML::LoadFile(kDeployFolder + "compose.yaml");
  const YAML::Node services = file["services"];
  const Words aggregator = services["aggregator"]["command"].as<Words>();
  ExpectValid(aggregator);
  EXPECT_EQ(services["aggregator"]["ports"][0].as<std::string>(),
            "127.0.0.1:" + OptionOf(aggregator, "metrics-port") + ":" +
                OptionOf(aggregator, "metrics-port"));
  int clients = 0;
  for (const auto& service : services) {
    const YAML::Node body = service.second;
    EXPECT_EQ(body["image"].as<std::string>(), "dtnn");
    EXPECT_EQ(TransportOf(body["environment"]["PYMPI_PROTO"].as<std::string>()), Transport::kGrpc);
    EXPECT_THAT(body["environment"][kSecretVariable].as<std::string>(),
                HasSubstr("${DTNN_JOB_SECRET:?"));
    const Words words = body["command"].as<Words>();
    if (words[0] != "benchmark") continue;
    ++clients;
    ExpectValid(words);
    EXPECT_EQ(OptionOf(words, "server"), "aggregator:61643");
    EXPECT_EQ(OptionOf(words, "model"), OptionOf(aggregator, "model"));
    EXPECT_EQ(body["hostname"].as<std::string>(), service.first.as<std::string>());
  }
  EXPECT_EQ(std::to_string(clients), OptionOf(aggregator, "min-clients"));
}

TEST(DeployTest, RanksOfSlurmFindTheirPlaces) {
  CalledPrograms programs;
  programs.Add("scontrol",
               "[ \"$*\" = 'show hostnames node[1-2]' ] && printf 'node1\\nnode2\\n'\n");
  programs.Add("srun",
               "while [ \"${1#--}\" != \"$1\" ]; do\n  shift\ndone\n"
               "for i in 0 1 2 3; do\n"
               "  SLURM_PROCID=$i SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 \"$@\" || exit 1\ndone\n");
  const std::map<std::string, ProgramCall> calls = programs.Run(
      "bash " + kDeployFolder + "ranks.slurm",
      "-u DTNN_JOB_SECRET HOME=/home/me SLURM_JOB_ID=12345 SLURM_JOB_NODELIST='node[1-2]' "
      "SLURM_CPUS_PER_TASK=8",
      "SLURM_PROCID");
  ExpectPlaces(calls, 4, Transport::kGrpc);
  EXPECT_STREQ(calls.at("1").Get(kAddressVariable), "node1");
  EXPECT_STREQ(calls.at("1").Get("OMP_NUM_THREADS"), "8");
  EXPECT_EQ(OptionOf(calls.at("0").arguments, "metrics-port"), "22345");
  EXPECT_GE(std::string(calls.at("1").Get(kSecretVariable)).size(), 32);
}

TEST(DeployTest, RanksOfPbsFindTheirPlaces) {
  CalledPrograms programs;
  programs.Add("mpirun",
               "[ \"$1 $2\" = '--hostfile nodes' ] || exit 1\n"
               "while [ \"${1#-}\" != \"$1\" ]; do\n  shift 2\ndone\n"
               "for i in 0 1 2 3; do\n"
               "  OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=4 \"$@\" || exit 1\ndone\n");
  const std::map<std::string, ProgramCall> calls =
      programs.Run("bash " + kDeployFolder + "ranks.pbs",
                   "-u OMP_NUM_THREADS -u PYMPI_PROTO HOME=/home/me PBS_O_WORKDIR=. "
                   "PBS_JOBID=12346.server PBS_NODEFILE=nodes",
                   "OMPI_COMM_WORLD_RANK");
  ExpectPlaces(calls, 4, Transport::kMpi);
  EXPECT_STREQ(calls.at("3").Get("OMP_NUM_THREADS"), "8");
  EXPECT_EQ(OptionOf(calls.at("0").arguments, "metrics-port"), "22346");
}

}  // namespace
}  // namespace dtnn
