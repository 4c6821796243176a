#include "optim/metrics/multiclass_confusion_matrix.h"

#include <vector>

#include "gtest/gtest.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Pitched;
using ::dtnn::testing::TensorOf;
using Sums = std::vector<double>;

const MulticlassConfusionMatrix kMatrix;

TEST(MulticlassConfusionMatrixTest, RowsAreTrueColumnsPredicted) {
  const Tensor p = TensorOf(DType::kFloat32, Shape{4, 3},
                            {.1, .2, .7, .5, .3, .2, .1, .8, .1, .4, .4, .2});  // 2, 0, 1, tie: 0
  const Tensor classes = TensorOf(DType::kInt32, Shape{4}, {2, 1, 1, 1});
  Sums sums(size_t(kMatrix.sums(3)));
  kMatrix.Add(Pitched(p, TensorFormat::kNHWC), classes, sums);
  EXPECT_EQ(sums, (Sums{0, 0, 0, 2, 1, 0, 0, 0, 1}));
  EXPECT_EQ(kMatrix.Value(sums, 4), 0.5);
  kMatrix.Add(p, classes, sums);
  EXPECT_EQ(sums, (Sums{0, 0, 0, 4, 2, 0, 0, 0, 2}));
}

TEST(MulticlassConfusionMatrixTest, ReportsAnAlignedMatrix) {
  EXPECT_EQ(kMatrix.Report("val_", Sums{5, 0, 1, 0, 120, 0, 1, 0, 9}, {}),
            "val_multiclass_confusion_matrix:\n"
            "[[  5   0   1]\n"
            " [  0 120   0]\n"
            " [  1   0   9]]\n");
  EXPECT_EQ(kMatrix.Format("", 1), "");
  const std::vector<std::string> names = {"cat", "dog", "eel"};
  EXPECT_EQ(kMatrix.Report("", Sums{5, 0, 1, 0, 120, 0, 1, 0, 9}, names),
            "multiclass_confusion_matrix:\n"
            "[[  5   0   1]   cat\n"
            " [  0 120   0]   dog\n"
            " [  1   0   9]]  eel\n");
}

TEST(MulticlassConfusionMatrixTest, OfManyClassesTheWorstConfusionsAreReported) {
  constexpr size_t kClasses = 31;
  Sums sums(kClasses * kClasses);
  for (size_t i = 0; i < kClasses; ++i) sums[i * kClasses + i] = 100;
  sums[3 * kClasses + 7] = 5;
  sums[30 * kClasses + 0] = 12;
  sums[2 * kClasses + 1] = 5;
  EXPECT_EQ(kMatrix.Report("", sums, {}),
            "multiclass_confusion_matrix:\n"
            " true  predicted  count\n"
            "   30          0     12\n"
            "    2          1      5\n"
            "    3          7      5\n");
  std::vector<std::string> names(kClasses, "x");
  names[0] = "zebra fish";
  names[30] = "carp";
  EXPECT_TRUE(kMatrix.Report("", sums, names)
                  .starts_with("multiclass_confusion_matrix:\n"
                               " true   predicted  count\n"
                               " carp  zebra fish     12\n"));
}

}  // namespace
}  // namespace dtnn
