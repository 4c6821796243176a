#include "models/run/tables/memory_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/zoo/zoo.h"
#include "optim/optimizers/adam.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

TEST(MemoryTableTest, AllIsTheSumOfWhatIsAllocated) {
  const Graph graph = *BuildModel("simplemlp", {.sample = ImageExtents{1, 512, 1}, .classes = 512});
  const double megabytes = 4.0 * double(graph.num_parameters()) / (1 << 20);
  ASSERT_EQ(megabytes, 4 + 8.0 / 1024);  // four matrices of 512 x 512 and their biases
  const PlanMemory plan = {.activations = 5 << 20,
                           .gradients = 3 << 20,
                           .state = 1 << 20,
                           .arena = 6 << 20,
                           .workspace = 2 << 20,
                           .kept = 3 << 19};
  const Adam adam;
  const std::string training = FormatMemory(graph, DType::kFloat32, plan, &adam);
  EXPECT_THAT(training, HasSubstr("  parameters                   : 4.01 MBytes\n"));
  EXPECT_THAT(training, HasSubstr("  optimizer (adam)             : 8.02 MBytes\n"));
  EXPECT_THAT(training, HasSubstr("  activations                  : 5.0 MBytes\n"));
  EXPECT_THAT(training, HasSubstr("  all                          : 25.53 MBytes\n"));
  const std::string testing = FormatMemory(graph, DType::kFloat32, plan, nullptr);
  EXPECT_THAT(testing, HasSubstr("  optimizer                    : 0.0 Bytes\n"));
  EXPECT_THAT(testing, HasSubstr("  all                          : 13.51 MBytes\n"));
  EXPECT_EQ(FormatPlanMemory(plan),
            "  activations                  : 5.0 MBytes\n"
            "  workspace                    : 2.0 MBytes\n"
            "  kept by layers               : 1.5 MBytes\n"
            "  all                          : 9.5 MBytes\n");
  // Which is more than these: the rest has a table of its own.
  EXPECT_EQ(FormatOtherMemory({{"data", 3 << 20}, {"buffers", 2 << 20}}, 64 << 20),
            "  data                         : 3.0 MBytes\n"
            "  buffers                      : 2.0 MBytes\n"
            "  all of the run               : 64.0 MBytes\n");
}

}  // namespace
}  // namespace dtnn
