// A plan on a GPU does what one on the CPU does, over a network that has every kind of layer:
// predictions, losses, gradients and running statistics. On a simulated GPU, and on a real one;
// that is skipped, with the reason, where there is none.

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/best_of/best_of.h"
#include "kernels/byte_images/byte_images.h"
#include "kernels/device/free_memory.h"
#include "kernels/testing/gpu_testing.h"
#include "models/graph/builder.h"
#include "models/parameters/parameter_store.h"
#include "models/plan/plan.h"
#include "models/testing/plan_session.h"
#include "optim/losses/categorical_cross_entropy.h"
#include "optim/losses/losses.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using testing::Close;
using testing::Get;
using testing::Labels;
using testing::Put;
using testing::RandomTensor;
using testing::Values;

GraphBuilder::Path Normalized(int64_t filters, int64_t kernel) {
  return [=](GraphBuilder& path) {
    path.Conv2d(filters, {.kernel = kernel, .padding = kernel / 2}).BatchNorm();
  };
}

Graph EveryLayer(TensorFormat format) {
  GraphBuilder b("every layer", format);
  const auto convolution = [](int64_t filters, int64_t kernel) {
    return [=](GraphBuilder& path) {
      path.Conv2d(filters, {.kernel = kernel, .padding = kernel / 2}).BatchNorm().Relu();
    };
  };
  b.Input({9, 8, 3});
  b.Conv2d(6, {.kernel = 3, .padding = 1}).Relu().MaxPool2d({.window = 2, .stride = 2});
  b.Concat({convolution(4, 1), convolution(5, 3), GraphBuilder::Identity()});
  b.Conv2d(0, {.kernel = 3, .padding = 1, .grouping = ConvGrouping::kDepthwise}).BatchNorm();
  b.Add({convolution(15, 3), GraphBuilder::Identity()}).LeakyRelu();
  b.Add({Normalized(6, 3), Normalized(6, 1)}).Relu();  // trains as one operation
  b.AveragePool2d({.window = 2, .stride = 1}).Conv2d(8, {.grouping = ConvGrouping::kPointwise});
  b.Multiply({GraphBuilder::Identity(), [](GraphBuilder& path) {
                path.AveragePool2d({.window = 0}).Conv2d(8, {.kernel = 1}).HardSigmoid();
              }});
  b.Silu()
      .GroupNorm({.groups = 2})
      .PRelu()
      .Elu(0.7)
      .Softplus()
      .Mish()
      .Clip(-0.5, 1.5)
      .SelfAttention({.heads = 2})
      .Gelu()
      .HardSwish()
      .Relu6()
      .AdaptiveAveragePool2d(2)
      .Upsample2d()
      .Pad2d({.before = 3, .after = 3, .mode = PadMode::kReflect})
      .Slice2d({.begin = {0, 1}, .step = 2})
      .Upsample2d({.mode = ResizeMode::kLinear})
      .AveragePool2d({.window = 2, .stride = 2})
      .ChannelShuffle(2)
      .ChannelSlice(1, 6)
      .TransposedConv2d(4, {.kernel = 2, .stride = 2})
      .Scale(0.7)
      .ClassToken()
      .PositionEmbedding()
      .PixelSlice(3, 17)
      .Dropout(0.25)
      .Flatten();
  b.Fc(10).BatchNorm().Sigmoid().Fc(7).Tanh().Fc(4).Softmax();
  return *b.Build();
}

// Whose gradient does not jump: a value that rounding moves over the edge of a relu or makes the
// largest of a window would change more than all roundings.
Graph SmoothLayers(TensorFormat format) {
  GraphBuilder b("smooth layers", format);
  const auto convolution = [](int64_t filters, int64_t kernel) {
    return [=](GraphBuilder& path) {
      path.Conv2d(filters, {.kernel = kernel, .padding = kernel / 2}).BatchNorm().Tanh();
    };
  };
  b.Input({9, 8, 3});
  b.Conv2d(6, {.kernel = 3, .padding = 1}).Tanh().AveragePool2d({.window = 2, .stride = 2});
  b.Concat({convolution(4, 1), convolution(5, 3), GraphBuilder::Identity()});
  b.Conv2d(0, {.kernel = 3, .padding = 1, .grouping = ConvGrouping::kDepthwise}).BatchNorm();
  b.Add({convolution(15, 3), GraphBuilder::Identity()}).Sigmoid();
  b.Add({Normalized(6, 3), Normalized(6, 1)}).Sigmoid();
  b.Conv2d(8, {.grouping = ConvGrouping::kPointwise}).SelfAttention({.heads = 2});
  b.AdaptiveAveragePool2d(2).Scale(0.7).ClassToken().PositionEmbedding().PixelSlice(0, 4);
  b.Dropout(0.25);
  b.Flatten().Fc(10).Sigmoid().Fc(4).Softmax();
  return *b.Build();
}

Graph OtherSmoothLayers(TensorFormat format) {
  GraphBuilder b("other smooth layers", format);
  b.Input({9, 8, 3}).Conv2d(6, {.kernel = 3, .padding = 1}).Silu();
  b.Multiply({GraphBuilder::Identity(), [](GraphBuilder& path) {
                path.AveragePool2d({.window = 0}).Conv2d(6, {.kernel = 1}).Sigmoid();
              }});
  b.GroupNorm({.groups = 2})
      .GroupNorm({.per_pixel = true})
      .Gelu()
      .Pad2d({.before = 1, .mode = PadMode::kReflect})
      .Slice2d({.begin = {1, 0}, .step = {1, 2}})
      .ChannelShuffle(2)
      .ChannelSlice(1, 4)
      .AdaptiveAveragePool2d(2)
      .TransposedConv2d(4, {.kernel = 2, .stride = 2})
      .Softplus()
      .AdaptiveAveragePool2d(2)
      .Upsample2d()
      .Mish()
      .AdaptiveAveragePool2d(2)
      .Upsample2d({.mode = ResizeMode::kLinear})
      .AdaptiveAveragePool2d(2)
      .Flatten()
      .Fc(4)
      .Softmax();
  return *b.Build();
}

class PlanGpuTest : public ::testing::TestWithParam<std::tuple<Device, TensorFormat>> {
 protected:
  void SetUp() override {
    DTNN_GPU_OR_SKIP_AT(gpu, std::get<0>(GetParam()));
    gpu_ = std::move(gpu);
  }
  const TensorFormat format_ = std::get<1>(GetParam());
  std::unique_ptr<DeviceContext> gpu_, cpu_ = *DeviceContext::Create(Device::Cpu());
};

// What a device made of a few steps.
struct Outcome {
  std::vector<double> losses;
  std::vector<Tensor> predictions;  // of evaluations
  Tensor gradients, values;
};

Outcome OutcomeOn(DeviceContext& device, const Graph& graph, TensorFormat format) {
  Outcome outcome;
  auto store = *ParameterStore::Create(graph, device, DType::kFloat64, 3);
  EXPECT_EQ(store->AllocateForTraining(device, 0), absl::OkStatus());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {  // zeros at first
    if (graph.nodes()[i].layer->type_name() != "ClassToken") continue;
    const Tensor token = store->Value(int(i), 0);
    EXPECT_EQ(device.Copy(RandomTensor(token.dtype(), token.shape(), 4), token), absl::OkStatus());
    EXPECT_EQ(device.Synchronize(), absl::OkStatus());
    store->MarkChanged();
  }
  const CategoricalCrossEntropy loss;
  const auto compile = [&](bool training) {
    return *Plan::Compile(graph, *store, device,
                          {.batch = 5, .training = training, .loss = &loss, .random_seed = 9});
  };
  const auto training = compile(true), evaluation = compile(false);
  for (const int64_t samples : {5, 3}) {  // the last batch is smaller
    const Tensor x = RandomTensor(DType::kFloat64, SampleShape({9, 8, 3}, format).Prepend(samples),
                                  uint64_t(samples));
    EXPECT_EQ(training->ForwardBackward(x, Labels(samples), 1.0 / double(samples), samples, {}),
              absl::OkStatus());
    outcome.losses.push_back(training->LossSum());
    EXPECT_EQ(evaluation->Evaluate(x, Labels(samples)), absl::OkStatus());
    outcome.losses.push_back(evaluation->LossSum());
    outcome.predictions.push_back(testing::TensorOf(
        DType::kFloat64, evaluation->predictions().shape(), Values(evaluation->predictions())));
  }
  outcome.gradients = Get(device, store->gradients());
  outcome.values = Get(device, store->all_values());
  return outcome;
}

TEST_P(PlanGpuTest, EveryLayerAsOnTheCpu) {
  const Graph graph = EveryLayer(format_);
  const Outcome expected = OutcomeOn(*cpu_, graph, format_),
                actual = OutcomeOn(*gpu_, graph, format_);
  EXPECT_TRUE(Close(actual.losses, expected.losses, 1e-11));
  for (size_t i = 0; i < expected.predictions.size(); ++i) {
    EXPECT_TRUE(Close(actual.predictions[i], expected.predictions[i], 1e-11));
  }
  EXPECT_TRUE(Close(actual.gradients, expected.gradients, 1e-11));
  EXPECT_TRUE(Close(actual.values, expected.values, 1e-11)) << "running statistics";
}

// A mixture over the channels of each pixel, and one over features.
Graph SoftmaxesInside(TensorFormat format) {
  GraphBuilder b("softmaxes", format);
  b.Input({9, 8, 3}).Conv2d(6, {.padding = 1}).Softmax().Conv2d(5, {.padding = 1});
  b.Concat({[](GraphBuilder& p) { p.Softmax(); }, GraphBuilder::Identity()});
  b.Conv2d(7, {.padding = 1}).Flatten().Fc(9).Softmax().Fc(6).Softmax().Fc(4).Softmax();
  return *b.Build();
}

// Gradients and predictions of the other math modes are off by a few roundings of theirs. In
// float16 gradients come multiplied by the loss scale.
void ExpectGradientsInEveryMathMode(DeviceContext& gpu, const Graph& graph) {
  const CategoricalCrossEntropy loss;
  const Tensor x =
      RandomTensor(DType::kFloat32, SampleShape({9, 8, 3}, graph.format()).Prepend(5), 1);
  std::vector<double> exact, exact_predictions;
  size_t exact_activations = 0;
  for (const auto& [mode, rounding] : {std::pair(MathMode::kFp32, 0x1p-24),
                                       {MathMode::kTf32, 0x1p-11},
                                       {MathMode::kBf16, 0x1p-8},
                                       {MathMode::kFp16, 0x1p-11}}) {
    SCOPED_TRACE(Name(mode));
    if (gpu.device().is_cpu() && (mode == MathMode::kTf32 || mode == MathMode::kFp16)) continue;
    ASSERT_EQ(gpu.SetMathMode(mode), absl::OkStatus());
    auto store = *ParameterStore::Create(graph, gpu, DType::kFloat32, 3);
    ASSERT_EQ(store->AllocateForTraining(gpu, 0), absl::OkStatus());
    const auto plan =
        Plan::Compile(graph, *store, gpu, {.batch = 5, .training = true, .loss = &loss});
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_EQ((*plan)->ForwardBackward(x, Labels(5), 0.2, 0), absl::OkStatus());
    std::vector<double> gradients = Values(Get(gpu, store->gradients()));
    const std::vector<double> predictions = Values((*plan)->predictions());
    // A batch that is on the GPU already.
    ASSERT_EQ((*plan)->Forward(Put(gpu, x)), absl::OkStatus());
    EXPECT_EQ(Values((*plan)->predictions()), predictions);
    const double scale = mode == MathMode::kFp16 ? 65536 : 1;
    for (double& gradient : gradients) gradient /= scale;
    const size_t activations = (*plan)->memory().activations;
    if (mode == MathMode::kFp32) {
      exact = gradients, exact_predictions = predictions, exact_activations = activations;
      continue;
    }
    double error = 0, norm = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      error += (gradients[i] - exact[i]) * (gradients[i] - exact[i]);
      norm += exact[i] * exact[i];
    }
    EXPECT_GT(error, 0);
    EXPECT_LT(std::sqrt(error / norm), 32 * rounding);
    EXPECT_TRUE(Close(predictions, exact_predictions, 8 * rounding));
    // Half the memory, but for the probabilities and the losses.
    const bool half = mode != MathMode::kTf32;
    EXPECT_LT(double(activations), (half ? 0.55 : 1.01) * double(exact_activations));
  }
}

TEST_P(PlanGpuTest, GradientsInEveryMathMode) {
  ExpectGradientsInEveryMathMode(*gpu_, SmoothLayers(format_));
}

TEST_P(PlanGpuTest, GradientsOfOtherLayersInEveryMathMode) {
  ExpectGradientsInEveryMathMode(*gpu_, OtherSmoothLayers(format_));
}

TEST_P(PlanGpuTest, GradientsOfSoftmaxesBeforeOtherLayersInEveryMathMode) {
  const Graph graph = SoftmaxesInside(format_);
  ExpectGradientsInEveryMathMode(*gpu_, graph);
  ExpectGradientsInEveryMathMode(*cpu_, graph);
}

// Evaluation with normalisations in the filters, of NHWC images, is off by a few roundings, and
// follows what changes.
TEST_P(PlanGpuTest, NormalisationsAreFoldedIntoFilters) {
  const Graph graph = EveryLayer(format_);
  const CategoricalCrossEntropy loss;
  const Tensor x = RandomTensor(DType::kFloat32, SampleShape({9, 8, 3}, format_).Prepend(5), 1);
  for (const auto& [mode, rounding] : {std::pair(MathMode::kFp32, 0x1p-20),
                                       {MathMode::kTf32, 0x1p-11},
                                       {MathMode::kBf16, 0x1p-8},
                                       {MathMode::kFp16, 0x1p-11}}) {
    SCOPED_TRACE(Name(mode));
    ASSERT_EQ(gpu_->SetMathMode(mode), absl::OkStatus());
    auto store = *ParameterStore::Create(graph, *gpu_, DType::kFloat32, 3);
    ASSERT_EQ(store->AllocateForTraining(*gpu_, 0), absl::OkStatus());
    const auto compile = [&](bool training, const Fusions& fusions) {
      return *Plan::Compile(graph, *store, *gpu_,
                            {.batch = 5, .training = training, .loss = &loss, .fusions = fusions});
    };
    const auto training = compile(true, {});
    const auto folded = compile(false, {}), apart = compile(false, Fusions::None());
    EXPECT_EQ(folded->memory().kept > apart->memory().kept, format_ == TensorFormat::kNHWC);
    std::vector<double> before;
    const auto expect_equal = [&] {
      EXPECT_EQ(folded->Evaluate(x, Labels(5)), absl::OkStatus());
      EXPECT_EQ(apart->Evaluate(x, Labels(5)), absl::OkStatus());
      const std::vector<double> now = Values(folded->predictions());
      EXPECT_TRUE(Close(now, Values(apart->predictions()), 8 * rounding));
      EXPECT_NE(now, before);
      before = now;
    };
    expect_equal();
    // Other statistics.
    ASSERT_EQ(training->ForwardBackward(x, Labels(5), 0.2, 0), absl::OkStatus());
    expect_equal();
    // Other parameters.
    const Tensor values = Get(*gpu_, store->values());
    for (int64_t i = 0; i < values.num_elements(); ++i) values.data<float>()[i] *= 0.5f;
    ASSERT_EQ(gpu_->Copy(values, store->values()), absl::OkStatus());
    store->MarkChanged();
    expect_equal();
  }
}

// Whatever the loss, what it takes over, and the targets: gradients as in fp32, but for roundings.
TEST_P(PlanGpuTest, EveryLossInSixteenBits) {
  const auto network = [&](int ending) {
    GraphBuilder b("small", format_);
    b.Input({4, 4, 1}).Flatten().Fc(6).Tanh().Fc(3);
    if (ending == 1) b.Sigmoid();
    if (ending == 2) b.Softmax();
    return *b.Build();
  };
  const Tensor x = RandomTensor(DType::kFloat32, SampleShape({4, 4, 1}, format_).Prepend(2), 1);
  const Tensor rows =
      testing::TensorOf(DType::kFloat32, Shape{2, 3}, {0.75, 0.25, 0, 0.125, 0.25, 0.625});
  for (const auto& [name, ending] : {std::pair("mse", 0),
                                     {"mae", 0},
                                     {"mse", 1},
                                     {"binary_cross_entropy", 1},
                                     {"mse", 2},
                                     {"categorical_cross_entropy", 2}}) {
    SCOPED_TRACE(std::string(name) + " " + std::to_string(ending));
    const Graph graph = network(ending);
    const auto loss = *MakeLoss(name);
    std::vector<double> exact;
    for (const auto& [mode, scale, rounding] : {std::tuple(MathMode::kFp32, 1.0, 0.0),
                                                {MathMode::kBf16, 1.0, 0x1p-8},
                                                {MathMode::kFp16, 65536.0, 0x1p-11}}) {
      ASSERT_EQ(gpu_->SetMathMode(mode), absl::OkStatus());
      auto store = *ParameterStore::Create(graph, *gpu_, DType::kFloat32, 3);
      ASSERT_EQ(store->AllocateForTraining(*gpu_, 0), absl::OkStatus());
      const auto plan =
          Plan::Compile(graph, *store, *gpu_, {.batch = 2, .training = true, .loss = loss.get()});
      ASSERT_TRUE(plan.ok()) << plan.status();
      // 1e-2: what fp16 multiplies by 65536 stays in its range.
      ASSERT_EQ((*plan)->ForwardBackward(x, rows, 1e-2, 0), absl::OkStatus());
      std::vector<double> gradients = Values(Get(*gpu_, store->gradients()));
      for (double& gradient : gradients) gradient *= 100 / scale;
      if (mode == MathMode::kFp32) {
        exact = gradients;
      } else {
        EXPECT_TRUE(Close(gradients, exact, 16 * rounding));
        EXPECT_NE(gradients, exact);
      }
    }
  }
}

TEST_P(PlanGpuTest, MathModesHaveTheirLimits) {
  const Graph graph = EveryLayer(format_);
  ASSERT_EQ(gpu_->SetMathMode(MathMode::kBf16), absl::OkStatus());
  const auto compile = [&](const Graph& graph, DType dtype) {
    auto store = *ParameterStore::Create(graph, *gpu_, dtype, 3);
    return Plan::Compile(graph, *store, *gpu_, {.batch = 2}).status();
  };
  EXPECT_EQ(compile(graph, DType::kFloat32), absl::OkStatus());
  EXPECT_EQ(compile(graph, DType::kFloat64).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(cpu_->SetMathMode(MathMode::kFp16).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(cpu_->SetMathMode(MathMode::kFp32), absl::OkStatus());
}

// Predictions come as float32 whatever the last layer is.
TEST_P(PlanGpuTest, PredictionsOfANetworkWithoutSoftmax) {
  GraphBuilder b("no softmax", format_);
  b.Input({4, 4, 1}).Flatten().Fc(6).Relu().Fc(3);
  const Graph graph = *b.Build();
  const Tensor x = RandomTensor(DType::kFloat32, SampleShape({4, 4, 1}, format_).Prepend(2), 1);
  std::vector<double> predictions[2];
  for (const MathMode mode : {MathMode::kFp32, MathMode::kBf16}) {
    ASSERT_EQ(gpu_->SetMathMode(mode), absl::OkStatus());
    auto store = *ParameterStore::Create(graph, *gpu_, DType::kFloat32, 3);
    const auto plan = *Plan::Compile(graph, *store, *gpu_, {.batch = 5});
    ASSERT_EQ(plan->Forward(x), absl::OkStatus());
    EXPECT_EQ(plan->predictions().dtype(), DType::kFloat32);
    predictions[mode == MathMode::kBf16] = Values(plan->predictions());
  }
  EXPECT_TRUE(Close(predictions[1], predictions[0], 8 * 0x1p-8));
  EXPECT_NE(predictions[1], predictions[0]);
}

// One place for both: steps that were captured read what came last, in whichever way.
TEST_P(PlanGpuTest, TakesValuesAndBytesInTurn) {
  GraphBuilder b("small", format_);
  b.Input({4, 5, 2}).Conv2d(3, {}).Flatten().Fc(3).Softmax();
  const Graph graph = *b.Build();
  const auto spec = [&](uint64_t seed) {
    return std::make_shared<ByteImagesSpec>(
        ByteImagesSpec{.sample = {4, 5, 2},
                       .from = TensorFormat::kNHWC,
                       .to = format_,
                       .values = RandomTensor(DType::kFloat32, {2, 256}, seed)});
  };
  const auto bytes = [&](int64_t n) {
    const Tensor x = *Tensor::Zeros(DType::kUint8, Shape{n, 4, 5, 2});
    for (int64_t i = 0; i < x.num_elements(); ++i) x.data<uint8_t>()[i] = uint8_t(7 * i);
    return x;
  };
  // What the CPU makes of them.
  const auto values = [&](const ByteImagesSpec& of, int64_t n) {
    const Tensor y = testing::ZeroTensor(DType::kFloat32, of.values_shape(n));
    EXPECT_EQ((*CreateByteImages(*cpu_, of, DType::kFloat32))->Run(bytes(n), {}, y),
              absl::OkStatus());
    return y;
  };
  auto store = *ParameterStore::Create(graph, *gpu_, DType::kFloat32, 3);
  const auto plan = *Plan::Compile(graph, *store, *gpu_, {.batch = 4});
  const auto first = spec(1), second = spec(2);
  for (const auto& of : {first, second, first}) {
    for (const int64_t n : {4, 1, 3}) {
      ASSERT_EQ(plan->Forward(values(*of, n)), absl::OkStatus());
      const std::vector<double> expected = Values(plan->predictions());
      ASSERT_EQ(plan->Forward({bytes(n), Tensor(), of}), absl::OkStatus());
      EXPECT_EQ(Values(plan->predictions()), expected);
    }
  }
  const auto refused = [](Plan& by, const PlanInput& input) {
    EXPECT_EQ(by.Forward(input).code(), absl::StatusCode::kInvalidArgument);
  };
  refused(*plan, {bytes(5), Tensor(), first});
  refused(*plan, {values(*first, 2), Tensor(), first});
  refused(*plan, bytes(2));
  auto other = *first;
  other.sample = {4, 6, 2};
  refused(*plan, {bytes(2), Tensor(), std::make_shared<ByteImagesSpec>(other)});
  auto changing = *first;
  changing.changes = 1;
  refused(*plan, {bytes(2), Tensor(), std::make_shared<ByteImagesSpec>(changing)});
  auto on_cpu = *ParameterStore::Create(graph, *cpu_, DType::kFloat32, 3);
  refused(**Plan::Compile(graph, *on_cpu, *cpu_, {.batch = 4}), {bytes(2), Tensor(), first});
}

// What was compiled has room for both.
TEST_P(PlanGpuTest, BytesTakeNoMoreMemoryThanValues) {
  GraphBuilder b("small", format_);
  b.Input({32, 32, 3}).Flatten().Fc(3).Softmax();
  const Graph graph = *b.Build();
  const auto spec = std::make_shared<ByteImagesSpec>(
      ByteImagesSpec{.sample = {32, 32, 3},
                     .from = TensorFormat::kNHWC,
                     .to = format_,
                     .changes = 3,
                     .values = testing::ZeroTensor(DType::kFloat32, {3, 256})});
  auto store = *ParameterStore::Create(graph, *gpu_, DType::kFloat32, 3);
  const auto plan = *Plan::Compile(graph, *store, *gpu_, {.batch = 64});
  const std::optional<size_t> before = FreeMemory(*gpu_);
  ASSERT_TRUE(before.has_value());
  const Tensor bytes = *Tensor::Zeros(DType::kUint8, spec->bytes_shape(64));
  const Tensor changes = *Tensor::Zeros(DType::kInt32, spec->changes_shape(64));
  ASSERT_EQ(plan->Forward({bytes, changes, spec}), absl::OkStatus());
  EXPECT_GE(*FreeMemory(*gpu_), *before);
}

// The diagnosis of a diverged network looks into the device's memory.
TEST_P(PlanGpuTest, FindsWhatIsNotFinite) {
  const Graph graph = EveryLayer(format_);
  auto store = *ParameterStore::Create(graph, *gpu_, DType::kFloat64, 3);
  const CategoricalCrossEntropy loss;
  const auto plan = *Plan::Compile(graph, *store, *gpu_, {.batch = 2, .loss = &loss});
  const Tensor x = RandomTensor(DType::kFloat64, SampleShape({9, 8, 3}, format_).Prepend(2), 1);
  EXPECT_EQ(*plan->FirstNonFinite(x, Labels(2), 0), "");
  const Tensor weights = store->Value(1, 0);
  ASSERT_EQ(gpu_->Copy(testing::NaNTensor(DType::kFloat64, weights.shape()), weights),
            absl::OkStatus());
  EXPECT_EQ(*plan->FirstNonFinite(x, Labels(2), 0), "layer 1 (Conv2D): nan in weights");
}

// A simulated GPU has 1 GiB; what a network needs besides is small.
TEST(PlanOfASimulatedGpuTest, WithoutMemoryTheBatchThatFitsIsTold) {
  GraphBuilder b("wide", TensorFormat::kNCHW);
  b.Input({64, 64, 3}).Conv2d(16, {.kernel = 3, .padding = 1}).Relu().Flatten().Fc(4).Softmax();
  const Graph graph = *b.Build();
  const auto gpu = *DeviceContext::Create(Device::Simulated(0));
  auto store = *ParameterStore::Create(graph, *gpu, DType::kFloat32, 3);
  const auto compile = [&](int64_t batch) {
    return Plan::Compile(graph, *store, *gpu, {.batch = batch}).status();
  };
  BestOf tuner;
  gpu->SetTuner(&tuner);
  const std::string told(compile(1 << 20).message());
  EXPECT_EQ(gpu->tuner(), &tuner) << "plans of other sizes were tried without it";
  EXPECT_NE(told.find("a plan for evaluating batches of 1048576 samples: "), std::string::npos)
      << told;
  EXPECT_NE(told.find("bytes are free"), std::string::npos) << told;
  const size_t at = told.find("use a smaller batch; up to ");
  ASSERT_NE(at, std::string::npos) << told;
  const int64_t fits = std::stoll(told.substr(at + 27));
  EXPECT_GT(fits, 100);
  EXPECT_EQ(compile(fits), absl::OkStatus());
  EXPECT_EQ(compile(fits + fits / 8).code(), absl::StatusCode::kResourceExhausted);
}

INSTANTIATE_TEST_SUITE_P(
    , PlanGpuTest,
    ::testing::Combine(::testing::Values(Device::Simulated(0), Device::Cuda(0)),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW)),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).type == DeviceType::kCuda ? "Cuda" : "Simulated") +
             (std::get<1>(info.param) == TensorFormat::kNHWC ? "Nhwc" : "Nchw");
    });

}  // namespace
}  // namespace dtnn
