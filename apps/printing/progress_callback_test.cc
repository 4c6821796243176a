#include "apps/printing/progress_callback.h"

#include <algorithm>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/metrics.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::dtnn::testing::TensorOf;
using ::testing::HasSubstr;

class ProgressCallbackTest : public ::testing::Test {
 protected:
  // Two samples, one of them right.
  MetricAverages Some(const std::vector<const char*>& metrics) {
    MetricSet metric_set;
    metric_set.loss = std::make_shared<CategoricalCrossEntropy>();
    for (const char* name : metrics) metric_set.metrics.push_back(*MakeMetric(name));
    MetricAverages averages(metric_set, 2);
    EXPECT_TRUE(averages
                    .Add(1.5, TensorOf(DType::kFloat32, Shape{2, 2}, {0.9, 0.1, 0.8, 0.2}),
                         TensorOf(DType::kInt32, Shape{2}, {0, 1}))
                    .ok());
    return averages;
  }

  std::ostringstream out_;
  ProgressCallback progress_{Display{.live = false}, out_};
};

TEST_F(ProgressCallbackTest, MatricesStandBelowTheirEpoch) {
  const MetricAverages trained = Some({"categorical_accuracy", "multiclass_confusion_matrix"});
  const Pass pass{.samples = 2, .done = 2, .averages = &trained};
  ASSERT_TRUE(progress_.OnPassBegin(pass).ok());
  ASSERT_TRUE(progress_.OnBatchEnd(pass).ok());
  ASSERT_TRUE(progress_.OnEpochEnd(pass, &pass).ok());
  const std::string text = out_.str();
  EXPECT_THAT(text, HasSubstr("cce: 0.7500000, acc: 50.00%, val_cce: 0.7500000"));
  const size_t matrix = text.find("\nmulticlass_confusion_matrix");
  EXPECT_NE(matrix, text.npos) << text;
  EXPECT_NE(text.find("\nval_multiclass_confusion_matrix", matrix), text.npos) << text;
}

TEST_F(ProgressCallbackTest, AndBelowATest) {
  const MetricAverages tested = Some({"multiclass_confusion_matrix"});
  const Pass pass{.kind = Pass::Kind::kTest, .samples = 2, .done = 2, .averages = &tested};
  ASSERT_TRUE(progress_.OnPassBegin(pass).ok());
  ASSERT_TRUE(progress_.OnPassEnd(pass).ok());
  EXPECT_THAT(out_.str(), HasSubstr("\ntest_multiclass_confusion_matrix"));
}

TEST_F(ProgressCallbackTest, MetricsThatAreNumbersStandInTheLineAlone) {
  const MetricAverages tested = Some({"categorical_accuracy"});
  const Pass pass{.kind = Pass::Kind::kTest, .samples = 2, .done = 2, .averages = &tested};
  ASSERT_TRUE(progress_.OnPassBegin(pass).ok());
  ASSERT_TRUE(progress_.OnPassEnd(pass).ok());
  EXPECT_THAT(out_.str(), HasSubstr("test_acc: 50.00%"));
  EXPECT_EQ(std::ranges::count(out_.str(), '\n'), 1);
}

}  // namespace
}  // namespace dtnn
