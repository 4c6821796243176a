#include "models/graph/freeze.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FreezeTest : public ::testing::Test {
 protected:
  FreezeTest() {
    GraphBuilder b("net", TensorFormat::kNHWC);
    b.Input({6, 5, 2}).Conv2d(3).BatchNorm().Relu().Conv2d(4).Flatten().Fc(7).Relu().Fc(2);
    graph_ = *b.Build();
  }

  std::vector<std::string> Frozen(std::string_view pattern) const {
    const absl::StatusOr<Graph> graph = Freeze(graph_, pattern);
    EXPECT_TRUE(graph.ok()) << graph.status();
    std::vector<std::string> names;
    for (const Node& node : graph->nodes()) {
      if (node.frozen) names.push_back(node.name);
      for (const ParameterSpec& parameter : node.parameters) {
        const bool statistic = parameter.name.starts_with("running_");
        EXPECT_EQ(parameter.trainable, !node.frozen && !statistic);
      }
    }
    return names;
  }
  std::string ErrorOf(std::string_view pattern) const {
    return std::string(Freeze(graph_, pattern).status().message());
  }

  Graph graph_;
};

TEST_F(FreezeTest, NamesAreThoseOfKeysOfWeights) {
  EXPECT_THAT(LayersWithParameters(graph_),
              ElementsAre("1_Conv2D", "2_BatchNormalization", "4_Conv2D", "6_FC", "8_FC"));
  EXPECT_THAT(Frozen("4_Conv2D"), ElementsAre("4_Conv2D"));
  EXPECT_THAT(Frozen("*Conv2D"), ElementsAre("1_Conv2D", "4_Conv2D"));
  EXPECT_THAT(Frozen("[1-4]_*"), ElementsAre("1_Conv2D", "2_BatchNormalization", "4_Conv2D"));
  EXPECT_THAT(Frozen("?_FC"), ElementsAre("6_FC", "8_FC"));
}

TEST_F(FreezeTest, IdsAreThoseOfTheTable) {
  EXPECT_THAT(Frozen("2"), ElementsAre("2_BatchNormalization"));
  EXPECT_THAT(Frozen("2-6"), ElementsAre("2_BatchNormalization", "4_Conv2D", "6_FC"));
  EXPECT_THAT(Frozen("0-7"), ElementsAre("1_Conv2D", "2_BatchNormalization", "4_Conv2D", "6_FC"));
}

TEST_F(FreezeTest, FreezingAddsToWhatIsFrozen) {
  const Graph once = *Freeze(graph_, "1");
  const Graph twice = *Freeze(once, "*_FC");
  EXPECT_TRUE(twice.nodes()[1].frozen);
  EXPECT_FALSE(once.nodes()[8].frozen);
  EXPECT_EQ(twice.num_parameters(), graph_.num_parameters());
  EXPECT_EQ(twice.num_trainable_parameters(), 3 + 3 + 3 * 3 * 3 * 4 + 4);
}

TEST_F(FreezeTest, AnErrorSaysWhatThereIs) {
  for (const char* pattern : {"9_FC", "*Relu", "3", "9-20", "6-2", "1-", "-1", "", "1_Conv2D_*",
                              "99999999999999999999", "5x"}) {
    EXPECT_THAT(
        ErrorOf(pattern),
        AllOf(HasSubstr(std::string("\"") + pattern + "\" matches no layer with parameters"),
              HasSubstr("model net; it has 5, \"1_Conv2D\" to \"8_FC\"")));
  }
  EXPECT_THAT(ErrorOf("*"), HasSubstr("\"*\" leaves no parameter of model net to train"));
  EXPECT_FALSE(Freeze(*Freeze(graph_, "1-7"), "8").ok());
}

}  // namespace
}  // namespace dtnn
