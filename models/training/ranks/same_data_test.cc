#include "models/training/ranks/same_data.h"

#include <memory>
#include <string>
#include <vector>

#include "comm/local.h"
#include "data/testing/counting_dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

// What each of the ranks says.
std::vector<std::string> Compare(const std::vector<std::vector<DataFingerprint>>& splits) {
  std::vector<std::string> answers(splits.size());
  EXPECT_EQ(absl::OkStatus(), RunRanks(int(splits.size()), [&](Communicator& communicator) {
              const size_t rank = size_t(communicator.rank());
              answers[rank] = std::string(CompareData(communicator, splits[rank]).message());
              return absl::OkStatus();
            }));
  return answers;
}

TEST(SameDataTest, TheRankThatDiffersNamesWhatDoes) {
  const DataFingerprint train{.dataset = "mnist",
                              .sample = {28, 28, 1},
                              .outputs = 10,
                              .samples = 60000,
                              .contents = ~uint64_t{5}};
  DataFingerprint test = train, fewer = train, others = train;
  test.samples = 10000;
  fewer.samples = 50000;
  others.contents = 3;
  EXPECT_EQ(Compare({{train, test}, {train, test}, {train, test}}),
            (std::vector<std::string>{"", "", ""}));
  const std::vector<std::string> answers =
      Compare({{train, test}, {fewer, test}, {others, test}, {train, train}, {train, test}});
  EXPECT_EQ(answers[0], "");
  EXPECT_EQ(answers[1],
            "has other data than rank 0: the number of samples is 50000, on rank 0 60000; all "
            "ranks need the same data; if each has its own, use AgreeOnClasses");
  EXPECT_THAT(
      answers[2],
      HasSubstr("the checksum of the samples is 0000000000000003, on rank 0 fffffffffffffffa; "));
  EXPECT_THAT(answers[3], HasSubstr("60000, on rank 0 10000"));
  EXPECT_EQ(answers[4], "");
}

class Labelled : public testing::CountingDataset {
 public:
  Labelled(int64_t classes, bool counted, ImageExtents sample, std::vector<std::string> names)
      : CountingDataset(classes, sample), counted_(counted), names_(std::move(names)) {}
  bool counts_classes() const override { return counted_; }
  std::vector<std::string> class_names() const override { return names_; }

 private:
  const bool counted_;
  const std::vector<std::string> names_;
};

struct Form {
  int64_t classes = 0;
  bool counted = true;
  ImageExtents sample = {2, 3, 1};
  std::vector<std::string> names = {};
};

// The number of classes that each rank then has, or what it says.
std::vector<std::string> Agreed(const std::vector<Form>& forms) {
  std::vector<std::string> answers(forms.size());
  EXPECT_EQ(absl::OkStatus(), RunRanks(int(forms.size()), [&](Communicator& communicator) {
              const Form& form = forms[size_t(communicator.rank())];
              const auto agreed = AgreeOnClasses(
                  communicator,
                  std::make_shared<Labelled>(form.classes, form.counted, form.sample, form.names));
              answers[size_t(communicator.rank())] = agreed.ok()
                                                         ? std::to_string((*agreed)->outputs())
                                                         : std::string(agreed.status().message());
              return absl::OkStatus();
            }));
  return answers;
}

TEST(SameDataTest, RanksWithLabelsOfTheirOwnAgreeOnTheNumberOfClasses) {
  EXPECT_EQ(Agreed({{7}, {10}, {9}}), (std::vector<std::string>{"10", "10", "10"}));
}

TEST(SameDataTest, ClassesAreMatchedByName) {
  const auto of = [](std::vector<std::string> names) {
    const int64_t classes = int64_t(names.size());
    return Form{.classes = classes, .counted = false, .names = std::move(names)};
  };
  EXPECT_EQ(Agreed({of({"blue", "red"}), of({"blue", "green", "red"}), of({"red"})}),
            (std::vector<std::string>{"3", "3", "3"}));
  const std::vector<std::string> others =
      Agreed({of({"blue", "green", "red"}), of({"green", "red", "z_blue"})});
  EXPECT_EQ(others[0], "3");
  EXPECT_THAT(others[1], HasSubstr("has other classes than rank 0: "));
  EXPECT_THAT(others[1], HasSubstr("(\"green\", \"red\", \"z_blue\")"));
  EXPECT_THAT(others[1], HasSubstr("(\"blue\", \"green\", \"red\")"));
}

TEST(SameDataTest, OtherFormsOfDataAreRefused) {
  const std::vector<std::string> classes = Agreed({{7, false}, {9}});
  EXPECT_EQ(classes[0], "7");
  EXPECT_THAT(classes[1], HasSubstr("the number of outputs is 9, on rank 0 7; the data of all "
                                    "ranks must have the same form"));
  const std::vector<std::string> extents = Agreed({{7}, {7}, {7, true, {2, 2, 1}}});
  EXPECT_EQ(extents[1], "7");
  EXPECT_THAT(extents[2], HasSubstr("the size of a sample is 2x2x1, on rank 0 2x3x1"));
}

}  // namespace
}  // namespace dtnn
