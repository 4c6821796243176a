#include "kernels/conv/gpu/cudnn/call_shape.h"

#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn::cudnn {
namespace {

using conv::Direction;
using conv::Directions;
using ::testing::ElementsAre;

Conv2dSpec Spec(TensorFormat format, DType dtype = DType::kFloat32) {
  Conv2dSpec spec;
  spec.batch = 8, spec.height = spec.width = 6, spec.channels = 3, spec.filters = 4;
  spec.kernel = 3, spec.format = format, spec.dtype = dtype;
  return spec;
}

std::vector<std::string> Names(const Conv2dSpec& spec,
                               const Directions& directions = conv::kAllDirections) {
  std::vector<std::string> names;
  for (const CallShape& call : FirstCalls(spec, directions)) {
    EXPECT_EQ(call.images, spec.batch);
    names.push_back(std::string(conv::Name(call.direction)) + (call.accumulate ? " added" : ""));
  }
  return names;
}

// A plan is made, and timed, for each of these calls.
TEST(CallShapeTest, EvaluationMakesOnePlan) {
  const auto only = [](Direction direction) {
    return Names(Spec(TensorFormat::kNCHW), conv::Only(direction));
  };
  EXPECT_THAT(only(Direction::kForward), ElementsAre("forward"));
  EXPECT_THAT(only(Direction::kBackwardData), ElementsAre("backward data", "backward data added"));
  EXPECT_THAT(only(Direction::kBackwardFilter),
              ElementsAre("backward filter", "backward filter added"));
}

TEST(CallShapeTest, TrainingMakesAllThatItCalls) {
  EXPECT_THAT(Names(Spec(TensorFormat::kNCHW)),
              ElementsAre("forward", "backward data", "backward data added", "backward filter",
                          "backward filter added"));
  // What stores the gradient adds it, too.
  for (const Conv2dSpec& spec :
       {Spec(TensorFormat::kNHWC), Spec(TensorFormat::kNCHW, DType::kBfloat16)}) {
    EXPECT_THAT(Names(spec),
                ElementsAre("forward", "backward data", "backward data added", "backward filter"));
  }
}

TEST(CallShapeTest, WorkspaceIsAShareOfTheMemory) {
  constexpr size_t kGigabyte = size_t{1} << 30;
  EXPECT_EQ(MostWorkspace(80 * kGigabyte), int64_t(5 * kGigabyte));
  EXPECT_EQ(MostWorkspace(kGigabyte), int64_t(kGigabyte / 8));
  EXPECT_EQ(MostWorkspace(0), int64_t(kGigabyte / 8));
}

}  // namespace
}  // namespace dtnn::cudnn
