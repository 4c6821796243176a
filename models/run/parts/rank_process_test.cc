#include "models/run/parts/rank_process.h"

#include <chrono>
#include <map>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(RankProcessTest, TimeAndSumsAreThoseOfTheOptions) {
  std::ostringstream err;
  const RankProcessOptions process =
      RankProcessOf({.ranks = {.timeout = 2.5}, .sync = {.mpi_sums = false}}, "mine", err);
  EXPECT_EQ(process.communicator.timeout, std::chrono::milliseconds(2500));
  EXPECT_EQ(process.communicator.warn_after, std::chrono::milliseconds(500));
  EXPECT_TRUE(process.sums_in_rank_order);
  EXPECT_FALSE(process.communicator.interrupted());
  process.communicator.warn("slow");
  EXPECT_EQ(err.str(), "mine: warning: slow\n");
  EXPECT_FALSE(RankProcessOf({}, "mine", err).sums_in_rank_order);
}

TEST(RankProcessTest, TheOptionsOutrankTheEnvironment) {
  const std::map<std::string, std::string> variables = {{kTransportVariable, "grpc"},
                                                        {kRankVariable, "1"},
                                                        {kSizeVariable, "3"},
                                                        {"OMPI_COMM_WORLD_RANK", "2"},
                                                        {"OMPI_COMM_WORLD_SIZE", "4"}};
  const GetVariable get = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  const LaunchPlace tcp = {.launched = true, .rank = 1, .ranks = 3, .transport = Transport::kTcp};
  EXPECT_EQ(PlaceOfProcess({.ranks = {.transport = Transport::kTcp}}, get), tcp);
  EXPECT_EQ(PlaceOfProcess({.ranks = {.transport = Transport::kMpi}}, get).rank, 2);
  EXPECT_EQ(PlaceOfProcess({.ranks = {.rendezvous = "a:1"}}, get).address, "a:1");
  EXPECT_EQ(PlaceOfProcess({}, get).transport, Transport::kGrpc);
  const GetVariable none = [](const char*) { return nullptr; };
  const RankOptions elastic = {.transport = Transport::kTcp, .elastic = "1:2"};
  EXPECT_EQ(PlaceOfProcess({.ranks = elastic}, none).elastic, "1:2");
  const RunOptions client = {.ranks = {.parallel = Parallel::kFederated}};
  EXPECT_EQ(PlaceOfProcess(client, none).transport, Transport::kTcp) << "clients use no MPI";
  EXPECT_EQ(PlaceOfProcess(client, get).transport, Transport::kGrpc);
}

}  // namespace
}  // namespace dtnn
