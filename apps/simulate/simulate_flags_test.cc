// Each flag sets what it is called after; also of the flags that all programs with rounds have.

#include "apps/simulate/simulate_flags.h"

#include <memory>
#include <vector>

#include "apps/testing/flag_members.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

std::vector<OptionSpec> AllOf(SimulateFlags& flags) {
  std::vector<OptionSpec> all;
  for (const FlagGroup& group : GroupsOf(flags)) {
    all.insert(all.end(), group.options.begin(), group.options.end());
  }
  return all;
}

TEST(SimulateFlagsTest, NoTwoFlagsSetTheSame) {
  SimulateFlags flags;
  testing::ExpectNoTwoFlagsSetTheSame(AllOf(flags));
}

TEST(SimulateFlagsTest, FlagsOfTheLauncherSetItsMembers) {
  auto flags = std::make_unique<SimulateFlags>();
  EXPECT_GT(testing::ExpectFlagsOfTheLauncherSetItsMembers([&] {
              flags = std::make_unique<SimulateFlags>();
              return testing::BoundFlags{AllOf(*flags), &flags->run};
            }),
            30);
}

}  // namespace
}  // namespace dtnn
