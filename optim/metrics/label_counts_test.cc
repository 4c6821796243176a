// All metrics that are made of the counts per label.

#include "optim/metrics/label_counts.h"

#include <cmath>

#include "gtest/gtest.h"
#include "optim/metrics/binary_accuracy.h"
#include "optim/metrics/binary_confusion_matrix.h"
#include "optim/metrics/mean_iou.h"
#include "optim/metrics/per_class_report.h"
#include "optim/metrics/precision_recall.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::Pitched;
using ::dtnn::testing::TensorOf;
using Sums = std::vector<double>;

Sums SumsOf(const Metric& metric, const Tensor& p, const Tensor& t) {
  Sums sums(size_t(metric.sums(p.shape()[1])));
  metric.Add(p, t, sums);
  return sums;
}

// Three labels, four samples; label 2 is never true and never predicted.
const Tensor& Predictions() {
  static const Tensor p =
      TensorOf(DType::kFloat32, Shape{4, 3}, {.9, .5, .1, .8, .2, .49, .3, .6, 0, .1, .7, 0});
  return p;
}
const Tensor& Labels() {
  static const Tensor t =
      TensorOf(DType::kFloat32, Shape{4, 3}, {1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0});
  return t;
}
const Sums kCounts = {2, 1, 0, 1, 2, 1, 1, 0, 0, 0, 0, 4};  // TP FN FP TN of each label

TEST(LabelCountsTest, ValuesCountFromAHalfEachByItself) {
  EXPECT_EQ(SumsOf(Precision(), Predictions(), Labels()), kCounts);
  EXPECT_EQ(SumsOf(Recall(), Pitched(Predictions(), TensorFormat::kNHWC),
                   Pitched(Labels(), TensorFormat::kNHWC)),
            kCounts);
}

TEST(LabelCountsTest, OfClassesTheLargestPredictionCountsAlone) {
  // Samples 0 and 3 are right; the tie of sample 1 is class 0's, and nobody reaches a half.
  const Tensor p =
      TensorOf(DType::kFloat64, Shape{4, 3}, {.1, .4, .2, .3, .3, .1, .2, .1, .4, .4, .3, .2});
  const Tensor classes = TensorOf(DType::kInt32, Shape{4}, {1, 1, 0, 0});
  EXPECT_EQ(SumsOf(F1Score(), p, classes), (Sums{1, 1, 1, 1, 1, 1, 0, 2, 0, 0, 1, 3}));
}

// Classes 0, 1 and 3 occur: 1 of 3, 1 of 2 and 0 of 1.
TEST(LabelCountsTest, MeanIouIsOfTheClassesThatOccur) {
  const Tensor p =
      TensorOf(DType::kFloat32, Shape{4, 4}, {.9, 0, 0, 0, 0, .9, 0, 0, .9, 0, 0, 0, .9, 0, 0, 0});
  const Tensor classes = TensorOf(DType::kInt32, Shape{4}, {0, 1, 1, 3});
  const Sums sums = SumsOf(MeanIou(), p, classes);
  EXPECT_NEAR(MeanIou().Value(sums, 4), (1 / 3.0 + 1 / 2.0 + 0) / 3, 1e-15);
  EXPECT_EQ(MeanIou().Format("val_", 0.5), "val_miou: 0.5000");
  EXPECT_EQ(MeanIou().Value(Sums(16), 0), 0);
}

TEST(LabelCountsTest, NanIsNotPredicted) {
  const Tensor p = TensorOf(DType::kFloat32, Shape{1, 1}, {std::nan("")});
  const Tensor t = TensorOf(DType::kFloat32, Shape{1, 1}, {1});
  EXPECT_EQ(SumsOf(F1Score(), p, t), (Sums{0, 1, 0, 0}));
}

TEST(LabelCountsTest, BatchesAddUp) {
  const PerClassReport metric;
  Sums sums(12);
  for (int64_t i = 0; i < 4; ++i) {
    metric.Add(Predictions().Samples(i, 1, TensorFormat::kNHWC),
               Labels().Samples(i, 1, TensorFormat::kNHWC), sums);
  }
  EXPECT_EQ(sums, kCounts);
}

TEST(LabelCountsTest, MeansAreOfTheLabelsThatOccur) {
  EXPECT_NEAR(Precision().Value(kCounts, 4), (1 + 2.0 / 3) / 2, 1e-15);
  EXPECT_NEAR(Recall().Value(kCounts, 4), (2.0 / 3 + 2.0 / 3) / 2, 1e-15);
  EXPECT_NEAR(F1Score().Value(kCounts, 4), (0.8 + 2.0 / 3) / 2, 1e-15);
  EXPECT_NEAR(BinaryConfusionMatrix().Value(kCounts, 4), 9.0 / 12, 1e-15);
  EXPECT_NEAR(BinaryAccuracy().Value(kCounts, 4), 75, 1e-13);
  EXPECT_EQ(PerClassReport().Value(kCounts, 4), F1Score().Value(kCounts, 4));
}

// A label that is only true, or only predicted, occurs; what has no denominator then is 0.
TEST(LabelCountsTest, AnEmptyDenominatorIsZeroWhereTheLabelOccurs) {
  const Sums only_true = {4, 0, 0, 2, 0, 2, 0, 4}, only_predicted = {4, 0, 0, 2, 0, 0, 2, 4};
  EXPECT_EQ(Precision().Value(only_true, 6), 0.5);
  EXPECT_EQ(Recall().Value(only_predicted, 6), 0.5);
  EXPECT_EQ(F1Score().Value(only_true, 6), 0.5);
  EXPECT_EQ(F1Score().Value(only_predicted, 6), 0.5);
  EXPECT_EQ(F1Score().Value(Sums{0, 0, 0, 6}, 6), 0) << "no label occurs";
}

// All predictions are right: so is each mean, whatever classes the network knows besides.
TEST(LabelCountsTest, ClassesThatNeverOccurCostNothing) {
  const Tensor p = TensorOf(DType::kFloat32, Shape{2, 4}, {0, 1, 0, 0, 0, 0, 0, 1});
  const Tensor classes = TensorOf(DType::kInt32, Shape{2}, {1, 3});
  const Precision precision;
  const Recall recall;
  const F1Score f1;
  const PerClassReport report;
  for (const LabelMetric* metric :
       std::initializer_list<const LabelMetric*>{&precision, &recall, &f1, &report}) {
    EXPECT_EQ(metric->Value(SumsOf(*metric, p, classes), 2), 1) << metric->name();
  }
}

TEST(LabelCountsTest, PrintedForms) {
  EXPECT_EQ(Precision().Format("", 0.5), "prec: 0.5000");
  EXPECT_EQ(Recall().Format("val_", 0.25), "val_rec: 0.2500");
  EXPECT_EQ(F1Score().Format("", 1), "f1: 1.0000");
  EXPECT_EQ(BinaryAccuracy().Format("val_", 7.5), "val_acc:  7.50%");
  EXPECT_EQ(BinaryConfusionMatrix().Format("", 1), "");
  EXPECT_EQ(PerClassReport().Format("", 1), "");
}

TEST(LabelCountsTest, Reports) {
  EXPECT_EQ(Precision().Report("", kCounts, {}), "");
  EXPECT_EQ(BinaryConfusionMatrix().Report("val_", kCounts, {}),
            "val_binary_confusion_matrix:\n"
            "    0: [[2 1] [0 1]]\n"
            "    1: [[2 1] [1 0]]\n"
            "    2: [[0 0] [0 4]]\n");
  EXPECT_EQ(PerClassReport().Report("", kCounts, {}),
            "per_class_report:\n"
            "class  precision  recall      f1    count\n"
            "    0     1.0000  0.6667  0.8000        3\n"
            "    1     0.6667  0.6667  0.6667        3\n"
            "    2          -       -       -        0\n"
            " mean     0.8333  0.6667  0.7333        6\n");
  const std::vector<std::string> names = {"Bär", "elephant", "cat"};
  EXPECT_EQ(PerClassReport().Report("", kCounts, names),
            "per_class_report:\n"
            "   class  precision  recall      f1    count\n"
            "     Bär     1.0000  0.6667  0.8000        3\n"
            "elephant     0.6667  0.6667  0.6667        3\n"
            "     cat          -       -       -        0\n"
            "    mean     0.8333  0.6667  0.7333        6\n");
  EXPECT_EQ(BinaryConfusionMatrix().Report("", kCounts, names),
            "binary_confusion_matrix:\n"
            "     Bär: [[2 1] [0 1]]\n"
            "elephant: [[2 1] [1 0]]\n"
            "     cat: [[0 0] [0 4]]\n");
}

}  // namespace
}  // namespace dtnn
