// Evaluation in 8 bits, against the same plan in float32.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/plan/plan.h"
#include "tensor/threads/parallel_for.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Values;

// What a plan treats in ways of its own: fused blocks, sums, maxima, concatenations in place and
// copied, layers that compute in float32 between bytes, views.
Graph Net(TensorFormat format = TensorFormat::kNHWC) {
  GraphBuilder b("net", format);
  b.Input({9, 10, 3}).Conv2d(16, {.padding = 1}).BatchNorm().Relu();
  b.MaxPool2d({.stride = 2, .padding = 1});
  b.Add({[](GraphBuilder& p) {
           p.Conv2d(16, {.padding = 1}).BatchNorm().Relu().Conv2d(16, {.padding = 1}).BatchNorm();
         },
         GraphBuilder::Identity()});
  b.Relu();
  b.Concat({[](GraphBuilder& p) { p.Conv2d(8, {.kernel = 1, .bias = true}).Relu(); },
            GraphBuilder::Identity(),
            [](GraphBuilder& p) {
              p.MaxPool2d({.window = 3, .padding = 1}).Conv2d(5, {.padding = 1}).Tanh();
            }});
  b.Concat({GraphBuilder::Identity(), GraphBuilder::Identity()});  // the second is copied
  b.Conv2d(12, {.stride = 2, .grouping = ConvGrouping::kStandard});
  b.Conv2d(12, {.padding = 1, .grouping = ConvGrouping::kDepthwise}).BatchNorm().Sigmoid();
  b.Flatten().Dropout(0.5).Fc(20).Relu().Fc(4).Softmax();
  return *b.Build();
}

class PlanInt8Test : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = *ParameterStore::Create(graph_, *device_, DType::kFloat32, /*seed=*/3);
    auto plan = *Plan::Compile(graph_, *store_, *device_, {.batch = 5});
    const absl::Status status = plan->ForwardObserved(x_, [&](int node, const Tensor& output) {
      const std::vector<double> values = Values(output);
      choice_.ranges[graph_.nodes()[size_t(node)].id] = {*std::ranges::min_element(values),
                                                         *std::ranges::max_element(values)};
      floats_[node] = values;
      return absl::OkStatus();
    });
    ASSERT_TRUE(status.ok()) << status;
    expected_ = Values(plan->predictions());
  }

  absl::StatusOr<std::unique_ptr<Plan>> Compile(PlanOptions options = {.batch = 5}) {
    options.int8 = &choice_;
    return Plan::Compile(graph_, *store_, *device_, options);
  }
  std::string Error(const PlanOptions& options = {}) {
    return std::string(Compile(options).status().message());
  }

  const Graph graph_ = Net();
  std::unique_ptr<DeviceContext> device_ = *DeviceContext::Create(Device::Cpu());
  std::unique_ptr<ParameterStore> store_;
  Tensor x_ = testing::RandomTensor(DType::kFloat32, graph_.input_shape().Prepend(5), 7);
  Int8Choice choice_;
  std::map<int, std::vector<double>> floats_;  // what each op of float32 writes
  std::vector<double> expected_;
};

TEST_F(PlanInt8Test, EveryLayerComputesWhatItDoesInFloat32) {
  auto plan = *Compile();
  int bytes = 0;
  ASSERT_EQ(plan->ForwardObserved(
                x_,
                [&](int node, const Tensor& output) {
                  const std::vector<double>& floats = floats_.at(node);
                  std::vector<double> values(floats.size());
                  const auto& q = plan->int8_types().values[size_t(node)];
                  EXPECT_EQ(output.dtype(), q ? DType::kUint8 : DType::kFloat32);
                  const int64_t channels = output.shape()[output.shape().rank() - 1];
                  double error = 0, power = 0;
                  for (size_t i = 0; i < values.size(); ++i) {
                    const int64_t at =
                        int64_t(i) / channels * output.PixelPitch() + int64_t(i) % channels;
                    const double value =
                        q ? double(q->scale) * (output.data<uint8_t>()[at] - q->zero_point)
                          : double(output.data<float>()[at]);
                    error += (value - floats[i]) * (value - floats[i]);
                    power += floats[i] * floats[i];
                  }
                  bytes += q.has_value();
                  EXPECT_LT(std::sqrt(error / power), 0.05) << "node " << node;
                  return absl::OkStatus();
                }),
            absl::OkStatus());
  EXPECT_GE(bytes, 9);
  EXPECT_TRUE(testing::Close(Values(plan->predictions()), expected_, 0.02));
  int products = 0;
  for (const uint8_t multiplies : plan->int8_types().products) products += multiplies;
  EXPECT_EQ(products, 8);  // all but the first: the samples have no range
}

TEST_F(PlanInt8Test, SamplesWithARangeBecomeBytes) {
  const std::vector<double> values = Values(x_);
  choice_.ranges[0] = {*std::ranges::min_element(values), *std::ranges::max_element(values)};
  auto plan = *Compile();
  ASSERT_EQ(plan->Forward(x_), absl::OkStatus());
  EXPECT_TRUE(testing::Close(Values(plan->predictions()), expected_, 0.02));
  const Int8Types& types = plan->int8_types();
  EXPECT_TRUE(types.values[0].has_value());
  EXPECT_EQ(std::ranges::count(types.products, 1), 9);
  // A part of the batch.
  const std::vector<double> all = Values(plan->predictions());
  ASSERT_EQ(plan->Forward(x_.Samples(3, 2, graph_.format())), absl::OkStatus());
  EXPECT_EQ(Values(plan->predictions()), std::vector<double>(all.end() - 8, all.end()));
  x_.data<float>()[17] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(plan->Forward(x_).message(), "the samples contain NaN, which has no byte");
  // Nothing reads them as bytes.
  choice_.in_float.insert(1);
  EXPECT_FALSE((*Compile())->int8_types().values[0].has_value());
}

TEST_F(PlanInt8Test, SameBitsOnAnyNumberOfThreadsAndInAnyBatch) {
  const int threads = NumThreads();
  auto plan = *Compile();
  ASSERT_EQ(plan->Forward(x_), absl::OkStatus());
  const std::vector<double> all = Values(plan->predictions());
  for (const int count : {1, 2, 4}) {
    SetNumThreads(count);
    auto other = *Compile();
    ASSERT_EQ(other->Forward(x_), absl::OkStatus());
    EXPECT_EQ(Values(other->predictions()), all);
    ASSERT_EQ(other->Forward(x_.Samples(3, 2, graph_.format())), absl::OkStatus());
    EXPECT_EQ(Values(other->predictions()), std::vector<double>(all.end() - 8, all.end()));
  }
  SetNumThreads(threads);
}

TEST_F(PlanInt8Test, NewParametersAreQuantizedAgain) {
  auto plan = *Compile();
  ASSERT_EQ(plan->Forward(x_), absl::OkStatus());
  const std::vector<double> before = Values(plan->predictions());
  const Tensor& values = store_->all_values();
  for (int64_t i = 0; i < values.num_elements(); ++i) values.data<float>()[i] *= 0.5f;
  store_->MarkChanged();
  ASSERT_EQ(plan->Forward(x_), absl::OkStatus());
  EXPECT_NE(Values(plan->predictions()), before);
}

TEST_F(PlanInt8Test, LayersMayStayInFloat32) {
  for (const Node& node : graph_.nodes()) {
    if (Int8FormOf(*node.layer) == Int8Form::kProducts) choice_.in_float.insert(node.id);
  }
  auto plan = *Compile();
  ASSERT_EQ(plan->Forward(x_), absl::OkStatus());
  EXPECT_EQ(Values(plan->predictions()), expected_);  // no value is a byte
  choice_.in_float = {0};
  EXPECT_EQ(Error(),
            "layer 0, which is to stay in float32, is not a convolution or fully connected layer "
            "of this network");
}

TEST_F(PlanInt8Test, WhatIsMissingOrImpossibleIsRefused) {
  EXPECT_EQ(Error({.training = false, .fusions = Fusions::None()}), "");  // all are made
  const ValueRange range = choice_.ranges.at(3);
  choice_.ranges.erase(3);
  EXPECT_EQ(Error(),
            "layer 3 (Relu): has no range of values, which 8 bits need; quantize the model "
            "again");
  choice_.ranges[3] = {range.high, range.low};
  EXPECT_THAT(Error(), ::testing::StartsWith("layer 3 (Relu): the range "));
  choice_.ranges[3] = {0, std::numeric_limits<double>::infinity()};
  EXPECT_THAT(Error(), ::testing::StartsWith("layer 3 (Relu): the range "));
  choice_.ranges[3] = range;
  ASSERT_EQ(device_->SetMathMode(MathMode::kBf16), absl::OkStatus());
  EXPECT_THAT(Error(), ::testing::StartsWith("8 bits are for inference on a CPU"));
  ASSERT_EQ(device_->SetMathMode(MathMode::kFp32), absl::OkStatus());
  const Graph planar = Net(TensorFormat::kNCHW);
  EXPECT_FALSE(Plan::Compile(planar, *store_, *device_, {.int8 = &choice_}).ok());
}

TEST_F(PlanInt8Test, ANaNIsReportedByTheLayerThatWouldHideIt) {
  auto plan = *Compile();
  x_.data<float>()[17] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(plan->Forward(x_).message(),
            "layer 1 (Conv2D): the output contains NaN, which has no byte");
}

}  // namespace
}  // namespace dtnn
