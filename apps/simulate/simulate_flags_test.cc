// Each flag sets what it is called after; also of the flags that all programs with rounds have.

#include "apps/simulate/simulate_flags.h"

#include <memory>

#include "apps/testing/flag_members.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

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

}  // namespace
}  // namespace dtnn
