#include "comm/launch_place.h"

#include <map>
#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

LaunchPlace Find(const std::map<std::string, std::string>& environment,
                 const JobChoice& choice = {}) {
  return FindLaunchPlace(choice, [&](const char* name) {
    const auto at = environment.find(name);
    return at == environment.end() ? nullptr : at->second.c_str();
  });
}

TEST(LaunchPlaceTest, AProgramOfItsOwnIsTheOnlyRank) {
  EXPECT_EQ(Find({}), (LaunchPlace{.launched = false, .rank = 0, .ranks = 1}));
  // A batch script's variables speak of the script, not of processes it may start.
  EXPECT_FALSE(Find({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}).launched);
}

TEST(LaunchPlaceTest, KnowsTheLaunchers) {
  const LaunchPlace third = {.launched = true, .rank = 2, .ranks = 12};
  EXPECT_EQ(Find({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "12"}}), third);
  EXPECT_EQ(Find({{"PMI_RANK", "2"}, {"PMI_SIZE", "12"}}), third);
  EXPECT_EQ(Find({{"PMIX_RANK", "2"}, {"SLURM_NTASKS", "12"}}), third);
}

TEST(LaunchPlaceTest, KnowsWhatSrunStartedWithoutMpi) {
  const auto find = [](const std::map<std::string, std::string>& environment) {
    return FindUnconnectedPlace([&](const char* name) {
      const auto at = environment.find(name);
      return at == environment.end() ? nullptr : at->second.c_str();
    });
  };
  const LaunchPlace second = {.launched = true, .rank = 1, .ranks = 4};
  EXPECT_EQ(find({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}}), second);
  std::map<std::string, std::string> srun = {{"SLURM_JOB_ID", "77"},
                                             {"SLURM_STEP_ID", "0"},
                                             {"SLURM_PROCID", "1"},
                                             {"SLURM_NTASKS", "8"},
                                             {"SLURM_STEP_NUM_TASKS", "4"}};
  EXPECT_EQ(find(srun), second);
  EXPECT_FALSE(Find(srun).launched);
  srun["SLURM_PROCID"] = "0";
  EXPECT_TRUE(find(srun).launched);
  for (const char* joined : {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"}) {
    std::map<std::string, std::string> with_mpi = srun;
    with_mpi.insert({{joined, "0"}, {"PMI_SIZE", "4"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
    EXPECT_FALSE(find(with_mpi).launched) << joined;
  }
  srun["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_FALSE(find(srun).launched) << "one task of a larger allocation";
  EXPECT_FALSE(
      find({{"SLURM_JOB_ID", "77"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}).launched)
      << "a batch script";
  EXPECT_EQ(find({{"SLURM_JOB_ID", "77"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}}), second)
      << "only task 0 can be one";
  EXPECT_FALSE(find({}).launched);
}

TEST(LaunchPlaceTest, VariablesOfTheJobCountOnlyWithoutMpi) {
  std::map<std::string, std::string> job = {{"PYMPI_RANK", "2"}, {"PYMPI_SIZE", "12"}};
  EXPECT_EQ(Find(job), LaunchPlace()) << "with MPI, which would not connect them";
  job["PYMPI_PROTO"] = "TCP";
  LaunchPlace third = {.launched = true, .rank = 2, .ranks = 12, .transport = Transport::kTcp};
  EXPECT_EQ(Find(job), third);
  job.insert({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "3"}});
  EXPECT_EQ(Find(job), third) << "what is said of the job outranks mpirun";
  job["PYMPI_PROTO"] = "mpi";
  EXPECT_EQ(Find(job), (LaunchPlace{.launched = true, .rank = 0, .ranks = 3}));
}

TEST(LaunchPlaceTest, WithTcpAnyLauncherNumbersTheRanks) {
  const LaunchPlace second = {
      .launched = true, .rank = 1, .ranks = 4, .transport = Transport::kTcp};
  EXPECT_EQ(Find({{"PYMPI_PROTO", "tcp"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}}), second);
  EXPECT_EQ(Find({{"PYMPI_PROTO", "tcp"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}), second);
  EXPECT_EQ(Find({{"PYMPI_PROTO", "tcp"}}), (LaunchPlace{.transport = Transport::kTcp}));
  for (const Transport transport : {Transport::kGrpc, Transport::kMqtt}) {
    LaunchPlace place = second;
    place.transport = transport;
    const std::string name(Name(transport));
    EXPECT_EQ(Find({{"PYMPI_PROTO", name}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}), place);
    EXPECT_EQ(Find({{"PYMPI_PROTO", name}, {"PYMPI_RANK", "1"}, {"PYMPI_SIZE", "4"}}), place);
  }
}

TEST(LaunchPlaceTest, AChoiceOutranksTheEnvironment) {
  std::map<std::string, std::string> job = {
      {"PYMPI_PROTO", "grpc"}, {"PYMPI_RANK", "1"}, {"PYMPI_SIZE", "4"}};
  const LaunchPlace chosen = Find(job, {.transport = Transport::kTcp, .address = "node1:5"});
  EXPECT_EQ(chosen, (LaunchPlace{.launched = true,
                                 .rank = 1,
                                 .ranks = 4,
                                 .transport = Transport::kTcp,
                                 .address = "node1:5"}));
  EXPECT_FALSE(Find(job, {.transport = Transport::kMpi}).launched) << "numbers are not of MPI";
  job["PYMPI_PROTO"] = "pigeon";
  EXPECT_EQ(Find(job, {.transport = Transport::kTcp}).transport, Transport::kTcp);
}

TEST(LaunchPlaceTest, ElasticRanksAreNotThoseThatWereStartedTogetherWithoutIt) {
  std::map<std::string, std::string> job = {{"PYMPI_PROTO", "tcp"}};
  EXPECT_EQ(Find(job).elastic, "");
  EXPECT_EQ(Find(job, {.elastic = "1:4"}).elastic, "1:4");
  EXPECT_EQ(Find({}, {.elastic = "1:4"}).elastic, "") << "of MPI";
  job["PYMPI_RANK"] = "0";
  EXPECT_EQ(Find(job, {.elastic = "1:4"}).elastic, "");
  job["DTNN_JOB_ELASTIC"] = "2:3";
  EXPECT_EQ(Find(job).elastic, "2:3");
  EXPECT_EQ(Find(job, {.elastic = "1:4"}).elastic, "1:4") << "as of a launch that has it too";
}

TEST(LaunchPlaceTest, OtherTransportsAreRefused) {
  for (const char* known : {"", "mpi", "MPI", "tcp", "grpc", "Mqtt"}) {
    EXPECT_TRUE(CheckTransport([&](const char*) { return known; }).ok()) << known;
  }
  EXPECT_TRUE(CheckTransport([](const char*) { return nullptr; }).ok());
  EXPECT_EQ(Find({{"PYMPI_PROTO", "pigeon"}}).transport, Transport::kUnknown);
  EXPECT_FALSE(Find({{"PYMPI_PROTO", "pigeon"}, {"PYMPI_RANK", "1"}, {"PYMPI_SIZE", "2"}}).launched)
      << "what would connect them is not known";
  const absl::Status refused = CheckTransport([](const char*) { return "pigeon"; });
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("PYMPI_PROTO=\"pigeon\""), refused.message().npos) << refused;
}

TEST(LaunchPlaceTest, NumbersThatMakeNoSenseCountAsUnset) {
  for (const auto& [rank, ranks] : {std::pair("2", "2"), std::pair("-1", "2"), std::pair("x", "2"),
                                    std::pair("0", ""), std::pair("99999999999", "2")}) {
    EXPECT_FALSE(Find({{"OMPI_COMM_WORLD_RANK", rank}, {"OMPI_COMM_WORLD_SIZE", ranks}}).launched)
        << rank << " of " << ranks;
  }
}

TEST(LaunchPlaceTest, TransportsHaveNames) {
  for (const char* name : {"mpi", "tcp", "grpc", "mqtt"}) EXPECT_EQ(Name(TransportOf(name)), name);
  EXPECT_EQ(Name(TransportOf("TcP")), "tcp");
  for (const char* other : {"", "tc", "tcps", "unknown"}) {
    EXPECT_EQ(Name(TransportOf(other)), "unknown") << other;
  }
}

TEST(LaunchPlaceTest, WithoutConnectionsARankIsOneOfSeveral) {
  const auto launched = [](const char* rank, const char* ranks) {
    return FindUnconnectedPlace([&](const char* name) -> const char* {
             return name == std::string("SLURM_PROCID")   ? rank
                    : name == std::string("SLURM_NTASKS") ? ranks
                                                          : nullptr;
           })
        .launched;
  };
  EXPECT_TRUE(launched("1", "2"));
  EXPECT_TRUE(launched("0", "2"));
  EXPECT_FALSE(launched("0", "1"));
  EXPECT_FALSE(launched("2", "2"));
  EXPECT_FALSE(launched("-1", "2"));
  EXPECT_FALSE(launched("x", "2"));
}

}  // namespace
}  // namespace dtnn
