#include "models/run/federated/fit_classes.h"

#include <string>
#include <utility>
#include <vector>

#include "data/testing/counting_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using federation::Classes;
using testing::CountingDataset;
using ::testing::HasSubstr;

struct Kind {
  std::vector<std::string> names = {};
  bool counted = false;
  TargetKind target = TargetKind::kClass;
};

class Data : public CountingDataset {
 public:
  Data(int64_t outputs, Kind kind) : CountingDataset(outputs), kind_(std::move(kind)) {}
  std::vector<std::string> class_names() const override { return kind_.names; }
  bool counts_classes() const override { return kind_.counted; }
  TargetKind target_kind() const override { return kind_.target; }

 private:
  const Kind kind_;
};

std::shared_ptr<const Dataset> Make(int64_t outputs, Kind kind = {}) {
  return std::make_shared<Data>(outputs, std::move(kind));
}

std::string Error(std::shared_ptr<const Dataset> dataset, const Classes& classes) {
  return std::string(FitClasses(std::move(dataset), classes).status().message());
}

TEST(FitClassesTest, DataThatFitStayAsTheyAre) {
  const auto data = Make(3);
  EXPECT_EQ(Must(FitClasses(data, {.outputs = 3})), data);
  EXPECT_EQ(Must(FitClasses(data, {})), data) << "nothing is known";
  const auto named = Make(2, {.names = {"a", "b"}});
  EXPECT_EQ(Must(FitClasses(named, {.outputs = 2})), named);
  EXPECT_EQ(Must(FitClasses(named, {.outputs = 2, .names = {"a", "b"}})), named);
}

TEST(FitClassesTest, AbsentClassesAreAddedByNameOrWhereNumbersAreCounted) {
  const Classes three = {.outputs = 3, .names = {"a", "b", "c"}};
  const auto named = Must(FitClasses(Make(2, {.names = {"b", "c"}}), three));
  EXPECT_EQ(named->outputs(), 3);
  EXPECT_EQ(named->class_names(), three.names);
  const Tensor x = *Tensor::Zeros(DType::kFloat32, Shape{2, 2, 3, 1});
  const Tensor targets = *Tensor::Zeros(DType::kInt32, Shape{2});
  const int64_t indices[] = {0, 1};
  ASSERT_TRUE(named->Read(Split::kTrain, indices, TensorFormat::kNHWC, x, targets).ok());
  EXPECT_EQ(targets.data<int32_t>()[0], 1) << "b";
  EXPECT_EQ(targets.data<int32_t>()[1], 2) << "c";
  EXPECT_EQ(Must(FitClasses(Make(2, {.counted = true}), {.outputs = 5}))->outputs(), 5);
  EXPECT_EQ(Must(FitClasses(Make(2, {.counted = true}), three))->outputs(), 3);
}

TEST(FitClassesTest, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(Error(Make(2, {.names = {"b", "x"}}), {.outputs = 3, .names = {"a", "b", "c"}}),
            "data set counting has the classes 2 (\"b\", \"x\"), which do not fit 3 (\"a\", \"b\", "
            "\"c\"), the aggregator's; a client may lack some of these, but has no others");
  EXPECT_THAT(Error(Make(2, {.names = {"b", "c"}}), {.outputs = 3}),
              HasSubstr("2 of the aggregator's 3 classes, and the aggregator does not know their "
                        "names, so it cannot match them: start it with --class-names=FILE"));
  // All of its classes are known: another number is another data set.
  EXPECT_THAT(Error(Make(10), {.outputs = 100}), HasSubstr("has 10 classes, the aggregator's "));
  EXPECT_THAT(Error(Make(4, {.counted = true}), {.outputs = 3}), HasSubstr("--num-classes=4"));
  EXPECT_THAT(Error(Make(4, {.target = TargetKind::kValues}), {.outputs = 5}),
              HasSubstr("has 4 values per sample"));
}

}  // namespace
}  // namespace dtnn
