#include "data/class_warnings.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Labelled : public Dataset {
 public:
  Labelled(int64_t classes, std::vector<int32_t> train, std::vector<int32_t> test,
           std::vector<std::string> names = {})
      : classes_(classes), train_(train), test_(test), names_(names) {}

  std::string_view name() const override { return "labelled"; }
  ImageExtents sample() const override { return {1, 1, 1}; }
  int64_t outputs() const override { return classes_; }
  std::vector<std::string> class_names() const override { return names_; }
  int64_t size(Split split) const override { return int64_t(labels(split).size()); }
  std::vector<int32_t> labels(Split split) const override {
    return split == Split::kTrain ? train_ : test_;
  }
  absl::Status Read(Split, std::span<const int64_t>, TensorFormat, const Tensor&,
                    const Tensor&) const override {
    return absl::UnimplementedError("no samples");
  }

 private:
  const int64_t classes_;
  const std::vector<int32_t> train_, test_;
  const std::vector<std::string> names_;
};

TEST(ClassWarningsTest, CountsAreOfEverySplit) {
  const Labelled data(3, {0, 2, 2}, {1});
  EXPECT_THAT(SamplesPerClass(data, Split::kTrain), ElementsAre(1, 0, 2));
  EXPECT_THAT(SamplesPerClass(data, Split::kTest), ElementsAre(0, 1, 0));
}

TEST(ClassWarningsTest, SilentWhereEveryClassIsShownOrNothingIsKnown) {
  EXPECT_THAT(ClassWarnings(Labelled(2, {0, 1}, {})), IsEmpty());
  EXPECT_THAT(ClassWarnings(Labelled(2, {0, 1}, {0})), IsEmpty());  // a metric's own matter
  EXPECT_THAT(ClassWarnings(Labelled(2, {}, {0})), IsEmpty());      // no training here
}

TEST(ClassWarningsTest, ClassesWithoutSamplesAreCountedAndNamed) {
  EXPECT_THAT(ClassWarnings(Labelled(3, {1, 2}, {1})),
              ElementsAre("labelled: 1 of 3 classes has no training samples: 0; labels are "
                          "numbered from 0"));
  EXPECT_THAT(ClassWarnings(Labelled(3, {0}, {1, 0, 1}, {"a", "b", "c"})),
              ElementsAre("labelled: 2 of 3 classes have no training samples: b, c",
                          "labelled: 2 of 3 test samples are of classes without training "
                          "samples: b"));
  EXPECT_THAT(ClassWarnings(Labelled(4, {0}, {1, 3, 0, 3})),
              ElementsAre("labelled: 3 of 4 classes have no training samples: 1, 2, 3",
                          "labelled: 3 of 4 test samples are of classes without training "
                          "samples: 1, 3"));
  EXPECT_THAT(ClassWarnings(Labelled(2, {0}, {1})),
              ElementsAre("labelled: 1 of 2 classes has no training samples: 1",
                          "labelled: 1 of 1 test sample is of classes without training "
                          "samples: 1"));
  EXPECT_THAT(ClassWarnings(Labelled(2, {1}, {}, {"a", "b"})),
              ElementsAre("labelled: 1 of 2 classes has no training samples: a"));
  EXPECT_THAT(ClassWarnings(Labelled(9, {0}, {})),
              ElementsAre("labelled: 8 of 9 classes have no training samples: 1, 2, 3, 4, 5, 6, 7, "
                          "8"));
  EXPECT_THAT(ClassWarnings(Labelled(12, {3}, {})),
              ElementsAre("labelled: 11 of 12 classes have no training samples: 0, 1, 2, 4, 5, 6, "
                          "7, 8 and 3 more"));
}

}  // namespace
}  // namespace dtnn
