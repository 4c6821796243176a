// Each flag sets what it is called after; also of the flags that all programs with rounds have.

#include "apps/simulate/simulate_flags.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/testing/flag_members.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

TEST(SimulateFlagsTest, NoTwoFlagsSetTheSame) {
  SimulateFlags flags;
  testing::ExpectNoTwoFlagsSetTheSame(AllOptions(SectionsOf(flags)));
}

TEST(SimulateFlagsTest, FlagsOfTheLauncherSetItsMembers) {
  auto flags = std::make_unique<SimulateFlags>();
  EXPECT_GT(testing::ExpectFlagsOfTheLauncherSetItsMembers([&] {
              flags = std::make_unique<SimulateFlags>();
              return testing::BoundFlags{AllOptions(SectionsOf(*flags)), &flags->run};
            }),
            30);
}

TEST(SimulateFlagsTest, BuffersSayWhyTheyAreRefused) {
  const auto why = [](const std::function<void(SimulateFlags&)>& change) {
    SimulateFlags flags;
    flags.run.network.name = "simplecnn8";
    flags.run.data.name = "mnist";
    flags.clients = 20;
    flags.clients_per_round = 10;
    flags.rounds.buffer_size = 4;
    change(flags);
    return std::string(CheckSimulateFlags(flags).message());
  };
  EXPECT_EQ(why([](SimulateFlags&) {}), "");
  EXPECT_EQ(why([](SimulateFlags& f) { f.rounds.buffer_size = 20; }), "");
  EXPECT_EQ(why([](SimulateFlags& f) { f.rounds.buffer_size = 21; }),
            "--buffer-size=21: there are 20 (--clients), and each gives one update of the same "
            "parameters");
  EXPECT_EQ(why([](SimulateFlags& f) { f.min_clients = 2; }),
            "--min-clients=2: not with --buffer-size, which says how many updates a round has");
  EXPECT_EQ(why([](SimulateFlags& f) { f.client_seconds = "lognormal"; }),
            "--client-seconds=\"lognormal\": expected equal, or lognormal:SPREAD with a spread "
            "from 0 to 10, such as lognormal:1");
  EXPECT_EQ(why([](SimulateFlags& f) { f.rounds.robust = "trimmed:0.25"; }), "");
  EXPECT_EQ(why([](SimulateFlags& f) { f.rounds.compression = "int8"; }), "");
  EXPECT_THAT(why([](SimulateFlags& f) { f.rounds.compression = "top-k:0.1"; }),
              HasSubstr("--update-compression=top-k:0.1: not with --buffer-size=4: "));
}

TEST(SimulateFlagsTest, CompressionSaysWhyItIsRefused) {
  const auto why = [](const std::function<void(SimulateFlags&)>& change) {
    SimulateFlags flags;
    flags.run.network.name = "simplecnn8";
    flags.run.data.name = "mnist";
    flags.clients_per_round = 10;
    flags.rounds.compression = "top-k:0.1";
    change(flags);
    return std::string(CheckSimulateFlags(flags).message());
  };
  EXPECT_EQ(why([](SimulateFlags&) {}), "");
  EXPECT_EQ(
      why([](SimulateFlags& f) { f.rounds.compression = "int4"; }),
      "--update-compression=\"int4\": expected none, bf16, fp16, int8 or top-k:FRACTION, with a "
      "fraction above 0, at most 0.5");
  EXPECT_THAT(why([](SimulateFlags& f) {
                f.run.encryption.kind = "masked";
                f.min_clients = 2;
              }),
              HasSubstr("--update-compression=top-k:0.1: not with --encryption=masked: what is "
                        "added under masks or encrypted has its full size"));
  EXPECT_THAT(why([](SimulateFlags& f) { f.run.federation.dp_clip = 1; }),
              HasSubstr("--update-compression=top-k:0.1: not with --dp-clip: noise is added last"));
  EXPECT_THAT(why([](SimulateFlags& f) { f.rounds.strategy = "scaffold"; }),
              HasSubstr("--update-compression=top-k:0.1: not with --strategy=scaffold: "));
  EXPECT_THAT(why([](SimulateFlags& f) { f.rounds.max_update_norm = 2.5; }),
              HasSubstr("--update-compression=top-k:0.1: not with --max-update-norm=2.5: "));
  EXPECT_THAT(why([](SimulateFlags& f) { f.rounds.robust = "median"; }),
              HasSubstr("--update-compression=top-k:0.1: not with --robust=median: "));
  EXPECT_EQ(why([](SimulateFlags& f) {
              f.rounds.compression = "fp16";
              f.rounds.robust = "median";
            }),
            "");
}

}  // namespace
}  // namespace dtnn
