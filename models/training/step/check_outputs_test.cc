#include "models/training/step/check_outputs.h"

#include <memory>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "optim/losses/losses.h"

namespace dtnn {
namespace {

using End = GraphBuilder::Path;

// What is said of a network with that end.
std::string Answer(const End& end, std::string_view loss) {
  GraphBuilder b("small", TensorFormat::kNHWC);
  b.Input({4, 4, 1}).Conv2d(3).Relu();
  end(b);
  return std::string(CheckOutputs(*b.Build(), **MakeLoss(loss)).message());
}

const End kSoftmax = [](GraphBuilder& b) { b.Flatten().Fc(3).Softmax(); };
const End kSigmoid = [](GraphBuilder& b) { b.Flatten().Fc(3).Sigmoid(); };
const End kFc = [](GraphBuilder& b) { b.Flatten().Fc(3); };
const End kTanh = [](GraphBuilder& b) { b.Flatten().Fc(3).Tanh(); };
const End kConvolution = [](GraphBuilder& b) {
  b.Conv2d(3, {.kernel = 1}).AdaptiveAveragePool2d({1, 1}).Flatten();
};

TEST(CheckOutputsTest, CrossEntropyNeedsProbabilities) {
  EXPECT_EQ(Answer(kSoftmax, "categorical_cross_entropy"), "");
  EXPECT_EQ(Answer(kSigmoid, "categorical_cross_entropy"),
            "network small ends in Sigmoid, but loss categorical_cross_entropy needs probabilities "
            "of classes, which sum to 1: end it in Softmax, or use the loss that it was made for");
  EXPECT_EQ(Answer(kSigmoid, "binary_cross_entropy"), "");
  EXPECT_EQ(Answer(kSoftmax, "binary_cross_entropy"), "");
  for (const End& end : {kFc, kTanh, kConvolution}) {
    EXPECT_NE(Answer(end, "categorical_cross_entropy"), "");
    EXPECT_NE(Answer(end, "binary_cross_entropy"), "");
  }
}

TEST(CheckOutputsTest, OtherLossesTakeAnyNumbers) {
  for (const End& end : {kSoftmax, kSigmoid, kFc, kTanh, kConvolution}) {
    EXPECT_EQ(Answer(end, "mse"), "");
    EXPECT_EQ(Answer(end, "mae"), "");
  }
}

}  // namespace
}  // namespace dtnn
