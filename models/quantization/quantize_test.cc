#include "models/quantization/quantize.h"

#include <limits>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/plan/plan.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Values;

class QuantizeTest : public ::testing::Test {
 protected:
  static Graph Net() {
    GraphBuilder b("net", TensorFormat::kNHWC);
    b.Input({8, 8, 3}).Conv2d(8, {.padding = 1}).BatchNorm().Relu();
    b.Conv2d(16, {.padding = 1}).BatchNorm().Relu().MaxPool2d({.stride = 2});
    b.Conv2d(16, {.padding = 1}).Relu().Flatten().Fc(4).Softmax();
    return *b.Build();
  }

  absl::StatusOr<Quantized> Run(const Tensor& samples, const QuantizeOptions& options = {}) {
    return Quantize(graph_, *store_, *device_, samples, {}, options);
  }
  std::string Error(const Tensor& samples) { return std::string(Run(samples).status().message()); }
  Tensor Samples(int64_t n, uint64_t seed = 1) const {
    return testing::RandomTensor(DType::kFloat32, graph_.input_shape().Prepend(n), seed);
  }

  const Graph graph_ = Net();
  std::unique_ptr<DeviceContext> device_ = *DeviceContext::Create(Device::Cpu());
  std::unique_ptr<ParameterStore> store_ =
      *ParameterStore::Create(graph_, *device_, DType::kFloat32, /*seed=*/3);
};

TEST_F(QuantizeTest, RecordMakesAPlanThatComputesAlike) {
  const Tensor samples = Samples(40);
  auto exact = *Plan::Compile(graph_, *store_, *device_, {.batch = 9});
  const Tensor x = Samples(9, /*seed=*/2);
  ASSERT_EQ(exact->Forward(x), absl::OkStatus());
  for (const RangeMethod method :
       {RangeMethod::kMinMax, RangeMethod::kPercentile, RangeMethod::kEntropy}) {
    const auto quantized = Run(samples, {.method = method, .batch = 7});
    ASSERT_TRUE(quantized.ok()) << quantized.status();
    EXPECT_EQ(quantized->record.samples, 40);
    EXPECT_EQ(quantized->record.input, "(8, 8, 3)");
    EXPECT_EQ(quantized->record.in_float,
              (std::map<int, std::string>{{11, "computes the network's output"}}));
    EXPECT_EQ(quantized->errors.size(), 3);  // layers 1, 4 and 8
    for (const auto& [id, error] : quantized->errors) {
      EXPECT_GT(error, 1e-4) << id;
      EXPECT_LT(error, 0.05) << id;
    }
    const Int8Choice choice = quantized->record.choice();
    auto plan = *Plan::Compile(graph_, *store_, *device_, {.batch = 9, .int8 = &choice});
    ASSERT_EQ(plan->Forward(x), absl::OkStatus());
    EXPECT_TRUE(testing::Close(Values(plan->predictions()), Values(exact->predictions()), 0.03));
  }
}

TEST_F(QuantizeTest, RangesAreThoseOfTheSamples) {
  const Tensor samples = Samples(5);
  const auto quantized = *Run(samples, {.batch = 2});
  const std::vector<double> all = Values(samples);
  EXPECT_EQ(quantized.record.ranges.at(0),
            (ValueRange{*std::ranges::min_element(all), *std::ranges::max_element(all)}));
  auto plan = *Plan::Compile(graph_, *store_, *device_, {.batch = 5});
  ASSERT_EQ(plan->ForwardObserved(
                samples,
                [&](int node, const Tensor& output) {
                  const std::vector<double> values = Values(output);
                  const ValueRange expected = {*std::ranges::min_element(values),
                                               *std::ranges::max_element(values)};
                  EXPECT_EQ(quantized.record.ranges.at(graph_.nodes()[size_t(node)].id), expected);
                  return absl::OkStatus();
                }),
            absl::OkStatus());
}

TEST_F(QuantizeTest, LayersThatDifferTooMuchStayInFloat32) {
  const auto quantized = *Run(Samples(20), {.largest_error = 0.001});
  EXPECT_EQ(quantized.record.in_float.size(), 4);
  EXPECT_THAT(quantized.record.in_float.at(8),
              ::testing::MatchesRegex("differs by [0-9.]+ % in 8 bits, more than 0.1 %"));
  EXPECT_GT(quantized.errors.at(8), 0.001);
}

// Outputs that are concatenated lie between those of others.
TEST_F(QuantizeTest, ErrorsOfConcatenatedOutputsAreTheirOwn) {
  GraphBuilder b("paths", TensorFormat::kNHWC);
  const GraphBuilder::Path path = [](GraphBuilder& p) { p.Conv2d(8, {.padding = 1}).Relu(); };
  b.Input({8, 8, 3}).Conv2d(8, {.padding = 1}).Relu().Concat({path, path});
  b.Conv2d(8, {.padding = 1}).Relu().Flatten().Fc(4).Softmax();
  const Graph graph = *b.Build();
  const auto store = *ParameterStore::Create(graph, *device_, DType::kFloat32, /*seed=*/3);
  const auto quantized = Quantize(graph, *store, *device_, Samples(40), {}, {});
  ASSERT_TRUE(quantized.ok()) << quantized.status();
  EXPECT_EQ(quantized->errors.size(), 4);
  for (const auto& [id, error] : quantized->errors) {
    EXPECT_GT(error, 1e-4) << id;
    EXPECT_LT(error, 0.05) << id;
  }
}

TEST_F(QuantizeTest, OnlyFloat32IsRead) {
  EXPECT_THAT(Error(testing::OnesTensor(DType::kFloat64, graph_.input_shape().Prepend(3))),
              ::testing::HasSubstr("samples"));
  EXPECT_THAT(Error(testing::OnesTensor(DType::kFloat32, Shape{3, 4, 4, 3})),
              ::testing::HasSubstr("samples"));
  store_ = *ParameterStore::Create(graph_, *device_, DType::kFloat64, /*seed=*/3);
  EXPECT_EQ(Error(Samples(3)), "8 bits are for models of float32, computed in float32");
}

TEST_F(QuantizeTest, SamplesThatSayNothingAreRefused) {
  EXPECT_EQ(Error(Tensor()), "no samples to find ranges with; some hundreds are usual");
  EXPECT_EQ(Error(Samples(1)),
            "one sample is too little to find ranges with; some hundreds that differ are usual");
  EXPECT_EQ(Error(testing::OnesTensor(DType::kFloat32, graph_.input_shape().Prepend(3))),
            "all 3 samples are the same: too little to find ranges with; some hundreds that differ "
            "are usual");
  const Tensor bad = Samples(3);
  bad.data<float>()[2 * 8 * 8 * 3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Error(bad), "sample 2 contains nan");
  store_->Value(1, 0).data<float>()[0] = std::numeric_limits<float>::infinity();
  store_->MarkChanged();
  EXPECT_EQ(
      Error(Samples(3)),
      "layer 3 (Relu): its output for a sample contains NaN or infinity; are the weights those "
      "of a trained network?");
}

}  // namespace
}  // namespace dtnn
