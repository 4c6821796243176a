#include "data/datasets/more_classes.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "data/testing/counting_dataset.h"
#include "gtest/gtest.h"
#include "tensor/status_macros.h"
#include "tensor/tensor.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using testing::CountingDataset;

TEST(MoreClassesTest, NothingElseChanges) {
  const auto dataset = std::make_shared<CountingDataset>(7);
  const auto more = *WithClasses(dataset, 10);
  EXPECT_EQ(more->outputs(), 10);
  EXPECT_EQ(more->name(), "counting");
  EXPECT_EQ(more->sample(), dataset->sample());
  EXPECT_EQ(more->size(Split::kTrain), 7);
  const Tensor x = *Tensor::Zeros(DType::kFloat32, Shape{1, 2, 3, 1});
  const Tensor targets = *Tensor::Zeros(DType::kInt32, Shape{1});
  const int64_t index[] = {6};
  ASSERT_TRUE(more->Read(Split::kTrain, index, TensorFormat::kNHWC, x, targets).ok());
  EXPECT_EQ(targets.data<int32_t>()[0], 6);
  EXPECT_EQ(x.data<float>()[5], 6);
  EXPECT_EQ(*WithClasses(dataset, 7), dataset);
  EXPECT_FALSE(more->counts_classes());
}

// Differs from the defaults of data sets in every answer.
class Odd : public CountingDataset {
 public:
  Odd() : CountingDataset(2) {}
  bool counts_classes() const override { return true; }
  std::vector<std::string> class_names() const override { return {"a", "b"}; }
  bool names_number_classes() const override { return false; }
  std::vector<std::string> warnings() const override { return {"a warning"}; }
  bool decodes() const override { return true; }
  SampleGroups groups(Split split) const override {
    return {{0, 1}, split == Split::kTrain ? 3 : 4};
  }
  Preprocessing preprocessing() const override { return {.input = Preprocessing::Input::kBgr}; }
  std::optional<TensorFormat> byte_format() const override { return TensorFormat::kNCHW; }
};

TEST(MoreClassesTest, AllElseIsTheDataSets) {
  const auto odd = std::make_shared<Odd>();
  const std::vector<std::string> names = {"b", "a", "c"};
  const auto more = *WithClasses(odd, 3), renamed = *WithClassNames(odd, names);
  for (const auto& dataset : {more, renamed}) {
    EXPECT_TRUE(dataset->counts_classes());
    EXPECT_EQ(dataset->warnings(), std::vector<std::string>{"a warning"});
    EXPECT_TRUE(dataset->decodes());
    EXPECT_EQ(dataset->groups(Split::kTrain).at_once, 3);
    EXPECT_EQ(dataset->groups(Split::kTest).at_once, 4);
    EXPECT_EQ(dataset->preprocessing().input, Preprocessing::Input::kBgr);
    EXPECT_EQ(dataset->byte_format(), TensorFormat::kNCHW);
  }
  EXPECT_EQ(more->class_names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(more->names_number_classes());
  EXPECT_TRUE(renamed->names_number_classes()) << "the other's names do";
}

class Values : public CountingDataset {
 public:
  Values() : CountingDataset(7) {}
  TargetKind target_kind() const override { return TargetKind::kValues; }
};

TEST(MoreClassesTest, NeitherFewerNorOfValues) {
  EXPECT_EQ(WithClasses(std::make_shared<CountingDataset>(7), 6).status().message(),
            "counting: has 7 classes, which cannot become 6 classes");
  EXPECT_EQ(WithClasses(std::make_shared<Values>(), 8).status().message(),
            "counting: has 7 values per sample, which cannot become 8 classes");
}

class Named : public CountingDataset {
 public:
  explicit Named(std::vector<std::string> names, TargetKind kind = TargetKind::kClass)
      : CountingDataset(int64_t(names.size())), names_(std::move(names)), kind_(kind) {}
  std::vector<std::string> class_names() const override { return names_; }
  TargetKind target_kind() const override { return kind_; }
  std::vector<int32_t> labels(Split) const override {  // as CountingDataset reads them
    std::vector<int32_t> labels(names_.size());
    std::iota(labels.begin(), labels.end(), 0);
    return labels;
  }

 private:
  const std::vector<std::string> names_;
  const TargetKind kind_;
};

TEST(MoreClassesTest, LabelsFollowTheNames) {
  const std::vector<std::string> names = {"red", "green", "blue", "grey"};
  const auto dataset = std::make_shared<Named>(std::vector<std::string>{"blue", "green", "red"});
  const auto same = *WithClassNames(dataset, names);
  EXPECT_EQ(same->outputs(), 4);
  EXPECT_EQ(same->class_names(), names);
  const Tensor x = *Tensor::Zeros(DType::kFloat32, Shape{3, 2, 3, 1});
  const Tensor targets = *Tensor::Zeros(DType::kInt32, Shape{3});
  const int64_t indices[] = {2, 0, 1};
  ASSERT_TRUE(same->Read(Split::kTrain, indices, TensorFormat::kNHWC, x, targets).ok());
  const int32_t* labels = targets.data<int32_t>();
  EXPECT_EQ(std::vector<int32_t>(labels, labels + 3), (std::vector<int32_t>{0, 2, 1}));
  EXPECT_EQ(x.data<float>()[0], 2) << "samples stay as they are";
  EXPECT_EQ(same->labels(Split::kTrain), (std::vector<int32_t>{2, 1, 0}));
  EXPECT_EQ((*WithClasses(dataset, 5))->labels(Split::kTrain), (std::vector<int32_t>{0, 1, 2}));

  EXPECT_EQ(*WithClassNames(dataset, dataset->class_names()), dataset);
  EXPECT_EQ(*WithClassNames(dataset, {}), dataset) << "nobody knows the names";
  const auto unnamed = std::make_shared<CountingDataset>(3);
  EXPECT_EQ(*WithClassNames(unnamed, names), unnamed);
}

// Labels that are not numbers of its classes, where they are read or known before.
class Wrong : public Named {
 public:
  Wrong(int32_t label, bool known) : Named({"a", "b", "c"}), label_(label), known_(known) {}
  std::vector<int32_t> labels(Split) const override {
    return known_ ? std::vector<int32_t>{0, 1, label_} : std::vector<int32_t>();
  }
  absl::Status Read(Split split, std::span<const int64_t> indices, TensorFormat format,
                    const Tensor& x, const Tensor& targets) const override {
    DTNN_RETURN_IF_ERROR(Named::Read(split, indices, format, x, targets));
    std::fill_n(targets.data<int32_t>(), indices.size(), label_);
    return absl::OkStatus();
  }

 private:
  const int32_t label_;
  const bool known_;
};

TEST(MoreClassesTest, LabelsWithoutANameAreErrors) {
  const std::vector<std::string> names = {"c", "b", "a"};
  const Tensor x = *Tensor::Zeros(DType::kFloat32, Shape{1, 2, 3, 1});
  const Tensor targets = *Tensor::Zeros(DType::kInt32, Shape{1});
  const int64_t index[] = {2};
  for (const int32_t label : {-1, 3}) {
    const std::string message =
        StrCat("split): sample 2 has label ", label, ", but there are 3 classes");
    const auto renamed = *WithClassNames(std::make_shared<Wrong>(label, /*known=*/false), names);
    EXPECT_EQ(renamed->Read(Split::kTest, index, TensorFormat::kNHWC, x, targets),
              absl::InvalidArgumentError("counting (test " + message));
    EXPECT_EQ(WithClassNames(std::make_shared<Wrong>(label, /*known=*/true), names).status(),
              absl::InvalidArgumentError("counting (train " + message));
  }
}

TEST(MoreClassesTest, OtherNamesAreRefusedWithBothLists) {
  const auto error = [](const std::shared_ptr<const Dataset>& dataset,
                        const std::vector<std::string>& names) {
    return std::string(WithClassNames(dataset, names).status().message());
  };
  EXPECT_EQ(
      error(std::make_shared<Named>(std::vector<std::string>{"green", "red", "z_blue"}),
            {"blue", "green", "red"}),
      "data set counting has the classes 3 (\"green\", \"red\", \"z_blue\"), which do not fit "
      "3 (\"blue\", \"green\", \"red\")");
  std::vector<std::string> many;
  for (int i = 0; i < 21; ++i) many.push_back(std::to_string(i));
  EXPECT_EQ(
      error(std::make_shared<Named>(std::vector<std::string>{"x"}), many),
      "data set counting has the classes 1 (\"x\"), which do not fit 21 (\"0\", \"1\", "
      "\"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\", \"10\", \"11\", \"12\", \"13\", "
      "\"14\", \"15\", \"16\", \"17\", \"18\", \"19\", ...)");
  // Which of two of one name is meant nobody knows, and columns of values have their places.
  EXPECT_NE(error(std::make_shared<Named>(std::vector<std::string>{"a", "b"}), {"a", "b", "b"}),
            "");
  EXPECT_NE(error(std::make_shared<Named>(std::vector<std::string>{"a", "b"}, TargetKind::kValues),
                  {"b", "a"}),
            "");
}

}  // namespace
}  // namespace dtnn
