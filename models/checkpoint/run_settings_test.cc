#include "models/checkpoint/run_settings.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(RunSettingsTest, EveryDifferenceIsNamedWithBothValues) {
  const RunSettings was = {.data = {.dataset = "mnist", .samples = 60000, .contents = 1},
                           .learning_rate = 0.1,
                           .optimizer = {{"decay", 0}, {"momentum", 0.9}},
                           .clip_norm = 0,
                           .label_smoothing = 0};
  EXPECT_THAT(Differences(was, was), IsEmpty());
  RunSettings now = was;
  now.learning_rate = 0.2;
  EXPECT_THAT(Differences(was, now), IsEmpty()) << "it may change";
  now.data.contents = 2;
  now.optimizer = {{"decay", 0}, {"momentum", 0.5}};
  now.clip_norm = 1;
  now.label_smoothing = 0.1;
  EXPECT_THAT(
      Differences(was, now),
      ElementsAre(Difference{"checksum of the samples", "0000000000000001", "0000000000000002"},
                  Difference{"momentum of the optimizer", "0.9", "0.5"},
                  Difference{"norm that gradients are clipped to", "0", "1"},
                  Difference{"label smoothing", "0", "0.1"}));
  now = was;
  now.optimizer = {{"momentum", 0.9}, {"rho", 0.5}};
  EXPECT_THAT(Differences(was, now),
              ElementsAre(Difference{"decay of the optimizer", "0", "none"},
                          Difference{"rho of the optimizer", "none", "0.5"}));
}

}  // namespace
}  // namespace dtnn
