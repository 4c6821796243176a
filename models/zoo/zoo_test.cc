#include "models/zoo/zoo.h"

#include <iterator>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

struct Row {
  const char* name;
  int64_t parameters, trainable;
  int ids;
};

constexpr Row kRows[] = {
    {"simplemlp", 932362, 932362, 10},
    {"simplecnn", 101958, 101958, 10},
    {"simplecnn8", 202458, 202458, 12},
    {"vgg16_cifar10", 15245130, 15245130, 41},
};

class ZooTest : public ::testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(Models, ZooTest, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return info.param.name; });

TEST_P(ZooTest, CountsInBothFormats) {
  for (TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const absl::StatusOr<Graph> graph = BuildModel(GetParam().name, {.format = format});
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(graph->num_parameters(), GetParam().parameters);
    EXPECT_EQ(graph->num_trainable_parameters(), GetParam().trainable);
    EXPECT_EQ(graph->num_ids(), GetParam().ids);
  }
}

TEST(ZooTest, MultiplyAddsOfTheForwardPass) {
  // 28*28*9*4 + 28*28*36*8 + 1568*128 + 128*10
  EXPECT_EQ(BuildModel("simplecnn8", {})->multiply_adds(), 456000);
}

TEST(ZooTest, EveryModelHasACount) {
  EXPECT_EQ(ZooModels().size(), std::size(kRows)) << "a new model needs a row in kRows";
}

TEST(ZooTest, SimpleCnnAdaptsToTheDataSet) {
  const absl::StatusOr<Graph> graph =
      BuildModel("simplecnn", {.sample = ImageExtents{32, 32, 3}, .classes = 10});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->num_parameters(), 132750);
}

TEST(ZooTest, LiteralModelsNameBothShapes) {
  const absl::Status status =
      BuildModel("vgg16_cifar10", {.sample = ImageExtents{28, 28, 1}, .classes = 10}).status();
  EXPECT_EQ(status.message(),
            "model vgg16_cifar10 takes samples of 32x32x3 (height x width x channels) and 10 "
            "classes, but the data set has 28x28x1 and 10");
}

TEST(ZooTest, UnknownNamesAreNotFound) {
  EXPECT_EQ(BuildModel("vgg61", {}).status().code(), absl::StatusCode::kNotFound);
}

TEST(ZooTest, ASampleTooSmallNamesTheLayer) {
  const absl::Status status = BuildModel("simplecnn", {.sample = ImageExtents{1, 1, 1}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("model simplecnn, layer 3 (MaxPool2D)"), std::string::npos)
      << status;
}

}  // namespace
}  // namespace dtnn
