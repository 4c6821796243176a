#include "models/plan/int8_types.h"

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using Ranges = std::vector<std::optional<ValueRange>>;  // per node; what it reads in 8 bits

constexpr std::optional<ValueRange> kFloat = std::nullopt;

class Int8TypesTest : public ::testing::Test {
 protected:
  // By the numbers of nodes, which are not their ids.
  void SetRange(int node, double low, double high) {
    choice_.ranges[graph_.nodes()[size_t(node)].id] = {low, high};
  }
  void Forget(int node) { choice_.ranges.erase(graph_.nodes()[size_t(node)].id); }
  void StayInFloat(const std::set<int>& nodes) {
    choice_.in_float.clear();
    for (const int node : nodes) choice_.in_float.insert(graph_.nodes()[size_t(node)].id);
  }
  void Expect(const std::vector<int>& products, const Ranges& ranges) const {
    const auto types = ChooseInt8Types(graph_, fusions_, choice_);
    ASSERT_EQ(types.status(), absl::OkStatus());
    EXPECT_EQ(std::vector<int>(types->products.begin(), types->products.end()), products);
    ASSERT_EQ(types->values.size(), ranges.size());
    for (size_t i = 0; i < ranges.size(); ++i) {
      ASSERT_EQ(types->values[i].has_value(), ranges[i].has_value()) << "node " << i;
      if (!ranges[i]) continue;
      EXPECT_EQ(*types->values[i], Quantization::OfRange(ranges[i]->low, ranges[i]->high))
          << "node " << i;
    }
  }
  std::string Error() const {
    const absl::Status status = ChooseInt8Types(graph_, fusions_, choice_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  Graph graph_;
  std::vector<Fusion> fusions_;
  Int8Choice choice_;
};

// 0 Input, 1 Conv, 2 MaxPool, 3 Conv and 4 Conv, 5 Concat, 6 Flatten, 7 FC, 8 Softmax.
class PathsInt8TypesTest : public Int8TypesTest {
 protected:
  PathsInt8TypesTest() {
    GraphBuilder b("net", TensorFormat::kNHWC);
    b.Input({4, 4, 3}).Conv2d(4, {.kernel = 1}).MaxPool2d({.stride = 2});
    b.Concat({[](GraphBuilder& p) { p.Conv2d(2, {.kernel = 1}); },
              [](GraphBuilder& p) { p.Conv2d(3, {.kernel = 1}); }});
    b.Flatten().Fc(4).Softmax();
    graph_ = *b.Build();
    SetRange(0, -1, 1), SetRange(1, 0, 2), SetRange(3, -1, 1), SetRange(4, 0, 6);
  }
  const ValueRange input_ = {-1, 1}, pool_ = {0, 2}, joined_ = {-1, 6};
};

TEST_F(PathsInt8TypesTest, ElementsOfEachOtherHaveOneRange) {
  Expect({0, 1, 0, 1, 1, 0, 0, 1, 0},
         {input_, pool_, pool_, joined_, joined_, joined_, joined_, kFloat, kFloat});
}

TEST_F(PathsInt8TypesTest, AnInputWithoutARangeStaysFloat) {
  Forget(0);
  Expect({0, 0, 0, 1, 1, 0, 0, 1, 0},
         {kFloat, pool_, pool_, joined_, joined_, joined_, joined_, kFloat, kFloat});
}

TEST_F(PathsInt8TypesTest, WhatNoProductReadsStaysFloat) {
  StayInFloat({3});
  Expect({0, 1, 0, 0, 1, 0, 0, 1, 0},
         {input_, pool_, pool_, joined_, joined_, joined_, joined_, kFloat, kFloat});
  StayInFloat({3, 4});
  Forget(1);
  Expect({0, 1, 0, 0, 0, 0, 0, 1, 0},
         {input_, kFloat, kFloat, joined_, joined_, joined_, joined_, kFloat, kFloat});
  StayInFloat({7});
  SetRange(1, 0, 2), Forget(3), Forget(4);
  Expect({0, 1, 0, 1, 1, 0, 0, 0, 0},
         {input_, pool_, pool_, kFloat, kFloat, kFloat, kFloat, kFloat, kFloat});
  StayInFloat({1, 3, 4, 7});
  choice_.ranges.clear();
  Expect({0, 0, 0, 0, 0, 0, 0, 0, 0}, Ranges(9, kFloat));
}

TEST_F(PathsInt8TypesTest, RangesThatAreMissingOrNoneAreNamed) {
  const std::string layer = "layer " + std::to_string(graph_.nodes()[4].id) + " (Conv2D): ";
  Forget(4);
  EXPECT_THAT(Error(), HasSubstr(layer + "has no range of values"));
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  for (const auto& [low, high] : {std::pair(1.0, 0.0), std::pair(-kInfinite, 0.0),
                                  std::pair(0.0, kInfinite), std::pair(0.0, 0.0 / 0.0)}) {
    SetRange(4, low, high);
    EXPECT_THAT(Error(), HasSubstr(layer + "the range "));
  }
  SetRange(4, 6, 6);
  EXPECT_EQ(ChooseInt8Types(graph_, {}, choice_).status(), absl::OkStatus());
  for (const int id : {graph_.nodes()[2].id, 99}) {
    choice_.in_float = {id};
    EXPECT_THAT(Error(), HasSubstr("layer " + std::to_string(id) + ", which is to stay in float"));
  }
}

// 0 Input, 1 Conv, 2 Conv, 3 Concat of both.
TEST_F(Int8TypesTest, WhatTheNetworkGivesOutStaysInFloat) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({4, 4, 3}).Conv2d(4, {.kernel = 1});
  b.Concat({GraphBuilder::Identity(), [](GraphBuilder& p) { p.Conv2d(2, {.kernel = 1}); }});
  graph_ = *b.Build();
  SetRange(0, -1, 1), SetRange(1, -2, 2), SetRange(2, -3, 3);
  Expect({0, 1, 0, 0}, {ValueRange{-1, 1}, kFloat, kFloat, kFloat});
}

// 0 Input, 1 Conv, 2 BatchNorm, 3 Relu, 4 Conv.
TEST_F(Int8TypesTest, OfLayersThatRunAsOneTheLastIsWritten) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({4, 4, 3}).Conv2d(4, {.kernel = 1}).BatchNorm().Relu().Conv2d(4, {.kernel = 1});
  graph_ = *b.Build();
  SetRange(0, -1, 1), SetRange(3, 0, 5);
  fusions_ = {{.layer = 1, .normalization = 2, .relu = 3, .asked = {}}};
  const ValueRange input = {-1, 1}, relu = {0, 5};
  Expect({0, 1, 0, 0, 1}, {input, relu, relu, relu, kFloat});
  fusions_ = {{.layer = 1, .normalization = 2, .asked = {}}};
  SetRange(2, -3, 5);
  Expect({0, 1, 0, 0, 1}, {input, kFloat, kFloat, relu, kFloat});
}

// 0 Input, 1 Conv and 2 Conv, 3 Add, 4 Conv.
TEST_F(Int8TypesTest, AnAddendIsReadInBytes) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({4, 4, 3});
  b.Add({[](GraphBuilder& p) { p.Conv2d(4, {.kernel = 1}); },
         [](GraphBuilder& p) { p.Conv2d(4, {.kernel = 1}); }});
  b.Conv2d(4, {.kernel = 1});
  graph_ = *b.Build();
  SetRange(0, -1, 1), SetRange(1, -2, 2), SetRange(3, -4, 4);
  fusions_ = {{.layer = 2, .addition = 3, .addend = 1, .asked = {}}};
  const ValueRange input = {-1, 1}, addend = {-2, 2}, sum = {-4, 4};
  Expect({0, 1, 1, 0, 1}, {input, addend, sum, sum, kFloat});
  StayInFloat({2});
  Expect({0, 1, 0, 0, 1}, {input, kFloat, sum, sum, kFloat});
}

}  // namespace
}  // namespace dtnn
