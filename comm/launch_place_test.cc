#include "comm/launch_place.h"

#include <map>
#include <string>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

LaunchPlace Find(const std::map<std::string, std::string>& environment) {
  return FindLaunchPlace([&](const char* name) {
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

TEST(LaunchPlaceTest, NumbersThatMakeNoSenseCountAsUnset) {
  for (const auto& [rank, ranks] : {std::pair("2", "2"), std::pair("-1", "2"), std::pair("x", "2"),
                                    std::pair("0", ""), std::pair("99999999999", "2")}) {
    EXPECT_FALSE(Find({{"OMPI_COMM_WORLD_RANK", rank}, {"OMPI_COMM_WORLD_SIZE", ranks}}).launched)
        << rank << " of " << ranks;
  }
}

}  // namespace
}  // namespace dtnn
