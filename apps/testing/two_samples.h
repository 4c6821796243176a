// What a pass over two samples measured, for tests of what watches passes.

#ifndef DTNN_APPS_TESTING_TWO_SAMPLES_H_
#define DTNN_APPS_TESTING_TWO_SAMPLES_H_

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "models/training/step/metric_averages.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/metrics/metrics.h"
#include "tools/testing/tensors.h"

namespace dtnn::testing {

// A loss of 0.75 (1.5 over both), and metrics: one of the samples is right.
inline MetricAverages TwoSamples(const std::vector<std::string>& metrics) {
  MetricSet metric_set;
  metric_set.loss = std::make_shared<CategoricalCrossEntropy>();
  for (const std::string& name : metrics) metric_set.metrics.push_back(*MakeMetric(name));
  MetricAverages averages(metric_set, 2);
  EXPECT_TRUE(averages
                  .Add(1.5, TensorOf(DType::kFloat32, Shape{2, 2}, {0.9, 0.1, 0.8, 0.2}),
                       TensorOf(DType::kInt32, Shape{2}, {0, 1}))
                  .ok());
  return averages;
}

}  // namespace dtnn::testing

#endif  // DTNN_APPS_TESTING_TWO_SAMPLES_H_
