#include "layers/testing/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/testing/fenced.h"
#include "tools/testing/tensors.h"

namespace dtnn::testing {
namespace {

// What a plan wants of the gradient of an input.
enum class Wish : uint8_t { kWrite, kAdd, kNothing };
constexpr int kWishes = 3;

// One bound layer with all the memory that a plan would give it.
struct Bench {
  std::unique_ptr<DeviceContext> device;
  std::unique_ptr<LayerOp> op;
  std::vector<Tensor> inputs, dx, gradients;
  std::vector<ParameterView> parameters;
  Tensor output, dy, state;
  std::vector<double> weights;  // what dy is before each pass: an op may overwrite it
  std::optional<FencedWorkspace> workspace;

  void Forward() {
    const LayerOpTraits traits = op->traits();
    if (traits.is_view) output = inputs[0].Reshaped(output.shape());
    for (ParameterView& parameter : parameters) ++parameter.version;
    const absl::Status status =
        op->Forward({inputs, output, parameters, state, workspace->Dirty(), /*step=*/1});
    EXPECT_TRUE(status.ok()) << status;
  }

  void Backward() { Backward(std::vector<Wish>(dx.size(), Wish::kWrite)); }

  void Backward(const std::vector<Wish>& wishes) {
    DispatchFloating(dy.dtype(), [&](auto zero) {
      using T = decltype(zero);
      std::ranges::transform(weights, dy.data<T>(), [](double value) { return T(value); });
    });
    const std::unique_ptr<bool[]> flags(new bool[dx.size()]);
    std::vector<Tensor> wanted = dx;
    for (size_t i = 0; i < dx.size(); ++i) {
      flags[i] = wishes[i] == Wish::kAdd;
      if (wishes[i] == Wish::kNothing) wanted[i] = Tensor();
    }
    const absl::Status status = op->Backward({.inputs = inputs,
                                              .output = output,
                                              .dy = dy,
                                              .dx = wanted,
                                              .accumulate = {flags.get(), dx.size()},
                                              .parameters = parameters,
                                              .gradients = gradients,
                                              .state = state,
                                              .workspace = workspace->Dirty(),
                                              .step = 1});
    EXPECT_TRUE(status.ok()) << status;
  }

  double Objective() {
    Forward();
    const std::vector<double> y = Values(output);
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += y[i] * weights[i];
    return sum;
  }
};

// Random values at a distance from 0, and from each other, that a small step does not bridge.
Tensor Separated(DType dtype, const Shape& shape, uint64_t seed, double range = 1) {
  std::vector<double> values = Values(RandomTensor(DType::kFloat64, shape, seed));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] *= range;
    values[i] += (values[i] < 0 ? -1 : 1) * (2e-3 + 1e-4 * double(i % 17));
  }
  return TensorOf(dtype, shape, values);
}

absl::StatusOr<Bench> MakeBench(const Layer& layer, const std::vector<Shape>& inputs,
                                TensorFormat format, int64_t batch, DType dtype, double range,
                                bool frozen = false) {
  Bench bench;
  bench.device = *DeviceContext::Create(Device::Cpu());
  absl::StatusOr<Shape> output = layer.OutputShape(inputs, format);
  if (!output.ok()) return output.status();
  BindContext context{.device = bench.device.get(),
                      .batch = batch,
                      .dtype = dtype,
                      .format = format,
                      .training = true,
                      .frozen = frozen,
                      .inputs = inputs,
                      .output = *output,
                      .random = Philox(7, StreamId(RandomPurpose::kDropout, 3))};
  absl::StatusOr<std::unique_ptr<LayerOp>> op = layer.Bind(context);
  if (!op.ok()) return op.status();
  bench.op = *std::move(op);
  const LayerOpTraits traits = bench.op->traits();
  uint64_t seed = 1;
  for (const Shape& input : inputs) {
    bench.inputs.push_back(Separated(dtype, input.Prepend(batch), seed++, range));
    bench.dx.push_back(ZeroTensor(dtype, input.Prepend(batch)));
  }
  for (const ParameterSpec& spec : layer.Parameters(inputs, format)) {
    bench.parameters.push_back({Separated(dtype, spec.shape, seed++), 1});
    if (spec.trainable && !frozen) bench.gradients.push_back(ZeroTensor(dtype, spec.shape));
  }
  bench.output = FencedTensor(dtype, output->Prepend(batch));
  bench.dy = Separated(dtype, output->Prepend(batch), seed++);
  bench.weights = Values(bench.dy);
  if (traits.state_shape.rank() > 0) {
    bench.state = FencedTensor(traits.state_dtype, traits.state_shape.Prepend(batch));
  }
  if (traits.kept_bytes > 0) {
    const std::shared_ptr<Buffer> kept = *Buffer::Allocate(Device::Cpu(), traits.kept_bytes);
    std::fill_n(kept->data(), kept->size(), std::byte{0xff});  // contents are undefined
    const absl::Status status = bench.op->Keep(kept);
    if (!status.ok()) return status;
  }
  bench.workspace.emplace(traits.workspace_bytes);
  return bench;
}

// d objective / d tensor, by central differences.
std::vector<double> Numeric(Bench& bench, const Tensor& tensor) {
  constexpr double kStep = 1e-5;
  std::vector<double> gradient;
  double* values = tensor.data<double>();
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const double value = values[i];
    values[i] = value + kStep;
    const double above = bench.Objective();
    values[i] = value - kStep;
    const double below = bench.Objective();
    values[i] = value;
    gradient.push_back((above - below) / (2 * kStep));
  }
  return gradient;
}

::testing::AssertionResult CheckNumerically(Bench& bench) {
  bench.Forward();
  bench.Backward();
  std::vector<std::vector<double>> dx, gradients;
  for (const Tensor& tensor : bench.dx) dx.push_back(Values(tensor));
  for (const Tensor& tensor : bench.gradients) gradients.push_back(Values(tensor));
  for (size_t i = 0; i < dx.size(); ++i) {
    auto result = Close(dx[i], Numeric(bench, bench.inputs[i]), 1e-6, 1e-6);
    if (!result) return result << " (gradient of input " << i << ")";
  }
  for (size_t i = 0, p = 0; p < gradients.size(); ++i, ++p) {
    auto result = Close(gradients[p], Numeric(bench, bench.parameters[i].tensor), 1e-6, 1e-6);
    if (!result) return result << " (gradient of parameter " << p << ")";
  }
  return ::testing::AssertionSuccess();
}

void Fill(const Tensor& tensor, const std::vector<double>& values) {
  std::ranges::copy(values, tensor.data<double>());
}

// What a pass of forward and backward makes.
struct Results {
  std::vector<double> output;
  std::vector<std::vector<double>> gradients;  // of the inputs, then of the parameters
};

Results ResultsOf(const Bench& bench) {
  Results results{Values(bench.output), {}};
  for (const Tensor& tensor : bench.dx) results.gradients.push_back(Values(tensor));
  for (const Tensor& tensor : bench.gradients) results.gradients.push_back(Values(tensor));
  return results;
}

void Spoil(const Tensor& tensor) {
  std::fill_n(tensor.data<double>(), tensor.num_elements(), std::nan(""));
}

// Writes some of the gradients of the inputs, adds to others, and leaves the rest alone.
::testing::AssertionResult CheckWishes(Bench& bench, const Results& expected,
                                       const std::vector<Wish>& wishes) {
  constexpr double kBefore = 0.375;
  for (const Tensor& dx : bench.dx)
    Fill(dx, std::vector<double>(size_t(dx.num_elements()), kBefore));
  bench.Forward();
  bench.Backward(wishes);
  const Results results = ResultsOf(bench);
  for (size_t i = 0; i < expected.gradients.size(); ++i) {
    const Wish wish = i < wishes.size() ? wishes[i] : Wish::kWrite;  // of parameters
    std::vector<double> wanted = expected.gradients[i];
    for (double& value : wanted) {
      if (wish == Wish::kAdd) value += kBefore;
      if (wish == Wish::kNothing) value = kBefore;
    }
    auto result = Close(results.gradients[i], wanted, 1e-12, 1e-12);
    if (!result) return result << " (gradient " << i << ")";
  }
  return ::testing::AssertionSuccess();
}

// All combinations of what can be wanted of the inputs.
::testing::AssertionResult CheckAllWishes(Bench& bench) {
  bench.Forward();
  bench.Backward();
  const Results expected = ResultsOf(bench);
  std::vector<Wish> wishes(bench.dx.size());
  for (bool more = true; more;) {
    auto result = CheckWishes(bench, expected, wishes);
    if (!result) {
      for (const Wish wish : wishes) {
        result << (wish == Wish::kWrite ? " written" : wish == Wish::kAdd ? " added" : " none");
      }
      return result;
    }
    more = false;  // counts on
    for (size_t i = 0; i < wishes.size() && !more; ++i) {
      wishes[i] = Wish((int(wishes[i]) + 1) % kWishes);
      more = wishes[i] != Wish::kWrite;
    }
  }
  return ::testing::AssertionSuccess();
}

// A plan shares memory as the traits allow; the results must stay the same, bit for bit.
::testing::AssertionResult CheckTraits(Bench& bench) {
  const LayerOpTraits traits = bench.op->traits();
  bench.Forward();
  bench.Backward();
  const Results expected = ResultsOf(bench);
  std::vector<std::vector<double>> inputs;
  for (const Tensor& input : bench.inputs) inputs.push_back(Values(input));

  // What the backward pass does not read may be gone by then.
  bench.Forward();
  const bool same_memory = traits.is_view;
  if (!traits.backward_reads_input && !(same_memory && traits.backward_reads_output)) {
    for (const Tensor& input : bench.inputs) Spoil(input);
  }
  if (!traits.backward_reads_output && !(same_memory && traits.backward_reads_input)) {
    Spoil(bench.output);
  }
  bench.Backward();
  if (ResultsOf(bench).gradients != expected.gradients) {
    return ::testing::AssertionFailure() << "the backward pass reads what traits do not say";
  }
  for (size_t i = 0; i < inputs.size(); ++i) Fill(bench.inputs[i], inputs[i]);

  if (traits.forward_in_place) {
    const Tensor output = std::exchange(bench.output, bench.inputs[0]);
    bench.Forward();
    const bool same = Values(bench.output) == expected.output;
    Fill(bench.inputs[0], inputs[0]);
    bench.output = output;
    if (!same) return ::testing::AssertionFailure() << "the forward pass fails in place";
  }
  if (const int k = traits.backward_in_place; k >= 0) {
    bench.Forward();
    const Tensor dx = std::exchange(bench.dx[k], bench.dy.Reshaped(bench.dx[k].shape()));
    bench.Backward();
    const bool same = ResultsOf(bench).gradients == expected.gradients;
    bench.dx[k] = dx;
    if (!same) return ::testing::AssertionFailure() << "the backward pass fails in place";
  }
  return ::testing::AssertionSuccess();
}

// Frozen, a layer has gradients of its inputs only, and keeps its parameters.
::testing::AssertionResult CheckFrozen(const Layer& layer, const std::vector<Shape>& inputs,
                                       TensorFormat format, int64_t batch, double range) {
  absl::StatusOr<Bench> bench =
      MakeBench(layer, inputs, format, batch, DType::kFloat64, range, /*frozen=*/true);
  if (!bench.ok()) return ::testing::AssertionFailure() << bench.status();
  std::vector<std::vector<double>> before;
  for (const ParameterView& parameter : bench->parameters) {
    before.push_back(Values(parameter.tensor));
  }
  if (auto result = CheckNumerically(*bench); !result) return result << " when frozen";
  if (auto result = CheckAllWishes(*bench); !result) return result << " when frozen";
  if (auto result = CheckTraits(*bench); !result) return result << " when frozen";
  for (size_t p = 0; p < before.size(); ++p) {
    if (Values(bench->parameters[p].tensor) == before[p]) continue;
    return ::testing::AssertionFailure() << "parameter " << p << " changes when it is frozen";
  }
  return ::testing::AssertionSuccess();
}

}  // namespace

::testing::AssertionResult CheckGradients(const Layer& layer, const std::vector<Shape>& inputs,
                                          TensorFormat format, int64_t batch, double range) {
  absl::StatusOr<Bench> exact = MakeBench(layer, inputs, format, batch, DType::kFloat64, range);
  if (!exact.ok()) return ::testing::AssertionFailure() << exact.status();
  if (auto result = CheckNumerically(*exact); !result) return result << " in float64";
  if (auto result = CheckAllWishes(*exact); !result) return result;
  if (auto result = CheckTraits(*exact); !result) return result;
  if (!exact->gradients.empty()) {
    if (auto result = CheckFrozen(layer, inputs, format, batch, range); !result) return result;
  }

  absl::StatusOr<Bench> rounded = MakeBench(layer, inputs, format, batch, DType::kFloat32, range);
  if (!rounded.ok()) return ::testing::AssertionFailure() << rounded.status();
  exact->Forward();
  exact->Backward();
  rounded->Forward();
  rounded->Backward();
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto result = Close(Values(rounded->dx[i]), Values(exact->dx[i]), 1e-4, 1e-4);
    if (!result) return result << " (gradient of input " << i << " in float32)";
  }
  for (size_t i = 0; i < exact->gradients.size(); ++i) {
    auto result = Close(Values(rounded->gradients[i]), Values(exact->gradients[i]), 1e-4, 1e-4);
    if (!result) return result << " (gradient of parameter " << i << " in float32)";
  }
  return ::testing::AssertionSuccess();
}

}  // namespace dtnn::testing
